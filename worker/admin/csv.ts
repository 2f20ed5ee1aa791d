// Records as CSV: a header and one row each, without content (operations.md 9.3).
import type { TrafficSummary } from '../../shared/traffic/query.ts'
import { showSummary } from './show.ts'

export const CSV_COLUMNS = [
  'id',
  'created_at',
  'request_id',
  'trace_id',
  'span_id',
  'protocol',
  'route',
  'method',
  'status_code',
  'model_requested',
  'model_effective',
  'provider',
  'upstream_status_code',
  'latency_ms',
  'upstream_latency_ms',
  'input_tokens',
  'output_tokens',
  'total_tokens',
  'error_type',
  'api_key_hash',
  'has_request_body',
  'has_response_body',
  'api_key_name',
  'cost',
  'currency',
  'alias',
  'profile_id',
  'error_code',
  'error_field',
  'is_stream',
  'first_content_ms'
] as const satisfies ReadonlyArray<keyof TrafficSummary>

const LINE_END = '\r\n'

export const CSV_HEADER = CSV_COLUMNS.join(',') + LINE_END

/** One row, line end included. */
export function writeCsvRow(summary: TrafficSummary): string {
  const shown = showSummary(summary)
  return CSV_COLUMNS.map(column => writeCell(shown[column])).join(',') + LINE_END
}

/**
 * Cells that spreadsheets would run as a formula; some take the full-width forms for the plain signs, and some drop control characters before
 * them (decisions.md 104).
 */
const FORMULA = /^(?:[=+\-@\uff1d\uff0b\uff0d\uff20]|\p{Cc})/u
const NEEDS_QUOTES = /[",\r\n]/

function writeCell(value: string | number | boolean | null): string {
  if (value === null) return ''
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value === 'number') return String(value)
  const text = FORMULA.test(value) ? `'${value}` : value
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
