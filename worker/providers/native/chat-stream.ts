// A streamed chat: the upstream's bytes become events and reach the client's side in the order they came, one push per read,
// no faster than the client takes them. Until the first push a failure is an ordinary error; afterwards it is an event.

import {
  createStopSequenceFilter,
  GatewayError,
  isJsonObject,
  type NormalizedEvent,
  type StopSequenceFilter,
  toGatewayError
} from '../../normalized/index.ts'
import type { AnswerReader } from '../../protocols/face.ts'
import { findPayloadError } from '../../protocols/native/errors.ts'
import type { TranslatedChat } from '../../translation/types.ts'
import { raceAbort } from '../transport/abort.ts'
import { type AnswerCollector, createAnswerCollector, readHeader } from '../transport/answer.ts'
import { CallFailure, protocolFailure } from '../transport/call-failure.ts'
import type { ExchangeControl, ExchangeHead, ExchangeReceiver } from '../transport/exchange.ts'
import type { CallContext, EventSink } from '../types.ts'
import { requireSuccess } from './answer-head.ts'
import { type ChatDependencies, openReader, prepareCall, stopSequences } from './chat.ts'
import { logFailure } from './client.ts'
import { createImageFetcher, type ImageFetcher } from './generated-images.ts'

/**
 * How long an exchange goes on after the answer is over for the client: after a stop string for the usage that may still come, and
 * after the last event for the end that lets the connection be used again.
 */
export const STREAM_TAIL_MS = 2_000

/** A JSON body instead of a stream is read this far for the error that it may hold. */
const UNEXPECTED_BODY_BYTES_MAX = 64 * 1024

/**
 * Streams a chat into `sink`. Rejects with `GatewayError` while nothing was pushed, also when the request is aborted. Afterwards a
 * failure is pushed as an `error` event, and an abort ends the stream without one: who aborted knows why.
 */
export async function streamChat(
  dependencies: ChatDependencies,
  call: TranslatedChat,
  context: CallContext,
  sink: EventSink
): Promise<void> {
  const upstreamCall = await prepareCall(dependencies, call, context)
  const streamingCall = {
    ...upstreamCall,
    headers: [...(upstreamCall.headers ?? []), 'accept', 'text/event-stream', 'cache-control', 'no-store']
  }
  let hasDelivered = false
  const tracked: EventSink = {
    push(events) {
      hasDelivered = true
      return sink.push(events)
    },
    whenDrained: () => sink.whenDrained()
  }
  await dependencies.client.run(
    context,
    async send => {
      const session = new StreamSession(dependencies, call, context, tracked)
      const exchange = send(streamingCall, session, dependencies.client.transport.timeouts.stream)
      await session.follow(exchange)
    },
    () => !hasDelivered
  )
}

/** One try of a streamed chat. */
class StreamSession implements ExchangeReceiver {
  readonly #dependencies: ChatDependencies
  readonly #call: TranslatedChat
  readonly #context: CallContext
  readonly #sink: EventSink
  readonly #filter: StopSequenceFilter | undefined
  readonly #images: ImageFetcher | undefined
  readonly #done = Promise.withResolvers<void>()
  #control: ExchangeControl | undefined
  #reader: AnswerReader | undefined
  /** Takes what is not a stream of events. */
  #collector: AnswerCollector | undefined
  /** Bytes that nobody has read yet. */
  #chunks: Buffer[] = []
  #queue: NormalizedEvent[] = []
  #isFlushScheduled = false
  /** Something in front of the sink is awaited: its room, or an image. */
  #isBusy = false
  #hasPushed = false
  /** A terminal event was read, delivered or not. */
  #hasEnd = false
  /** The client has the terminal event, or nobody wants it any more. */
  #isOver = false
  #isExchangeOver = false
  #tailTimer: NodeJS.Timeout | undefined

  constructor(dependencies: ChatDependencies, call: TranslatedChat, context: CallContext, sink: EventSink) {
    this.#dependencies = dependencies
    this.#call = call
    this.#context = context
    this.#sink = sink
    const stops = stopSequences(call)
    this.#filter = stops === undefined ? undefined : createStopSequenceFilter(stops)
    const { files, log } = dependencies
    this.#images = createImageFetcher(call, context, { download: files.download, log })
  }

  /** Resolves when the answer is over for the client, even if the exchange still runs out. */
  async follow(exchange: Promise<'ended' | 'cancelled'>): Promise<void> {
    const settled = exchange.then(
      () => this.#onEnd(),
      (thrown: unknown) => this.#onFailure(thrown)
    )
    // Once the answer is over, the rest of the exchange concerns nobody.
    settled.catch(() => undefined).finally(() => clearTimeout(this.#tailTimer))
    this.#done.promise.catch(() => undefined)
    await Promise.race([this.#done.promise, settled.then(() => this.#done.promise)])
  }

  onHead(head: ExchangeHead, control: ExchangeControl): void {
    this.#control = control
    const contentType = readHeader(head.headers, 'content-type') ?? ''
    const isEventStream = /^text\/event-stream\s*(;|$)/i.test(contentType)
    if (head.status === 200 && isEventStream) {
      const encoding = readHeader(head.headers, 'content-encoding')
      // None was announced as acceptable: unpacking would hold events back.
      if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
        throw protocolFailure('unsupported_content_encoding', { isRetryable: true })
      }
      this.#reader = openReader(this.#dependencies, this.#call, this.#context, head.headers)
      return
    }
    if (head.status === 200 && !/^application\/json\s*(;|$)/i.test(contentType)) {
      throw protocolFailure('unexpected_content_type', { isRetryable: true })
    }
    this.#collector = createAnswerCollector(UNEXPECTED_BODY_BYTES_MAX)
    this.#collector.onHead(head, control)
  }

  onData(chunk: Buffer): void {
    if (this.#reader === undefined) {
      this.#collector?.onData(chunk)
      return
    }
    if (this.#isOver) return
    this.#chunks.push(chunk)
    this.#scheduleFlush()
  }

  async #onEnd(): Promise<void> {
    this.#isExchangeOver = true
    if (this.#reader === undefined) return this.#refuse()
    if (this.#isOver) return
    this.#read()
    this.#flush()
    if (this.#hasEnd) return
    const events = this.#reader.end()
    if (!this.#hasPushed && !this.#isBusy && isBareFailure(events)) {
      // A stream without any content is a broken body, and nobody has seen any of it.
      throw new CallFailure(findError(events), { outcome: 'protocol_error' })
    }
    this.#add(events)
    // Without a terminal event the client would wait for ever.
    if (!this.#hasEnd) this.#add([{ type: 'error', error: new GatewayError('provider_protocol_error') }])
  }

  /** The response was no stream: raises what it says. */
  async #refuse(): Promise<never> {
    const collected = await (this.#collector ?? createAnswerCollector()).take()
    const error = findBodyError(requireSuccess(collected).bytes.toString('utf8'))
    throw error === undefined
      ? protocolFailure('unexpected_content_type', { isRetryable: true })
      : new CallFailure(error, { status: error.status })
  }

  #onFailure(thrown: unknown): void {
    this.#isExchangeOver = true
    if (this.#isOver) return
    if (this.#context.signal.aborted) {
      this.#endAborted(thrown)
      return
    }
    this.#read()
    this.#flush()
    if (!this.#hasPushed && !this.#isBusy) throw thrown
    if (thrown instanceof CallFailure) logFailure(this.#dependencies.log, thrown, this.#context, 'chat')
    const error = thrown instanceof CallFailure ? thrown.error : toGatewayError(thrown)
    this.#add([{ type: 'error', error }])
  }

  #endAborted(thrown: unknown): void {
    this.#isOver = true
    this.#chunks = []
    this.#queue = []
    if (this.#hasPushed) this.#done.resolve()
    else this.#done.reject(thrown)
  }

  #add(events: readonly NormalizedEvent[]): void {
    if (events.length === 0) return
    this.#queue.push(...events)
    this.#hasEnd ||= events.some(isTerminal)
    this.#scheduleFlush()
  }

  /**
   * All pieces of one read arrive in one turn of the event loop: a microtask later they are decoded and parsed as one, and written
   * as one. Upstreams send each event as a piece of its own, and decoding costs more per call than per event.
   */
  #scheduleFlush(): void {
    if (this.#isBusy || this.#isFlushScheduled) return
    this.#isFlushScheduled = true
    queueMicrotask(this.#runFlush)
  }

  readonly #runFlush = (): void => {
    this.#isFlushScheduled = false
    this.#flush()
  }

  /** Reads the bytes that have come; also while the sink is busy, when they must be known to the end. */
  #read(): void {
    const chunks = this.#chunks
    const [first] = chunks
    if (first === undefined || this.#reader === undefined) return
    this.#chunks = []
    const events = this.#reader.push(chunks.length === 1 ? first : Buffer.concat(chunks))
    this.#queue = this.#queue.length === 0 ? events : [...this.#queue, ...events]
    this.#hasEnd ||= events.some(isTerminal)
  }

  #flush(): void {
    if (this.#isBusy || this.#isOver) return
    try {
      this.#read()
      const queue = this.#queue
      if (queue.length === 0) return
      this.#queue = []
      const events = this.#applyStops(queue)
      if (events.length === 0) return
      if (this.#images?.isNeeded(events) === true) this.#hold(this.#images.complete(events))
      else this.#deliver(events)
    } catch (thrown) {
      this.#break(thrown)
    }
  }

  #applyStops(events: NormalizedEvent[]): NormalizedEvent[] {
    const filter = this.#filter
    if (filter === undefined) return events
    const passed = filter.push(events)
    if (filter.match === undefined) return passed
    // The client has its whole answer: the filter makes a finish of whatever ends the upstream's.
    this.#tailTimer ??= setTimeout(() => {
      this.#add([{ type: 'error', error: new GatewayError('provider_timeout') }])
      this.#control?.cancel()
    }, STREAM_TAIL_MS)
    return passed
  }

  #deliver(events: NormalizedEvent[]): void {
    if (!this.#hasPushed && isBareFailure(events)) {
      this.#isOver = true
      this.#control?.cancel()
      this.#done.reject(findError(events))
      return
    }
    this.#hasPushed = true
    const hasRoom = this.#sink.push(events)
    if (events.some(isTerminal)) {
      this.#isOver = true
      this.#done.resolve()
      clearTimeout(this.#tailTimer)
      if (!this.#isExchangeOver) this.#tailTimer = setTimeout(() => this.#control?.cancel(), STREAM_TAIL_MS)
      return
    }
    if (!hasRoom) this.#hold(this.#sink.whenDrained().then(() => []))
  }

  /** Reads no more from the upstream until `wait` is over, then delivers what it brought. */
  #hold(wait: Promise<NormalizedEvent[]>): void {
    this.#isBusy = true
    this.#control?.pause()
    raceAbort(wait, this.#context.signal)
      .then(events => {
        this.#isBusy = false
        if (events.length > 0) this.#deliver(events)
        if (this.#isBusy) return
        this.#flush()
        if (!this.#isBusy) this.#control?.resume()
      })
      .catch((thrown: unknown) => {
        this.#isBusy = false
        if (this.#context.signal.aborted) this.#endAborted(thrown)
        else this.#break(thrown)
      })
  }

  /** A fault of ours between the reader and the sink. */
  #break(thrown: unknown): void {
    this.#isOver = true
    this.#control?.cancel()
    this.#done.reject(toGatewayError(thrown))
  }
}

function isTerminal(event: NormalizedEvent): boolean {
  return event.type === 'finish' || event.type === 'error'
}

/** An error with nothing in front of it that a client could use. */
function isBareFailure(events: readonly NormalizedEvent[]): boolean {
  return (
    events.some(event => event.type === 'error') &&
    events.every(event => event.type === 'error' || event.type === 'start')
  )
}

function findError(events: readonly NormalizedEvent[]): GatewayError {
  for (const event of events) if (event.type === 'error') return event.error
  return new GatewayError('provider_protocol_error')
}

/** The upstream's error inside a JSON body, where a front server answers 200 around it (field lesson A16). */
function findBodyError(text: string): GatewayError | undefined {
  try {
    const body: unknown = JSON.parse(text)
    return isJsonObject(body) ? findPayloadError(body) : undefined
  } catch {
    return undefined
  }
}
