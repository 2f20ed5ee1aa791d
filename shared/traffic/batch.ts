// Records as they travel from a worker to the writer: members that many records of a batch have in common are sent once. Both ends come from
// one build.
import type { TrafficRecord } from './record.ts'

/** A record that is ready to be sent, as texts of JSON objects. */
export interface OutgoingRecord {
  /** Members that other records are likely to have as well. Within a batch, equal texts are sent once. */
  readonly shared: readonly string[]
  /** All other members; those of `metadata` are added to the shared ones. */
  readonly own: string
}

export interface RecordBatch {
  readonly kind: 'batch'
  readonly sequence: number
  readonly shared: ReadonlyArray<Partial<TrafficRecord>>
  /** For each record the places of its shared members, and its own members. */
  readonly records: ReadonlyArray<readonly [places: readonly number[], own: Partial<TrafficRecord>]>
}

/** UTF-16 units of a record's texts, which is what it costs in memory at most. */
export function countRecordCharacters({ shared, own }: OutgoingRecord): number {
  return shared.reduce((sum, text) => sum + text.length, own.length)
}

/** The line of a batch, line feed included. */
export function writeBatch(sequence: number, records: readonly OutgoingRecord[]): Buffer {
  const places = new Map<string, number>()
  const placeOf = (text: string) => {
    const place = places.get(text) ?? places.size
    places.set(text, place)
    return place
  }
  const written = records.map(({ shared, own }) => `[[${shared.map(placeOf)}],${own}]`)
  const shared = [...places.keys()].join(',')
  return Buffer.from(`{"kind":"batch","sequence":${sequence},"shared":[${shared}],"records":[${written.join(',')}]}\n`)
}

/** The records of a batch. Those without metadata of their own have the same object: it is not changed. */
export function restoreRecords({ shared, records }: RecordBatch): TrafficRecord[] {
  return records.map(([places, own]) => {
    const record: Partial<TrafficRecord> = Object.assign({ ...own }, ...places.map(place => shared[place]))
    if (own.metadata === undefined) return record as TrafficRecord
    return { ...record, metadata: { ...record.metadata, ...own.metadata } } as TrafficRecord
  })
}
