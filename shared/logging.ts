// The runtime log of every process: one line per event to stdout and to the log file
// (operations.md 12).

import pino, { type Logger as PinoLogger } from 'pino'
import { type DestinationOptions, openDestinations } from './logging/destinations.ts'
import { createLogMethod } from './logging/log-method.ts'
import { createPlainLines, type WritePlainLine } from './logging/plain-lines.ts'
import { createRedactor } from './secrets/redaction.ts'
import type { Settings } from './settings.ts'

export type { LogOutput } from './logging/destinations.ts'
export type { WritePlainLine } from './logging/plain-lines.ts'

/** The logger of every process: `debug`, `info`, `warn`, `error` and `fatal`, each taking fields and a sentence. */
export type Logger = PinoLogger

export interface RuntimeLog {
  readonly log: Logger
  readonly writePlainLine: WritePlainLine
  /** The redaction of the lines, for texts that go into a plain line; changes nothing while redaction is off. */
  readonly redactText: (text: string) => string
  /** Opens the path of the log file again after the file was renamed. */
  reopen(): void
  /** Writes the lines that are still in memory, without waiting for the reader of stdout. */
  flush(): void
  /** Writes the lines that are still in memory and waits briefly for a slow reader of stdout. Call it last before the process exits. */
  drained(): Promise<void>
}

export interface RuntimeLogOptions extends DestinationOptions {
  readonly settings: Pick<Settings, 'logLevel' | 'logFormat' | 'logFilename' | 'logRedactSensitive' | 'mode'>
  /** Texts that are masked in every message and every field. */
  readonly knownSecrets?: readonly string[]
}

type LevelName = Settings['logLevel']

const pinoLevels: Readonly<Record<LevelName, string>> = {
  CRITICAL: 'fatal',
  ERROR: 'error',
  WARNING: 'warn',
  INFO: 'info',
  DEBUG: 'debug'
}
const levelNames: Readonly<Record<string, LevelName>> = {
  fatal: 'CRITICAL',
  error: 'ERROR',
  warn: 'WARNING',
  info: 'INFO',
  debug: 'DEBUG',
  trace: 'DEBUG'
}

/** Opens the runtime log of this process. Throws when the log file cannot be opened. */
export function createRuntimeLog(options: RuntimeLogOptions): RuntimeLog {
  const { settings } = options
  const destinations = openDestinations(options, (output, count) => {
    log.warn({ event: 'log_lines_lost', count, output }, 'Log lines were lost because stdout or the disk was slow')
  })
  const redactor = settings.logRedactSensitive
    ? createRedactor({ knownSecrets: options.knownSecrets ?? [] })
    : undefined
  const log: Logger = pino(
    {
      level: pinoLevels[settings.logLevel],
      base: { pid: process.pid, ...(options.worker !== undefined && { worker: options.worker }) },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: levelNames[label] ?? 'INFO' }) },
      // `writeError` has serialized the error already; pino's default serializer would do it a second time.
      serializers: { err: error => error },
      hooks: { logMethod: createLogMethod({ isProduction: settings.mode === 'PROD', redactor }, () => log) }
    },
    destinations
  )
  function reopen(): void {
    try {
      destinations.reopen()
    } catch (error) {
      log.error(
        { event: 'log_reopen_failed', err: error },
        'The log file could not be reopened; lines are still written to the old file'
      )
    }
  }
  return {
    log,
    writePlainLine: createPlainLines(log, { worker: options.worker, destinations }),
    redactText: text => (redactor === undefined ? text : redactor.redactText(text)),
    reopen,
    flush: destinations.flushSync,
    drained: destinations.drained
  }
}
