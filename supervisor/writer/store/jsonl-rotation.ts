// Starts a new file of lines when the current one is large or of an earlier day, and deletes old
// files (operations.md 8.3 and 8.6).
import type { Stats } from 'node:fs'
import { link, readdir, rename, rm, stat, unlink } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'

const DAY_MS = 24 * 60 * 60 * 1000
/** After a failure; until then the file grows. */
const PAUSE_MS = 60_000
const STAMP = /^(\d{4}-\d{2}-\d{2})\.(\d{4,})$/

export interface RotationOptions {
  readonly bytesMax: number
  readonly retentionDays: number
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number
  /** Called with the system's error when the file could not be rotated. */
  readonly onFailed: (error: unknown) => void
}

export class JsonlRotation {
  readonly #path: string
  readonly #options: RotationOptions
  /** What the names of rotated files begin and end with. */
  readonly #prefix: string
  readonly #extension: string
  /** Milliseconds since the epoch; a clock that was set back must not prolong the pause. */
  #failedAtMs = Number.NEGATIVE_INFINITY

  constructor(path: string, options: RotationOptions) {
    this.#path = path
    this.#options = options
    this.#extension = extname(path)
    this.#prefix = `${basename(path, this.#extension)}.`
  }

  /** The paths of the files that were rotated away, newest first. */
  async list(): Promise<string[]> {
    const directory = dirname(this.#path)
    const files = (await readdir(directory)).filter(file => this.#readStamp(file) !== undefined)
    return files.sort(compareNames).map(file => join(directory, file))
  }

  /** Whether the current file, of this status, is full or of another day (UTC). */
  isDue(status: Stats): boolean {
    const { bytesMax, nowMs } = this.#options
    if (status.size === 0 || Math.abs(nowMs() - this.#failedAtMs) < PAUSE_MS) return false
    return status.size >= bytesMax || startDayOf(status) !== dayOf(nowMs())
  }

  /** Renames the current file, of this status, and deletes files beyond the retention. Never rejects. */
  async rotate(status: Stats): Promise<void> {
    const { nowMs, onFailed } = this.#options
    try {
      const rotated = await this.list()
      await moveTo(this.#path, this.#nextName(startDayOf(status), rotated))
      for (const path of rotated) await this.#deleteIfOld(path)
    } catch (error) {
      this.#failedAtMs = nowMs()
      onFailed(error)
    }
  }

  /** `traffic_logs.jsonl` becomes `traffic_logs.<day>.<number>.jsonl`. */
  #nextName(day: string, rotated: readonly string[]): string {
    const stamps = rotated.map(path => this.#readStamp(basename(path)))
    const numbers = stamps.map(stamp => (stamp?.day === day ? stamp.number : 0))
    const number = String(1 + Math.max(0, ...numbers)).padStart(4, '0')
    return join(dirname(this.#path), `${this.#prefix}${day}.${number}${this.#extension}`)
  }

  #readStamp(file: string): { day: string; number: number } | undefined {
    if (!file.startsWith(this.#prefix) || !file.endsWith(this.#extension)) return undefined
    const [, day, number] = STAMP.exec(file.slice(this.#prefix.length, file.length - this.#extension.length)) ?? []
    return day === undefined ? undefined : { day, number: Number(number) }
  }

  async #deleteIfOld(path: string): Promise<void> {
    const { retentionDays, nowMs } = this.#options
    const status = await stat(path).catch(() => undefined)
    // Its last line is as old as the file.
    if (status !== undefined && nowMs() - status.mtimeMs > retentionDays * DAY_MS) await rm(path, { force: true })
  }
}

/** Unlike a rename it never replaces a file, which another process may have rotated at the same time. */
async function moveTo(path: string, target: string): Promise<void> {
  try {
    await link(path, target)
  } catch (error) {
    if (!hasNoLinks(error)) throw error
    await rename(path, target)
    return
  }
  await unlink(path)
}

/** Whether the file system has no second names of a file. */
function hasNoLinks(error: unknown): boolean {
  return error instanceof Error && 'code' in error && ['ENOSYS', 'ENOTSUP', 'EPERM'].includes(String(error.code))
}

/** The day on which the file was begun, where the file system tells; else that of its last line. */
function startDayOf({ birthtimeMs, mtimeMs }: Stats): string {
  return dayOf(birthtimeMs > 0 ? Math.min(birthtimeMs, mtimeMs) : mtimeMs)
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

/** Newest first: later days, then higher numbers. */
function compareNames(one: string, other: string): number {
  return one.length === other.length ? (one < other ? 1 : -1) : other.length - one.length
}
