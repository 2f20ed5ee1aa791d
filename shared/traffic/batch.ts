// Records as they travel from a worker to the writer, in batches: by columns, and members that many records have in common are sent once. Both
// ends come from one build.
import { randomUUIDv7 } from 'node:crypto'
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
  /** JSON objects of members that other records are likely to have as well. Within a batch, equal texts are sent once. */
  readonly shared: SharedMembers
  /** The JSON object of all other members, if there are any; those of `metadata` are added to the shared ones. */
  readonly others: string | undefined
}

export type SharedMembers = readonly [operation: string, destination: string, sender: string, metadata: string]

/** Each list has an entry for each record, in their order; null for an absent value. */
export interface RecordBatch {
  readonly kind: 'batch'
  readonly sequence: number
  /** UTF-16 units of the records, about, those that they share counted for each of them: a sink stores every record whole. */
  readonly characters: number
  readonly ids: readonly string[]
  /** Microseconds since the epoch; every other time is in whole microseconds as well. */
  readonly createdAtUs: readonly number[]
  readonly requestIds: readonly string[]
  /** Null where it is the request's id. */
  readonly traceIds: ReadonlyArray<string | null>
  readonly latenciesUs: readonly number[]
  readonly upstreamLatenciesUs: ReadonlyArray<number | null>
  readonly inputTokens: ReadonlyArray<number | null>
  readonly outputTokens: ReadonlyArray<number | null>
  /** Indexes of `shared`, four for each record. */
  readonly places: readonly number[]
  readonly shared: ReadonlyArray<Partial<TrafficRecord>>
  /** Other members by the index of their record. */
  readonly others: { readonly [index: string]: Partial<TrafficRecord> }
}

const SHARED_COUNT = 4 satisfies SharedMembers['length']
/** UTF-16 units of the names and values that are columns here, about. */
const COLUMN_CHARACTERS = 250
const ABSENT = Number.NaN

/** UTF-16 units of a record, about, those of its shared members included. */
export function countRecordCharacters({ traceId, shared, others }: OutgoingRecord): number {
  let sum = COLUMN_CHARACTERS + traceId.length + (others?.length ?? 0)
  for (const text of shared) sum += text.length
  return sum
}

/**
 * Collects the records of a batch, then those of the next. Numbers are kept in memory that collections do not move, and everything is written in
 * one go: a record that is written by itself when its request ends costs three times as much.
 */
export class BatchBuilder {
  #count = 0
  #characters = 0
  readonly #createdAtUs: Float64Array
  readonly #latenciesUs: Float64Array
  readonly #upstreamLatenciesUs: Float64Array
  readonly #inputTokens: Float64Array
  readonly #outputTokens: Float64Array
  readonly #places: Uint32Array
  #requestIds: string[] = []
  #traceIds: Array<string | null> = []
  #others: string[] = []
  readonly #placeByText = new Map<string, number>()

  constructor(recordsMax: number) {
    this.#createdAtUs = new Float64Array(recordsMax)
    this.#latenciesUs = new Float64Array(recordsMax)
    this.#upstreamLatenciesUs = new Float64Array(recordsMax)
    this.#inputTokens = new Float64Array(recordsMax)
    this.#outputTokens = new Float64Array(recordsMax)
    this.#places = new Uint32Array(recordsMax * SHARED_COUNT)
  }

  /** Records of the batch so far. */
  get count(): number {
    return this.#count
  }

  /** UTF-16 units of these records, about, each counted whole. */
  get characters(): number {
    return this.#characters
  }

  /** Takes a record, at most `recordsMax` of them until the batch is finished. */
  add(record: OutgoingRecord): void {
    const index = this.#count
    const { requestId, traceId, upstreamLatencyMs, others } = record
    this.#createdAtUs[index] = Math.floor(record.createdAtMs * 1000)
    this.#latenciesUs[index] = Math.round(record.latencyMs * 1000)
    this.#upstreamLatenciesUs[index] = upstreamLatencyMs === undefined ? ABSENT : Math.round(upstreamLatencyMs * 1000)
    this.#inputTokens[index] = record.inputTokens ?? ABSENT
    this.#outputTokens[index] = record.outputTokens ?? ABSENT
    this.#requestIds.push(requestId)
    this.#traceIds.push(traceId === requestId ? null : traceId)
    for (let part = 0; part < SHARED_COUNT; part += 1) {
      this.#places[index * SHARED_COUNT + part] = this.#placeOf(record.shared[part] as string)
    }
    if (others !== undefined) this.#others.push(`"${index}":${others}`)
    this.#characters += countRecordCharacters(record)
    this.#count += 1
  }

  /** Returns the line of the batch, line feed included, and begins the next one. */
  finish(sequence: number): Buffer {
    const count = this.#count
    const columns: Omit<RecordBatch, 'shared' | 'others'> = {
      kind: 'batch',
      sequence,
      characters: this.#characters,
      ids: Array.from({ length: count }, () => randomUUIDv7()),
      createdAtUs: [...this.#createdAtUs.subarray(0, count)],
      requestIds: this.#requestIds,
      traceIds: this.#traceIds,
      latenciesUs: [...this.#latenciesUs.subarray(0, count)],
      upstreamLatenciesUs: [...this.#upstreamLatenciesUs.subarray(0, count)],
      inputTokens: [...this.#inputTokens.subarray(0, count)],
      outputTokens: [...this.#outputTokens.subarray(0, count)],
      places: [...this.#places.subarray(0, count * SHARED_COUNT)]
    }
    const shared = [...this.#placeByText.keys()].join(',')
    const rest = `"shared":[${shared}],"others":{${this.#others.join(',')}}`
    const line = Buffer.from(`${JSON.stringify(columns).slice(0, -1)},${rest}}\n`)
    this.#count = 0
    this.#characters = 0
    this.#requestIds = []
    this.#traceIds = []
    this.#others = []
    this.#placeByText.clear()
    return line
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
    if (inputTokens !== undefined || outputTokens !== undefined) {
      record.total_tokens = (inputTokens ?? 0) + (outputTokens ?? 0)
    }
    Object.assign(record, readShared(index))
    const own = others[index]
    if (own !== undefined) Object.assign(record, own, { metadata: { ...record.metadata, ...own.metadata } })
    return record as TrafficRecord
  })
}

/** Returns what gives the shared members of a record as one object, the same one for all records that share them all. */
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
