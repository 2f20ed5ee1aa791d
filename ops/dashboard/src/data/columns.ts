// The columns of records: which there are, which are shown, and what the address says of it.
import { UNKNOWN_KEY } from '../../../../shared/traffic/query.ts'
import type { TrafficSummary } from './api.ts'
import { formatAmount, formatCount, formatDuration, formatText, UNKNOWN } from './format.ts'

export interface RecordColumn {
  readonly name: string
  readonly label: string
  /** Pixels; without it the column takes its part of what is left. */
  readonly width?: number
  readonly isNumber?: boolean
  readonly read: (record: TrafficSummary) => string
  /** The filter of the list that selects the records with the same value. */
  readonly filter?: (record: TrafficSummary) => readonly [name: string, value: string] | undefined
}

function filterBy(name: string, read: (record: TrafficSummary) => unknown): NonNullable<RecordColumn['filter']> {
  return record => {
    const value = read(record)
    return value === null || value === undefined || value === '' ? undefined : [name, String(value)]
  }
}

const readModel = (record: TrafficSummary) => record.model_requested ?? record.model_effective
const readKey = ({ api_key_name, api_key_hash }: TrafficSummary) =>
  api_key_name ?? (api_key_hash === null || api_key_hash === undefined ? null : UNKNOWN_KEY)
const readCaller = ({ metadata }: TrafficSummary) => {
  const annotations = (metadata as { annotations?: { caller?: { name?: unknown } } } | null)?.annotations
  return annotations?.caller?.name
}

/** In the order of the table, behind the time and the status, which are always shown. */
export const RECORD_COLUMNS: readonly RecordColumn[] = [
  {
    name: 'request',
    label: 'Request',
    width: 160,
    read: ({ method, route }) => `${formatText(method)} ${formatText(route)}`,
    filter: filterBy('route', ({ route }) => route)
  },
  {
    name: 'model',
    label: 'Model',
    read: record => formatText(readModel(record)),
    filter: filterBy('model', readModel)
  },
  {
    name: 'provider',
    label: 'Provider',
    width: 94,
    read: ({ profile_id, provider }) => formatText(profile_id ?? provider),
    filter: record =>
      record.profile_id ? ['profile_id', record.profile_id] : filterBy('provider', one => one.provider)(record)
  },
  {
    name: 'key',
    label: 'Key',
    width: 100,
    read: record => formatText(readKey(record)),
    filter: filterBy('key', readKey)
  },
  {
    name: 'error',
    label: 'Error',
    width: 146,
    read: ({ error_code, error_type }) =>
      (error_code ?? error_type) === null ? '' : formatText(error_code ?? error_type ?? ''),
    filter: record =>
      record.error_code ? ['error_code', record.error_code] : filterBy('error_type', one => one.error_type)(record)
  },
  {
    name: 'stream',
    label: 'Stream',
    width: 62,
    read: ({ is_stream }) => (is_stream === true ? 'stream' : is_stream === false ? 'whole' : UNKNOWN),
    filter: filterBy('stream', ({ is_stream }) => is_stream)
  },
  {
    name: 'first',
    label: 'First token',
    width: 92,
    isNumber: true,
    read: record => formatDuration(record.first_content_ms)
  },
  { name: 'latency', label: 'Latency', width: 66, isNumber: true, read: record => formatDuration(record.latency_ms) },
  { name: 'tokens', label: 'Tokens', width: 96, isNumber: true, read: describeTokens },
  { name: 'cost', label: 'Cost', width: 80, isNumber: true, read: ({ cost }) => formatAmount(cost) },
  {
    name: 'alias',
    label: 'Alias',
    read: ({ alias }) => formatText(alias),
    filter: filterBy('alias', ({ alias }) => alias)
  },
  {
    name: 'protocol',
    label: 'Protocol',
    width: 90,
    read: ({ protocol }) => formatText(protocol),
    filter: filterBy('protocol', ({ protocol }) => protocol)
  },
  {
    name: 'caller',
    label: 'Caller',
    read: record => formatText(readCaller(record)),
    filter: filterBy('caller', readCaller)
  },
  { name: 'request_id', label: 'Request id', read: ({ request_id }) => formatText(request_id) },
  { name: 'trace_id', label: 'Trace id', read: ({ trace_id }) => formatText(trace_id) }
]

const DEFAULT = ['request', 'model', 'provider', 'key', 'error', 'stream', 'first', 'latency', 'tokens', 'cost']

/** The columns that the address names; those of the default where it names none. */
export function readColumns(text: string | undefined): readonly RecordColumn[] {
  const names = text === undefined ? DEFAULT : text.split(',')
  return RECORD_COLUMNS.filter(({ name }) => names.includes(name))
}

/** What the address says of a choice; undefined for that of the default. */
export function writeColumns(names: readonly string[]): string | undefined {
  const chosen = RECORD_COLUMNS.map(({ name }) => name).filter(name => names.includes(name))
  return chosen.join() === DEFAULT.join() ? undefined : chosen.join() || 'none'
}

function describeTokens({ input_tokens: input, output_tokens: output }: TrafficSummary): string {
  if (typeof input !== 'number' && typeof output !== 'number') return UNKNOWN
  return `${formatCount(input)} → ${formatCount(output)}`
}
