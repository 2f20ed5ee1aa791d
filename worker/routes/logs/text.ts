// Text of the log file, which can hold any bytes: those that are no UTF-8 are dropped.
import { isUtf8 } from 'node:buffer'

const REPLACEMENT_BYTES = Buffer.from('\uFFFD')

/** A copy of the bytes without those that are no UTF-8. */
export function dropInvalidUtf8(bytes: Buffer): Buffer {
  return isUtf8(bytes) ? Buffer.from(bytes) : Buffer.from(readValidText(bytes))
}

/** The text of bytes, without those that are no UTF-8. */
export function readValidText(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8')
  // The decoder writes this character for invalid bytes; where the bytes spell it, it stays. No other character contains its bytes.
  const parts: string[] = []
  let start = 0
  for (;;) {
    const end = bytes.indexOf(REPLACEMENT_BYTES, start)
    parts.push(bytes.toString('utf8', start, end === -1 ? bytes.length : end).replaceAll('\uFFFD', ''))
    if (end === -1) return parts.join('\uFFFD')
    start = end + REPLACEMENT_BYTES.length
  }
}
