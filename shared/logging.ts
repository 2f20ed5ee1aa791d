// The runtime log of every process: one line per event to stdout and to the log file (operations contract, section 12).
import type { Logger as PinoLogger } from 'pino'

/** What the planes log with: `debug`, `info`, `warn`, `error` and `fatal`, each taking fields and a sentence. */
export type Logger = PinoLogger
