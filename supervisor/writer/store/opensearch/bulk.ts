// The body of a bulk call and the outcome of each of its items (operations.md 8.5).
import { hasError, type TrafficRecord } from '../../../../shared/traffic/record.ts'
import { readErrorReason, readErrorType, readObject, SearchServerError } from './server.ts'

export type BulkAction = 'create' | 'index'

/** A record as two lines of a bulk body, action and document. */
export interface BulkEntry {
  readonly record: TrafficRecord
  readonly lines: string
  readonly bytes: number
}

/** Writes a record for the index or data stream. `create` leaves a stored document as it is, `index` replaces it. */
export function writeBulkEntry(record: TrafficRecord, action: BulkAction, index: string): BulkEntry {
  const lines = `${JSON.stringify({ [action]: { _index: index, _id: record.id } })}\n${writeDocument(record)}\n`
  return { record, lines, bytes: Buffer.byteLength(lines) }
}

function writeDocument(record: TrafficRecord): string {
  return JSON.stringify({
    ...record,
    '@timestamp': record.created_at,
    model: record.model_effective ?? record.model_requested ?? null,
    has_error: hasError(record)
  })
}

/** Parts the entries, in their order, into calls of at most so many bytes; a longer entry stands alone. */
export function partEntries(entries: readonly BulkEntry[], bytesMax: number): BulkEntry[][] {
  const parts: BulkEntry[][] = []
  let bytes = 0
  for (const entry of entries) {
    const part = parts.at(-1)
    if (part === undefined || bytes + entry.bytes > bytesMax) {
      parts.push([entry])
      bytes = entry.bytes
    } else {
      part.push(entry)
      bytes += entry.bytes
    }
  }
  return parts
}

export type ItemOutcome =
  | { readonly kind: 'stored' }
  /** A document with this id is in the index. */
  | { readonly kind: 'duplicate' }
  /** The server is busy: this item can succeed in a moment. */
  | { readonly kind: 'busy'; readonly detail: string }
  /** This document can never be stored. */
  | { readonly kind: 'refused'; readonly detail: string }
  /** The server stores no document until the operator intervenes: no rights, no space, no index. */
  | { readonly kind: 'unavailable'; readonly detail: string }

/**
 * Reads the outcomes of the items in the order of the entries. Raises `SearchServerError` for a body that does not have exactly the items
 * that were sent.
 */
export function readBulkOutcomes(body: unknown, entries: readonly BulkEntry[], action: BulkAction): ItemOutcome[] {
  const { items } = readObject(body)
  if (!Array.isArray(items) || items.length !== entries.length) throw malformed()
  return items.map((item: unknown, index) => {
    const { [action]: result } = readObject(item)
    const { status, _id: id } = readObject(result)
    if (typeof status !== 'number' || id !== entries[index]?.record.id) throw malformed()
    return readOutcome(result, status, action)
  })
}

const BUSY = new Set([429, 500, 502, 503, 504])
const REFUSED = new Set([400, 413, 422])
/** Of status 400, and yet the state of the server: for example it has as many shards as it may have. */
const SERVER_ERRORS = new Set(['validation_exception', 'index_closed_exception', 'invalid_index_name_exception'])

function readOutcome(result: unknown, status: number, action: BulkAction): ItemOutcome {
  const type = readErrorType(result)
  const detail = type === undefined ? String(status) : `${status} ${type}`
  if (status >= 200 && status < 300) return { kind: 'stored' }
  if (status === 409) return action === 'create' ? { kind: 'duplicate' } : { kind: 'busy', detail }
  if (BUSY.has(status)) return { kind: 'busy', detail }
  const isOfDocument = REFUSED.has(status) && (type === undefined || !SERVER_ERRORS.has(type))
  // The reason to refuse a document quotes its values.
  if (isOfDocument) return { kind: 'refused', detail }
  const reason = readErrorReason(result)
  return { kind: 'unavailable', detail: reason === undefined ? detail : `${detail}: ${reason}` }
}

function malformed(): SearchServerError {
  return new SearchServerError('The search server answered the bulk call with other items than were sent.')
}
