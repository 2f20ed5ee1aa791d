// Rotates the runtime log by size. Every process appends to the file; the supervisor alone renames
// it and then has every process open it anew (operations.md 12).
import { existsSync, lstatSync, readdirSync, realpathSync, renameSync, statSync, unlinkSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { isStandardStream } from '../../shared/logging/standard-streams.ts'
import type { Logger } from '../../shared/logging.ts'

/** Interval between two checks of the size; a file may exceed its limit by what is logged in between. */
const CHECK_INTERVAL_MS = 1000
/** A file that cannot be renamed, such as a mounted one, is tried at each check: its failure is logged this often, into the same file. */
const FAILURE_INTERVAL_MS = 60_000
const DAY_MS = 24 * 60 * 60 * 1000

export interface LogRotation {
  /** Checks the size now and rotates the file when it has reached the limit. Returns whether it did. */
  check(): boolean
  close(): void
}

export interface LogRotationOptions {
  readonly file: string
  readonly maxSizeBytes: number
  readonly retentionDays: number
}

export interface LogRotationDependencies {
  readonly log: Logger
  readonly nowMs: () => number
  /** Opens the log anew in all processes. */
  readonly reopen: () => void
}

/** Starts the rotation of a log file. */
export function createLogRotation(dependencies: LogRotationDependencies, options: LogRotationOptions): LogRotation {
  let failedAtMs = Number.NEGATIVE_INFINITY

  function check(): boolean {
    try {
      const rotated = rotateWhenFull(options)
      if (rotated === undefined) return false
      dependencies.reopen()
      deleteOldLogs({ ...options, file: rotated }, dependencies.nowMs())
      return true
    } catch (error) {
      const nowMs = dependencies.nowMs()
      if (nowMs - failedAtMs < FAILURE_INTERVAL_MS) return false
      failedAtMs = nowMs
      dependencies.log.error({ event: 'log_rotation_failed', err: error }, 'The log file could not be rotated')
      return false
    }
  }
  const timer = setInterval(check, CHECK_INTERVAL_MS).unref()
  return { check, close: () => clearInterval(timer) }
}

/** Returns the former path of the file that it renamed: behind a link, which stays, that of the file itself. */
function rotateWhenFull({ file, maxSizeBytes }: LogRotationOptions): string | undefined {
  const status = statSync(file, { bigint: true, throwIfNoEntry: false })
  if (status === undefined || status.size < BigInt(maxSizeBytes)) return undefined
  // Renaming the file behind `/dev/stdout` would change nothing but its name.
  if (isStandardStream(file)) return undefined
  const path = lstatSync(file).isSymbolicLink() ? realpathSync(file) : file
  const createdAtNs = status.birthtimeNs > 0n ? status.birthtimeNs : status.mtimeNs
  renameSync(path, findFreeName(path, createdAtNs))
  return path
}

/** Two files created in the same microsecond would have one name, so the later one takes the next free microsecond. */
function findFreeName(file: string, createdAtNs: bigint): string {
  let microseconds = createdAtNs / 1000n
  let name = rotatedName(file, microseconds)
  while (existsSync(name)) {
    microseconds += 1n
    name = rotatedName(file, microseconds)
  }
  return name
}

/** `gateway.log` becomes `gateway.<YYYY-MM-DD_HH-mm-ss_SSSSSS>.log`, in local time. */
export function rotatedName(file: string, createdAtMicroseconds: bigint): string {
  const time = new Date(Number(createdAtMicroseconds / 1000n))
  const two = (value: number) => String(value).padStart(2, '0')
  const date = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`
  const clock = `${two(time.getHours())}-${two(time.getMinutes())}-${two(time.getSeconds())}`
  const fraction = String(createdAtMicroseconds % 1_000_000n).padStart(6, '0')
  const extension = extname(file)
  return join(dirname(file), `${basename(file, extension)}.${date}_${clock}_${fraction}${extension}`)
}

const STAMP = /^\d{4}-\d{2}-\d{2}_\d{2}-\d{2}-\d{2}_\d{6}$/

function deleteOldLogs({ file, retentionDays }: LogRotationOptions, nowMs: number): void {
  const directory = dirname(file)
  const extension = extname(file)
  const prefix = `${basename(file, extension)}.`
  for (const name of readdirSync(directory)) {
    const stamp = name.slice(prefix.length, name.length - extension.length)
    if (!name.startsWith(prefix) || !name.endsWith(extension) || !STAMP.test(stamp)) continue
    const status = statSync(join(directory, name), { throwIfNoEntry: false })
    if (status !== undefined && nowMs - status.mtimeMs > retentionDays * DAY_MS) unlinkSync(join(directory, name))
  }
}
