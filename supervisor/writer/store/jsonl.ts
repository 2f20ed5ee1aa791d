// The sink that appends one JSON object per line to a private file (operations contract, sections 8.1 and 8.3).
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { TrafficRecord } from '../../../shared/traffic/record.ts'
import type { Sink } from '../sink.ts'

const APPEND = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW
const PRIVATE = 0o600

/** The end of a file in which the ids of records are looked up. */
const RECENT_BYTES = 16 * 1024 * 1024
/** `"id": "` and the id as this module writes it; other members cannot hold an unescaped quote. */
const ID = /"id": "([0-9a-f-]{36})"/

/** Opens the file and reads which records its end holds. Rejects with the system's error. */
export async function openJsonlSink(path: string): Promise<Sink> {
  await mkdir(dirname(path), { recursive: true })
  const recentIds = await repairFile(path)

  return {
    name: 'jsonl',
    async write(records) {
      const missing = records.filter(({ id }) => !recentIds.has(id))
      if (missing.length > 0) await append(path, missing.map(writeJsonLine).join(''))
      for (const { id } of missing) recentIds.add(id)
    },
    close: async () => undefined
  }
}

/** A record as one line: members in the order of their names, as other programs that read these files expect. */
export function writeJsonLine(record: TrafficRecord): string {
  return `${writeSorted(record)}\n`
}

/** Cuts off a last line that a crash left unfinished, and returns the ids at the end of the file. */
async function repairFile(path: string): Promise<RecentIds> {
  const ids = new RecentIds()
  const file = await openPrivate(path)
  try {
    const { size } = await file.stat()
    const start = Math.max(0, size - RECENT_BYTES)
    const bytes = Buffer.alloc(size - start)
    await file.read(bytes, 0, bytes.length, start)
    const end = bytes.lastIndexOf('\n') + 1
    if (end < bytes.length) await file.truncate(start + end)
    for (const line of bytes.toString('utf8', 0, end).split('\n')) {
      const id = ID.exec(line)?.[1]
      if (id !== undefined) ids.add(id)
    }
    return ids
  } finally {
    await file.close()
  }
}

/** More than workers can send again after a lost connection or a crash of the writer. */
const RECENT_IDS_MAX = 65_536

/** The ids of the records that were written last. */
class RecentIds {
  #newer = new Set<string>()
  #older = new Set<string>()

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

async function append(path: string, text: string): Promise<void> {
  // Opened for each batch, so that a file which another program has moved away is created anew.
  const file = await openPrivate(path)
  try {
    const { size } = await file.stat()
    try {
      await file.appendFile(text)
    } catch (error) {
      // A full disk takes a part of the text.
      await file.truncate(size).catch(() => undefined)
      throw error
    }
  } finally {
    await file.close()
  }
}

async function openPrivate(path: string): Promise<FileHandle> {
  const file = await open(path, APPEND, PRIVATE)
  // The file may be older than this process, with other rights.
  await file.chmod(PRIVATE)
  return file
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
