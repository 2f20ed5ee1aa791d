// Finds and reads the last lines of a file, in blocks: the size of the file costs neither memory nor time.
import type { FileHandle } from 'node:fs/promises'
import { openRegularFile, toLogError } from './log-file.ts'
import { dropInvalidUtf8 } from './text.ts'

/** What is read at most, however long the lines are, and what of it is in memory at once. */
const READING = { readBytesMax: 8 * 1024 * 1024, blockBytes: 64 * 1024 }
const LINE_FEED = 10

export interface FileRange {
  readonly start: number
  readonly end: number
}

/** Opens the log for reading. Raises `log_file_not_found` and `log_file_unreadable`. */
export async function openLog(path: string): Promise<FileHandle> {
  try {
    return await openRegularFile(path)
  } catch (error) {
    throw toLogError(error)
  }
}

/**
 * The range of the last lines as the file is now; a last line without a newline counts. It covers at most 8 MiB and starts with a line
 * unless a single one is longer. Raises `log_file_unreadable`.
 */
export async function findLastLines(file: FileHandle, lines: number, reading = READING): Promise<FileRange> {
  try {
    return await searchBackwards(file, lines, reading)
  } catch (error) {
    throw toLogError(error)
  }
}

async function searchBackwards(
  file: FileHandle,
  lines: number,
  { readBytesMax, blockBytes }: typeof READING
): Promise<FileRange> {
  const { size: end } = await file.stat()
  const bound = Math.max(0, end - readBytesMax)
  const block = Buffer.allocUnsafe(blockBytes)
  let found = 0
  /** Start of the earliest whole line that was seen. */
  let firstLine: number | undefined
  for (let blockEnd = end; blockEnd > bound; ) {
    const blockStart = Math.max(bound, blockEnd - blockBytes)
    const bytes = await readBlock(file, block, { start: blockStart, end: blockEnd })
    for (let at = bytes.lastIndexOf(LINE_FEED); at >= 0; at = at === 0 ? -1 : bytes.lastIndexOf(LINE_FEED, at - 1)) {
      const lineStart = blockStart + at + 1
      // The newline at the end of the file ends the last line and starts none.
      if (lineStart === end) continue
      firstLine = lineStart
      found += 1
      if (found === lines) return { start: lineStart, end }
    }
    blockEnd = blockStart
  }
  return { start: bound === 0 ? 0 : (firstLine ?? bound), end }
}

/** Reads a range forward as text, block by block. Bytes that are no UTF-8 are dropped. */
export async function* readText(
  file: FileHandle,
  { start, end }: FileRange,
  { blockBytes } = READING
): AsyncGenerator<Buffer> {
  const block = Buffer.allocUnsafe(blockBytes)
  let at = start
  while (at < end) {
    const bytes = await readBlock(file, block, { start: at, end: Math.min(end, at + blockBytes) })
    if (bytes.length === 0) return
    // A character that the block cuts is read again with the next one.
    const whole = at + bytes.length < end ? bytes.subarray(0, bytes.length - countCutBytes(bytes)) : bytes
    at += whole.length
    yield dropInvalidUtf8(whole)
  }
}

async function readBlock(file: FileHandle, block: Buffer, { start, end }: FileRange): Promise<Buffer> {
  const { bytesRead } = await file.read(block, 0, end - start, start)
  return block.subarray(0, bytesRead)
}

/** The bytes of a character at the end whose last bytes are missing: at most 3. */
function countCutBytes(bytes: Uint8Array): number {
  for (let count = 1; count <= 3 && count < bytes.length; count += 1) {
    const byte = bytes[bytes.length - count] ?? 0
    if ((byte & 0xc0) === 0x80) continue
    const isLead = byte >= 0xc0
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
    return isLead && length > count ? count : 0
  }
  return 0
}
