// Where the lines of a process go: to stdout and to the log file, gathered, in the form of each.
import { fstatSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { isatty } from 'node:tty'
import { withDeadline } from '../deadline.ts'
import type { Settings } from '../settings.ts'
import { WARN_LEVEL } from './levels.ts'
import { createLineWriter, type LineWriter, PIPE_PIECE_BYTES } from './line-writer.ts'
import { createFileWriter, type FileWriterOptions, type LogFile, openLogFile } from './log-file.ts'
import { escapeJsonLine, writeTextLine } from './log-line.ts'
import { createLossCounter, type Output } from './losses.ts'
import { isStandardStream, leadsTo } from './standard-streams.ts'

/** A stream for log lines, such as `process.stdout`. */
export type LogOutput = Writable & { readonly fd: number; readonly isTTY?: boolean }

/** Workers gather lines up to this size or time; the supervisor logs few lines and writes each at once. */
const WORKER_BUFFER_BYTES = 32_768
const WORKER_FLUSH_INTERVAL_MS = 100
/** How long an exiting process waits for a slow reader of stdout. */
const DRAIN_TIMEOUT_MS = 500

export interface DestinationOptions {
  readonly settings: Pick<Settings, 'logFormat' | 'logFilename'>
  /** The worker's number; undefined in the supervisor. */
  readonly worker?: number | undefined
  /** Only warnings and errors go to stdout; the file gets every line. */
  readonly isQuiet?: boolean | undefined
  /** In place of the stdout of this process. */
  readonly stdout?: LogOutput | undefined
}

export type Destinations = ReturnType<typeof openDestinations>

/** Opens the outputs, as the destination of pino. Throws when the log file cannot be opened. */
export function openDestinations(
  { settings, worker, isQuiet = false, stdout: output = process.stdout }: DestinationOptions,
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
