// Appends lines to the log file. What the disk does not take is lost, and counted: a full disk must neither stop the process that
// logs nor keep it from ending.
import { closeSync, openSync, writeSync } from 'node:fs'

const OWNER_ONLY = 0o600
const LINE_FEED = 10

export interface LogFile {
  /** Takes a line with its newline. */
  write(line: string): void
  /** Writes everything that was taken. */
  flush(): void
  /** Opens the file anew under its name: it was renamed. Throws the system's error and goes on with the old one where it cannot. */
  reopen(): void
}

export interface LogFileOptions {
  readonly path: string
  /** Lines are gathered up to this size; 0 writes each at once. */
  readonly gatherCharacters: number
  /** Lines are gathered this long at most. */
  readonly gatherMs: number
  /** Called with the number of lines that could not be written. */
  readonly onLost: (lines: number) => void
}

/** Opens the file for appending. Throws the system's error when it cannot be opened. */
export function openLogFile(options: LogFileOptions): LogFile {
  let file = openSync(options.path, 'a', OWNER_ONLY)
  let waiting = ''
  let timer: NodeJS.Timeout | undefined
  /** The last line was only written in part. */
  let isTorn = false

  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    if (waiting === '') return
    const text = isTorn ? `\n${waiting}` : waiting
    waiting = ''
    let rest = Buffer.from(text)
    try {
      while (rest.length > 0) {
        const written = writeSync(file, rest)
        isTorn = rest[written - 1] !== LINE_FEED
        rest = rest.subarray(written)
      }
    } catch {
      options.onLost(countLines(rest))
    }
  }

  return {
    write(line) {
      waiting += line
      if (waiting.length >= options.gatherCharacters) flush()
      else timer ??= setTimeout(flush, options.gatherMs).unref()
    },
    flush,
    reopen() {
      flush()
      const fresh = openSync(options.path, 'a', OWNER_ONLY)
      closeSync(file)
      file = fresh
      isTorn = false
    }
  }
}

/** A line feed in front ends what was written before. */
function countLines(bytes: Buffer): number {
  let lines = 0
  for (let at = bytes.indexOf(LINE_FEED, 1); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) lines += 1
  return lines
}
