// What Postgres cannot store, and what takes its place. Filters are changed in the same way, so that they find what was stored.
import type { ColumnValue } from '../columns.ts'

/** An escaped backslash, so that what follows it is no escape; NUL and halves of a surrogate pair, which Postgres refuses. */
const JSON_ESCAPES = /\\\\|\\u0000|\\ud[89a-f][0-9a-f]{2}/g

/** Replaces what a text or a JSON text may hold and Postgres cannot store. */
export function cleanValue(value: ColumnValue): ColumnValue {
  if (typeof value !== 'string') return value
  const text = value.includes('\u0000') ? value.replaceAll('\u0000', '\ufffd') : value
  return text.includes('\\u') ? text.replace(JSON_ESCAPES, match => (match === '\\\\' ? match : '\\ufffd')) : text
}
