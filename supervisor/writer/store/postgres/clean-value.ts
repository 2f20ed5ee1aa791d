// What Postgres cannot store, and what takes its place. Filters are changed in the same way, so that they find what was stored.
import type { ColumnValue } from '../columns.ts'

/** An escaped backslash, so that what follows it is no escape; NUL and halves of a surrogate pair, which Postgres refuses. */
const JSON_ESCAPES = /\\\\|\\u0000|\\ud[89a-f][0-9a-f]{2}/g

/** Replaces NUL in a text. The six characters `\u0000` are no NUL there. */
export function cleanText(value: ColumnValue): ColumnValue {
  return typeof value === 'string' && value.includes('\u0000') ? value.replaceAll('\u0000', '\ufffd') : value
}

/** Replaces NUL and halves of surrogate pairs in a JSON text, where they are escapes. */
export function cleanJson(text: string | null): string | null {
  if (!text?.includes('\\u')) return text
  return text.replace(JSON_ESCAPES, match => (match === '\\\\' ? match : '\\ufffd'))
}
