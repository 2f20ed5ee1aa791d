// The sink that appends one JSON object per line to a private file (operations.md 8.1 and 8.3).
import { constants, type Stats } from 'node:fs'
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { TrafficRecord } from '../../../shared/traffic/record.ts'
import type { Sink } from '../sink.ts'
import { JsonlRotation, type RotationOptions } from './jsonl-rotation.ts'

const APPEND = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW
const PRIVATE = 0o600
const ALL_RIGHTS = 0o7777

/** The ends of the newest files in which the ids of records are looked up: more than workers can send again. */
const RECENT_BYTES = 256 * 1024 * 1024
const READ_BYTES = 1024 * 1024
/** `"id": "` and the id as this module writes it; other members cannot hold an unescaped quote. */
const ID = /"id": "([0-9a-f-]{36})"/g
/** Longer than what the expression matches. */
const ID_BYTES = 64
const NEWLINE = 0x0a

/**
 * Opens the file and reads which records its end holds, so that records which are sent again are not written again. Rejects with the
 * system's error.
 */
export async function openJsonlSink(path: string, rotationOptions: RotationOptions): Promise<Sink> {
  await mkdir(dirname(path), { recursive: true })
  const rotation = new JsonlRotation(path, rotationOptions)
  await cutUnfinishedLine(path)
  const recentIds = await readRecentIds([path, ...(await rotation.list())])
  const file = new AppendedFile(path, rotation)

  return {
    name: 'jsonl',
    async write(records) {
      const missing = new Map(records.filter(({ id }) => !recentIds.has(id)).map(record => [record.id, record]))
      if (missing.size > 0) await file.append([...missing.values()].map(writeJsonLine).join(''))
      for (const id of missing.keys()) recentIds.add(id)
    },
    close: async () => undefined
  }
}

/** A record as one line: members in the order of their names, as other programs that read these files expect. */
export function writeJsonLine(record: TrafficRecord): string {
  return `${writeSorted(record)}\n`
}

/** Cuts off a last line that a crash left unfinished, and creates the file where there is none. */
async function cutUnfinishedLine(path: string): Promise<void> {
  const { file, status } = await openPrivate(path)
  try {
    const { size } = status
    let end = size
    while (end > 0) {
      const start = Math.max(0, end - READ_BYTES)
      const bytes = await readAt(file, start, end - start)
      const newline = bytes.lastIndexOf(NEWLINE)
      end = newline === -1 ? start : start + newline + 1
      if (newline !== -1) break
    }
    if (end < size) await file.truncate(end)
  } finally {
    await file.close()
  }
}

/** The ids in the files, newest file first, from their ends up to `RECENT_BYTES`. */
async function readRecentIds(paths: readonly string[]): Promise<RecentIds> {
  const ids = new RecentIds()
  let left = RECENT_BYTES
  for (const path of paths) {
    if (left <= 0) break
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
    try {
      const { size } = await file.stat()
      for (let end = size; end > 0 && left > 0; end -= READ_BYTES) {
        const start = Math.max(0, end - READ_BYTES)
        // An id may lie across the border of two pieces.
        const bytes = await readAt(file, start, Math.min(size, end + ID_BYTES) - start)
        for (const [, id] of bytes.toString('latin1').matchAll(ID)) ids.add(id ?? '')
        left = ids.size < RECENT_IDS_MAX ? left - READ_BYTES : 0
      }
    } finally {
      await file.close()
    }
  }
  return ids
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}

/** More than workers can send again after a lost connection or a crash of the writer. */
const RECENT_IDS_MAX = 131_072

/** The ids of the records that were written last. */
class RecentIds {
  #newer = new Set<string>()
  #older = new Set<string>()

  get size(): number {
    return this.#newer.size + this.#older.size
  }

  has(id: string): boolean {
    return this.#newer.has(id) || this.#older.has(id)
  }

  add(id: string): void {
    this.#newer.add(id)
    if (this.#newer.size < RECENT_IDS_MAX) return
    this.#older = this.#newer
    this.#newer = new Set()
  }
}

interface OpenFile {
  readonly file: FileHandle
  readonly status: Stats
}

/** The file as it is appended to: opened for each batch, so that a file which another program has moved away is created anew. */
class AppendedFile {
  readonly #path: string
  readonly #rotation: JsonlRotation
  /** The file and its size after the last batch: where it is still of this size, it ends with a whole line. */
  #last: { readonly inode: number; readonly size: number } | undefined

  constructor(path: string, rotation: JsonlRotation) {
    this.#path = path
    this.#rotation = rotation
  }

  /** Appends whole lines. Rejects with the system's error; then none of them is in the file. */
  async append(text: string): Promise<void> {
    const { file, status } = await this.#open()
    try {
      const isLineOpen = await this.#hasOpenLine(file, status)
      const bytes = Buffer.from(isLineOpen ? `\n${text}` : text)
      await writeWhole(file, bytes, status.size)
      this.#last = { inode: status.ino, size: status.size + bytes.length }
    } finally {
      await file.close()
    }
  }

  async #open(): Promise<OpenFile> {
    const opened = await openPrivate(this.#path).catch((error: unknown) => this.#openInNewFolder(error))
    if (!this.#rotation.isDue(opened.status)) return opened
    await opened.file.close()
    await this.#rotation.rotate(opened.status)
    return openPrivate(this.#path)
  }

  /** An operator or a cleaning program may have removed the folder with the file. */
  async #openInNewFolder(error: unknown): Promise<OpenFile> {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    await mkdir(dirname(this.#path), { recursive: true })
    return openPrivate(this.#path)
  }

  /** Whether another process, or an earlier write of this one, has left a line without its end. */
  async #hasOpenLine(file: FileHandle, { ino, size }: Stats): Promise<boolean> {
    if (size === 0 || (this.#last?.inode === ino && this.#last.size === size)) return false
    return (await readAt(file, size - 1, 1))[0] !== NEWLINE
  }
}

/** Appends all of the bytes to a file of this size, or none: a full disk takes a part of them. */
async function writeWhole(file: FileHandle, bytes: Buffer, size: number): Promise<void> {
  let written = 0
  try {
    while (written < bytes.length) written += (await file.write(bytes, written)).bytesWritten
  } catch (error) {
    const isLast = await file.stat().then(
      status => status.size === size + written,
      () => false
    )
    // Otherwise another process has appended lines behind it.
    if (isLast) await file.truncate(size).catch(() => undefined)
    throw error
  }
}

async function openPrivate(path: string): Promise<OpenFile> {
  const file = await open(path, APPEND, PRIVATE)
  try {
    const status = await file.stat()
    // The file may be older than this process, with other rights.
    if ((status.mode & ALL_RIGHTS) !== PRIVATE) await file.chmod(PRIVATE)
    return { file, status }
  } catch (error) {
    await file.close()
    throw error
  }
}

function writeSorted(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(writeSorted).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const members: string[] = []
  for (const name of Object.keys(value).sort()) {
    const member = (value as Record<string, unknown>)[name]
    if (member !== undefined) members.push(`${JSON.stringify(name)}: ${writeSorted(member)}`)
  }
  return `{${members.join(', ')}}`
}
