// Entry of a worker process. Its configuration arrives in a message from the supervisor that forked it.
import { runWorkerProcess } from './bootstrap.ts'
import { keepTickShape } from './performance/kept-tick.ts'

keepTickShape()
runWorkerProcess({ loadApp: () => import('./app.ts') })
