// Writes the events or bytes of an executor to the client: a whole response when it is complete, a stream event by event.

import type { FastifyReply } from 'fastify'
import { type EventStreamWriter, type KeepAliveText, startEventStream } from '../http/event-stream.ts'
import type { RequestContext } from '../http/request-context.ts'
import { sendJson, sendWhole } from '../http/respond.ts'
import type { ResponseKeeper } from '../memory/chat-turn.ts'
import {
  accumulateEvents,
  type ClientProtocol,
  countCharacters,
  type GatewayError,
  type NormalizedEvent,
  type NormalizedResponse
} from '../normalized/index.ts'
import type { ChatClientFace, ResponseContext, StreamFrames, StreamWriter } from '../protocols/client-face.ts'
import type { ResponseSink } from '../providers/types.ts'
import type { Translator } from '../translation/translator.ts'
import type { EarlyHead } from './early-head.ts'
import { observeEvents } from './observe-events.ts'

/** More items are written in another turn of the event loop than they were read in: a thousand calls cost 5 ms or more in each of them. */
const MANY_ITEMS = 100

/** A sink with the two functions that end it; the route that created the sink calls them. */
export interface ClientSink extends ResponseSink {
  /** Ends the response. Rejects with the error of a response that cannot be written. */
  finish(): Promise<void>
  /** Ends a started response with an error in the client's form. False when nothing has been sent yet: the caller raises the error. */
  fail(error: GatewayError): boolean | Promise<boolean>
}

export interface SinkOptions {
  reply: FastifyReply
  protocol: ClientProtocol
  face: ChatClientFace
  responseContext: ResponseContext
  /** Stores the response before its end goes to the client; absent where nothing is stored. */
  keeper?: ResponseKeeper | undefined
}

export interface StreamOptions {
  /** Sent while the stream is silent, so that no proxy closes it; null sends nothing. */
  keepAliveText: KeepAliveText | null
  contentType: string | undefined
  /** Sends the head before the first event; absent where it goes with that. */
  early?: EarlyHead<StreamSink> | undefined
}

/** The sink of a response that is sent as one body. */
export class WholeResponseSink implements ClientSink {
  readonly #options: SinkOptions
  readonly #translator: Translator
  #response: NormalizedResponse | undefined
  /** The provider's own response. */
  #bytes: Uint8Array | undefined

  constructor(options: SinkOptions, translator: Translator) {
    this.#options = options
    this.#translator = translator
  }

  push(events: readonly NormalizedEvent[], bytes?: Uint8Array): boolean {
    const { context } = this.#options.reply.request
    context.events(events)
    this.#options.keeper?.noteEvents(events)
    if (bytes === undefined) {
      this.#response = accumulateEvents(events)
      return true
    }
    this.#bytes = bytes
    const usage = events.find(event => event.type === 'usage')?.usage
    if (usage !== undefined) context.usage(usage)
    return true
  }

  whenDrained(): Promise<void> {
    return Promise.resolve()
  }

  async finish(): Promise<void> {
    const { reply, keeper } = this.#options
    if (this.#bytes !== undefined) {
      const { face, responseContext } = this.#options
      const passed = face.passResponse?.(this.#bytes, responseContext) ?? this.#bytes
      const body = keeper === undefined ? passed : await keeper.keepBody(passed)
      sendWhole(reply, { status: 200, contentType: 'application/json', body })
    } else if (this.#response !== undefined) {
      const { items, usage } = this.#response
      if (usage !== null) reply.request.context.usage(usage)
      const characters = this.#measure(this.#response)
      // Sealing is no work for a thread, which has no random bytes of its own.
      const isLarge =
        this.#translator.isLarge(characters) && this.#options.responseContext.request.compacts === undefined
      if (items.length > MANY_ITEMS && !isLarge) await this.#translator.ownTurn()
      const body = isLarge ? await this.#writeInThread(this.#response, characters) : this.#write(this.#response)
      sendJson(reply, 200, {}, keeper === undefined ? body : await keeper.keepBody(body))
    }
  }

  fail(): boolean {
    return false
  }

  /** About how many characters the written response has: its own texts, and what it repeats of a large request. */
  #measure(response: NormalizedResponse): number {
    return countCharacters(response) + (this.#options.responseContext.request.echo?.text?.length ?? 0)
  }

  #write(response: NormalizedResponse): string {
    const { face, responseContext } = this.#options
    return JSON.stringify(face.writeResponse(response, responseContext))
  }

  async #writeInThread(response: NormalizedResponse, characters: number): Promise<string | Uint8Array> {
    const { reply, protocol, responseContext } = this.#options
    const { now, seal: _seal, ...context } = responseContext
    const job = { protocol, response, context, completedAt: now?.() ?? context.createdAt }
    return (await this.#translator.writeChatResponse(job, characters, reply.request.context.signal)).body
  }
}

/** The sink of a streamed response. Its head is sent with the first event: until then a failure is still an HTTP status. */
export class StreamSink implements ClientSink {
  readonly #reply: FastifyReply
  readonly #context: RequestContext
  readonly #writer: StreamWriter
  readonly #options: StreamOptions
  readonly #keeper: ResponseKeeper | undefined
  #stream: EventStreamWriter | undefined
  /** The last frames of a response that is stored before they are sent. */
  #end: { frames: StreamFrames | Uint8Array; isFailed: boolean } | undefined

  constructor({ reply, face, responseContext, keeper }: SinkOptions, options: StreamOptions) {
    this.#reply = reply
    this.#context = reply.request.context
    this.#writer = face.createStreamWriter(responseContext)
    this.#options = options
    this.#keeper = keeper
  }

  push(events: readonly NormalizedEvent[], frames?: Uint8Array): boolean {
    this.#stream ??= this.#options.early?.take() ?? startEventStream(this.#reply, this.#options)
    this.#keeper?.noteEvents(events)
    const hasRoom = frames === undefined ? this.#write(this.#stream, events) : this.#pass(this.#stream, events, frames)
    this.#context.events(events)
    observeEvents(this.#context, events)
    // A failed stream has no end (decisions.md 108).
    if (this.#end === undefined && events.at(-1)?.type === 'error') this.#stream.cut(this.#writer.brokenEnd)
    return hasRoom
  }

  #write(stream: EventStreamWriter, events: readonly NormalizedEvent[]): boolean {
    const end = this.#keeper === undefined ? -1 : events.findIndex(isTerminal)
    if (end < 0) return stream.write(this.#writer.write(events))
    const hasRoom = end === 0 || stream.write(this.#writer.write(events.slice(0, end)))
    this.#end ??= { frames: this.#writer.write(events.slice(end)), isFailed: events[end]?.type === 'error' }
    return hasRoom
  }

  /** Writes frames of the provider. An error behind them is written in the client's form. */
  #pass(stream: EventStreamWriter, events: readonly NormalizedEvent[], frames: Uint8Array): boolean {
    const last = events.at(-1)
    const failure = last?.type === 'error' ? last : undefined
    const read = failure === undefined ? events : events.slice(0, -1)
    const passed = this.#writer.pass?.(frames, read) ?? frames
    const hasRoom = stream.write(this.#keeper === undefined ? passed : this.#hold(this.#keeper, read, passed))
    return failure === undefined ? hasRoom : this.#write(stream, [failure])
  }

  /** The frames that are sent now: those of the end wait until the response is stored. */
  #hold(keeper: ResponseKeeper, events: readonly NormalizedEvent[], passed: string | Uint8Array): Uint8Array {
    const frames = typeof passed === 'string' ? Buffer.from(passed) : passed
    const { sent, held } = keeper.takeFrames(frames, events.some(isTerminal))
    if (held !== undefined) this.#end ??= { frames: held, isFailed: false }
    return sent
  }

  /** The head was sent and no event follows: the end, or a failure, goes behind it. */
  takeHead(): void {
    this.#stream ??= this.#options.early?.sent
  }

  whenDrained(): Promise<void> {
    return this.#stream?.whenDrained() ?? Promise.resolve()
  }

  async finish(): Promise<void> {
    this.takeHead()
    if (this.#stream === undefined) return
    if (this.#end !== undefined) return this.#finishKept(this.#stream, this.#end)
    // The drain deadline ended the upstream call: a client that is still connected gets the reason as a stream error.
    if (this.#context.isAborted) throw this.#context.signal.reason
    this.#stream.end()
  }

  /** Sends the end once the response is stored. */
  async #finishKept(
    stream: EventStreamWriter,
    { frames, isFailed }: { frames: StreamFrames | Uint8Array; isFailed: boolean }
  ): Promise<void> {
    stream.write((await this.#keeper?.keepEnd(frames)) ?? frames)
    if (isFailed) stream.cut(this.#writer.brokenEnd)
    else stream.end()
  }

  async fail(error: GatewayError): Promise<boolean> {
    if (this.#stream === undefined) return false
    try {
      const keeper = this.#keeper
      const isLeft = this.#context.isAborted
      // Without its end: the client left, or the drain cut the stream.
      if (keeper !== undefined && isLeft) keeper.keepPartial(this.#writer.writePartial?.())
      const events: NormalizedEvent[] = [{ type: 'error', error }]
      const text = this.#writer.write(events)
      this.#context.events(events)
      const { brokenEnd } = this.#writer
      const isComplete = text.length === 0 && brokenEnd === undefined
      if (isComplete) this.#stream.end()
      else {
        this.#stream.write(keeper === undefined || isLeft ? text : await keeper.keepEnd(text))
        this.#stream.cut(brokenEnd)
      }
    } catch {
      this.#context.lifetime.cut(error)
    }
    return true
  }
}

function isTerminal({ type }: NormalizedEvent): boolean {
  return type === 'finish' || type === 'error'
}
