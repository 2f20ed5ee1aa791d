// Exports of stored records: page by page, each read when the client has taken the one before it,
// so that memory does not grow with the export (operations.md 9.3; field-lessons.md L8).
import type { FastifyReply } from 'fastify'
import type { TrafficPayload, TrafficSummary } from '../../shared/traffic/query.ts'
import { whenDrained } from '../http/connections/client-writes.ts'
import { GatewayError } from '../normalized/index.ts'
import { CSV_HEADER, writeCsvRow } from './csv.ts'
import { writeCursor } from './cursor.ts'
import type { PageQuery } from './queries.ts'
import type { QueryStore } from './query-store.ts'
import { writeNdjsonLine } from './show.ts'

const CSV_PAGE_ROWS = 500
/** These rows have content. */
const NDJSON_PAGE_ROWS = 100

type WholeRecord = TrafficSummary & TrafficPayload

interface Format<Row extends TrafficSummary> {
  readonly contentType: string
  readonly fileName: string
  readonly header: string
  readonly pageRows: number
  readonly write: (row: Row) => string
  readonly list: (store: QueryStore, page: PageQuery) => Promise<Row[]>
}

const CSV: Format<TrafficSummary> = {
  contentType: 'text/csv; charset=utf-8',
  fileName: 'traffic-logs.csv',
  header: CSV_HEADER,
  pageRows: CSV_PAGE_ROWS,
  write: writeCsvRow,
  list: (store, { filter, start, limit }) => store.ask('list', { filter, start, limit })
}

const NDJSON: Format<WholeRecord> = {
  contentType: 'application/x-ndjson',
  fileName: 'traffic-logs.ndjson',
  header: '',
  pageRows: NDJSON_PAGE_ROWS,
  write: writeNdjsonLine,
  list: (store, { filter, start, limit }) => store.ask('list-whole', { filter, start, limit })
}

/** Sends the rows of the query; returns how many were sent. Rejects like `QueryStore.ask` before the first row. */
export function sendCsv(reply: FastifyReply, store: QueryStore, query: PageQuery): Promise<number> {
  return send(reply, { store, query, format: CSV })
}

/** Like `sendCsv`, with the content of each record. */
export function sendNdjson(reply: FastifyReply, store: QueryStore, query: PageQuery): Promise<number> {
  return send(reply, { store, query, format: NDJSON })
}

async function send<Row extends TrafficSummary>(
  reply: FastifyReply,
  { store, query, format }: { store: QueryStore; query: PageQuery; format: Format<Row> }
): Promise<number> {
  let left = query.limit
  const readPage = (start: PageQuery['start']) =>
    format.list(store, { ...query, start, limit: Math.min(left, format.pageRows) })
  // The first page and the next cursor are read before the head is sent: a store that is down is an ordinary error.
  let page = await readPage(query.start)
  const nextCursor = await findNextCursor(store, query, page)
  const { context } = reply.request
  const response = reply.raw
  reply.hijack()
  if (response.destroyed) return 0
  response.writeHead(200, [
    ...context.responseHeaders(),
    ...['content-type', format.contentType],
    ...['content-disposition', `attachment; filename="${format.fileName}"`],
    ...['cache-control', 'no-store'],
    ...(nextCursor === undefined ? [] : ['x-next-cursor', nextCursor])
  ])
  context.firstByte()
  if (reply.request.method === 'HEAD') {
    response.end()
    return 0
  }
  let sent = 0
  try {
    for (let text = format.header; ; text = '') {
      for (const row of page) text += format.write(row)
      sent += page.length
      left -= page.length
      if (text !== '' && !response.write(text)) await whenDrained(response)
      const last = page.at(-1)
      if (last === undefined || left <= 0 || response.destroyed || context.signal.aborted) break
      page = await readPage({ kind: 'after', created_at: last.created_at, id: last.id })
    }
    response.end()
  } catch (cause) {
    // A body that ends without its last chunk: the client can see that rows are missing.
    const error = new GatewayError('query_store_unavailable', { cause })
    context.failed(error)
    context.lifetime.cut(error)
  }
  return sent
}

/** The cursor behind the last row of the export; undefined where fewer rows than its limit are left. */
async function findNextCursor(
  store: QueryStore,
  { filter, limit }: PageQuery,
  firstPage: readonly TrafficSummary[]
): Promise<string | undefined> {
  const last = firstPage.at(-1)
  if (last === undefined) return undefined
  const missing = limit - firstPage.length
  if (missing === 0) return writeCursor(last)
  const start = { kind: 'after', created_at: last.created_at, id: last.id, offset: missing - 1 } as const
  const [end] = await store.ask('list', { filter, start, limit: 1 })
  return end === undefined ? undefined : writeCursor(end)
}
