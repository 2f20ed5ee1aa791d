// Hands the record of every request that ended to the outbox (operations contract, section 8).
import type { UpstreamCallReport } from '../../providers/types.ts'
import type { Outbox } from '../../traffic/outbox.ts'
import type { CallDescription, RequestObserver, RequestView } from '../observer.ts'
import { createRecord } from './record.ts'

/** What is collected between the start and the end of a request. */
interface Collected {
  apiKeyHash: string | undefined
  clientIpHash: string | undefined
  description: CallDescription | undefined
  upstreamStatus: string | undefined
  upstreamMs: number | undefined
}

export interface TrafficObserverOptions {
  /** Share of the successful requests that is recorded; failed ones always are. */
  readonly sampleRate: number
  /** Templates that are not recorded. */
  readonly excludedRoutes: ReadonlySet<string>
}

/** Creates the observer; `random` returns a number from 0 to 1. */
export function createTrafficObserver(
  { outbox, random }: { outbox: Pick<Outbox, 'add'>; random: () => number },
  { sampleRate, excludedRoutes }: TrafficObserverOptions
): RequestObserver {
  const running = new WeakMap<RequestView, Collected>()

  function noteCall(request: RequestView, { status, durationMs }: UpstreamCallReport): void {
    const collected = running.get(request)
    if (collected === undefined) return
    collected.upstreamStatus = status
    collected.upstreamMs = (collected.upstreamMs ?? 0) + durationMs
  }

  return {
    name: 'traffic-log',
    opened(request) {
      if (excludedRoutes.has(request.route)) return
      running.set(request, {
        apiKeyHash: request.apiKeyHash,
        clientIpHash: request.clientIpHash,
        description: undefined,
        upstreamStatus: undefined,
        upstreamMs: undefined
      })
    },
    upstreamCall: noteCall,
    closed(request, closed) {
      const collected = running.get(request)
      if (collected === undefined) return
      const isFailed = closed.status >= 400 || closed.errorType !== undefined
      if (!isFailed && sampleRate < 1 && random() >= sampleRate) return
      outbox.add(JSON.stringify(createRecord(request, closed, collected)))
    }
  }
}
