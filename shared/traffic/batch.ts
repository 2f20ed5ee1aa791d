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
  /** UTF-16 units of the records, those that they share counted for each of them: a sink stores every record whole. */
  readonly characters: number
  readonly shared: ReadonlyArray<Partial<TrafficRecord>>
  /** For each record the places of its shared members, and its own members. */
  readonly records: ReadonlyArray<readonly [places: readonly number[], own: Partial<TrafficRecord>]>
}

/** UTF-16 units of all texts of a record, the shared ones included. */
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
  const characters = records.reduce((sum, record) => sum + countRecordCharacters(record), 0)
  const head = `{"kind":"batch","sequence":${sequence},"characters":${characters}`
  return Buffer.from(`${head},"shared":[${[...places.keys()].join(',')}],"records":[${written.join(',')}]}\n`)
}

/** The records of a batch. Those without metadata of their own have the same object: it is not changed. */
export function restoreRecords({ shared, records }: RecordBatch): TrafficRecord[] {
  return records.map(([places, own]) => {
    const record: Partial<TrafficRecord> = Object.assign({ ...own }, ...places.map(place => shared[place]))
    if (own.metadata === undefined) return record as TrafficRecord
    return { ...record, metadata: { ...record.metadata, ...own.metadata } } as TrafficRecord
  })
}
