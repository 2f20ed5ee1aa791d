// The records that fill the stores in their benchmark, and the filters that are asked of them.
import { randomBytes, randomUUID } from 'node:crypto'
import { v7 as createRecordId } from 'uuid'
import type { OutgoingRecord } from '../../shared/traffic/batch.ts'
import type { TrafficFilter } from '../../shared/traffic/query.ts'
import { type TrafficRecord, writeRecordTime } from '../../shared/traffic/record.ts'

/** Time of the first record; each is a quarter of a second later than the one before. */
export const FIRST_MS = Date.UTC(2026, 0, 5)
const MODELS = ['GigaChat-2', 'GigaChat-2-Pro', 'GigaChat-2-Max', 'local/a']
/** Bodies are pieces of it; Postgres would store a repeated letter as a few bytes. */
const TEXT = randomBytes(384 * 1024).toString('base64')
const BODY_LENGTH = 4096

/** A record without content, with random ids as requests have them. */
export function makeRecord(index: number, content: Partial<TrafficRecord> = {}): TrafficRecord {
  const model = MODELS[index % MODELS.length] ?? ''
  const isFailed = index % 50 === 0
  return {
    id: createRecordId(),
    created_at: writeRecordTime(FIRST_MS + index * 250),
    request_id: randomUUID(),
    trace_id: randomUUID(),
    protocol: index % 3 === 0 ? 'anthropic' : 'openai',
    route: index % 3 === 0 ? '/v1/messages' : '/v1/chat/completions',
    method: 'POST',
    status_code: isFailed ? 502 : 200,
    model_requested: model,
    model_effective: model,
    provider: 'native',
    latency_ms: 20 + (index % 1000),
    input_tokens: 100,
    output_tokens: 50,
    total_tokens: 150,
    ...(isFailed && { error_type: 'http_502' }),
    api_key_hash: `hmac-sha256:${index % 20}`,
    metadata: {
      lifecycle: 'request_completed',
      path: '/v1/chat/completions',
      annotations: { caller: { name: index % 100 === 0 ? 'codex' : 'openai-python', client_family: 'openai' } }
    },
    ...content
  }
}

/** The record as a worker sends it. */
export function divideRecord(record: TrafficRecord): OutgoingRecord {
  const { protocol, route, method, status_code, model_requested, model_effective, provider } = record
  const { error_type, api_key_hash, metadata } = record
  return {
    createdAtMs: Date.parse(record.created_at),
    requestId: record.request_id,
    traceId: record.trace_id ?? record.request_id,
    latencyMs: record.latency_ms ?? 0,
    upstreamLatencyMs: undefined,
    inputTokens: record.input_tokens,
    outputTokens: record.output_tokens,
    costNanos: undefined,
    shared: [
      JSON.stringify({ protocol, route, method, status_code }),
      JSON.stringify({ model_requested, model_effective, provider }),
      JSON.stringify({ error_type, api_key_hash }),
      JSON.stringify({ metadata })
    ],
    others: undefined
  }
}

/** Two bodies of four kilobytes. */
export function makeContent(index: number): Partial<TrafficRecord> {
  const start = (index * 97) % (TEXT.length - 2 * BODY_LENGTH)
  return {
    request_body_redacted: { text: TEXT.slice(start, start + BODY_LENGTH) },
    response_body_redacted: { text: TEXT.slice(start + BODY_LENGTH, start + 2 * BODY_LENGTH) }
  }
}

/** Every filter of the admin API, with values that many records have and with values that few or none have. */
export function listFilters({ request_id, trace_id }: TrafficRecord, count: number): TrafficFilter[] {
  return [
    {},
    { from: writeRecordTime(FIRST_MS + count * 100), to: writeRecordTime(FIRST_MS + count * 200) },
    { protocol: 'anthropic' },
    { protocol: 'gemini' },
    { route: '/v1/messages' },
    { method: 'POST' },
    { provider: 'native' },
    { provider: 'chat_compatible' },
    { request_id },
    { trace_id: trace_id ?? '' },
    { request_id, protocol: 'openai' },
    { api_key_hash: 'hmac-sha256:7' },
    { error_type: 'http_502' },
    { status_code: 200 },
    { status_code: 502 },
    { status_code: 418 },
    { model: 'GigaChat-2-Pro' },
    { model: 'unknown' },
    { has_error: true },
    { has_error: false },
    { caller: 'codex' },
    { caller: 'unknown' },
    { min_latency_ms: 1000 }
  ]
}
