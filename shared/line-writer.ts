// Writes log lines to stdout without ever waiting for its reader: a terminal or a collector that stopped reading must not stop the
// gateway, and must not keep it from ending.
import type { Writable } from 'node:stream'

/** Up to this size a write to a pipe is one piece, so that lines of several processes do not tear each other apart. */
const PIECE_BYTES = 4096
/** Lines in memory while the reader is slow; beyond it lines are lost, and counted. */
const WAITING_BYTES_MAX = 4 * 1024 * 1024

export interface LineWriter {
  /** Takes a line with its newline. */
  write(line: string): void
  /** Hands everything over to the system now, as far as the system takes it. */
  flush(): void
  /** Resolves when everything that was taken is written, or the reader is gone. */
  drained(): Promise<void>
}

export interface LineWriterOptions {
  /** Gather lines this long, for fewer and larger writes; 0 writes each at once. */
  readonly gatherMs: number
  /** Called for each line that is lost because the reader is slow. */
  readonly onLost: () => void
}

export function createLineWriter(stream: Writable, options: LineWriterOptions): LineWriter {
  /** Whole lines, gathered into pieces. The last one may still grow. */
  let pieces: string[] = []
  let waitingBytes = 0
  let isWriting = false
  let isClosed = false
  let isGathering = false
  let drainListeners: Array<() => void> = []

  // The reader closed its end. The log file goes on; there is nobody left to tell here.
  stream.on('error', () => {
    isClosed = true
    pieces = []
    waitingBytes = 0
    tellDrained()
  })

  function tellDrained(): void {
    const listeners = drainListeners
    drainListeners = []
    for (const listener of listeners) listener()
  }

  function writeNext(): void {
    isGathering = false
    if (isWriting || isClosed) return
    const piece = pieces.shift()
    if (piece === undefined) {
      tellDrained()
      return
    }
    isWriting = true
    stream.write(piece, () => {
      isWriting = false
      waitingBytes -= piece.length
      writeNext()
    })
  }

  return {
    write(line) {
      if (isClosed) return
      if (waitingBytes + line.length > WAITING_BYTES_MAX) {
        options.onLost()
        return
      }
      waitingBytes += line.length
      const last = pieces.at(-1)
      if (last !== undefined && last.length + line.length <= PIECE_BYTES) pieces[pieces.length - 1] = last + line
      else pieces.push(line)
      if (isWriting) return
      if (options.gatherMs === 0 || waitingBytes >= PIECE_BYTES) {
        writeNext()
      } else if (!isGathering) {
        isGathering = true
        setTimeout(writeNext, options.gatherMs).unref()
      }
    },
    flush() {
      for (const piece of pieces.splice(0)) stream.write(piece)
    },
    drained() {
      if (isClosed || (!isWriting && pieces.length === 0)) return Promise.resolve()
      const { promise, resolve } = Promise.withResolvers<void>()
      drainListeners.push(resolve)
      writeNext()
      return promise
    }
  }
}
