// Records on disk for a sink that is not available: files of lines that a person can read, the oldest first (operations contract,
// section 8.3). They survive a crash of the writer.
import { type FileHandle, mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { LineSplitter } from '../../shared/traffic/lines.ts'
import type { TrafficRecord } from '../../shared/traffic/record.ts'

/** A segment is deleted once all of it is stored, so that a long outage gives its disk space back in steps. */
const SEGMENT_BYTES_MAX = 16 * 1024 * 1024
const READ_BYTES = 256 * 1024

export interface SpillOptions {
  readonly directory: string
  /** Names the files of one sink: `<name>.00000001.ndjson`. */
  readonly name: string
  /** Bound of all segments of this sink. The oldest segment is deleted when they would exceed it. */
  readonly bytesMax: number
  /** Longest record, in bytes. */
  readonly recordBytesMax: number
  /** Called with the number of records that were deleted for want of space. */
  readonly onDropped: (count: number) => void
}

interface Segment {
  readonly number: number
  bytes: number
  /** Records in it; undefined for one of an earlier process. */
  records: number | undefined
}

export class Spill {
  readonly #options: SpillOptions
  readonly #segments: Segment[]
  /** Of the last segment, while it is written. */
  #writing: FileHandle | undefined
  #lastNumber: number
  /** How much of the first segment was taken. */
  #readBytes = 0

  private constructor(options: SpillOptions, segments: Segment[]) {
    this.#options = options
    this.#segments = segments
    this.#lastNumber = segments.at(-1)?.number ?? 0
  }

  /** Opens the directory and finds what an earlier process left. Rejects with the system's error. */
  static async open(options: SpillOptions): Promise<Spill> {
    await mkdir(options.directory, { recursive: true, mode: 0o700 })
    const pattern = new RegExp(`^${options.name}\\.(\\d+)\\.ndjson$`)
    const segments: Segment[] = []
    for (const file of await readdir(options.directory)) {
      const number = Number(pattern.exec(file)?.[1])
      if (!Number.isInteger(number)) continue
      const { size } = await stat(join(options.directory, file))
      segments.push({ number, bytes: size, records: undefined })
    }
    return new Spill(
      options,
      segments.sort((one, other) => one.number - other.number)
    )
  }

  /** Bytes on disk. */
  get bytes(): number {
    return this.#segments.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  get isEmpty(): boolean {
    return this.#segments.length === 0
  }

  /** Appends records. Rejects with the system's error, such as that of a full disk; then none of them is kept. */
  async append(records: readonly TrafficRecord[]): Promise<void> {
    const text = Buffer.from(records.map(record => `${JSON.stringify(record)}\n`).join(''))
    await this.#makeRoom(text.length)
    const segment = await this.#openSegment(text.length)
    const writing = this.#writing as FileHandle
    try {
      await writing.appendFile(text)
    } catch (error) {
      // A part of a line would spoil the next one.
      await writing.truncate(segment.bytes).catch(() => undefined)
      throw error
    }
    segment.bytes += text.length
    if (segment.records !== undefined) segment.records += records.length
  }

  /** The next records, at most `countMax`; they stay on disk until `taken`. A line that is not a record is skipped. */
  async read(countMax: number): Promise<{ records: TrafficRecord[]; taken: () => Promise<void> }> {
    const segment = this.#segments[0]
    if (segment === undefined) return { records: [], taken: async () => undefined }
    const { records, endBytes } = await this.#readSegment(segment, countMax)
    return {
      records,
      taken: async () => {
        // The segment may have been deleted meanwhile, for want of space.
        if (this.#segments[0] !== segment) return
        this.#readBytes = endBytes
        if (endBytes >= segment.bytes) await this.#deleteFirst()
      }
    }
  }

  /** Closes the file that is written; what is on disk stays for the next process. */
  async close(): Promise<void> {
    await this.#writing?.close()
    this.#writing = undefined
  }

  async #makeRoom(bytes: number): Promise<void> {
    while (this.#segments.length > 0 && this.bytes + bytes > this.#options.bytesMax) {
      const [{ records } = { records: 0 }] = this.#segments
      const lost = records ?? (await this.#countLines())
      await this.#deleteFirst()
      this.#options.onDropped(lost)
    }
  }

  async #countLines(): Promise<number> {
    const segment = this.#segments[0]
    if (segment === undefined) return 0
    return (await this.#readSegment(segment, Number.POSITIVE_INFINITY)).records.length
  }

  async #openSegment(bytes: number): Promise<Segment> {
    const last = this.#segments.at(-1)
    if (last !== undefined && this.#writing !== undefined && last.bytes + bytes <= SEGMENT_BYTES_MAX) return last
    await this.close()
    this.#lastNumber += 1
    const segment: Segment = { number: this.#lastNumber, bytes: 0, records: 0 }
    this.#writing = await open(this.#path(segment), 'wx', 0o600)
    this.#segments.push(segment)
    return segment
  }

  async #deleteFirst(): Promise<void> {
    const segment = this.#segments.shift()
    if (segment === undefined) return
    this.#readBytes = 0
    if (this.#segments.length === 0) await this.close()
    await rm(this.#path(segment), { force: true })
  }

  async #readSegment(segment: Segment, countMax: number): Promise<{ records: TrafficRecord[]; endBytes: number }> {
    const file = await open(this.#path(segment), 'r')
    try {
      const splitter = new LineSplitter(this.#options.recordBytesMax)
      const records: TrafficRecord[] = []
      let endBytes = this.#readBytes
      let position = this.#readBytes
      while (position < segment.bytes && records.length < countMax) {
        const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(READ_BYTES), 0, READ_BYTES, position)
        if (bytesRead === 0) break
        position += bytesRead
        for (const line of splitter.push(buffer.subarray(0, bytesRead))) {
          if (records.length >= countMax) break
          endBytes += line.length + 1
          const record = readRecord(line)
          if (record !== undefined) records.push(record)
        }
      }
      // What follows the last line feed is the part of a record that a crash cut off.
      return { records, endBytes: records.length < countMax ? segment.bytes : endBytes }
    } finally {
      await file.close()
    }
  }

  #path({ number }: Segment): string {
    return join(this.#options.directory, `${this.#options.name}.${String(number).padStart(8, '0')}.ndjson`)
  }
}

function readRecord(line: Buffer): TrafficRecord | undefined {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'))
    return typeof value === 'object' && value !== null && 'id' in value ? (value as TrafficRecord) : undefined
  } catch {
    return undefined
  }
}
