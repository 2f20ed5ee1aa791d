// A streamed chat: the provider's bytes are read as events and pushed to the client's side in order of arrival, one push per read, no
// faster than the client reads. Until the first push a failure is an ordinary error; afterwards it is an event.

import { dropByteOrderMark } from '../../../shared/bytes.ts'
import { readContentEncoding } from '../../../shared/net/content-encoding.ts'
import { GatewayError, isJsonObject, type NormalizedEvent, toGatewayError } from '../../normalized/index.ts'
import type { ResponseHead, ResponseReader } from '../../protocols/provider-face.ts'
import { readHeader } from '../../protocols/shared/errors/response-header.ts'
import { EditingReader } from '../../protocols/shared/stream/editing-reader.ts'
import type { CallContext, ChatCall, ResponseSink } from '../types.ts'
import { CallFailure, contentFailure, protocolFailure } from './call-failure.ts'
import {
  type ChatDependencies,
  defaultBounds,
  describeChatCall,
  findChatFace,
  openChatReader,
  openEditor,
  openStopFilter,
  uploadAttachments
} from './chat-call.ts'
import { EventDelivery, findBareFailure } from './event-delivery.ts'
import type { ExchangeControl, ExchangeReceiver } from './exchange-receiver.ts'
import { type ProviderCall, reviseCall } from './provider-call.ts'
import { requireSuccess } from './response-head.ts'
import { responseMemory } from './response-memory.ts'
import { ResponseCollector } from './whole-response.ts'

/**
 * A long read of the connection is worked off in slices when the first of them turns out to be expensive: 64 KB of tool calls take twenty
 * times as long as 64 KB of text. What is left after the longest time has another turn of the event loop.
 */
const LONG_READ_BYTES = 16 * 1024
const SLICE_BYTES = 8 * 1024
const CHEAP_SLICE_MS = 0.25
const READING_MS_MAX = 5

/** The last event of a longer stream has a turn of the event loop of its own: writers may repeat in it what came before. */
const LONG_STREAM_BYTES = 64 * 1024

/** A JSON body instead of a stream is read this far for the error that it may hold. */
const UNEXPECTED_BODY_BYTES_MAX = 64 * 1024

/**
 * Streams a chat into `sink`. Rejects with `GatewayError` while nothing was pushed, also when the request is aborted. Afterwards a
 * failure is pushed as an `error` event, and an abort ends the stream without one: its sender knows the reason.
 */
export async function streamChat(
  dependencies: ChatDependencies,
  call: ChatCall,
  context: CallContext,
  sink: ResponseSink
): Promise<void> {
  const { client } = dependencies
  const body = call.attachments.length === 0 ? call.body : await uploadAttachments(dependencies, call, context)
  let described = describeChatCall(dependencies, call, body, context)
  // A wire may have its own words for a stream.
  const headers = call.headers.includes('accept') ? call.headers : [...call.headers, ...STREAM_HEADERS]
  const attempts = client.attempts(context, 'chat')
  for (;;) {
    const session = new StreamSession(
      dependencies,
      call,
      context,
      described.isRevised ? confirmFirst(sink, described) : sink
    )
    try {
      const attempt = attempts.tryBegin() ?? (await attempts.begin())
      const exchange = { call: described, headers, receiver: session, timeouts: client.timeouts.stream }
      await session.follow(client.send(exchange, attempt, context))
      attempts.end(session.failure)
      client.accept(described.isRevised ? { ...described, fallback: undefined } : described)
      return
    } catch (thrown) {
      attempts.end(session.failure ?? thrown)
      const revised = session.isUnseen ? reviseCall(described, thrown) : undefined
      if (revised === undefined) await attempts.recover(thrown, { canRetry: session.isUnseen })
      else described = revised
    }
  }
}

/** Confirms a repeated call as soon as its stream begins: the head of the response then tells the client of it. */
function confirmFirst(sink: ResponseSink, { fallback }: ProviderCall): ResponseSink {
  let isConfirmed = false
  const confirm = (): void => {
    if (!isConfirmed) fallback?.confirm()
    isConfirmed = true
  }
  return {
    push(events, frames) {
      confirm()
      return frames === undefined ? sink.push(events) : sink.push(events, frames)
    },
    whenDrained: () => sink.whenDrained()
  }
}

const STREAM_HEADERS: readonly string[] = ['accept', 'text/event-stream', 'cache-control', 'no-store']

const EVENT_STREAM = /^text\/event-stream\s*(;|$)/i

type StreamReader = ResponseReader | EditingReader

interface OpenStream {
  reader: StreamReader
  delivery: EventDelivery
}

/** What one read of a stream brought. */
interface Read {
  events: readonly NormalizedEvent[]
  /** Of a stream for a client of the provider's own wire. */
  frames?: Uint8Array
}

/** One attempt of a streamed chat: the provider's bytes become events, and so does the way in which they end. */
class StreamSession implements ExchangeReceiver {
  readonly #dependencies: ChatDependencies
  readonly #call: ChatCall
  readonly #context: CallContext
  readonly #sink: ResponseSink
  readonly #done = Promise.withResolvers<void>()
  /** Set once the response has shown that it is a stream of events. */
  #stream: OpenStream | undefined
  /** Takes what is not a stream of events. */
  #collector: ResponseCollector | undefined
  readonly #bytesMax: number
  #receivedBytes = 0
  /** Since the last event: what the reader holds of an event that has not ended. */
  #openEventBytes = 0
  readonly #share = responseMemory.open()
  #failure: CallFailure | undefined

  constructor(dependencies: ChatDependencies, call: ChatCall, context: CallContext, sink: ResponseSink) {
    this.#dependencies = dependencies
    this.#call = call
    this.#context = context
    this.#sink = sink
    this.#bytesMax = (dependencies.bounds ?? defaultBounds).streamBytesMax
  }

  /** What ended the response for the client in place of its end; undefined where that is what was thrown, or nothing failed. */
  get failure(): CallFailure | undefined {
    return this.#failure
  }

  /** The client has seen nothing of this attempt. */
  get isUnseen(): boolean {
    return this.#stream === undefined || this.#stream.delivery.isUnseen
  }

  /** Resolves when the response is over for the client, even if the exchange still runs out. */
  follow(exchange: Promise<'ended' | 'cancelled'>): Promise<void> {
    exchange
      .then(
        outcome => this.#onEnd(outcome),
        (thrown: unknown) => this.#onFailure(thrown)
      )
      .catch(this.#done.reject)
      .finally(() => this.#stream?.delivery.close())
    return this.#done.promise
  }

  onHead(head: ResponseHead, control: ExchangeControl): void {
    const contentType = readHeader(head.headers, 'content-type') ?? ''
    if (head.status === 200 && this.#isStream(head, contentType)) {
      // The request announces none: decompression would hold events back.
      if (readContentEncoding(readHeader(head.headers, 'content-encoding')) !== 'identity') {
        throw protocolFailure('unsupported_content_encoding', { isRetryable: true })
      }
      this.#stream = this.#openStream(head, control)
      return
    }
    if (head.status === 200 && !/^application\/json\s*(;|$)/i.test(contentType)) {
      throw protocolFailure('unexpected_content_type', { isRetryable: true })
    }
    this.#collector = new ResponseCollector(UNEXPECTED_BODY_BYTES_MAX)
    this.#collector.onHead(head, control)
  }

  #isStream(head: ResponseHead, contentType: string): boolean {
    const face = findChatFace(this.#dependencies, this.#call)
    return face.acceptsStream === undefined ? EVENT_STREAM.test(contentType) : face.acceptsStream(head)
  }

  onData(pieces: readonly Buffer[]): Buffer | undefined {
    if (this.#stream === undefined) return this.#collector?.onData(pieces)
    const { delivery } = this.#stream
    if (delivery.isOver) {
      for (const piece of pieces) delivery.takeTail(piece.length)
      return undefined
    }
    // Providers send each event as a piece of its own, and decoding costs more per call than per event.
    const [first] = pieces
    const bytes = first !== undefined && pieces.length === 1 ? first : Buffer.concat(pieces)
    this.#receivedBytes += bytes.length
    if (this.#receivedBytes > this.#bytesMax) throw protocolFailure('response_too_large')
    this.#openEventBytes += bytes.length
    this.#share.hold(this.#openEventBytes)
    try {
      const left = this.#read(this.#stream, bytes)
      this.#receivedBytes -= left?.length ?? 0
      return left
    } catch (thrown) {
      delivery.fail(thrown)
      return undefined
    }
  }

  onBrokenBody(): boolean {
    return this.#collector?.onBrokenBody() === true
  }

  onClosed(): void {
    this.#share.hold(0)
    this.#collector?.onClosed()
  }

  /** Reads and delivers; returns what is left for another turn. */
  #read({ reader, delivery }: OpenStream, bytes: Buffer): Buffer | undefined {
    if (bytes.length <= LONG_READ_BYTES) {
      this.#deliver(delivery, pushTo(reader, bytes))
      return undefined
    }
    const startedMs = performance.now()
    const first = pushTo(reader, bytes.subarray(0, SLICE_BYTES))
    if (performance.now() - startedMs <= CHEAP_SLICE_MS) {
      this.#deliver(delivery, joinReads(first, pushTo(reader, bytes.subarray(SLICE_BYTES))))
      return undefined
    }
    this.#deliver(delivery, first)
    for (let start = SLICE_BYTES; start < bytes.length && !delivery.isOver; start += SLICE_BYTES) {
      if (performance.now() - startedMs > READING_MS_MAX) return bytes.subarray(start)
      this.#deliver(delivery, pushTo(reader, bytes.subarray(start, start + SLICE_BYTES)))
    }
    return undefined
  }

  /** Delivers what was read. An error event in the stream is the last of the events. */
  #deliver(delivery: EventDelivery, { events, frames }: Read): void {
    if (events.length > 0 || (frames !== undefined && frames.length > 0)) this.#openEventBytes = 0
    const last = events.at(-1)
    if (last?.type === 'error' && !delivery.isOver) this.#log(contentFailure(last.error))
    delivery.add(events, frames)
  }

  #openStream(head: ResponseHead, control: ExchangeControl): OpenStream {
    const editor = openEditor(this.#dependencies, this.#call)
    const delivery = new EventDelivery({
      sink: this.#sink,
      context: this.#context,
      filter: openStopFilter(this.#call.stops),
      completer: this.#dependencies.hooks.eventCompleter,
      isSameWire: editor !== undefined,
      isLong: () => editor === undefined && this.#receivedBytes >= LONG_STREAM_BYTES,
      control,
      done: this.#done
    })
    const reader = openChatReader(this.#dependencies, this.#call, this.#context, head)
    return { reader: editor === undefined ? reader : new EditingReader(reader, editor), delivery }
  }

  async #onEnd(outcome: 'ended' | 'cancelled'): Promise<void> {
    if (this.#stream === undefined) return this.#refuse()
    const { reader, delivery } = this.#stream
    if (delivery.isOver) return
    // A cancelled response was cut at a stop string: the error below becomes its finish.
    const read: Read = outcome === 'cancelled' ? NOTHING_READ : endReader(reader)
    const failure = delivery.isUnseen ? findBareFailure(read.events) : undefined
    // A stream without any content is a broken body, and the client has seen nothing of it.
    if (failure !== undefined) throw contentFailure(failure)
    this.#deliver(delivery, read)
    // Without a terminal event the client would wait forever.
    await delivery.finish(new GatewayError('provider_protocol_error'))
  }

  async #onFailure(thrown: unknown): Promise<void> {
    const delivery = this.#stream?.delivery
    if (delivery === undefined) throw thrown
    if (delivery.isOver) return
    if (this.#context.signal.aborted) return delivery.abort(thrown)
    if (delivery.isUnseen) throw thrown
    if (thrown instanceof CallFailure) this.#log(thrown)
    await delivery.finish(thrown instanceof CallFailure ? thrown.error : toGatewayError(thrown))
  }

  #log(failure: CallFailure): void {
    this.#failure ??= failure
    this.#dependencies.client.reportFailure(failure, this.#context, 'chat')
  }

  /** The response is not a stream: raises its error. */
  async #refuse(): Promise<never> {
    const face = findChatFace(this.#dependencies, this.#call)
    const collector = this.#collector ?? new ResponseCollector()
    const { bytes } = requireSuccess(
      collector.take() ?? (await collector.decompress()),
      this.#dependencies.client.readError
    )
    const body = parseJson(bytes)
    // Front servers send the provider's error with status 200 (field-lessons.md A16).
    const error = isJsonObject(body) ? face.findError(body) : undefined
    throw error === undefined
      ? protocolFailure('unexpected_content_type', { isRetryable: true })
      : new CallFailure(error, { status: error.status })
  }
}

const NOTHING_READ: Read = { events: [] }

function pushTo(reader: StreamReader, bytes: Buffer): Read {
  return reader instanceof EditingReader ? reader.push(bytes) : { events: reader.push(bytes) }
}

function joinReads(first: Read, second: Read): Read {
  const events = first.events.concat(second.events)
  if (first.frames === undefined || second.frames === undefined) return { events }
  return { events, frames: Buffer.concat([first.frames, second.frames]) }
}

function endReader(reader: StreamReader): Read {
  return reader instanceof EditingReader ? reader.end() : { events: reader.end() }
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(dropByteOrderMark(bytes).toString('utf8'))
  } catch {
    return undefined
  }
}
