// Delivers the events of one streamed response to the client's side, in order of arrival and no faster than the client reads. It ends the
// text at a stop string and completes incomplete event sequences.

import type { GatewayError, NormalizedEvent, StopSequenceFilter } from '../../normalized/index.ts'
import type { CallContext, ResponseSink } from '../types.ts'
import { raceAbort } from './abort.ts'
import type { ExchangeControl } from './exchange-receiver.ts'
import type { EventCompleter } from './hooks.ts'
import { responseTurns } from './response-turns.ts'

/**
 * How long an exchange goes on after the response is over for the client: after a stop string for the usage that may still come, and
 * after the last event for the end of the body, which makes the connection usable again.
 */
const STREAM_TAIL_MS = 2_000
const TAIL_BYTES_MAX = 64 * 1024

/** Queued events up to here go out at once, more of them in turns of the event loop of their own: 500 events of calls cost 2 to 5 ms. */
const FEW_EVENTS = 32
const EVENTS_PER_TURN = 500

export interface EventDeliveryOptions {
  sink: ResponseSink
  context: CallContext
  filter: StopSequenceFilter | undefined
  completer: EventCompleter | undefined
  /** The provider's frames go to the client in place of the events. Such a stream has no filter and no completer. */
  isSameWire?: boolean
  /** Whether so much was received that the last event, which may repeat all of it, needs a turn of the event loop of its own. */
  isLong?: (() => boolean) | undefined
  /** The exchange with the provider: it is paused while the client takes nothing, and cancelled when the rest is not needed. */
  control: ExchangeControl
  /** Settled when the response is over for the client. */
  done: PromiseWithResolvers<void>
}

/** What the client has seen: nothing, events, or all that it will ever see. A state only gives way to a later one. */
type Seen = 'nothing' | 'events' | 'end'

/** A wait for room in the sink or for the next completed events. It resolves with the events that go out next. */
type Wait = Promise<readonly NormalizedEvent[]>

export class EventDelivery {
  readonly #options: EventDeliveryOptions
  #seen: Seen = 'nothing'
  /** Set while something is waited for. */
  #hold: Promise<void> | undefined
  /** Events of one read that are being completed. */
  #completing: AsyncIterator<readonly NormalizedEvent[]> | undefined
  /** Events that arrived during the hold. The exchange is paused then, so they are those of a few reads. */
  readonly #queue: NormalizedEvent[] = []
  /** The queue has waited for its turn of the event loop. */
  #hasTurn = false
  /** Frames that have not been sent, for the same reason, or because there was no event yet. */
  #frames: Uint8Array[] = []
  #tailTimer: NodeJS.Timeout | undefined
  #tailBytes = 0

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

  /** Delivers the events of one read, and its frames where the client speaks the provider's wire. */
  add(events: readonly NormalizedEvent[], frames?: Uint8Array): void {
    if (frames !== undefined && frames.length > 0) this.#frames.push(frames)
    if (this.#hold !== undefined) {
      for (const event of events) this.#queue.push(event)
      return
    }
    const wait = this.#deliver(events)
    if (wait !== undefined) this.#hold = this.#holdFor(wait)
  }

  /** Ends the response with an `error` event, unless an event that was added before ends it. */
  async finish(error: GatewayError): Promise<void> {
    await this.#hold
    this.add([{ type: 'error', error }])
  }

  /** Ends the response without another event: the code that aborted it reports the reason. */
  abort(thrown: unknown): void {
    if (this.#seen === 'events') this.#options.done.resolve()
    else this.#options.done.reject(thrown)
    this.#seen = 'end'
  }

  /** Ends the response with an error that is not an event: an error of the provider before the first event, or an internal error. */
  fail(thrown: unknown): void {
    this.#seen = 'end'
    this.#options.control.cancel()
    this.#options.done.reject(thrown)
  }

  /** Takes bytes behind the end of the response. Only the end of the body is waited for, and no more than a few frames of it. */
  takeTail(bytes: number): void {
    this.#tailBytes += bytes
    if (this.#tailBytes > TAIL_BYTES_MAX) this.#options.control.cancel()
  }

  /** The exchange has ended, so it can no longer be cancelled. */
  close(): void {
    clearTimeout(this.#tailTimer)
  }

  #deliver(events: readonly NormalizedEvent[]): Wait | undefined {
    if (this.#seen === 'end') return undefined
    const { filter, completer, context, isLong } = this.#options
    const passed = filter === undefined ? events : filter.push(events)
    if (filter?.match !== undefined && this.#tailTimer === undefined) this.#startTail()
    if (completer?.isNeeded(passed, context) !== true) {
      const hasLongEnd = this.#seen === 'events' && endsResponse(passed) && isLong?.() === true
      return hasLongEnd ? this.#pushWithLongEnd(passed) : this.#push(passed)
    }
    this.#completing = completer.complete(passed, context)[Symbol.asyncIterator]()
    return this.#nextCompleted(this.#completing)
  }

  async #pushWithLongEnd(events: readonly NormalizedEvent[]): Wait {
    await this.#push(events.slice(0, -1))
    await responseTurns.wait()
    return events.slice(-1)
  }

  async #nextCompleted(completing: AsyncIterator<readonly NormalizedEvent[]>): Wait {
    const { done, value } = await completing.next()
    if (done !== true) return value
    this.#completing = undefined
    return []
  }

  /** Goes on with the events that are being completed, then with those that arrived during the hold. */
  #deliverNext(): Wait | undefined {
    if (this.#seen === 'end') return undefined
    return this.#completing === undefined ? this.#deliverQueued() : this.#nextCompleted(this.#completing)
  }

  /** A long queue alternates: a wait for a turn, then a part of it. */
  #deliverQueued(): Wait | undefined {
    this.#hasTurn = !this.#hasTurn && this.#queue.length > FEW_EVENTS
    if (this.#hasTurn) return responseTurns.wait().then(() => [])
    return (
      this.#deliver(this.#queue.splice(0, EVENTS_PER_TURN)) ??
      (this.#queue.length > 0 ? this.#deliverQueued() : undefined)
    )
  }

  #push(events: readonly NormalizedEvent[]): Wait | undefined {
    if (this.#seen === 'end') return undefined
    // Frames without an event do not begin a response: a failure may follow them.
    if (events.length === 0 && (this.#frames.length === 0 || this.#seen === 'nothing')) return undefined
    const failure = this.#seen === 'nothing' ? findBareFailure(events) : undefined
    if (failure !== undefined) {
      this.fail(failure)
      return undefined
    }
    this.#seen = 'events'
    const { sink, done, isSameWire } = this.#options
    const hasRoom = isSameWire === true ? sink.push(events, this.#takeFrames()) : sink.push(events)
    if (!endsResponse(events)) return hasRoom ? undefined : sink.whenDrained().then(() => [])
    this.#seen = 'end'
    done.resolve()
    // Nothing of a failed response is wanted: a provider that floods the gateway is not read to its end.
    if (events.at(-1)?.type === 'error') this.#options.control.cancel()
    else this.#startTail()
    return undefined
  }

  #takeFrames(): Uint8Array {
    const frames = this.#frames
    const [first] = frames
    if (first === undefined) return NO_FRAMES
    this.#frames = []
    return frames.length === 1 ? first : Buffer.concat(frames)
  }

  /** Pauses the exchange until `wait` is over, and every further wait for the events that it brought or that arrived meanwhile. */
  async #holdFor(wait: Wait): Promise<void> {
    const { control } = this.#options
    const { signal } = this.#options.context
    control.pause()
    try {
      let next: Wait | undefined = wait
      while (next !== undefined) {
        next = this.#push(await raceAbort(next, signal)) ?? this.#deliverNext()
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

const NO_FRAMES = Buffer.alloc(0)

/** A `finish` or an `error` is the last event of its response. */
function endsResponse(events: readonly NormalizedEvent[]): boolean {
  const last = events.at(-1)?.type
  return last === 'finish' || last === 'error'
}

/** The error of a response that holds nothing else that a client could use. */
export function findBareFailure(events: readonly NormalizedEvent[]): GatewayError | undefined {
  const isBare = events.every(event => event.type === 'error' || event.type === 'start')
  return isBare ? events.find(event => event.type === 'error')?.error : undefined
}
