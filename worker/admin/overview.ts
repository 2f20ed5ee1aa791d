// What a dashboard shows besides records: sums over hours, and how the sinks are (operations.md 8.3
// and 9).
import type { SumsAnswer, SumsAnswerRow, TrafficHealth } from '../../shared/admin-answers.ts'
import type { ResponseStore } from '../../shared/memory/store.ts'
import type { Settings } from '../../shared/settings.ts'
import type { SinkHealth } from '../../shared/traffic/messages.ts'
import type { StoreStatus, SumKeyName, SumsRow } from '../../shared/traffic/query.ts'
import { planSinks } from '../../shared/traffic/sinks.ts'
import type { WriterConnection } from '../traffic/writer-connection.ts'
import type { SumsQuery } from './queries.ts'
import { showTime } from './timestamps.ts'

/** The rows have the members that the sums are grouped by, and what was added up. */
export function showSums({ from, to, bucketSeconds, by, limit }: SumsQuery, rows: readonly SumsRow[]): SumsAnswer {
  const data = rows.map(row => showRow(row, by))
  return { data, from: showTime(from), to: showTime(to), bucket: bucketSeconds, by, limit }
}

function showRow(row: SumsRow, by: SumsQuery['by']): SumsAnswerRow {
  const { requests, errors, input_tokens, output_tokens, cost, currency } = row
  const { latency_p50_ms, latency_p95_ms, latency_p99_ms } = row
  return {
    ...Object.fromEntries(by.map(name => [name, showKey(name, row[name])])),
    ...{ requests, errors, input_tokens, output_tokens, cost, currency },
    ...{ latency_p50_ms, latency_p95_ms, latency_p99_ms }
  }
}

function showKey(name: SumKeyName, value: string | null): string | null {
  // The store keeps an empty text for a record without a model, a key or an error.
  if (value === null || value === '') return null
  return name === 'time' || name === 'hour' ? showTime(value) : value
}

/** What health is read from; the processes that store are undefined where none runs. */
interface HealthSources {
  readonly settings: Settings
  readonly version: string
  readonly writer: WriterConnection | undefined
  readonly memory: ResponseStore | undefined
}

/** Never fails: a writer that does not respond is reported as disconnected. */
export async function readHealth({ settings, version, writer, memory }: HealthSources): Promise<TrafficHealth> {
  const answer = await writer?.ask('health', {})
  const state = writer === undefined ? 'absent' : answer?.ok === true ? 'connected' : 'disconnected'
  return {
    enabled: settings.trafficLogEnabled,
    query_store: planSinks(settings).relational?.name ?? null,
    writer: state,
    sinks: answer?.ok === true ? answer.answer.sinks.map(showSink) : [],
    store: answer?.ok === true ? showStore(answer.answer.store) : null,
    responses_stored: memory !== undefined,
    version
  }
}

function showStore(status: StoreStatus | null): TrafficHealth['store'] {
  if (status === null) return null
  const { recordsEstimate, oldest, bytes, walBytes } = status
  return {
    records_estimate: recordsEstimate,
    oldest_record: oldest === null ? null : showTime(oldest),
    bytes,
    wal_bytes: walBytes
  }
}

function showSink({ name, isAvailable, queueDepth, spillBytes, written, dropped }: SinkHealth) {
  return { name, available: isAvailable, queue_depth: queueDepth, spill_bytes: spillBytes, written, dropped }
}
