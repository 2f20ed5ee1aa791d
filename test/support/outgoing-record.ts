// Traffic records as a worker sends them.
import type { OutgoingRecord, SharedMembers } from '../../shared/traffic/batch.ts'
import type { TrafficRecord } from '../../shared/traffic/record.ts'

const NOTHING_SHARED: SharedMembers = ['{}', '{}', '{}', '{}']

/** A record with nothing in it, for tests of its way. */
export const EMPTY_RECORD: OutgoingRecord = {
  createdAtMs: 0,
  requestId: '',
  traceId: '',
  latencyMs: 0,
  upstreamLatencyMs: undefined,
  inputTokens: undefined,
  outputTokens: undefined,
  costNanos: undefined,
  shared: NOTHING_SHARED,
  others: undefined
}

/** The record with these texts of its shared members, and every other member as its own. */
export function divideRecord(record: Partial<TrafficRecord>, shared = NOTHING_SHARED): OutgoingRecord {
  const { created_at, request_id = '', trace_id, latency_ms, upstream_latency_ms, input_tokens, output_tokens } = record
  const others = Object.entries(record).filter(([name]) => !COLUMN_MEMBERS.has(name))
  return {
    createdAtMs: created_at === undefined ? 0 : readRecordTime(created_at),
    requestId: request_id,
    traceId: trace_id ?? request_id,
    latencyMs: latency_ms ?? 0,
    upstreamLatencyMs: upstream_latency_ms,
    inputTokens: input_tokens,
    outputTokens: output_tokens,
    costNanos: undefined,
    shared,
    others: others.length === 0 ? undefined : JSON.stringify(Object.fromEntries(others))
  }
}

/** Milliseconds since the epoch, in the middle of the microsecond. */
function readRecordTime(text: string): number {
  const [seconds = '', microseconds = ''] = text.slice(0, -'Z'.length).split('.')
  return Date.parse(`${seconds}Z`) + (Number(microseconds) + 0.5) / 1000
}

/** The members that have a column in a batch. */
const COLUMN_MEMBERS: ReadonlySet<string> = new Set([
  'id',
  'created_at',
  'request_id',
  'trace_id',
  'latency_ms',
  'upstream_latency_ms',
  'input_tokens',
  'output_tokens',
  'total_tokens'
])
