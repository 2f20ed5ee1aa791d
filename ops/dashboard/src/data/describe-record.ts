// The facts of a record in groups, and its times on one scale. Metadata has members of its own for every kind of request, so known names
// are grouped and the rest is shown as it is.
import type { TrafficSummary } from './api.ts'

/** A name and a value; with a filter that selects the records that have the same. */
export type Fact = readonly [name: string, value: unknown, filter?: string | undefined]

export interface FactGroup {
  readonly title: string
  readonly facts: readonly Fact[]
}

/** A span of the request's time, or a moment of it. */
export interface Timing {
  readonly label: string
  readonly fromMs: number
  readonly toMs: number
  readonly isMoment?: boolean
}

/** Members of the metadata that say where the request was led and why; alias and profile are members of the record as well. */
const ROUTE_MEMBERS: ReadonlyArray<readonly [name: string, member: string]> = [
  ['Model from', 'model_source'],
  ['Reason', 'route_reason'],
  ['Capability profile', 'capability_profile'],
  ['Configuration', 'config_revision'],
  ['Profile revision', 'profile_revision'],
  ['Inventory', 'inventory_revision'],
  ['Execution', 'responses_execution_mode'],
  ['Execution reason', 'responses_execution_reason']
]

/** Why a request failed; undefined for one that did not. */
export interface DescribedFailure {
  /** Of the response, or else the type of the error. */
  readonly code: string
  readonly message: unknown
  readonly field: unknown
}

export function describeFailure({
  error_code,
  error_type,
  error_message,
  error_field
}: TrafficSummary): DescribedFailure | undefined {
  const code = error_code ?? error_type
  if (code === null || code === undefined) return undefined
  return { code: String(code), message: error_message ?? undefined, field: error_field ?? undefined }
}

/** Groups of facts; those without a value are left out. */
export function describeRecord(record: TrafficSummary): FactGroup[] {
  const metadata = readObject(record.metadata)
  const caller = readObject(readObject(metadata.annotations).caller)
  const groups: FactGroup[] = [
    {
      title: 'Route',
      facts: [
        ['Protocol', record.protocol, 'protocol'],
        ['Requested model', record.model_requested, 'model'],
        ['Alias', record.alias ?? metadata.selected_model_id, record.alias ? 'alias' : undefined],
        ['Profile', record.profile_id ?? metadata.profile_id, record.profile_id ? 'profile_id' : undefined],
        ['Provider', record.provider, 'provider'],
        ['Effective model', record.model_effective, 'model'],
        ['Provider status', record.upstream_status_code],
        ...ROUTE_MEMBERS.map(([name, member]) => [name, metadata[member]] as const)
      ]
    },
    {
      title: 'Request',
      facts: [
        ['Path', metadata.path],
        ['Response', record.is_stream === true ? 'stream' : record.is_stream === false ? 'whole' : undefined],
        ['Ended as', metadata.lifecycle],
        ['Stream events', readObject(metadata.stream).event_count],
        ['Fields without effect', joinNames(record.ignored_fields ?? metadata.ignored_fields)],
        ['Error type', record.error_type, 'error_type'],
        ['Caller', caller.name, 'caller'],
        ['User agent', caller.user_agent],
        ['Key name', record.api_key_name ?? metadata.api_key_name, record.api_key_name ? 'key' : undefined],
        ['Replay of', metadata.replay_of]
      ]
    },
    {
      title: 'Ids',
      facts: [
        ['Request id', record.request_id, 'request_id'],
        ['Client request id', metadata.client_request_id],
        ['Trace id', record.trace_id, 'trace_id'],
        ['Span id', record.span_id],
        ['Record id', record.id],
        ['Key hash', record.api_key_hash, 'api_key_hash'],
        ['Address hash', record.client_ip_hash]
      ]
    }
  ]
  return groups.map(({ title, facts }) => ({
    title,
    facts: facts
      .filter(([, value]) => value !== null && value !== undefined && value !== '')
      // Records are written by others: what is no text cannot be filtered by.
      .map(([name, value, filter]) =>
        typeof value === 'string' && filter !== undefined ? [name, value, filter] : [name, value]
      )
  }))
}

/** Members of the metadata that hold moments, in milliseconds since the start of the request. */
const MOMENTS: ReadonlyArray<readonly [label: string, read: (metadata: Values) => unknown]> = [
  ['First event', metadata => readObject(metadata.stream).first_event_ms],
  ['Last event', metadata => readObject(metadata.stream).last_event_ms]
]

type Values = Readonly<Record<string, unknown>>

/** The request, its upstream calls, and the moments of its stream as far as the record has them. */
export function listTimings(record: TrafficSummary): Timing[] {
  const { latency_ms: latencyMs, upstream_latency_ms: upstreamMs } = record
  if (typeof latencyMs !== 'number') return []
  const timings: Timing[] = [{ label: 'Gateway', fromMs: 0, toMs: latencyMs }]
  // The record has the length of the upstream calls, not their start: they are most of the time, and end it.
  if (typeof upstreamMs === 'number') {
    timings.push({ label: 'Upstream', fromMs: Math.max(0, latencyMs - upstreamMs), toMs: latencyMs })
  }
  const metadata = readObject(record.metadata)
  const firstMs = record.first_content_ms ?? metadata.first_token_ms
  if (typeof firstMs === 'number') timings.push(momentOf('First token', firstMs))
  for (const [label, read] of MOMENTS) {
    const ms = read(metadata)
    if (typeof ms === 'number') timings.push(momentOf(label, ms))
  }
  return timings
}

function momentOf(label: string, ms: number): Timing {
  return { label, fromMs: ms, toMs: ms, isMoment: true }
}

/** What the notice named (decisions.md 70); undefined where nothing was left out. */
function joinNames(value: unknown): string | undefined {
  return Array.isArray(value) && value.length > 0 ? value.join(', ') : undefined
}

function readObject(value: unknown): Values {
  return typeof value === 'object' && value !== null ? (value as Values) : {}
}
