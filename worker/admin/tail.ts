// The newest records as server-sent events: first the page of the JSON form, oldest record first,
// then every record as it is written (operations.md 9.3; decisions.md 26).
import type { FastifyReply } from 'fastify'
import type { TrafficSummary } from '../../shared/traffic/query.ts'
import { writeRecordTime } from '../../shared/traffic/record.ts'
import type { DrainGate } from '../http/drain-gate.ts'
import { type EventStreamWriter, startEventStream } from '../http/event-stream.ts'
import type { WriterConnection } from '../traffic/writer-connection.ts'
import type { QueryStore } from './query-store.ts'
import { showSummary } from './show.ts'

/** Records that wait for a client that reads slowly; of more the oldest are left out, and the client is told how many. */
const WAITING_MAX = 1000
/** Records that were sent lately: the writer announces some of them again, after a lost connection or besides the first page. */
const REMEMBERED_MAX = 4000
/** Records that a client gets of those that it missed, after it or the writer was away. */
const MISSED_MAX = 500
/** Records written together are one chunk. */
const CHUNK_RECORDS_MAX = 100
/** A request that ended after a record may have begun before it; how long at most, for a client that comes back. */
const LONGEST_REQUEST_MS = 3_600_000

export interface TailParts {
  readonly reply: FastifyReply
  readonly store: QueryStore
  readonly connection: WriterConnection
  readonly drainGate: DrainGate
}

export interface TailOptions {
  readonly limit: number
  /** The client's `last-event-id`, if it is the id of a record. */
  readonly lastId: string | undefined
  readonly keepAliveIntervalMs?: number
}

/**
 * Streams until the client disconnects or the drain starts; returns how many records were sent. Rejects before the head is sent, like
 * `QueryStore.ask`.
 */
export async function streamTail(
  { reply, store, connection, drainGate }: TailParts,
  { limit, lastId, keepAliveIntervalMs }: TailOptions
): Promise<number> {
  const { signal } = reply.request.context
  const arrivals = new Arrivals()
  // Before the page is asked for: a record is in the page, or it arrives.
  const unfollow = connection.follow(
    (summaries, skipped) => arrivals.add(summaries, skipped),
    () => void catchUp()
  )
  let firstPage: FirstPage | undefined

  /** The writer was started again, and other workers may have sent it records before this one followed it. */
  async function catchUp(): Promise<void> {
    if (firstPage === undefined) return
    const { lastId: pageLastId } = firstPage
    try {
      await store.ask('settle', {})
      const newest = await store.ask('list', { filter: {}, start: NEWEST, limit: MISSED_MAX })
      arrivals.add(newest.filter(({ id }) => id > pageLastId).reverse(), 0)
    } catch {
      // The connection is lost again: the next one calls this again.
    }
  }

  const end = () => arrivals.end()
  signal.addEventListener('abort', end)
  const leave = drainGate.onClosingConnections(end)
  try {
    firstPage = await readFirstPage(store, { limit, lastId })
    const stream = startEventStream(reply, {
      cacheControl: 'no-store',
      keepAliveText: ': ping\n\n',
      ...(keepAliveIntervalMs === undefined ? {} : { keepAliveIntervalMs })
    })
    arrivals.addFirst(firstPage.records.toReversed())
    if (signal.aborted || drainGate.closesConnections) end()
    await send(stream, arrivals)
    stream.end()
    return arrivals.sent
  } finally {
    unfollow()
    leave()
    signal.removeEventListener('abort', end)
  }
}

interface FirstPage {
  /** Newest first. */
  readonly records: readonly TrafficSummary[]
  /** Greatest id up to the end of this page. Ids grow with the time at which a record was made. */
  readonly lastId: string
}

const NEWEST = { kind: 'offset', offset: 0 } as const

/** The newest records, or those that were recorded after the one that the client saw last. */
async function readFirstPage(store: QueryStore, { limit, lastId }: TailOptions): Promise<FirstPage> {
  await store.ask('settle', {})
  const last = lastId === undefined ? null : await store.ask('find', { id: lastId })
  const from = last === null ? undefined : writeRecordTime(Date.parse(last.created_at) - LONGEST_REQUEST_MS)
  const page = await store.ask('list', {
    filter: from === undefined ? {} : { from },
    start: NEWEST,
    limit: from === undefined ? limit : MISSED_MAX
  })
  const seenId = last?.id ?? ''
  const records = page.filter(({ id }) => id > seenId)
  return { records, lastId: records.reduce((greatest, { id }) => (id > greatest ? id : greatest), seenId) }
}

async function send(stream: EventStreamWriter, arrivals: Arrivals): Promise<void> {
  while (!stream.isClosed) {
    const { records, skipped } = arrivals.take(CHUNK_RECORDS_MAX)
    const notice = skipped === 0 ? '' : `event: skipped\ndata: ${JSON.stringify({ skipped })}\n\n`
    const text = notice + records.map(writeEvent).join('')
    if (text === '') {
      if (arrivals.isEnded) return
      await arrivals.whenMore()
    } else if (!stream.write(text)) {
      await Promise.race([stream.whenDrained(), arrivals.whenEnded])
    }
    if (arrivals.isEnded) return
  }
}

/** JSON holds no line end, and an id is a UUID. */
function writeEvent(summary: TrafficSummary): string {
  return `event: log\nid: ${summary.id}\ndata: ${JSON.stringify(showSummary(summary))}\n\n`
}

/** Records on their way to one client, each once. */
class Arrivals {
  #waiting: TrafficSummary[] = []
  #skipped = 0
  #sent = 0
  #isEnded = false
  readonly #remembered = new Set<string>()
  #wake: (() => void) | undefined
  readonly #ended = Promise.withResolvers<void>()

  get sent(): number {
    return this.#sent
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  get whenEnded(): Promise<void> {
    return this.#ended.promise
  }

  add(summaries: readonly TrafficSummary[], skipped: number): void {
    this.#skipped += skipped
    for (const summary of summaries) if (this.#isNew(summary)) this.#waiting.push(summary)
    this.#bound()
    this.#notify()
  }

  /** Puts the first page in front of what arrived meanwhile. */
  addFirst(page: readonly TrafficSummary[]): void {
    const arrived = this.#waiting
    const ids = new Set(page.map(({ id }) => id))
    for (const { id } of page) this.#remember(id)
    this.#waiting = [...page, ...arrived.filter(({ id }) => !ids.has(id))]
    this.#notify()
  }

  take(countMax: number): { records: TrafficSummary[]; skipped: number } {
    const skipped = this.#skipped
    this.#skipped = 0
    const records = this.#waiting.splice(0, countMax)
    this.#sent += records.length
    return { records, skipped }
  }

  whenMore(): Promise<void> {
    return new Promise(resolve => {
      this.#wake = resolve
    })
  }

  end(): void {
    this.#isEnded = true
    this.#ended.resolve()
    this.#notify()
  }

  #isNew({ id }: TrafficSummary): boolean {
    if (this.#remembered.has(id)) return false
    this.#remember(id)
    return true
  }

  #remember(id: string): void {
    this.#remembered.add(id)
    // A set keeps the order in which its values came.
    if (this.#remembered.size > REMEMBERED_MAX) this.#remembered.delete(this.#remembered.values().next().value ?? '')
  }

  #bound(): void {
    const excess = this.#waiting.length - WAITING_MAX
    if (excess <= 0) return
    this.#waiting.splice(0, excess)
    this.#skipped += excess
  }

  #notify(): void {
    this.#wake?.()
    this.#wake = undefined
  }
}
