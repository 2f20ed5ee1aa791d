// Brings the events of one streamed answer to the client's side, in the order they came and no faster than they are taken. An
// answer with stop strings is cut on the way, and images get their bytes.

import type { GatewayError, NormalizedEvent, StopSequenceFilter } from '../../normalized/index.ts'
import type { ImageFetcher } from '../native/generated-images.ts'
import type { CallContext, EventSink } from '../types.ts'
import { raceAbort } from './abort.ts'
import { bodyFailure } from './call-failure.ts'
import type { ExchangeControl } from './exchange.ts'

/**
 * How long an exchange goes on after the answer is over for the client: after a stop string for the usage that may still come, and
 * after the last event for the end that lets the connection be used again.
 */
const STREAM_TAIL_MS = 2_000

export interface EventDeliveryOptions {
  sink: EventSink
  signal: CallContext['signal']
  filter: StopSequenceFilter | undefined
  images: ImageFetcher | undefined
  /** The upstream's exchange: it is held back while the client is, and cancelled when nobody wants the rest. */
  control: ExchangeControl
  /** Called with the error of an `error` event that goes to the sink. */
  onErrorEvent: (error: GatewayError) => void
  /** Settled when the answer is over for the client. */
  done: PromiseWithResolvers<void>
}

/** What the client has seen: nothing, events, or all that it will ever see. A state only gives way to a later one. */
type Seen = 'nothing' | 'events' | 'end'

/** A wait for the sink's room or for images. It brings the events that go out next. */
type Wait = Promise<readonly NormalizedEvent[]>

export class EventDelivery {
  readonly #options: EventDeliveryOptions
  #seen: Seen = 'nothing'
  /** There is one while something is waited for. */
  #hold: Promise<void> | undefined
  /** What came during the hold. */
  readonly #queue: NormalizedEvent[] = []
  #tailTimer: NodeJS.Timeout | undefined

  constructor(options: EventDeliveryOptions) {
    this.#options = options
  }

  /** The client has seen nothing, and nothing is on its way: a failure can still be an ordinary error. */
  get isUnseen(): boolean {
    return this.#seen === 'nothing' && this.#hold === undefined
  }

  /** Nothing more reaches the client. */
  get isOver(): boolean {
    return this.#seen === 'end'
  }

  /** Delivers the events of one read. */
  add(events: readonly NormalizedEvent[]): void {
    if (this.#hold !== undefined) {
      this.#queue.push(...events)
      return
    }
    const wait = this.#deliver(events)
    if (wait !== undefined) this.#hold = this.#holdFor(wait)
  }

  /** Ends the answer with an `error` event, unless what was added before ends it. */
  async finish(error: GatewayError): Promise<void> {
    await this.#hold
    this.add([{ type: 'error', error }])
  }

  /** Ends the answer without another event: who aborted knows why. */
  abort(thrown: unknown): void {
    if (this.#seen === 'events') this.#options.done.resolve()
    else this.#options.done.reject(thrown)
    this.#seen = 'end'
  }

  /** Ends the answer with an error that is no event: the upstream's before anything else, or a fault of ours on the way. */
  fail(thrown: unknown): void {
    this.#seen = 'end'
    this.#options.control.cancel()
    this.#options.done.reject(thrown)
  }

  /** The exchange is over: there is nothing left to cancel. */
  close(): void {
    clearTimeout(this.#tailTimer)
  }

  #deliver(events: readonly NormalizedEvent[]): Wait | undefined {
    if (this.#seen === 'end') return undefined
    const { filter, images } = this.#options
    const passed = filter === undefined ? events : filter.push(events)
    if (filter?.match !== undefined && this.#tailTimer === undefined) this.#startTail()
    return images?.isNeeded(passed) === true ? images.complete(passed) : this.#push(passed)
  }

  #push(events: readonly NormalizedEvent[]): Wait | undefined {
    if (this.#seen === 'end' || events.length === 0) return undefined
    const failure = this.#seen === 'nothing' ? findBareFailure(events) : undefined
    if (failure !== undefined) {
      this.fail(bodyFailure(failure))
      return undefined
    }
    this.#seen = 'events'
    const { sink, done, onErrorEvent } = this.#options
    const hasRoom = sink.push(events)
    const isEnd = events.some(event => event.type === 'finish' || event.type === 'error')
    if (!isEnd) return hasRoom ? undefined : sink.whenDrained().then(() => [])
    this.#seen = 'end'
    const last = events.find(event => event.type === 'error')
    if (last !== undefined) onErrorEvent(last.error)
    done.resolve()
    this.#startTail()
    return undefined
  }

  /** Reads no more from the upstream until `wait` is over, and every wait that what it brought and what came meanwhile lead to. */
  async #holdFor(wait: Wait): Promise<void> {
    const { control, signal } = this.#options
    control.pause()
    try {
      let next: Wait | undefined = wait
      while (next !== undefined) {
        next = this.#push(await raceAbort(next, signal)) ?? this.#deliver(this.#queue.splice(0))
      }
    } catch (thrown) {
      if (signal.aborted) this.abort(thrown)
      else this.fail(thrown)
    }
    this.#hold = undefined
    control.resume()
  }

  #startTail(): void {
    clearTimeout(this.#tailTimer)
    this.#tailTimer = setTimeout(() => this.#options.control.cancel(), STREAM_TAIL_MS)
  }
}

/** The error of an answer that holds nothing else that a client could use. */
export function findBareFailure(events: readonly NormalizedEvent[]): GatewayError | undefined {
  const isBare = events.every(event => event.type === 'error' || event.type === 'start')
  return isBare ? events.find(event => event.type === 'error')?.error : undefined
}
