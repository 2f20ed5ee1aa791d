// The sink of a response that runs in the background: what is generated goes into its store, in the form of its stream (memory.md 4).

import type { RequestContext } from '../http/request-context.ts'
import type { BackgroundResponse, BackgroundTurn } from '../memory/background-response.ts'
import { isClientCancellation } from '../memory/cancellation.ts'
import type { GatewayError, NormalizedEvent } from '../normalized/index.ts'
import type { StreamWriter } from '../protocols/client-face.ts'
import { observeEvents } from './observe-events.ts'
import type { ClientSink } from './response-sink.ts'

export interface BackgroundSinkOptions {
  readonly context: RequestContext
  readonly response: BackgroundResponse
  readonly writer: StreamWriter
  readonly turn: Pick<BackgroundTurn, 'noteEvents'>
}

export class BackgroundSink implements ClientSink {
  readonly #context: RequestContext
  readonly #response: BackgroundResponse
  readonly #writer: StreamWriter
  readonly #turn: Pick<BackgroundTurn, 'noteEvents'>
  #isPassed = false

  constructor({ context, response, writer, turn }: BackgroundSinkOptions) {
    this.#context = context
    this.#response = response
    this.#writer = writer
    this.#turn = turn
  }

  push(events: readonly NormalizedEvent[], frames?: Uint8Array): boolean {
    this.#turn.noteEvents(events)
    if (frames === undefined) this.#response.add(this.#writer.write(events))
    else this.#pass(events, frames)
    this.#context.events(events)
    observeEvents(this.#context, events)
    return this.#response.hasRoom
  }

  /** Takes frames of the provider. An error behind them is written in the client's form. */
  #pass(events: readonly NormalizedEvent[], frames: Uint8Array): void {
    this.#isPassed = true
    const last = events.at(-1)
    const failure = last?.type === 'error' ? last : undefined
    const read = failure === undefined ? events : events.slice(0, -1)
    this.#response.add(this.#writer.pass?.(frames, read) ?? frames)
    if (failure !== undefined) this.#response.add(this.#writer.write([failure]))
  }

  async whenDrained(): Promise<void> {
    while (!this.#response.hasRoom && !this.#context.isAborted) await this.#response.whenStored()
  }

  async finish(): Promise<void> {
    if (this.#context.isAborted) throw this.#context.signal.reason
  }

  /** The run itself writes the error: it may come before the provider was called. */
  fail(): boolean {
    return false
  }

  /** Ends the stream with an error, or as far as it came where the client has cancelled it; does nothing behind its end. */
  conclude(error: GatewayError): void {
    const end: NormalizedEvent = isClientCancellation(error)
      ? { type: 'finish', reason: 'cancelled', providerReason: null, metadata: {} }
      : { type: 'error', error: nameEnd(error) }
    const frames = this.#writer.write([end])
    // The writer knows nothing of items that a provider wrote: it would begin one of its own.
    if (this.#isPassed) this.#response.addLast(frames)
    else this.#response.add(frames)
    this.#context.events([end])
    if (end.type === 'error') this.#context.failed(error)
  }
}

/** Its client reads this later, perhaps from another host: the text for requests that a stopping gateway refuses would say nothing. */
function nameEnd(error: GatewayError): GatewayError {
  if (error.code !== 'gateway_not_ready') return error
  return error.with({ message: 'The gateway was stopped before the response had ended.' })
}
