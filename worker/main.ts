// Entry of a worker process: everything else comes by message from the supervisor that forked it.
import { runWorkerProcess } from './bootstrap.ts'
import { keepTickShape } from './performance/kept-tick.ts'

keepTickShape()
runWorkerProcess({ loadApp: () => import('./app.ts') })
