// Writes the events or bytes of an executor to the client: a whole response when it is complete, a stream event by event.

import type { FastifyReply } from 'fastify'
import { type EventStreamWriter, startEventStream } from '../http/event-stream.ts'
import type { RequestContext } from '../http/request-context.ts'
import { sendJson, sendWhole } from '../http/respond.ts'
import {
  accumulateEvents,
  type ClientProtocol,
  countCharacters,
  type GatewayError,
  type NormalizedEvent,
  type NormalizedResponse
} from '../normalized/index.ts'
import type { ChatClientFace, ResponseContext, StreamWriter } from '../protocols/face.ts'
import type { ResponseSink } from '../providers/types.ts'
import type { Translator } from '../translation/translator.ts'

/** More items are written in another turn of the event loop than they were read in: a thousand calls cost 5 ms or more in each of them. */
const MANY_ITEMS = 100

/** A sink with the two functions that end it; the route that created the sink calls them. */
export interface ClientSink extends ResponseSink {
  /** Ends the response. Rejects with the error of a response that cannot be written. */
  finish(): Promise<void>
  /** Ends a started response with an error in the client's form. False when nothing has been sent yet: the caller raises the error. */
  fail(error: GatewayError): boolean
}

export interface SinkOptions {
  reply: FastifyReply
  protocol: ClientProtocol
  face: ChatClientFace
  responseContext: ResponseContext
}

export interface StreamOptions {
  /** Sent while the stream is silent, so that no proxy closes it; null sends nothing. */
  keepAliveText: string | null
  contentType: string | undefined
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
    const { reply } = this.#options
    if (this.#bytes !== undefined) {
      sendWhole(reply, { status: 200, contentType: 'application/json', body: this.#bytes })
    } else if (this.#response !== undefined) {
      const { items, usage } = this.#response
      if (usage !== null) reply.request.context.usage(usage)
      const characters = this.#measure(this.#response)
      const isLarge = this.#translator.isLarge(characters)
      if (items.length > MANY_ITEMS && !isLarge) await this.#translator.ownTurn()
      const body = isLarge ? await this.#writeInThread(this.#response, characters) : this.#write(this.#response)
      sendJson(reply, 200, {}, body)
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
    const { now, ...context } = responseContext
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
  #stream: EventStreamWriter | undefined

  constructor({ reply, face, responseContext }: SinkOptions, options: StreamOptions) {
    this.#reply = reply
    this.#context = reply.request.context
    this.#writer = face.createStreamWriter(responseContext)
    this.#options = options
  }

  push(events: readonly NormalizedEvent[], frames?: Uint8Array): boolean {
    this.#stream ??= startEventStream(this.#reply, this.#options)
    const hasRoom =
      frames === undefined ? this.#stream.write(this.#writer.write(events)) : this.#pass(this.#stream, events, frames)
    this.#context.events(events)
    for (const event of events) this.#observe(event)
    // A failed stream has no end (decisions.md 108).
    if (events.at(-1)?.type === 'error') this.#stream.cut(this.#writer.brokenEnd)
    return hasRoom
  }

  /** Writes frames of the provider. An error behind them is written in the client's form. */
  #pass(stream: EventStreamWriter, events: readonly NormalizedEvent[], frames: Uint8Array): boolean {
    const last = events.at(-1)
    const failure = last?.type === 'error' ? last : undefined
    const read = failure === undefined ? events : events.slice(0, -1)
    const hasRoom = stream.write(this.#writer.pass?.(frames, read) ?? frames)
    return failure === undefined ? hasRoom : stream.write(this.#writer.write([failure]))
  }

  whenDrained(): Promise<void> {
    return this.#stream?.whenDrained() ?? Promise.resolve()
  }

  async finish(): Promise<void> {
    // The drain deadline ended the upstream call: a client that is still connected gets the reason as a stream error.
    if (this.#stream !== undefined && this.#context.isAborted) throw this.#context.signal.reason
    this.#stream?.end()
  }

  fail(error: GatewayError): boolean {
    if (this.#stream === undefined) return false
    try {
      const events: NormalizedEvent[] = [{ type: 'error', error }]
      const text = this.#writer.write(events)
      this.#context.events(events)
      const { brokenEnd } = this.#writer
      const isComplete = text.length === 0 && brokenEnd === undefined
      if (isComplete) this.#stream.end()
      else {
        this.#stream.write(text)
        this.#stream.cut(brokenEnd)
      }
    } catch {
      this.#context.cut(error)
    }
    return true
  }

  #observe(event: NormalizedEvent): void {
    switch (event.type) {
      case 'text-delta':
      case 'reasoning-delta':
      case 'refusal-delta':
      case 'tool-call-start':
        this.#context.firstToken()
        break
      case 'usage':
        this.#context.usage(event.usage)
        break
      case 'error':
        this.#context.failed(event.error)
        break
    }
  }
}
