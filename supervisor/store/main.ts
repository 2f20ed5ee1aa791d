// Entry of the process that holds the store of responses. It must load quickly: only the driver of the configured database is loaded.
import { runServiceProcess } from '../processes/service-process.ts'
import { createStoreProcess } from './process.ts'

runServiceProcess(createStoreProcess())
