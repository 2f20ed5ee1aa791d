// The filter of the list: fields of a form, the state of the view, and the query that the admin API takes (operations.md 9.1).
import type { Params } from './address.ts'
import { boundsOf, type Range } from './ranges.ts'

/** Names are those of the query. */
export const FILTER_FIELDS = [
  { name: 'q', label: 'Contains', kind: 'text' },
  { name: 'has_error', label: 'Outcome', kind: 'choice', options: { true: 'failed', false: 'succeeded' } },
  { name: 'model', label: 'Model', kind: 'text' },
  { name: 'profile_id', label: 'Profile', kind: 'text' },
  { name: 'key', label: 'Key', kind: 'text' },
  { name: 'error_code', label: 'Error code', kind: 'text' },
  { name: 'status_code', label: 'Status', kind: 'number', isRare: true },
  { name: 'stream', label: 'Response', kind: 'choice', options: { true: 'stream', false: 'whole' }, isRare: true },
  { name: 'alias', label: 'Alias', kind: 'text', isRare: true },
  { name: 'provider', label: 'Provider kind', kind: 'text', isRare: true },
  {
    name: 'protocol',
    label: 'Protocol',
    kind: 'text',
    suggestions: ['openai', 'anthropic', 'gemini', 'system'],
    isRare: true
  },
  { name: 'route', label: 'Route', kind: 'text', isRare: true },
  { name: 'method', label: 'Method', kind: 'text', suggestions: ['GET', 'POST'], isRare: true },
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
  readonly kind: 'text' | 'number' | 'choice'
  /** Values of a choice and what they mean. */
  readonly options?: Readonly<Record<string, string>>
  readonly suggestions?: readonly string[]
  /** Shown only when more filters are asked for. */
  readonly isRare?: boolean
}

const fields: readonly FilterField[] = FILTER_FIELDS

/** The filters that the address of the page names, such as `#records?key=ci`, and no other state of the view. */
export function readFilters(params: Params): Params {
  return Object.fromEntries(
    fields.flatMap(({ name }) => {
      const value = (params[name] ?? '').trim()
      return value === '' ? [] : [[name, value]]
    })
  )
}

/** The filters in words, such as `Outcome: failed`. */
export function describeFilters(filters: Params): Array<{ name: string; label: string; value: string }> {
  return fields.flatMap(({ name, label, options }) => {
    const value = filters[name]
    return value === undefined ? [] : [{ name, label, value: options?.[value] ?? value }]
  })
}

export interface PageQuery {
  readonly limit: number
  readonly cursor: string | undefined
}

/** The range and the filters that are set, as the admin API takes them. */
export function writeFilters(filters: Params, range: Range | undefined): URLSearchParams {
  const query = new URLSearchParams(range === undefined ? {} : boundsOf(range))
  for (const { name } of fields) {
    const value = filters[name]
    if (value !== undefined) query.set(name, value)
  }
  return query
}

/** The query of a page: the range, the filters that are set, the limit and the cursor. */
export function writeQuery(filters: Params, range: Range | undefined, page: PageQuery): URLSearchParams {
  const query = writeFilters(filters, range)
  query.set('limit', String(page.limit))
  if (page.cursor !== undefined) query.set('cursor', page.cursor)
  return query
}

/** Changes of the state that leave no filter. */
export const NO_FILTERS: Readonly<Record<string, undefined>> = Object.fromEntries(
  fields.map(({ name }) => [name, undefined])
)
