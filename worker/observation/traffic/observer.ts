// Hands the record of every request that ended to the outbox (operations.md 8).
import type { Outbox } from '../../traffic/outbox.ts'
import type { RequestObserver, RequestView } from '../observer.ts'
import type { ContentCapture, RequestContent } from './content.ts'
import type { RecordWriter, SeenFacts } from './record.ts'

/** What is collected between the start and the end of a request. */
type Collected = { -readonly [Name in keyof SeenFacts]: SeenFacts[Name] } & { content: RequestContent | undefined }

function collectedOf(request: RequestView): Collected | undefined {
  return request.trafficState as Collected | undefined
}

export interface TrafficObserverDependencies {
  readonly outbox: Pick<Outbox, 'add'>
  readonly writer: RecordWriter
  /** Undefined while content is not captured. */
  readonly capture: ContentCapture | undefined
  /** Returns a number from 0 to 1. */
  readonly random: () => number
}

export interface TrafficObserverOptions {
  /** Share of the successful requests that is recorded; failed ones always are. */
  readonly sampleRate: number
  /** Whether the request is not recorded. */
  readonly isExcluded: (request: Pick<RequestView, 'route' | 'path'>) => boolean
}

/** Creates the observer. Without content capture it has none of the moments with content, so that nothing is done for them. */
export function createTrafficObserver(
  { outbox, writer, capture, random }: TrafficObserverDependencies,
  { sampleRate, isExcluded }: TrafficObserverOptions
): RequestObserver {
  const observer: RequestObserver = {
    name: 'traffic-log',
    opened(request) {
      if (isExcluded(request)) return
      const collected: Collected = {
        clientIpHash: request.clientIpHash,
        upstreamMs: undefined,
        firstTokenMs: undefined,
        metadata: undefined,
        content: undefined
      }
      // On the request itself: a map of running requests would move them to the old generation (ADR 2026-11-22-young-requests).
      request.trafficState = collected
    },
    upstreamCall(request, { durationMs, attempt }) {
      const collected = collectedOf(request)
      if (collected === undefined) return
      collected.upstreamAttempts = Math.max(collected.upstreamAttempts ?? 0, attempt + 1)
      collected.upstreamMs = (collected.upstreamMs ?? 0) + durationMs
    },
    firstToken(request, afterMs) {
      const collected = collectedOf(request)
      if (collected !== undefined) collected.firstTokenMs = afterMs
    },
    closed(request, closed) {
      const collected = collectedOf(request)
      if (collected === undefined) return
      request.trafficState = undefined
      const isFailed = closed.status >= 400 || closed.errorType !== undefined
      if (!isFailed && sampleRate < 1 && random() >= sampleRate) return
      const { content } = collected
      if (content === undefined || capture === undefined) {
        outbox.add(writer.write(request, closed, collected))
        return
      }
      capture.finish(content, { request, closed }, ({ members, metadata }) => {
        outbox.add(writer.write(request, closed, { ...collected, metadata }, members))
      })
    }
  }
  if (capture === undefined) return observer

  const contentOf = (request: RequestView) => collectedOf(request)?.content
  return {
    ...observer,
    follows: request => request.trafficState !== undefined,
    headReceived(request, headers) {
      const collected = collectedOf(request)
      if (collected !== undefined) collected.content = capture.begin(request, headers)
    },
    bodyReceived: (request, body) => contentOf(request)?.takeRequestBody(body),
    bodySent: (request, body) => contentOf(request)?.takeResponseBody(body),
    events: (request, events) => contentOf(request)?.takeEvents(events, performance.now() - request.startedAtMs),
    close: withinMs => capture.close(withinMs)
  }
}
