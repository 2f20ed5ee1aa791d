// The writing end of a streamed response: head at once, one write per call, back-pressure that also
// ends at a client disconnect.
import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import { isFull, PIECE_BYTES, whenDrained, writeInPieces } from './connections/client-writes.ts'
import { cutResponse } from './connections/cut-response.ts'
import type { RequestContext } from './request-context.ts'

type Piece = string | Uint8Array
/** Whole frames, also in pieces that belong together. */
type Frames = Piece | readonly Piece[]

export interface EventStreamWriter {
  /**
   * Writes whole frames as one chunk. False: the client is slow, wait for `whenDrained` before the
   * next one.
   */
  write(frames: Frames): boolean
  /** Writes the keep-alive of the stream, unless frames wait to be sent. */
  keepAlive(): void
  /** Resolves when more can be written, or at a client disconnect. */
  whenDrained(): Promise<void>
  /** Writes the last frames, if any, and ends the response. */
  end(frames?: Frames): void
  /**
   * Closes the connection in the middle of the response, once the client has had time to read what
   * was written (decisions.md 108). A text is written before, so that the client reads it as a
   * chunk of its own.
   */
  cut(text?: string): void
  /** No write has an effect any more: the response was ended or cut, or the client disconnected. */
  readonly isClosed: boolean
}

/**
 * A frame that is begun while nothing is to be sent, for clients that take a comment or an empty line for a broken frame: the next frame
 * goes on behind its beginning.
 */
export interface HeldFrame {
  /** How every frame of the stream begins. */
  readonly start: string
  /** What follows it at each further keep-alive; it has no meaning there. */
  readonly more: string
  /** The end of a frame without content, where no frame follows or one with another beginning. */
  readonly rest: string
}

export type KeepAliveText = string | (() => string) | HeldFrame

export interface EventStreamOptions {
  contentType?: string | undefined
  cacheControl?: 'no-cache' | 'no-store'
  /** A comment, a `ping` frame or the beginning of a frame, written when nothing else was for a while, so that proxies keep the connection. */
  keepAliveText?: KeepAliveText | null
  keepAliveIntervalMs?: number
  /** How long a client may read nothing while data is ready for it. */
  stallTimeoutMs?: number
}

/** Common proxies close an idle connection after 30 to 60 seconds. */
const KEEP_ALIVE_INTERVAL_MS = 15_000
/**
 * Starts a streamed response with status 200 and takes the reply over (completions.md 6.4). Call it
 * when the first event is there: after it, errors can only be frames. After a client disconnect the
 * writer is closed from the start.
 */
export function startEventStream(reply: FastifyReply, options: EventStreamOptions = {}): EventStreamWriter {
  const { context } = reply.request
  const response = reply.raw
  reply.hijack()
  context.lifetime.expectStream()
  if (response.destroyed || response.headersSent) return createClosedWriter()
  context.isStreaming = true
  response.writeHead(200, [
    ...context.responseHeaders(),
    'content-type',
    options.contentType ?? 'text/event-stream; charset=utf-8',
    'cache-control',
    options.cacheControl ?? 'no-cache',
    'x-accel-buffering',
    'no'
  ])
  // The head is sent in this turn of the event loop, in one packet with the first frame when one
  // follows in the same turn.
  const { socket } = response
  socket?.cork()
  // Header values are bytes: behind `flushHeaders` they would be encoded as a text (decisions.md 70).
  response.write('', 'latin1')
  process.nextTick(() => socket?.uncork())
  context.firstByte()

  return new OpenEventStream(context, response, options)
}

/** A class: its getter, on an object that each stream creates, would outlive the stream. */
class OpenEventStream implements EventStreamWriter {
  readonly #context: RequestContext
  readonly #response: ServerResponse
  readonly #output: FrameOutput
  readonly #keepAliveText: KeepAliveText | null | undefined
  readonly #keepAliveTimer: NodeJS.Timeout | undefined
  /** The frame that was begun as a keep-alive. */
  #held: HeldFrame | undefined

  constructor(context: RequestContext, response: ServerResponse, options: EventStreamOptions) {
    this.#context = context
    this.#response = response
    this.#output = new FrameOutput(response, options.stallTimeoutMs)
    this.#keepAliveText = options.keepAliveText
    this.#keepAliveTimer = startKeepAlive(options, () => this.keepAlive())
    response.once('close', () => clearTimeout(this.#keepAliveTimer))
  }

  get isClosed(): boolean {
    return this.#context.lifetime.isCut || this.#response.destroyed || this.#output.isEnded
  }

  write(frames: Frames): boolean {
    if (frames.length === 0 || this.isClosed) return true
    this.#keepAliveTimer?.refresh()
    this.#context.payloadLog?.chunk(this.#context, joinPieces(frames))
    return this.#output.write(this.#continue(frames))
  }

  keepAlive(): void {
    const text = this.#keepAliveText
    if (text === undefined || text === null || this.isClosed) return
    if (isFull(this.#response) || this.#output.isBusy) return
    if (typeof text === 'string') this.#response.write(text)
    else if (typeof text === 'function') this.#response.write(text())
    else {
      this.#response.write(this.#held === undefined ? text.start : text.more)
      this.#held = text
    }
  }

  whenDrained(): Promise<void> {
    return this.#output.whenDrained()
  }

  end(frames: Frames = ''): void {
    clearTimeout(this.#keepAliveTimer)
    if (this.isClosed) return
    if (frames.length > 0) this.#context.payloadLog?.chunk(this.#context, joinPieces(frames))
    this.#output.end(this.#continue(frames))
  }

  cut(text = ''): void {
    clearTimeout(this.#keepAliveTimer)
    if (this.isClosed) return
    if (text !== '') this.#context.payloadLog?.chunk(this.#context, text)
    this.#context.lifetime.isCut = true
    const end = text === '' ? text : this.#continue(text)
    void cutResponse(this.#response, this.#output.whenWritten(), typeof end === 'string' ? end : end.join(''))
  }

  #continue(frames: Frames): Frames {
    const held = this.#held
    if (held === undefined) return frames
    this.#held = undefined
    return continueFrame(held, frames)
  }
}

/** The frames behind the beginning of one that was sent before. */
function continueFrame({ start, rest }: HeldFrame, frames: Frames): Frames {
  const [first = '', ...others] = isPieces(frames) ? frames : [frames]
  const head = typeof first === 'string' ? first : Buffer.from(first.subarray(0, start.length)).toString('latin1')
  if (!head.startsWith(start)) return [rest, first, ...others]
  return [typeof first === 'string' ? first.slice(start.length) : first.subarray(start.length), ...others]
}

function isPieces(frames: Frames): frames is readonly Piece[] {
  return typeof frames !== 'string' && !(frames instanceof Uint8Array)
}

function joinPieces(frames: Frames): Piece {
  return isPieces(frames) ? Buffer.concat(frames.map(piece => Buffer.from(piece as Uint8Array))) : frames
}

/**
 * The frames of one response on their way to the client. Large ones go out in pieces, and what
 * follows them waits.
 */
class FrameOutput {
  readonly #response: ServerResponse
  readonly #stallTimeoutMs: number | undefined
  /** What has not been written yet, while a large frame goes out in pieces. */
  #waiting: Piece[] = []
  /** Settled when no data waits to be written any more; undefined while none does. */
  #writing: Promise<void> | undefined
  #isEnded = false

  constructor(response: ServerResponse, stallTimeoutMs: number | undefined) {
    this.#response = response
    this.#stallTimeoutMs = stallTimeoutMs
  }

  get isBusy(): boolean {
    return this.#writing !== undefined
  }

  get isEnded(): boolean {
    return this.#isEnded || this.#response.writableEnded
  }

  /** False: wait for `whenDrained` before the next frames. */
  write(frames: Frames): boolean {
    if (this.#takesLong(frames)) {
      for (const piece of isPieces(frames) ? frames : [frames]) if (piece.length > 0) this.#waiting.push(piece)
      this.#writing ??= this.#writeWaiting()
      return false
    }
    return isPieces(frames) ? writePieces(this.#response, frames) : this.#response.write(toBytesIfLong(frames))
  }

  end(frames: Frames): void {
    this.#isEnded = true
    if (!isPieces(frames) && !this.#takesLong(frames)) {
      this.#response.end(toBytesIfLong(frames))
      return
    }
    this.write(frames)
    if (this.#writing === undefined) this.#response.end()
  }

  whenWritten(): Promise<void> {
    return this.#writing ?? Promise.resolve()
  }

  whenDrained(): Promise<void> {
    if (this.#writing !== undefined) return this.#writing.then(() => this.whenDrained())
    return whenDrained(this.#response, this.#stallTimeoutMs)
  }

  /**
   * A pipelined response has no connection yet: it waits for those before it, however long they
   * take.
   */
  #takesLong(frames: Frames): boolean {
    if (this.#writing !== undefined) return true
    return countLength(frames) > PIECE_BYTES && this.#response.socket !== null
  }

  async #writeWaiting(): Promise<void> {
    // By index, because pieces may be added during the loop.
    for (let index = 0; index < this.#waiting.length && !this.#response.destroyed; index++) {
      const piece = this.#waiting[index] as Piece
      const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece
      await writeInPieces(this.#response, bytes, this.#stallTimeoutMs)
    }
    this.#waiting = []
    this.#writing = undefined
    if (this.#isEnded && !this.#response.destroyed) this.#response.end()
  }
}

function countLength(frames: Frames): number {
  if (!isPieces(frames)) return frames.length
  let length = 0
  for (const piece of frames) length += piece.length
  return length
}

/** The pieces go out together. */
function writePieces(response: ServerResponse, pieces: readonly Piece[]): boolean {
  response.cork()
  for (const piece of pieces) if (piece.length > 0) response.write(piece)
  response.uncork()
  return !isFull(response)
}

/**
 * For a string the system call reserves three bytes per character; most of them stay unused, which
 * counts for a long one.
 */
function toBytesIfLong(piece: string | Uint8Array): string | Uint8Array {
  return typeof piece === 'string' && piece.length > LONG_CHARACTERS ? Buffer.from(piece) : piece
}

const LONG_CHARACTERS = 262_144

function startKeepAlive(
  { keepAliveText, keepAliveIntervalMs = KEEP_ALIVE_INTERVAL_MS }: EventStreamOptions,
  keepAlive: () => void
): NodeJS.Timeout | undefined {
  if (keepAliveText === undefined || keepAliveText === null) return undefined
  const timer = setTimeout(() => {
    keepAlive()
    timer.refresh()
  }, keepAliveIntervalMs)
  return timer
}

function createClosedWriter(): EventStreamWriter {
  return {
    isClosed: true,
    write: () => true,
    keepAlive: () => undefined,
    whenDrained: () => Promise.resolve(),
    end: () => undefined,
    cut: () => undefined
  }
}
