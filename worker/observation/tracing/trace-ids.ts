// The OpenTelemetry ids of a request (operations.md 11.6;
// ops/adr/2026-11-23-trace-ids-and-sampling.md). They are made of the request id, so that each
// leads to the others, and so that no random bytes are drawn for a request.
import type { IdGenerator } from '@opentelemetry/sdk-trace'
import type { RemoteParent } from '../observer.ts'

export interface RequestIds {
  readonly traceId: string
  /** Of the span of the request itself, kind SERVER. */
  readonly serverSpanId: string
  /** Of the span of its call to the provider, kind CLIENT. */
  readonly clientSpanId: string
}

/** Takes a UUID of version 4: its version and variant keep either half from being all zeros, which would be no valid span id. */
export function makeRequestIds(requestId: string, parent: RemoteParent | undefined): RequestIds {
  const first = requestId.slice(0, 8) + requestId.slice(9, 13) + requestId.slice(14, 18)
  const last = requestId.slice(19, 23) + requestId.slice(24)
  return { traceId: parent?.traceId ?? first + last, serverSpanId: last, clientSpanId: first }
}

/** A W3C `traceparent` of version 00. */
export function writeTraceparent(ids: { traceId: string; spanId: string; isSampled: boolean }): string {
  return `00-${ids.traceId}-${ids.spanId}-${ids.isSampled ? '01' : '00'}`
}

/** Gives the next span the ids that were decided when its request began. */
export class DecidedIds implements IdGenerator {
  traceId = ''
  spanId = ''

  generateTraceId(): string {
    return this.traceId
  }

  generateSpanId(): string {
    return this.spanId
  }
}
