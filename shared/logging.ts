// The runtime log of every process: one line per event to stdout and to the log file (operations contract, section 12).
import { format } from 'node:util'
import pino, { type LogFn, type Logger as PinoLogger } from 'pino'
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
  /** Writes what is still in memory, before anything else happens. */
  flush(): void
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
const WORKER_BUFFER_BYTES = 8192
const WORKER_FLUSH_INTERVAL_MS = 100
/** Lines in memory while stdout or the disk is slow; beyond it lines are lost rather than requests slowed down. */
const WAITING_BYTES_MAX = 4 * 1024 * 1024
const SUPPRESSED_CHECK_MS = 1000

/** Opens the runtime log of this process. Throws when the log file cannot be opened. */
export function createRuntimeLog(options: RuntimeLogOptions): RuntimeLog {
  const { settings } = options
  const destinations = openDestinations(options)
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
  return { log, reopen: destinations.reopen, flush: destinations.flushSync }
}

function openDestinations({ settings, worker, isQuiet = false }: RuntimeLogOptions) {
  const buffering =
    worker === undefined ? {} : { minLength: WORKER_BUFFER_BYTES, periodicFlush: WORKER_FLUSH_INTERVAL_MS }
  const file = pino.destination({
    dest: settings.logFilename,
    append: true,
    mode: 0o600,
    sync: true,
    maxLength: WAITING_BYTES_MAX,
    ...buffering
  })
  // A reader of stdout that stopped reading must not stop the gateway, so these writes do not wait.
  const stdout = pino.destination({ dest: 1, sync: false, maxLength: WAITING_BYTES_MAX, ...buffering })
  // A full disk or a closed pipe loses lines, which nothing here could report anywhere else.
  file.on('error', ignoreLostLines)
  stdout.on('error', ignoreLostLines)
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
    reopen(): void {
      file.flushSync()
      file.reopen()
    },
    /** The logger itself calls it after a CRITICAL line. */
    flushSync(): void {
      file.flushSync()
      stdout.flushSync()
    }
  }
  return destinations
}

function ignoreLostLines(): void {
  // Deliberately nothing: see where it is used.
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
      if (!isReportScheduled) setTimeout(reportSuppressed, SUPPRESSED_CHECK_MS).unref()
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
