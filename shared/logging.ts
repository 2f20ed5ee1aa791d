// The runtime log of every process: one line per event to stdout and to the log file (operations contract, section 12).
import { setTimeout as wait } from 'node:timers/promises'
import { format } from 'node:util'
import pino, { type LogFn, type Logger as PinoLogger } from 'pino'
import { createLineWriter } from './line-writer.ts'
import { openLogFile } from './log-file.ts'
import { escapeJsonLine, writeTextLine } from './log-line.ts'
import { createRedactor, type Redactor } from './redaction.ts'
import type { Settings } from './settings.ts'
import { createWarningLimiter } from './warning-limiter.ts'

/** What the planes log with: `debug`, `info`, `warn`, `error` and `fatal`, each taking fields and a sentence. */
export type Logger = PinoLogger

export interface RuntimeLog {
  readonly log: Logger
  /** Opens the log file anew under its name: it was renamed. */
  reopen(): void
  /** Writes what is still in memory, as far as stdout takes it at once. */
  flush(): void
  /** Writes what is still in memory, waiting a moment for a slow reader of stdout; the last thing before the process ends. */
  drained(): Promise<void>
}

export interface RuntimeLogOptions {
  readonly settings: Pick<Settings, 'logLevel' | 'logFormat' | 'logFilename' | 'logRedactSensitive' | 'mode'>
  /** The worker's number; undefined in the supervisor. */
  readonly worker?: number
  /** Only warnings and errors go to stdout; the file gets everything. */
  readonly isQuiet?: boolean
  /** Texts that must appear in no line, wherever they come from. */
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

const WARN_LEVEL = 40
const DEBUG_LEVEL = 20

/** Workers gather lines up to this size or time; the supervisor, which says little, writes each at once. */
const WORKER_BUFFER_CHARACTERS = 8192
const WORKER_FLUSH_INTERVAL_MS = 100
const REPORT_INTERVAL_MS = 1000
/** How long the end of the process waits for a slow reader of stdout. */
const DRAIN_PATIENCE_MS = 500

/** Opens the runtime log of this process. Throws when the log file cannot be opened. */
export function createRuntimeLog(options: RuntimeLogOptions): RuntimeLog {
  const { settings } = options
  const destinations = openDestinations(options, lostLines => {
    log.warn({ event: 'log_lines_lost', count: lostLines }, 'Log lines were lost because stdout or the disk was slow')
  })
  const log: Logger = pino(
    {
      level: pinoLevels[settings.logLevel],
      base: { pid: process.pid, ...(options.worker !== undefined && { worker: options.worker }) },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: levelNames[label] ?? 'INFO' }) },
      // Errors are written below; the library's own serializer would take them apart a second time.
      serializers: { err: error => error },
      hooks: { logMethod: createLogMethod(options, () => log) }
    },
    destinations
  )
  function reopen(): void {
    try {
      destinations.reopen()
    } catch (error) {
      log.error(
        { event: 'log_reopen_failed', err: error },
        'The log file could not be opened anew; the old one goes on'
      )
    }
  }
  return { log, reopen, flush: destinations.flushSync, drained: destinations.drained }
}

function openDestinations(
  { settings, worker, isQuiet = false }: RuntimeLogOptions,
  reportLost: (lostLines: number) => void
) {
  const isWorker = worker !== undefined
  const losses = createLossCounter(lostLines => {
    reportLost(lostLines)
    file.flush()
  })
  const file = openLogFile({
    path: settings.logFilename,
    gatherCharacters: isWorker ? WORKER_BUFFER_CHARACTERS : 0,
    gatherMs: WORKER_FLUSH_INTERVAL_MS,
    onLost: losses.count
  })
  const stdout = createLineWriter(process.stdout, {
    gatherMs: isWorker ? WORKER_FLUSH_INTERVAL_MS : 0,
    onLost: () => losses.count(1)
  })
  const isText = settings.logFormat === 'text'
  const isColored = isText && process.stdout.isTTY === true

  const destinations = {
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write(line: string): void {
      const fileLine = isText ? writeTextLine(line, { isColored: false }) : escapeJsonLine(line)
      file.write(fileLine)
      if (isQuiet && destinations.lastLevel < WARN_LEVEL) return
      stdout.write(isColored ? writeTextLine(line, { isColored }) : fileLine)
    },
    reopen: file.reopen,
    /** The logger itself calls it after a CRITICAL line. */
    flushSync(): void {
      file.flush()
      stdout.flush()
    },
    async drained(): Promise<void> {
      file.flush()
      const patience = new AbortController()
      await Promise.race([stdout.drained(), wait(DRAIN_PATIENCE_MS, undefined, { signal: patience.signal })])
      patience.abort()
    }
  }
  return destinations
}

/** Says how many lines were lost, once a second at most. */
function createLossCounter(report: (lostLines: number) => void) {
  let lostLines = 0
  function reportAll(): void {
    const count = lostLines
    lostLines = 0
    report(count)
    // The report was lost too, and will be made again.
    if (lostLines > 0) lostLines = count
  }
  return {
    count(lines: number): void {
      if (lostLines === 0) setTimeout(reportAll, REPORT_INTERVAL_MS).unref()
      lostLines += lines
    }
  }
}

/** Redacts and limits what is about to be written. It only runs for levels that are switched on. */
function createLogMethod({ settings, knownSecrets }: RuntimeLogOptions, log: () => Logger) {
  const redactor = settings.logRedactSensitive ? createRedactor({ knownSecrets: knownSecrets ?? [] }) : undefined
  const limiter = createWarningLimiter()
  const omitsPayloads = settings.mode === 'PROD'
  let isReportScheduled = false

  function reportSuppressed(): void {
    isReportScheduled = false
    for (const { text, count } of limiter.takeSuppressed(Date.now())) {
      log().info({ event: 'log_lines_suppressed', count }, `Suppressed ${count} equal lines: ${text}`)
    }
  }

  return function logMethod(this: Logger, parameters: Parameters<LogFn>, method: LogFn, level: number): void {
    let { fields, text } = readParameters(parameters)
    if (redactor !== undefined) text = redactor.redactText(text)
    if (level === WARN_LEVEL && !limiter.admit(text, Date.now())) {
      if (!isReportScheduled) setTimeout(reportSuppressed, REPORT_INTERVAL_MS).unref()
      isReportScheduled = true
      return
    }
    if (fields === undefined) {
      method.call(this, text)
      return
    }
    if (omitsPayloads && level <= DEBUG_LEVEL && ('payload' in fields || 'response' in fields)) {
      const { payload: _payload, response: _response, ...kept } = fields
      fields = kept
      text = `${text} (payload omitted in PROD)`
    }
    method.call(this, writeFields(fields, redactor), text)
  }
}

function readParameters(parameters: readonly unknown[]): { fields: Record<string, unknown> | undefined; text: string } {
  const [first, ...rest] = parameters
  if (typeof first === 'string') return { fields: undefined, text: rest.length === 0 ? first : format(first, ...rest) }
  const text = rest.length === 0 ? '' : rest.length === 1 ? String(rest[0]) : format(...rest)
  if (first instanceof Error) return { fields: { err: first }, text: text === '' ? first.message : text }
  return { fields: typeof first === 'object' && first !== null ? { ...first } : {}, text }
}

function writeFields(fields: Record<string, unknown>, redactor: Redactor | undefined): object {
  const { err, ...others } = fields
  const written = redactor === undefined ? others : (redactor.redactValue(others) as object)
  if (err === undefined) return written
  const error = writeError(err)
  return { ...written, err: redactor === undefined ? error : redactor.redactValue(error) }
}

/** An error as a line shows it. Other members of an error are left out: they may hold requests, headers or credentials. */
function writeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) }
  const { code } = error as { code?: unknown }
  return {
    type: error.name,
    message: error.message,
    ...(typeof code === 'string' && { code }),
    stack: error.stack,
    ...(error.cause instanceof Error && { cause: { type: error.cause.name, message: error.cause.message } })
  }
}
