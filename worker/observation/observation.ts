// Passes the moments of a request to every observer. An error of an observer is logged and does not affect the request.
import type { IncomingHttpHeaders } from 'node:http'
import type { Logger } from '../../shared/logging.ts'
import type { FindPrice } from '../../shared/profile/price-finder.ts'
import type { NormalizedEvent, NormalizedUsage } from '../normalized/index.ts'
import type { CalledProfile, UpstreamCallReport } from '../providers/types.ts'
import { combineDescriptionOptions, NO_CONTENT } from '../translation/call-description.ts'
import type {
  AnomalyDetails,
  AuthenticationFailure,
  CallDescription,
  ClosedFacts,
  DescriptionOptions,
  PlannedFacts,
  RequestObserver,
  RequestView
} from './observer.ts'

/** All observers of a worker as one. No method throws. */
export interface Observation extends Required<Omit<RequestObserver, 'name' | 'close' | 'descriptionOptions'>> {
  /** What the observers together want of a description; undefined when none has `described`. */
  readonly descriptionOptions: DescriptionOptions | undefined
  /** Whether an observer has `events`. */
  readonly wantsEvents: boolean
  /** Whether an observer takes headers and bodies. */
  readonly wantsContent: boolean
  /** Undefined where no model has a price. */
  readonly findPrice: FindPrice | undefined
}

/** Undefined without observers: the requests then emit nothing, at the cost of one comparison per moment. */
export function createObservation(
  observers: readonly RequestObserver[],
  log: Logger,
  findPrice?: FindPrice
): Observation | undefined {
  return observers.length === 0 ? undefined : new ObserverList(observers, log, findPrice)
}

class ObserverList implements Observation {
  readonly #observers: readonly RequestObserver[]
  readonly #log: Logger
  readonly descriptionOptions: DescriptionOptions | undefined
  readonly wantsEvents: boolean
  readonly wantsContent: boolean
  readonly findPrice: FindPrice | undefined

  constructor(observers: readonly RequestObserver[], log: Logger, findPrice: FindPrice | undefined) {
    this.findPrice = findPrice
    this.#observers = observers
    this.#log = log
    const describing = observers.filter(observer => observer.described !== undefined)
    this.descriptionOptions =
      describing.length === 0
        ? undefined
        : combineDescriptionOptions(describing.map(({ descriptionOptions }) => descriptionOptions ?? NO_CONTENT))
    this.wantsEvents = observers.some(observer => observer.events !== undefined)
    this.wantsContent = observers.some(takesContent)
  }

  follows(request: RequestView): boolean {
    let isFollowed = false
    this.#notify(request, observer => {
      if (observer.described === undefined && observer.events === undefined) return
      if (observer.follows?.(request) !== false) isFollowed = true
    })
    return isFollowed
  }

  opened(request: RequestView): void {
    this.#notify(request, observer => observer.opened?.(request))
  }

  headReceived(request: RequestView, headers: IncomingHttpHeaders): void {
    this.#notify(request, observer => observer.headReceived?.(request, headers))
  }

  bodyReceived(request: RequestView, body: Uint8Array): void {
    this.#notify(request, observer => observer.bodyReceived?.(request, body))
  }

  bodySent(request: RequestView, body: string | Uint8Array): void {
    this.#notify(request, observer => observer.bodySent?.(request, body))
  }

  authenticationFailed(request: RequestView, reason: AuthenticationFailure): void {
    this.#notify(request, observer => observer.authenticationFailed?.(request, reason))
  }

  described(request: RequestView, description: CallDescription): void {
    this.#notify(request, observer => observer.described?.(request, description))
  }

  planned(request: RequestView, facts: PlannedFacts): void {
    this.#notify(request, observer => observer.planned?.(request, facts))
  }

  upstreamCall(request: RequestView, report: UpstreamCallReport): void {
    this.#notify(request, observer => observer.upstreamCall?.(request, report))
  }

  upstreamFailed(request: RequestView, errorType: string, profile: CalledProfile | undefined): void {
    this.#notify(request, observer => observer.upstreamFailed?.(request, errorType, profile))
  }

  firstByte(request: RequestView, afterMs: number): void {
    this.#notify(request, observer => observer.firstByte?.(request, afterMs))
  }

  firstToken(request: RequestView, afterMs: number): void {
    this.#notify(request, observer => observer.firstToken?.(request, afterMs))
  }

  events(request: RequestView, events: readonly NormalizedEvent[]): void {
    this.#notify(request, observer => observer.events?.(request, events))
  }

  usage(request: RequestView, usage: NormalizedUsage): void {
    this.#notify(request, observer => observer.usage?.(request, usage))
  }

  anomaly(request: RequestView, name: string, details: AnomalyDetails | undefined): void {
    this.#notify(request, observer => observer.anomaly?.(request, name, details))
  }

  closed(request: RequestView, facts: ClosedFacts): void {
    this.#notify(request, observer => observer.closed?.(request, facts))
  }

  #notify(request: RequestView, call: (observer: RequestObserver) => void): void {
    for (const observer of this.#observers) {
      try {
        call(observer)
      } catch (thrown) {
        const fields = { event: 'observer_failed', observer: observer.name, ...request.logIds, err: thrown }
        this.#log.warn(fields, 'An observer of requests failed')
      }
    }
  }
}

function takesContent({ headReceived, bodyReceived, bodySent }: RequestObserver): boolean {
  return headReceived !== undefined || bodyReceived !== undefined || bodySent !== undefined
}
