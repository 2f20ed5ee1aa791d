// Appends lines to the log file. Lines that cannot be written are dropped and counted: a full disk must neither stop the process
// that logs nor delay its exit.
import { closeSync, openSync, writeSync } from 'node:fs'

const OWNER_ONLY = 0o600
const LINE_FEED = 10
/** Of one character of a string, as UTF-8. */
const UTF8_BYTES_MAX = 3

export interface LogFile {
  /** Adds a line, which ends with a newline. */
  write(line: string): void
  /** Writes every gathered line. */
  flush(): void
  /** Opens the path again after the file was renamed. When that fails, throws the system's error and keeps writing to the old file. */
  reopen(): void
}

export interface LogFileOptions {
  readonly path: string
  /** Lines are gathered up to this size; 0 writes each line at once. */
  readonly gatherCharacters: number
  /** Lines are gathered for at most this long. */
  readonly gatherMs: number
  /** Called with the number of lines that could not be written. */
  readonly onLost: (lines: number) => void
}

/** Opens the file for appending. Throws the system's error when it cannot be opened. */
export function openLogFile(options: LogFileOptions): LogFile {
  let file = openSync(options.path, 'a', OWNER_ONLY)
  let waiting = ''
  /** Takes the bytes of every write: buffers of this size are memory of their own, which has to be found and given back each time. */
  const room = Buffer.allocUnsafe(options.gatherCharacters * 2 * UTF8_BYTES_MAX)
  /** One timer runs for all lines that are gathered: it may end early for the later ones, never late. */
  let isGathering = false
  /** The last line in the file is incomplete. */
  let endsInPartialLine = false

  function endGathering(): void {
    isGathering = false
    flush()
  }

  function flush(): void {
    if (waiting === '') return
    const text = endsInPartialLine ? `\n${waiting}` : waiting
    waiting = ''
    let rest = encode(text)
    try {
      while (rest.length > 0) {
        const written = writeSync(file, rest)
        endsInPartialLine = rest[written - 1] !== LINE_FEED
        rest = rest.subarray(written)
      }
    } catch {
      options.onLost(countLines(rest))
    }
  }

  function encode(text: string): Buffer {
    if (text.length * UTF8_BYTES_MAX > room.length) return Buffer.from(text)
    return room.subarray(0, room.write(text))
  }

  return {
    write(line) {
      waiting += line
      if (waiting.length >= options.gatherCharacters) {
        flush()
      } else if (!isGathering) {
        isGathering = true
        setTimeout(endGathering, options.gatherMs).unref()
      }
    },
    flush,
    reopen() {
      flush()
      const fresh = openSync(options.path, 'a', OWNER_ONLY)
      closeSync(file)
      file = fresh
      endsInPartialLine = false
    }
  }
}

/** Counts lines by their line feeds. A line feed at the start is not counted: it ends a line of an earlier write. */
function countLines(bytes: Buffer): number {
  let lines = 0
  for (let at = bytes.indexOf(LINE_FEED, 1); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) lines += 1
  return lines
}
