// How much content one answer of an engine may have: histories and lists have no bound of their own, and what a database reads for an
// answer is in memory as a whole.

/** Below the largest frame between the store process and a worker. */
export const ANSWER_BYTES_MAX = 200 * 1024 * 1024

/** A history is larger than one answer may be. */
export class HistoryTooLargeError extends Error {
  constructor(bytesMax: number) {
    super(`A history has more than ${bytesMax} bytes.`)
    this.name = 'HistoryTooLargeError'
  }
}

/** Returns its items, and raises `HistoryTooLargeError` when more was read than fits into one answer. */
export type CountBytes = <Items extends Iterable<{ readonly json: Uint8Array }>>(items: Items) => Items

export function createByteCount(bytesMax: number): CountBytes {
  let bytes = 0
  return items => {
    for (const { json } of items) bytes += json.length
    if (bytes > bytesMax) throw new HistoryTooLargeError(bytesMax)
    return items
  }
}
