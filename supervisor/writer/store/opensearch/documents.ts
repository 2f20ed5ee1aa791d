// Finds stored documents by id and replaces them. A data stream takes no write to a document by its id: the document is found first, and
// then replaced in the index that holds it, on the condition that it has not changed meanwhile.
import { readObject, refuseRecords, refuseResponse, type SearchServer, SearchServerError } from './server.ts'

export interface StoredDocument {
  readonly id: string
  /** The index that holds it: of a data stream the one that was written at the time. */
  readonly index: string
  readonly sequence: number
  readonly term: number
  readonly source: object
}

/** The documents with this id in an index or data stream, whose indexes may each have one. Rejects with `SearchServerError`. */
export async function findDocuments(server: SearchServer, index: string, id: string): Promise<StoredDocument[]> {
  return (await search(server, index, { query: { ids: { values: [id] } }, seq_no_primary_term: true })).map(
    readDocument
  )
}

/** Ids of one search: its result has at most 10 000 documents, and an id may be in several indexes. */
const IDS_MAX = 1000
const HITS_MAX = 10_000

/** Which of the ids are stored. Rejects with `SearchServerError`. */
export async function findStoredIds(server: SearchServer, index: string, ids: readonly string[]): Promise<Set<string>> {
  const stored = new Set<string>()
  for (let start = 0; start < ids.length; start += IDS_MAX) {
    const values = ids.slice(start, start + IDS_MAX)
    for (const hit of await search(server, index, { query: { ids: { values } }, size: HITS_MAX, _source: false })) {
      const { _id: id } = readObject(hit)
      if (typeof id === 'string') stored.add(id)
    }
  }
  return stored
}

/** Replaces a document; false when it has changed since it was found. Rejects with `SearchServerError`. */
export async function replaceDocument(
  server: SearchServer,
  document: StoredDocument,
  source: object
): Promise<boolean> {
  const { index, id, sequence, term } = document
  const response = await server.call({
    method: 'PUT',
    path: `/${encodeURIComponent(index)}/_doc/${encodeURIComponent(id)}`,
    query: { if_seq_no: String(sequence), if_primary_term: String(term), refresh: 'true' },
    body: source
  })
  if (response.status === 409) return false
  if (response.status !== 200 && response.status !== 201) throw refuseRecords('the redaction', response)
  return true
}

async function search(server: SearchServer, index: string, body: object): Promise<unknown[]> {
  const target = encodeURIComponent(index)
  // A search finds a new document only after a refresh.
  const refreshed = await server.call({ method: 'POST', path: `/${target}/_refresh` })
  if (refreshed.status === 404) return []
  if (refreshed.status !== 200) throw refuseResponse('the refresh', refreshed)
  const query = { allow_partial_search_results: 'false' }
  const found = await server.call({ method: 'POST', path: `/${target}/_search`, query, body })
  if (found.status !== 200) throw refuseResponse('the search', found)
  const { hits } = readObject(readObject(found.body).hits)
  if (!Array.isArray(hits)) throw new SearchServerError('The search server answered the search without hits.')
  return hits
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
