// Removes content from records on their way to the search server and from stored documents (operations contract, section 9.6).
import { setTimeout } from 'node:timers/promises'
import type { PayloadField } from '../../../../shared/traffic/query.ts'
import type { TrafficRecord } from '../../../../shared/traffic/record.ts'
import { readObject, refuseResponse, type SearchServer, SearchServerError } from './server.ts'

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

/**
 * Redacts the stored documents with this id; false when there are none. A data stream takes no update by id, so each document is found
 * first and then replaced in the index that holds it, on the condition that it has not changed meanwhile. Rejects with
 * `SearchServerError`.
 */
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

interface StoredDocument {
  readonly id: string
  /** The index that holds it: of a data stream the one that was written at the time. */
  readonly index: string
  readonly sequence: number
  readonly term: number
  readonly source: object
}

async function findDocuments(server: SearchServer, index: string, id: string): Promise<StoredDocument[]> {
  const target = encodeURIComponent(index)
  // A search finds a new document only after a refresh.
  const refreshed = await server.call({ method: 'POST', path: `/${target}/_refresh` })
  if (refreshed.status === 404) return []
  if (refreshed.status !== 200) throw refuseResponse('the refresh', refreshed)
  const found = await server.call({
    method: 'POST',
    path: `/${target}/_search`,
    query: { allow_partial_search_results: 'false' },
    body: { query: { ids: { values: [id] } }, seq_no_primary_term: true }
  })
  if (found.status !== 200) throw refuseResponse('the search', found)
  const { hits } = readObject(readObject(found.body).hits)
  if (!Array.isArray(hits)) throw new SearchServerError('The search server answered the search without hits.')
  return hits.map(readDocument)
}

function readDocument(hit: unknown): StoredDocument {
  const { _index: index, _id: id, _seq_no: sequence, _primary_term: term, _source: source } = readObject(hit)
  const isWhole =
    typeof index === 'string' && typeof id === 'string' && typeof sequence === 'number' && typeof term === 'number'
  if (!isWhole || typeof source !== 'object' || source === null) {
    throw new SearchServerError('The search server answered the search with a document that is not whole.')
  }
  return { id, index, sequence, term, source }
}

/** False when the document has changed since it was found. */
async function replaceDocument(server: SearchServer, document: StoredDocument, source: object): Promise<boolean> {
  const { index, id, sequence, term } = document
  const response = await server.call({
    method: 'PUT',
    path: `/${encodeURIComponent(index)}/_doc/${encodeURIComponent(id)}`,
    query: { if_seq_no: String(sequence), if_primary_term: String(term), refresh: 'true' },
    body: source
  })
  if (response.status === 409) return false
  if (response.status !== 200 && response.status !== 201) throw refuseResponse('the redaction', response)
  return true
}
