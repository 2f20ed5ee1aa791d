// Writes log lines to stdout without waiting for its reader: a terminal or a collector that stops reading must neither block the
// gateway nor delay its exit. Where stdout leads to a file, `log-file.ts` writes it.
import type { Writable } from 'node:stream'

/** The system writes up to this size to a pipe in one piece, so lines of several processes are not mixed. */
export const PIPE_PIECE_BYTES = 4096
/** Limit of the lines in memory while the reader is slow; further lines are dropped and counted. */
const WAITING_BYTES_MAX = 4 * 1024 * 1024

export interface LineWriter {
  /** Queues a line, which ends with a newline. */
  write(line: string): void
  /** Hands every queued line to the stream now. */
  flush(): void
  /** Resolves when every queued line is written, or the reader has closed its end. */
  drained(): Promise<void>
}

export interface LineWriterOptions {
  /** The largest piece that is written at once, unless a single line is longer. */
  readonly pieceBytes: number
  /** Lines are gathered for this long, which makes fewer and larger writes; 0 writes each line at once. */
  readonly gatherMs: number
  /** Called for each line that is dropped because the reader is slow. */
  readonly onLost: () => void
}

export function createLineWriter(stream: Writable, options: LineWriterOptions): LineWriter {
  /** Whole lines, gathered into pieces. Further lines may be added to the last piece. */
  let pieces: string[] = []
  let waitingBytes = 0
  let isWriting = false
  let isClosed = false
  /** One timer serves all gathered lines: it may fire early for later lines, never late. */
  let isGathering = false
  let drainListeners: Array<() => void> = []

  // The reader closed its end, so the queued lines are discarded; the log file has them too.
  stream.on('error', () => {
    isClosed = true
    pieces = []
    waitingBytes = 0
    notifyDrained()
  })

  function notifyDrained(): void {
    const listeners = drainListeners
    drainListeners = []
    for (const listener of listeners) listener()
  }

  function endGathering(): void {
    isGathering = false
    writeNext()
  }

  /**
   * Writes whole pieces at once, and an incomplete piece once its lines were gathered long enough.
   */
  function proceed(): void {
    if (options.gatherMs === 0 || waitingBytes >= options.pieceBytes || drainListeners.length > 0) {
      writeNext()
    } else if (waitingBytes > 0 && !isGathering) {
      isGathering = true
      setTimeout(endGathering, options.gatherMs).unref()
    }
  }

  function writeNext(): void {
    if (isWriting || isClosed) return
    const piece = pieces.shift()
    if (piece === undefined) {
      notifyDrained()
      return
    }
    isWriting = true
    stream.write(piece, () => {
      isWriting = false
      waitingBytes -= piece.length
      proceed()
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
      if (last !== undefined && last.length + line.length <= options.pieceBytes) pieces[pieces.length - 1] = last + line
      else pieces.push(line)
      if (!isWriting) proceed()
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
