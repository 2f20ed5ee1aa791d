// Entry of the process that holds the connection to the Redis or Valkey of shared limits.
import { runServiceProcess } from '../../processes/service-process.ts'
import { createLimitsProcess } from './process.ts'

runServiceProcess(createLimitsProcess())
