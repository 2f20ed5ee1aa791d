// Follows a log file: hands out the lines that are appended to it, also after it was rotated or cut off.
import { type FileHandle, stat } from 'node:fs/promises'
import { findLastLines } from './last-lines.ts'
import { isMissing, openRegularFile } from './log-file.ts'
import { readValidText } from './text.ts'

export interface LogLine {
  /** Without white space around it. */
  readonly text: string
  /** Names the place behind the line, so that a later tail can start there. */
  readonly id: string
}

export interface LogTail {
  /** The lines that end in the next block; undefined when nothing new was written. Rejects with the system's error. */
  read(): Promise<LogLine[] | undefined>
  close(): Promise<void>
}

export interface LogTailOptions {
  readonly path: string
  /** Id of the last line that was received: the tail starts behind it, or at the start of the file when that was rotated since. */
  readonly lastId?: string | undefined
  /** Lines before the end that the tail begins with, where no id says where to start: they and the new ones are read in one go. */
  readonly lines?: number | undefined
  readonly blockBytes?: number
  readonly lineBytesMax?: number
}

const BLOCK_BYTES = 64 * 1024
/** The rest of a longer line is dropped. */
const LINE_BYTES_MAX = 1024 * 1024
const LINE_FEED = 10
/**
 * How often the renamed file is read once more although it has nothing new: other processes write to it until they open the new one. With
 * one read each 500 ms, that is time enough.
 */
const READS_AFTER_ROTATION = 2
/** A process that cannot open the new file writes to the old one without end; this many reads of it are enough. */
const READS_AFTER_ROTATION_MAX = 16

/** Opens the tail at the end of the file, or so many lines before it. Rejects with the system's error, such as `ENOENT`. */
export async function openLogTail(options: LogTailOptions): Promise<LogTail> {
  const { path, lastId, lines: earlier = 0, blockBytes = BLOCK_BYTES, lineBytesMax = LINE_BYTES_MAX } = options
  const block = Buffer.allocUnsafe(blockBytes)
  let file = await openRegularFile(path)
  let { identity, size } = await describe(file)
  let position = readStart(lastId, { identity, size }) ?? (await findStart(file, { lines: earlier, size }))
  let lines = createLineCollector(lineBytesMax)
  let emptyReads = 0
  let readsAfterRotation = 0

  /** Reads from the start of what the path names now. Returns whether it names anything. */
  async function reopen(): Promise<boolean> {
    const fresh = await openRegularFile(path).catch(ignoreMissing)
    if (fresh === undefined) return false
    await file.close()
    file = fresh
    identity = (await describe(file)).identity
    startOver()
    return true
  }

  function startOver(): void {
    position = 0
    lines = createLineCollector(lineBytesMax)
    emptyReads = 0
    readsAfterRotation = 0
  }

  /** Nothing new is in the file. Returns whether another one, or the same one cut off, is to be read instead. */
  async function replaceFile(): Promise<boolean> {
    if ((await describe(file)).size < position) {
      startOver()
      return true
    }
    const current = await stat(path, { bigint: true }).catch(ignoreMissing)
    // Until the new file is there, the renamed one stays.
    if (current === undefined || writeIdentity(current) === identity) return false
    emptyReads += 1
    return emptyReads > READS_AFTER_ROTATION && reopen()
  }

  async function read(): Promise<LogLine[] | undefined> {
    const { bytesRead } = await file.read(block, 0, block.length, position)
    if (bytesRead === 0) return (await replaceFile()) ? read() : undefined
    const found: LogLine[] = []
    lines.add(block.subarray(0, bytesRead), (line, endsAt) => {
      const text = readValidText(line).trim()
      if (text !== '') found.push({ text, id: `${identity}-${position + endsAt}` })
    })
    position += bytesRead
    if (emptyReads > 0) readsAfterRotation += 1
    if (readsAfterRotation > READS_AFTER_ROTATION_MAX) await reopen()
    return found
  }

  return {
    read,
    close: () => file.close()
  }
}

/** Where the id says that a tail starts: behind the line that it names, or at the start of a file that is newer than it. */
function readStart(
  lastId: string | undefined,
  { identity, size }: { identity: string; size: number }
): number | undefined {
  const named = /^([0-9a-z.]{1,40})-(\d{1,15})$/.exec(lastId ?? '')
  if (named === null) return undefined
  const offset = Number(named[2])
  return named[1] === identity && offset <= size ? offset : 0
}

/** The start of the last lines, or the end of the file. */
async function findStart(file: FileHandle, { lines, size }: { lines: number; size: number }): Promise<number> {
  return lines === 0 ? size : (await findLastLines(file, lines)).start
}

async function describe(file: FileHandle): Promise<{ identity: string; size: number }> {
  const status = await file.stat({ bigint: true })
  return { identity: writeIdentity(status), size: Number(status.size) }
}

/** As long as a file is open, no other one has its numbers. */
function writeIdentity({ dev, ino }: { dev: bigint; ino: bigint }): string {
  return `${dev.toString(36)}.${ino.toString(36)}`
}

function ignoreMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error
}

/** Joins blocks to lines. Only the start of an unfinished line is kept. */
function createLineCollector(lineBytesMax: number) {
  let pieces: Buffer[] = []
  let waitingBytes = 0

  function keep(piece: Buffer): void {
    const kept = piece.subarray(0, lineBytesMax - waitingBytes)
    if (kept.length === 0) return
    // The block is reused.
    pieces.push(Buffer.from(kept))
    waitingBytes += kept.length
  }

  return {
    /** Calls back with each line that ends in the block, and the offset behind it. */
    add(block: Buffer, onLine: (line: Buffer, endsAt: number) => void): void {
      let start = 0
      for (let end = block.indexOf(LINE_FEED); end >= 0; end = block.indexOf(LINE_FEED, start)) {
        keep(block.subarray(start, end))
        start = end + 1
        const line = pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)
        pieces = []
        waitingBytes = 0
        onLine(line, start)
      }
      keep(block.subarray(start))
    }
  }
}
