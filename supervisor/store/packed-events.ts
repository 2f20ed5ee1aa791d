// Events of a stream that were added together, as one value of the database: a length and a number before each.
import type { StoredEvent } from '../../shared/memory/store.ts'

const HEADER_BYTES = 12

export function packEvents(events: readonly StoredEvent[]): Buffer {
  return Buffer.concat(
    events.flatMap(({ sequenceNumber, json }) => {
      const header = Buffer.alloc(HEADER_BYTES)
      header.writeDoubleBE(sequenceNumber, 0)
      header.writeUInt32BE(json.length, 8)
      return [header, json]
    })
  )
}

export function unpackEvents(packed: Buffer): StoredEvent[] {
  const events: StoredEvent[] = []
  for (let at = 0; at < packed.length; ) {
    const start = at + HEADER_BYTES
    const end = start + packed.readUInt32BE(at + 8)
    events.push({ sequenceNumber: packed.readDoubleBE(at), json: packed.subarray(start, end) })
    at = end
  }
  return events
}
