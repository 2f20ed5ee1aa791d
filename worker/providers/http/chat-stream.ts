// A streamed chat: the upstream's bytes become events and reach the client's side in the order they came, one push per read,
// no faster than the client takes them. Until the first push a failure is an ordinary error; afterwards it is an event.

import { createStopSequenceFilter, GatewayError, isJsonObject, toGatewayError } from '../../normalized/index.ts'
import type { ResponseReader } from '../../protocols/face.ts'
import { findPayloadError } from '../../protocols/native/errors.ts'
import type { TranslatedChat } from '../../translation/types.ts'
import { createImageFetcher } from '../native/generated-images.ts'
import type { CallContext, EventSink } from '../types.ts'
import { bodyFailure, CallFailure, protocolFailure } from './call-failure.ts'
import { type ChatDependencies, openReader, prepareCall, stopSequences } from './chat.ts'
import { reportFailure } from './client.ts'
import { EventDelivery, findBareFailure } from './event-delivery.ts'
import type { ExchangeControl, ExchangeHead, ExchangeReceiver } from './exchange.ts'
import { requireSuccess } from './response-head.ts'
import { ResponseCollector, readHeader } from './whole-response.ts'

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
  let session: StreamSession | undefined
  await dependencies.client.run(
    context,
    async send => {
      session = new StreamSession(dependencies, call, context, sink)
      await session.follow(send(streamingCall, session, dependencies.client.transport.timeouts.stream))
    },
    () => session?.isUnseen !== false
  )
}

/** One try of a streamed chat: the upstream's bytes become events, and so does the way in which they end. */
class StreamSession implements ExchangeReceiver {
  readonly #dependencies: ChatDependencies
  readonly #call: TranslatedChat
  readonly #context: CallContext
  readonly #sink: EventSink
  readonly #done = Promise.withResolvers<void>()
  /** There is one once the response has shown that it is a stream of events. */
  #stream: { reader: ResponseReader; delivery: EventDelivery } | undefined
  /** Takes what is not a stream of events. */
  #collector: ResponseCollector | undefined
  /** The failure that ends the events, until its `error` event is delivered. */
  #failure: CallFailure | undefined
  /** The pieces of one read, until the microtask that decodes them. */
  #chunks: Buffer[] = []

  constructor(dependencies: ChatDependencies, call: TranslatedChat, context: CallContext, sink: EventSink) {
    this.#dependencies = dependencies
    this.#call = call
    this.#context = context
    this.#sink = sink
  }

  /** The client will not see anything of this try. */
  get isUnseen(): boolean {
    return this.#stream === undefined || this.#stream.delivery.isUnseen
  }

  /** Resolves when the answer is over for the client, even if the exchange still runs out. */
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

  onHead(head: ExchangeHead, control: ExchangeControl): void {
    const contentType = readHeader(head.headers, 'content-type') ?? ''
    const isEventStream = /^text\/event-stream\s*(;|$)/i.test(contentType)
    if (head.status === 200 && isEventStream) {
      const encoding = readHeader(head.headers, 'content-encoding')
      // None was announced as acceptable: unpacking would hold events back.
      if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
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

  onData(chunk: Buffer): void {
    if (this.#stream === undefined) {
      this.#collector?.onData(chunk)
      return
    }
    if (this.#stream.delivery.isOver) return
    this.#chunks.push(chunk)
    if (this.#chunks.length === 1) queueMicrotask(this.#read)
  }

  /**
   * All pieces of one read arrive in one turn of the event loop: a microtask later they are decoded and parsed as one, and written
   * as one. Upstreams send each event as a piece of its own, and decoding costs more per call than per event.
   */
  readonly #read = (): void => {
    const chunks = this.#chunks
    const [first] = chunks
    if (first === undefined || this.#stream === undefined) return
    this.#chunks = []
    const { reader, delivery } = this.#stream
    try {
      delivery.add(reader.push(chunks.length === 1 ? first : Buffer.concat(chunks)))
    } catch (thrown) {
      delivery.fail(thrown)
    }
  }

  #openStream(head: ExchangeHead, control: ExchangeControl): { reader: ResponseReader; delivery: EventDelivery } {
    const { files, log } = this.#dependencies
    const stops = stopSequences(this.#call)
    const delivery = new EventDelivery({
      sink: this.#sink,
      signal: this.#context.signal,
      filter: stops === undefined ? undefined : createStopSequenceFilter(stops),
      images: createImageFetcher(this.#call, this.#context, { download: files.download, log }),
      control,
      onErrorEvent: error => this.#onErrorEvent(error),
      done: this.#done
    })
    return { reader: openReader(this.#dependencies, this.#call, this.#context, head.headers), delivery }
  }

  async #onEnd(outcome: 'ended' | 'cancelled'): Promise<void> {
    if (this.#stream === undefined) return this.#refuse()
    const { reader, delivery } = this.#stream
    if (delivery.isOver) return
    // A cancelled answer was cut at a stop string: the error below becomes its finish.
    const events = outcome === 'ended' ? reader.end() : []
    const failure = delivery.isUnseen ? findBareFailure(events) : undefined
    // A stream without any content is a broken body, and nobody has seen any of it.
    if (failure !== undefined) throw new CallFailure(failure, { outcome: 'protocol_error' })
    delivery.add(events)
    // Without a terminal event the client would wait for ever.
    await delivery.finish(new GatewayError('provider_protocol_error'))
  }

  async #onFailure(thrown: unknown): Promise<void> {
    const delivery = this.#stream?.delivery
    if (delivery === undefined) throw thrown
    if (delivery.isOver) return
    if (this.#context.signal.aborted) return delivery.abort(thrown)
    if (delivery.isUnseen) throw thrown
    if (!(thrown instanceof CallFailure)) return delivery.finish(toGatewayError(thrown))
    this.#failure = thrown
    await delivery.finish(thrown.error)
  }

  /** Once the client has seen an event, the failure of the upstream is an event too. A fault of the gateway is not the upstream's. */
  #onErrorEvent(error: GatewayError): void {
    if (error.code === 'internal_error') return
    const failure = this.#failure?.error === error ? this.#failure : bodyFailure(error)
    reportFailure(this.#dependencies.log, failure, this.#context, 'chat')
  }

  /** The response was no stream: raises what it says. */
  async #refuse(): Promise<never> {
    const collected = await (this.#collector ?? new ResponseCollector()).take()
    const error = findBodyError(requireSuccess(collected).bytes.toString('utf8'))
    throw error === undefined
      ? protocolFailure('unexpected_content_type', { isRetryable: true })
      : new CallFailure(error, { status: error.status })
  }
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
