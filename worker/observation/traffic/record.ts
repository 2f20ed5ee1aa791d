// Makes the traffic record of a request that ended (operations contract, section 8.1).
import { randomUUIDv7 } from 'node:crypto'
import { type TrafficMetadata, type TrafficRecord, writeRecordTime } from '../../../shared/traffic/record.ts'
import type { CallDescription, ClosedFacts, RequestView } from '../observer.ts'
import { describeMetadata } from '../request-metadata.ts'

/** What was seen of a request besides its view and its end. */
export interface SeenFacts {
  readonly apiKeyHash: string | undefined
  /** Read while the connection was open. */
  readonly clientIpHash: string | undefined
  readonly description: CallDescription | undefined
  /** Of the last exchange with the provider. */
  readonly upstreamStatus: string | undefined
  /** Of all exchanges together. */
  readonly upstreamMs: number | undefined
}

type WithUndefined<T> = { [Name in keyof T]: T[Name] | undefined }

/** The record without content. */
export function createRecord(request: RequestView, closed: ClosedFacts, seen: SeenFacts): TrafficRecord {
  const { facts } = closed
  const { description } = seen
  const { traceContext } = request
  const record: WithUndefined<TrafficRecord> = {
    id: randomUUIDv7(),
    created_at: writeRecordTime(performance.timeOrigin + request.startedAtMs),
    request_id: request.requestId,
    trace_id: request.traceId,
    span_id: request.spanId,
    protocol: request.protocol,
    route: request.route,
    method: request.method,
    status_code: closed.status,
    model_requested: description?.requestedModel ?? facts.model,
    model_effective: facts.upstreamModel,
    provider: facts.providerKind,
    upstream_status_code: readStatus(seen.upstreamStatus),
    latency_ms: roundMs(closed.durationMs),
    upstream_latency_ms: seen.upstreamMs === undefined ? undefined : roundMs(seen.upstreamMs),
    input_tokens: facts.inputTokens,
    output_tokens: facts.outputTokens,
    total_tokens: sumTokens(facts.inputTokens, facts.outputTokens),
    error_type: closed.errorType,
    api_key_hash: seen.apiKeyHash,
    client_ip_hash: seen.clientIpHash,
    metadata: {
      ...(describeMetadata(request, closed, description) as TrafficMetadata),
      annotations: { caller: { ...request.caller } },
      ...(traceContext && { otel_trace_id: traceContext.traceId, otel_span_id: traceContext.spanId })
    }
  }
  // JSON leaves out what is undefined.
  return record as TrafficRecord
}

/** Microseconds are what the clock has. */
function roundMs(ms: number): number {
  return Math.round(ms * 1000) / 1000
}

/** The status of a response; undefined for the words of calls that got none. */
function readStatus(status: string | undefined): number | undefined {
  const code = Number(status)
  return Number.isInteger(code) ? code : undefined
}

function sumTokens(input: number | undefined, output: number | undefined): number | undefined {
  return input === undefined && output === undefined ? undefined : (input ?? 0) + (output ?? 0)
}
