// Removes content from records on their way to the search server and from stored documents
// (operations.md 9.6).
import { setTimeout } from 'node:timers/promises'
import type { PayloadField } from '../../../../shared/traffic/query.ts'
import type { TrafficRecord } from '../../../../shared/traffic/record.ts'
import { findDocuments, replaceDocument } from './documents.ts'
import { readObject, type SearchServer, SearchServerError } from './server.ts'

export interface Redaction {
  readonly fields: readonly PayloadField[]
  /** Merged into the metadata of the record. */
  readonly metadata: object
}

/** The record without the chosen content. The error message goes with every body, which it may quote. */
export function redactRecord<Value extends object>(record: Value, { fields, metadata }: Redaction): Value {
  const redacted = { ...record } as Record<string, unknown>
  for (const field of fields) delete redacted[`${field}_redacted` satisfies keyof TrafficRecord]
  if (fields.some(field => field !== 'request_headers')) delete redacted.error_message
  redacted.metadata = { ...readObject(redacted.metadata), ...metadata }
  return redacted as Value
}

/** Both redactions at once. */
export function mergeRedactions(earlier: Redaction | undefined, later: Redaction): Redaction {
  const fields = [...new Set([...(earlier?.fields ?? []), ...later.fields])]
  return { fields, metadata: later.metadata }
}

const ATTEMPTS_MAX = 5
const PAUSE_MS = 50

/** Redacts the stored documents with this id; false when there are none. Rejects with `SearchServerError`. */
export async function redactStored(
  server: SearchServer,
  index: string,
  { id, ...redaction }: Redaction & { readonly id: string }
): Promise<boolean> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    if (attempt > 1) await setTimeout(PAUSE_MS * attempt)
    const documents = await findDocuments(server, index, id)
    if (documents.length === 0) return false
    let hasConflict = false
    for (const document of documents) {
      const isReplaced = await replaceDocument(server, document, redactRecord(document.source, redaction))
      hasConflict ||= !isReplaced
    }
    if (!hasConflict) return true
  }
  throw new SearchServerError('A document of the search server changed with every attempt to redact it.')
}
