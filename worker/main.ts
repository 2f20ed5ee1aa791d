// Entry of a worker process. Its configuration arrives in a message from the supervisor that forked it.
import { runWorkerProcess } from './bootstrap.ts'

runWorkerProcess({ loadApp: () => import('./app.ts') })
