// The filter of the list: fields of a form, and the query that the admin API takes
// (operations.md 9.1).

/** Names are those of the query. `datetime` fields hold a local time without an offset. */
export const FILTER_FIELDS = [
  { name: 'from', label: 'From', kind: 'datetime' },
  { name: 'to', label: 'To', kind: 'datetime' },
  { name: 'q', label: 'Contains', kind: 'text' },
  { name: 'model', label: 'Model', kind: 'text' },
  { name: 'key', label: 'Key', kind: 'text' },
  {
    name: 'protocol',
    label: 'Protocol',
    kind: 'text',
    choices: ['openai', 'anthropic', 'gemini', 'system'],
    isRare: true
  },
  { name: 'status_code', label: 'Status', kind: 'number' },
  { name: 'has_error', label: 'Outcome', kind: 'outcome' },
  { name: 'route', label: 'Route', kind: 'text', isRare: true },
  { name: 'method', label: 'Method', kind: 'text', choices: ['GET', 'POST'], isRare: true },
  { name: 'provider', label: 'Provider', kind: 'text', isRare: true },
  { name: 'error_type', label: 'Error type', kind: 'text', isRare: true },
  { name: 'min_latency_ms', label: 'Slower than, ms', kind: 'number', isRare: true },
  { name: 'caller', label: 'Caller', kind: 'text', isRare: true },
  { name: 'request_id', label: 'Request id', kind: 'text', isRare: true },
  { name: 'trace_id', label: 'Trace id', kind: 'text', isRare: true },
  { name: 'api_key_hash', label: 'Key hash', kind: 'text', isRare: true }
] as const satisfies readonly FilterField[]

export interface FilterField {
  readonly name: string
  readonly label: string
  readonly kind: 'text' | 'number' | 'datetime' | 'outcome'
  readonly choices?: readonly string[]
  /** Shown only when more filters are asked for. */
  readonly isRare?: boolean
}

export type FilterValues = Readonly<Record<string, string>>

/** The filters that the address of the page names, such as `#records?key=ci`. */
export function readAddress(hash: string): FilterValues {
  const query = new URLSearchParams(hash.split('?')[1] ?? '')
  return Object.fromEntries(
    FILTER_FIELDS.flatMap(({ name }) => (query.has(name) ? [[name, query.get(name) ?? '']] : []))
  )
}

/** The query of a page: the values that are set, the limit and the cursor. */
export function writeQuery(values: FilterValues, page: { limit: number; cursor: string | undefined }): URLSearchParams {
  const query = new URLSearchParams()
  for (const { name, kind } of FILTER_FIELDS) {
    const value = (values[name] ?? '').trim()
    if (value === '') continue
    const text = kind === 'datetime' ? readLocalTime(value) : value
    if (text !== undefined) query.set(name, text)
  }
  query.set('limit', String(page.limit))
  if (page.cursor !== undefined) query.set('cursor', page.cursor)
  return query
}

/** A local time as an instant in UTC; undefined for a text that is no time. */
function readLocalTime(value: string): string | undefined {
  const ms = new Date(value).getTime()
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString()
}
