// Entry of the writer process. It must load quickly: drivers are loaded only for the sinks that are configured.
import { runServiceProcess } from '../processes/service-process.ts'
import { writerService } from './process.ts'

runServiceProcess(writerService)
