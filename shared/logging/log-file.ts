// Appends lines to files: the log file, and stdout where it leads to a file. Lines that cannot be written are dropped and counted: a full
// disk must neither stop the process that logs nor delay its exit.
import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from 'node:fs'

const OWNER_ONLY = 0o600
/** Opening a named pipe without a reader fails, and a full one drops lines: neither may block the process. */
const APPEND = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NONBLOCK
const LINE_FEED = 10
/** Of one character of a string, as UTF-8. */
const UTF8_BYTES_MAX = 3

export interface FileWriter {
  /** Adds a line, which ends with a newline. */
  write(line: string): void
  /** Writes every gathered line. */
  flush(): void
}

export interface LogFile extends FileWriter {
  /** Opens the path again after the file was renamed. When that fails, throws the system's error and keeps writing to the old file. */
  reopen(): void
}

export interface FileWriterOptions {
  /** Lines are gathered up to this size; 0 writes each line at once. */
  readonly gatherBytes: number
  /** Lines are gathered for at most this long. */
  readonly gatherMs: number
  /** Called with the number of lines that could not be written. */
  readonly onLost: (lines: number) => void
  /**
   * Whether the last line of the file, which other processes write as well, is incomplete. Asked at the first write, after one that
   * failed, and before each line that is written at once: such lines are rare.
   */
  readonly endsInPartialLine?: () => boolean
}

/** Opens the file for appending. Throws the system's error when it cannot be opened. */
export function openLogFile(path: string, options: FileWriterOptions): LogFile {
  let descriptor = openSync(path, APPEND, OWNER_ONLY)
  const writer = createFileWriter(() => descriptor, { ...options, endsInPartialLine: () => endsInPartialLine(path) })
  return {
    ...writer,
    reopen() {
      writer.flush()
      const fresh = openSync(path, APPEND, OWNER_ONLY)
      closeSync(descriptor)
      descriptor = fresh
    }
  }
}

/** Writes lines to an open file; never throws. `descriptor` is asked at each write, because a log file may be opened again. */
export function createFileWriter(descriptor: () => number, options: FileWriterOptions): FileWriter {
  const { gatherBytes, gatherMs, onLost } = options
  /**
   * The gathered lines as UTF-8. Strings would be joined and encoded into a new buffer at each
   * write.
   */
  const room = Buffer.allocUnsafe(gatherBytes * 2)
  let gatheredBytes = 0
  /** One timer serves all gathered lines: it may fire early for later lines, never late. */
  let isGathering = false
  /** The last line that this process wrote is incomplete. */
  let hasPartialLine = false
  /** Another process may have left an incomplete line: in an earlier run of the gateway, or when the disk was full. */
  let mayFollowPartialLine = true

  function endGathering(): void {
    isGathering = false
    flush()
  }

  function flush(): void {
    if (gatheredBytes === 0) return
    const gathered = room.subarray(0, gatheredBytes)
    gatheredBytes = 0
    writeAll(gathered)
  }

  function writeAll(lines: Buffer): void {
    let rest = lines
    try {
      if (hasPartialLine || (mayFollowPartialLine && options.endsInPartialLine?.() === true))
        writeSync(descriptor(), '\n')
      hasPartialLine = false
      mayFollowPartialLine = gatherBytes === 0
      while (rest.length > 0) {
        const written = writeSync(descriptor(), rest)
        hasPartialLine = rest[written - 1] !== LINE_FEED
        rest = rest.subarray(written)
      }
    } catch {
      mayFollowPartialLine = true
      onLost(countLines(rest))
    }
  }

  return {
    write(line) {
      const bytesMax = line.length * UTF8_BYTES_MAX
      if (gatheredBytes + bytesMax > room.length) flush()
      if (bytesMax > room.length) {
        writeAll(Buffer.from(line))
        return
      }
      gatheredBytes += room.write(line, gatheredBytes)
      if (gatheredBytes >= gatherBytes) {
        flush()
      } else if (!isGathering) {
        isGathering = true
        setTimeout(endGathering, gatherMs).unref()
      }
    },
    flush
  }
}

/** False also where the file cannot be read. */
function endsInPartialLine(path: string): boolean {
  let descriptor: number | undefined
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const { size } = fstatSync(descriptor)
    const last = Buffer.alloc(1)
    return size > 0 && readSync(descriptor, last, 0, 1, size - 1) === 1 && last[0] !== LINE_FEED
  } catch {
    return false
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

/** Counts lines by their line feeds. A line feed at the start is not counted: it ends a line of an earlier write. */
function countLines(bytes: Buffer): number {
  let lines = 0
  for (let at = bytes.indexOf(LINE_FEED, 1); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) lines += 1
  return lines
}
