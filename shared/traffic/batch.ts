// Records as they travel from a worker to the writer, in batches: by columns, and members that many records have in common are sent once. Both
// ends come from one build.

import { v7 as createRecordId } from 'uuid'
import { readAmount } from '../prices.ts'
import { type TrafficRecord, writeRecordTime } from './record.ts'

/** What is sent of a record; its id is given when its batch is written. */
export interface OutgoingRecord {
  /** Since the epoch, with fractions. */
  readonly createdAtMs: number
  readonly requestId: string
  readonly traceId: string
  readonly latencyMs: number
  readonly upstreamLatencyMs: number | undefined
  readonly inputTokens: number | undefined
  readonly outputTokens: number | undefined
  readonly costNanos: number | undefined
  /** JSON objects of members that other records are likely to have as well. Within a batch, equal texts are sent once. */
  readonly shared: SharedMembers
  /** The JSON object of all other members, if there are any; those of `metadata` are added to the shared ones. */
  readonly others: string | undefined
}

export type SharedMembers = readonly [operation: string, destination: string, sender: string, metadata: string]

/** Lists with an entry for each record, in their order; null for an absent value. */
interface Columns {
  /** Microseconds since the epoch; every other time is in whole microseconds as well. */
  readonly createdAtUs: number[]
  readonly requestIds: string[]
  /** Null where it is the request's id. */
  readonly traceIds: Array<string | null>
  readonly latenciesUs: number[]
  readonly upstreamLatenciesUs: Array<number | null>
  readonly inputTokens: Array<number | null>
  readonly outputTokens: Array<number | null>
  readonly costsNanos: Array<number | null>
  /** Indexes of the shared members, four for each record. */
  readonly places: number[]
}

/** The line of a batch, once it is parsed. */
export interface RecordBatch extends Readonly<Columns> {
  readonly kind: 'batch'
  readonly sequence: number
  /** UTF-16 units of the records, about, those that they share counted for each of them: a sink stores every record whole. */
  readonly characters: number
  readonly ids: readonly string[]
  readonly shared: ReadonlyArray<Partial<TrafficRecord>>
  /** Other members by the index of their record. */
  readonly others: { readonly [index: string]: Partial<TrafficRecord> }
}

function createColumns(): Columns {
  return {
    createdAtUs: [],
    requestIds: [],
    traceIds: [],
    latenciesUs: [],
    upstreamLatenciesUs: [],
    inputTokens: [],
    outputTokens: [],
    costsNanos: [],
    places: []
  }
}

const SHARED_COUNT = 4 satisfies SharedMembers['length']
/** UTF-16 units of the names and values that are columns here, about. */
const COLUMN_CHARACTERS = 250

/** UTF-16 units of a record, about, those of its shared members included. */
export function countRecordCharacters({ traceId, shared, others }: OutgoingRecord): number {
  let sum = COLUMN_CHARACTERS + traceId.length + (others?.length ?? 0)
  for (const text of shared) sum += text.length
  return sum
}

/**
 * Collects the records of a batch, then those of the next. What waits are a few numbers of each record, and everything is written in one go: a
 * record that is written by itself when its request ends costs twice as much.
 */
export class BatchBuilder {
  #characters = 0
  #columns = createColumns()
  #others: string[] = []
  readonly #placeByText = new Map<string, number>()

  /** Records of the batch so far. */
  get count(): number {
    return this.#columns.requestIds.length
  }

  /** UTF-16 units of these records, about, each counted whole. */
  get characters(): number {
    return this.#characters
  }

  /** Adds a record that costs so many UTF-16 units. */
  add(record: OutgoingRecord, characters: number): void {
    const { requestId, traceId, upstreamLatencyMs, inputTokens, outputTokens, costNanos, others } = record
    const columns = this.#columns
    if (others !== undefined) this.#others.push(`"${this.count}":${others}`)
    columns.createdAtUs.push(Math.floor(record.createdAtMs * 1000))
    columns.requestIds.push(requestId)
    columns.traceIds.push(traceId === requestId ? null : traceId)
    columns.latenciesUs.push(Math.round(record.latencyMs * 1000))
    columns.upstreamLatenciesUs.push(upstreamLatencyMs === undefined ? null : Math.round(upstreamLatencyMs * 1000))
    columns.inputTokens.push(inputTokens ?? null)
    columns.outputTokens.push(outputTokens ?? null)
    columns.costsNanos.push(costNanos ?? null)
    for (const text of record.shared) columns.places.push(this.#placeOf(text))
    this.#characters += characters
  }

  /** Returns the line of the batch, line feed included, and begins the next one. */
  finish(sequence: number): Buffer {
    const batch: Omit<RecordBatch, 'shared' | 'others'> = {
      kind: 'batch',
      sequence,
      characters: this.#characters,
      // Ids in the order of the records: a tail continues behind the id that its client saw last.
      ids: this.#columns.requestIds.map(() => createRecordId()),
      ...this.#columns
    }
    const shared = [...this.#placeByText.keys()].join(',')
    const rest = `"shared":[${shared}],"others":{${this.#others.join(',')}}`
    this.#characters = 0
    this.#columns = createColumns()
    this.#others = []
    this.#placeByText.clear()
    return Buffer.from(`${JSON.stringify(batch).slice(0, -1)},${rest}}\n`)
  }

  #placeOf(text: string): number {
    const known = this.#placeByText.get(text)
    if (known !== undefined) return known
    const place = this.#placeByText.size
    this.#placeByText.set(text, place)
    return place
  }
}

/** The records of a batch. Those without metadata of their own have the same object: it is not changed. */
export function restoreRecords(batch: RecordBatch): TrafficRecord[] {
  const { others } = batch
  const readShared = createSharedReader(batch)
  return batch.ids.map((id, index) => {
    const requestId = batch.requestIds[index] as string
    const upstreamLatencyUs = batch.upstreamLatenciesUs[index] ?? undefined
    const inputTokens = batch.inputTokens[index] ?? undefined
    const outputTokens = batch.outputTokens[index] ?? undefined
    const costNanos = batch.costsNanos[index] ?? undefined
    const record: { -readonly [Name in keyof TrafficRecord]?: TrafficRecord[Name] } = {
      id,
      // Half a microsecond more, because the quotient may be a little less than the microseconds were.
      created_at: writeRecordTime(((batch.createdAtUs[index] as number) + 0.5) / 1000),
      request_id: requestId,
      trace_id: batch.traceIds[index] ?? requestId,
      latency_ms: (batch.latenciesUs[index] as number) / 1000
    }
    if (upstreamLatencyUs !== undefined) record.upstream_latency_ms = upstreamLatencyUs / 1000
    if (inputTokens !== undefined) record.input_tokens = inputTokens
    if (outputTokens !== undefined) record.output_tokens = outputTokens
    if (costNanos !== undefined) record.cost = readAmount(costNanos)
    if (inputTokens !== undefined || outputTokens !== undefined) {
      record.total_tokens = (inputTokens ?? 0) + (outputTokens ?? 0)
    }
    Object.assign(record, readShared(index))
    const own = others[index]
    if (own !== undefined) Object.assign(record, own, { metadata: { ...record.metadata, ...own.metadata } })
    return record as TrafficRecord
  })
}

/**
 * Returns a function that gives the shared members of a record as one object, which is the same for
 * all records with equal shared members.
 */
function createSharedReader({ places, shared }: RecordBatch): (index: number) => Partial<TrafficRecord> {
  const known = new Map<string, Partial<TrafficRecord>>()
  return index => {
    const own = places.slice(index * SHARED_COUNT, (index + 1) * SHARED_COUNT)
    const key = own.join()
    const before = known.get(key)
    if (before !== undefined) return before
    const members: Partial<TrafficRecord> = Object.assign({}, ...own.map(place => shared[place]))
    known.set(key, members)
    return members
  }
}
