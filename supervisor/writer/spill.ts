// Records on disk for a sink that is not available: files of lines that a person can read, the
// oldest first (operations.md 8.3). They survive a crash of the writer.
import { type FileHandle, mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { LineSplitter } from '../../shared/traffic/lines.ts'
import type { TrafficRecord } from '../../shared/traffic/record.ts'

/**
 * A segment is deleted once it is stored completely, so that the disk space of a long outage is
 * freed in steps.
 */
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
  /** Called with the number of records that were deleted because space ran out. */
  readonly onDropped: (count: number) => void
  /**
   * Called when a segment cannot be read, with the number of its records (0 when unknown): they are
   * skipped, and the file stays. Also called when a stored segment cannot be deleted.
   */
  readonly onFailure: (error: unknown, lost: number) => void
}

interface Segment {
  readonly number: number
  bytes: number
  /** Records in it that were not taken; undefined for one of an earlier process. */
  records: number | undefined
}

interface ReadBounds {
  readonly countMax: number
  readonly bytesMax: number
}

const EVERYTHING: ReadBounds = { countMax: Number.POSITIVE_INFINITY, bytesMax: Number.POSITIVE_INFINITY }

export class Spill {
  readonly #options: SpillOptions
  readonly #segments: Segment[]
  /** Of the last segment, while it is written. */
  #writing: FileHandle | undefined
  #lastNumber: number
  /** Bytes of the first segment that were taken. */
  #readBytes = 0
  #lost = 0
  /** Since when records wait, in milliseconds since the epoch; meaningful while there is a segment. */
  #filledAtMs: number
  /** Ends with the last call: a segment is not deleted while it is written. */
  #running: Promise<unknown> = Promise.resolve()

  private constructor(options: SpillOptions, segments: Segment[], filledAtMs: number) {
    this.#options = options
    this.#segments = segments
    this.#filledAtMs = filledAtMs
    this.#lastNumber = segments.at(-1)?.number ?? 0
  }

  /** Opens the directory and finds what an earlier process left. Rejects with the system's error. */
  static async open(options: SpillOptions): Promise<Spill> {
    await mkdir(options.directory, { recursive: true, mode: 0o700 })
    const pattern = new RegExp(`^${options.name}\\.(\\d+)\\.ndjson$`)
    const segments: Segment[] = []
    let filledAtMs = Date.now()
    for (const file of await readdir(options.directory)) {
      const number = Number(pattern.exec(file)?.[1])
      if (!Number.isInteger(number)) continue
      const { size, mtimeMs } = await stat(join(options.directory, file))
      filledAtMs = Math.min(filledAtMs, mtimeMs)
      segments.push({ number, bytes: size, records: undefined })
    }
    return new Spill(
      options,
      segments.sort((one, other) => one.number - other.number),
      filledAtMs
    )
  }

  /** Bytes on disk. */
  get bytes(): number {
    return this.#segments.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /** Records that were deleted for want of space or could not be read, since the start of this process. */
  get lost(): number {
    return this.#lost
  }

  get isEmpty(): boolean {
    return this.#segments.length === 0
  }

  /** How long records wait on disk, about; 0 while there are none. */
  get ageMs(): number {
    return this.isEmpty ? 0 : Math.max(0, Date.now() - this.#filledAtMs)
  }

  /** Appends records. Rejects with the system's error, such as that of a full disk; then none of them is kept. */
  append(records: readonly TrafficRecord[]): Promise<void> {
    return this.#exclusively(() => this.#append(records))
  }

  /**
   * The next records, at most so many and about so many bytes, but at least one; they stay on disk until `taken`. A line that is not a
   * record is skipped.
   */
  read(countMax: number, bytesMax: number): Promise<{ records: TrafficRecord[]; taken: () => Promise<void> }> {
    return this.#exclusively(() => this.#read(countMax, bytesMax))
  }

  /** Closes the file that is written; what is on disk stays for the next process. */
  close(): Promise<void> {
    return this.#exclusively(() => this.#closeFile())
  }

  #exclusively<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#running.then(work)
    this.#running = result.catch(() => undefined)
    return result
  }

  async #append(records: readonly TrafficRecord[]): Promise<void> {
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

  async #read(countMax: number, bytesMax: number): Promise<{ records: TrafficRecord[]; taken: () => Promise<void> }> {
    const found = await this.#readFirst({ countMax, bytesMax })
    if (found === undefined) return { records: [], taken: async () => undefined }
    const { segment, records, endBytes } = found
    const take = async () => {
      // The segment may have been deleted in between because space ran out.
      if (this.#segments[0] !== segment) return
      this.#readBytes = endBytes
      if (segment.records !== undefined) segment.records -= records.length
      if (endBytes >= segment.bytes) await this.#deleteFirst()
    }
    return { records, taken: () => this.#exclusively(take) }
  }

  /** Reads the first segment that can be read; those before it are left out. */
  async #readFirst(
    bounds: ReadBounds
  ): Promise<{ segment: Segment; records: TrafficRecord[]; endBytes: number } | undefined> {
    for (let segment = this.#segments[0]; segment !== undefined; segment = this.#segments[0]) {
      try {
        return { segment, ...(await this.#readSegment(segment, bounds)) }
      } catch (error) {
        await this.#leaveOutFirst()
        const lost = segment.records ?? 0
        this.#lost += lost
        this.#options.onFailure(error, lost)
      }
    }
    return undefined
  }

  async #closeFile(): Promise<void> {
    await this.#writing?.close()
    this.#writing = undefined
  }

  async #makeRoom(bytes: number): Promise<void> {
    while (this.#segments.length > 0 && this.bytes + bytes > this.#options.bytesMax) {
      const lost = this.#segments[0]?.records ?? (await this.#readFirst(EVERYTHING))?.records.length ?? 0
      await this.#deleteFirst()
      this.#lost += lost
      this.#options.onDropped(lost)
    }
  }

  async #openSegment(bytes: number): Promise<Segment> {
    const last = this.#segments.at(-1)
    if (last !== undefined && this.#writing !== undefined && last.bytes + bytes <= SEGMENT_BYTES_MAX) return last
    await this.#closeFile()
    if (this.isEmpty) this.#filledAtMs = Date.now()
    this.#lastNumber += 1
    const segment: Segment = { number: this.#lastNumber, bytes: 0, records: 0 }
    // Append mode: after an incomplete record was cut off, the next one follows without a gap.
    this.#writing = await open(this.#path(segment), 'ax', 0o600)
    this.#segments.push(segment)
    return segment
  }

  async #deleteFirst(): Promise<void> {
    const segment = await this.#leaveOutFirst()
    if (segment === undefined) return
    // A later process stores the records on disk again, which changes nothing.
    await rm(this.#path(segment), { force: true }).catch((error: unknown) => this.#options.onFailure(error, 0))
  }

  async #leaveOutFirst(): Promise<Segment | undefined> {
    const segment = this.#segments.shift()
    this.#readBytes = 0
    if (this.#segments.length === 0) await this.#closeFile()
    return segment
  }

  async #readSegment(
    segment: Segment,
    { countMax, bytesMax }: ReadBounds
  ): Promise<{ records: TrafficRecord[]; endBytes: number }> {
    const file = await open(this.#path(segment), 'r')
    try {
      const splitter = new LineSplitter(this.#options.recordBytesMax)
      const records: TrafficRecord[] = []
      let endBytes = this.#readBytes
      let position = this.#readBytes
      const isFull = () => records.length >= countMax || (records.length > 0 && endBytes - this.#readBytes >= bytesMax)
      while (position < segment.bytes && !isFull()) {
        const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(READ_BYTES), 0, READ_BYTES, position)
        if (bytesRead === 0) break
        position += bytesRead
        for (const line of splitter.push(buffer.subarray(0, bytesRead))) {
          if (isFull()) break
          endBytes += line.length + 1
          const record = readRecord(line)
          if (record !== undefined) records.push(record)
        }
      }
      // Bytes after the last line feed are an incomplete record of a crash.
      return { records, endBytes: isFull() ? endBytes : segment.bytes }
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
