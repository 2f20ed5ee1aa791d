// The cursor of a list: a decimal offset, or an opaque one that names the last record of a page and
// stays right while new records arrive (operations.md 9.1).
import type { PageStart } from '../../shared/traffic/query.ts'
import { GatewayError } from '../normalized/index.ts'
import { readTimestamp } from './timestamps.ts'

type RecordKey = { readonly created_at: string; readonly id: string }

/** Beyond this many digits an offset is no exact number. */
const OFFSET = /^\d{1,15}$/
const KEY =
  /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z) ([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/

/** Where a page begins; without a cursor, or with an empty one, at the newest record. Raises `invalid_cursor`. */
export function readCursor(text: string | undefined): PageStart {
  if (text === undefined || text === '') return { kind: 'offset', offset: 0 }
  if (OFFSET.test(text)) return { kind: 'offset', offset: Number(text) }
  const [, created_at, id] = KEY.exec(Buffer.from(text, 'base64url').toString('latin1')) ?? []
  // A day that its month lacks is refused by one store and compared as text by the other.
  if (created_at === undefined || id === undefined || readTimestamp(created_at, 'up') !== created_at || !isOwn(text)) {
    throw new GatewayError('invalid_cursor')
  }
  return { kind: 'after', created_at, id }
}

/** The cursor of the page behind this record. */
export function writeCursor({ created_at, id }: RecordKey): string {
  return Buffer.from(`${created_at} ${id}`, 'latin1').toString('base64url')
}

/** The decoder skips characters that do not belong to the encoding. */
function isOwn(text: string): boolean {
  return /^[\w-]+$/.test(text)
}
