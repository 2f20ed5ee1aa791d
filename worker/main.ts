// Entry of a worker process: everything else comes by message from the supervisor that forked it.
import { runWorkerProcess } from './bootstrap.ts'
import { keepTickShape } from './performance/kept-tick.ts'

keepTickShape()
runWorkerProcess({
  async loadApp() {
    const [{ createWorkerApp }, { createNativeProviderPool }] = await Promise.all([
      import('./app.ts'),
      import('./providers/native/index.ts')
    ])
    return {
      createWorkerApp: options => createWorkerApp(options, { providers: createNativeProviderPool(options) })
    }
  }
})
