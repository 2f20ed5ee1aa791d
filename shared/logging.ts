// The runtime log of every process: one line per event to stdout and to the log file
// (operations.md 12).

import { fstatSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { isatty } from 'node:tty'
import { format } from 'node:util'
import pino, { type LogFn, type Logger as PinoLogger } from 'pino'
import { withDeadline } from './deadline.ts'
import { createLineWriter, type LineWriter, PIPE_PIECE_BYTES } from './line-writer.ts'
import { createFileWriter, type FileWriterOptions, type LogFile, openLogFile } from './log-file.ts'
import { escapeJsonLine, writeTextLine } from './log-line.ts'
import { createRedactor, type Redactor } from './redaction.ts'
import type { Settings } from './settings.ts'
import { isStandardStream, leadsTo } from './standard-streams.ts'
import { createWarningLimiter } from './warning-limiter.ts'

/** The logger of every process: `debug`, `info`, `warn`, `error` and `fatal`, each taking fields and a sentence. */
export type Logger = PinoLogger

/**
 * Writes one line of the level INFO from the JSON text of its members, such as
 * `"event":"x","status":200`, which is neither checked nor redacted and must have passed
 * `escapeJsonLine` where it is not the gateway's own. For lines that every request writes: this
 * costs a tenth of a general log call.
 */
export type WritePlainLine = (members: string, message: string) => void

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

export interface RuntimeLogOptions {
  readonly settings: Pick<Settings, 'logLevel' | 'logFormat' | 'logFilename' | 'logRedactSensitive' | 'mode'>
  /** The worker's number; undefined in the supervisor. */
  readonly worker?: number
  /** Only warnings and errors go to stdout; the file gets every line. */
  readonly isQuiet?: boolean
  /** Texts that are masked in every message and every field. */
  readonly knownSecrets?: readonly string[]
  /** In place of the stdout of this process. */
  readonly stdout?: LogOutput
}

/** A stream for log lines, such as `process.stdout`. */
export type LogOutput = Writable & { readonly fd: number; readonly isTTY?: boolean }

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

const INFO_LEVEL = 30
const WARN_LEVEL = 40
const DEBUG_LEVEL = 20

/** Workers gather lines up to this size or time; the supervisor logs few lines and writes each at once. */
const WORKER_BUFFER_BYTES = 32_768
const WORKER_FLUSH_INTERVAL_MS = 100
const REPORT_INTERVAL_MS = 1000
/** How long an exiting process waits for a slow reader of stdout. */
const DRAIN_TIMEOUT_MS = 500

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

function createPlainLines(
  log: Logger,
  { worker, destinations }: { worker: number | undefined; destinations: ReturnType<typeof openDestinations> }
): WritePlainLine {
  if (!log.isLevelEnabled('info')) return () => undefined
  const source = `"pid":${process.pid}${worker === undefined ? '' : `,"worker":${worker}`}`
  const writeTime = createTimeWriter()
  let lastMessage = ''
  let quotedMessage = '""'
  return (members, message) => {
    if (message !== lastMessage) quotedMessage = escapeJsonLine(JSON.stringify(message))
    lastMessage = message
    destinations.lastLevel = INFO_LEVEL
    destinations.writeEscaped(
      `{"level":"INFO","time":"${writeTime(Date.now())}",${source},${members},"msg":${quotedMessage}}\n`
    )
  }
}

/**
 * Writes times as RFC 3339. Under load every millisecond has lines, so the text up to the second is
 * cached.
 */
function createTimeWriter(): (epochMs: number) => string {
  let lastSecond = -1
  let start = ''
  return epochMs => {
    const second = Math.floor(epochMs / 1000)
    // Up to the decimal point.
    if (second !== lastSecond) start = new Date(epochMs).toISOString().slice(0, -4)
    lastSecond = second
    return `${start}${String(epochMs - second * 1000).padStart(3, '0')}Z`
  }
}

function openDestinations(
  { settings, worker, isQuiet = false, stdout: output = process.stdout }: RuntimeLogOptions,
  reportLost: (lostBy: Output, lostLines: number) => void
) {
  const isWorker = worker !== undefined
  const losses = createLossCounter({ settle, tell })
  const gathering = (output: Output): FileWriterOptions => ({
    gatherBytes: isWorker ? WORKER_BUFFER_BYTES : 0,
    gatherMs: isWorker ? WORKER_FLUSH_INTERVAL_MS : 0,
    onLost(lines) {
      if (onlyOutput === output) isTellingLost = true
      else losses.count(output, lines)
    }
  })
  // A log file such as `/dev/stdout` is no second output: its lines go to that stream alone.
  const stream = findStandardStream(settings.logFilename, output)
  const file = stream === undefined ? openLogFile(settings.logFilename, gathering('file')) : NO_FILE
  const stdout = openStdout(stream ?? output, gathering('stdout'))
  const isText = settings.logFormat === 'text'
  const isColored = isText && (stream ?? output).isTTY === true
  /** The only output that the current line goes to. */
  let onlyOutput: Output | undefined
  let isTellingLost = false

  /** Writes the gathered lines of an output that reports lost lines synchronously. */
  function settle(): void {
    file.flush()
    stdout.settle()
  }

  function tell(output: Output, lostBy: Output, lostLines: number): boolean {
    isTellingLost = false
    onlyOutput = output
    reportLost(lostBy, lostLines)
    settle()
    onlyOutput = undefined
    return !isTellingLost
  }

  const destinations = {
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write: (line: string): void => destinations.writeEscaped(isText ? line : escapeJsonLine(line)),
    writeEscaped(line: string): void {
      const fileLine = isText ? writeTextLine(line, { isColored: false }) : line
      if (onlyOutput !== 'stdout') file.write(fileLine)
      if (onlyOutput === 'file' || (isQuiet && destinations.lastLevel < WARN_LEVEL)) return
      stdout.write(isColored ? writeTextLine(line, { isColored }) : fileLine)
    },
    reopen: file.reopen,
    /** pino calls it after a CRITICAL line. */
    flushSync(): void {
      file.flush()
      stdout.flush()
    },
    async drained(): Promise<void> {
      losses.tellAll()
      file.flush()
      await withDeadline(stdout.drained(), DRAIN_TIMEOUT_MS)
    }
  }
  return destinations
}

const NO_FILE: LogFile = { write: () => undefined, flush: () => undefined, reopen: () => undefined }

/**
 * The stream that a log file leads to, where it is a link to stdout or stderr: `/dev/stdout`, `/proc/self/fd/1`, or a link of the
 * operator to one of them. A pipe or a socket behind it cannot be opened, or would get each line twice.
 */
function findStandardStream(path: string, stdout: LogOutput): LogOutput | undefined {
  if (!isStandardStream(path)) return undefined
  return leadsTo(path, stdout.fd) ? stdout : process.stderr
}

function openStdout(output: LogOutput, gathering: FileWriterOptions): LineWriter & { settle(): void } {
  const { fd } = output
  if (!isFile(fd)) {
    const { gatherMs, onLost } = gathering
    const lineOptions = { pieceBytes: PIPE_PIECE_BYTES, gatherMs, onLost: () => onLost(1) }
    // A line is lost before it is gathered.
    return { ...createLineWriter(output, lineOptions), settle: () => undefined }
  }
  const writer = createFileWriter(() => fd, gathering)
  return { ...writer, settle: writer.flush, drained: async () => writer.flush() }
}

/** Whether the descriptor is a file or a device that is no terminal, such as `/dev/null`. */
function isFile(descriptor: number): boolean {
  try {
    const stats = fstatSync(descriptor)
    return !(stats.isFIFO() || stats.isSocket() || isatty(descriptor))
  } catch {
    return false
  }
}

/** Where log lines go (operations.md 12). */
type Output = 'file' | 'stdout'

const OUTPUTS: readonly Output[] = ['file', 'stdout']

interface LossReports {
  /** Counts what is lost of the lines that were written before. */
  settle(): void
  /** Writes the line about lost lines to one output. Returns false when it takes no line at the moment. */
  tell(output: Output, lostBy: Output, lostLines: number): boolean
}

/**
 * Counts the lines that each output loses. At most once a second a line on that output reports the
 * losses since its previous report, so that its reports add up to all losses. An output that
 * accepts no line gets its report later, independently of the other output.
 */
function createLossCounter({ settle, tell }: LossReports) {
  const untold = { file: { file: 0, stdout: 0 }, stdout: { file: 0, stdout: 0 } }
  let isScheduled = false

  function schedule(): void {
    if (!isScheduled) setTimeout(tellAll, REPORT_INTERVAL_MS).unref()
    isScheduled = true
  }

  function tellAll(): void {
    isScheduled = false
    settle()
    for (const output of OUTPUTS) {
      for (const lostBy of OUTPUTS) {
        const lostLines = untold[output][lostBy]
        if (lostLines === 0) continue
        if (tell(output, lostBy, lostLines)) untold[output][lostBy] -= lostLines
        else schedule()
      }
    }
  }

  return {
    tellAll,
    count(lostBy: Output, lines: number): void {
      for (const output of OUTPUTS) untold[output][lostBy] += lines
      schedule()
    }
  }
}

/**
 * Warnings that are each about another request and never suppressed: every failed upstream call has
 * its line (decisions.md 59).
 */
const UNLIMITED_EVENTS: ReadonlySet<unknown> = new Set(['upstream_call_failed'])

/** Redacts each log call and limits equal warnings. pino calls it only for enabled levels. */
function createLogMethod(
  { isProduction, redactor }: { isProduction: boolean; redactor: Redactor | undefined },
  log: () => Logger
) {
  const limiter = createWarningLimiter()
  let isReportScheduled = false

  function reportSuppressed(): void {
    isReportScheduled = false
    for (const { text, count } of limiter.takeSuppressed(performance.now())) {
      log().info({ event: 'log_lines_suppressed', count }, `Suppressed ${count} equal lines: ${text}`)
    }
  }

  return function logMethod(this: Logger, parameters: Parameters<LogFn>, method: LogFn, level: number): void {
    let { fields, text } = readParameters(parameters)
    if (redactor !== undefined) text = redactor.redactText(text)
    const isLimited = level === WARN_LEVEL && !UNLIMITED_EVENTS.has(fields?.event)
    if (isLimited && !limiter.admit(text, performance.now())) {
      if (!isReportScheduled) setTimeout(reportSuppressed, REPORT_INTERVAL_MS).unref()
      isReportScheduled = true
      return
    }
    if (fields === undefined) {
      method.call(this, text)
      return
    }
    if (isProduction && level <= DEBUG_LEVEL && ('payload' in fields || 'response' in fields)) {
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
  return { fields: typeof first === 'object' && first !== null ? (first as Record<string, unknown>) : {}, text }
}

function writeFields(fields: Record<string, unknown>, redactor: Redactor | undefined): object {
  // Most lines have no error: one copy of their fields is enough, which the redaction makes.
  if (fields.err === undefined) return redactor === undefined ? fields : (redactor.redactValue(fields) as object)
  const { err, ...others } = fields
  const written = redactor === undefined ? others : (redactor.redactValue(others) as object)
  const error = writeError(err)
  return { ...written, err: redactor === undefined ? error : redactor.redactValue(error) }
}

/** The members of an error that a line shows. All others are omitted: they may contain requests, headers or credentials. */
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
