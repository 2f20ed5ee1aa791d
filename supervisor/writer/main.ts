// Entry of the writer process. It must load quickly: drivers are loaded only for the sinks that are configured.
import { runWriterProcess } from './process.ts'

runWriterProcess()
