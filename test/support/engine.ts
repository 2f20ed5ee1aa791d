// What the engines that the product runs on do in different ways.

import process from 'node:process'

const major = Number.parseInt(process.versions.node, 10)

/**
 * Whether Node raises an error for compressed data that is cut off. That of version 22 gives what it could decompress of zstd, and no
 * error: the reader of the body finds no whole JSON in it.
 */
export function noticesCuts(encoding: string): boolean {
  return encoding !== 'zstd' || major >= 24
}

/** Whether an interval of the test runner's own clock ends when its callback clears it. That of version 22 runs on. */
export const endsClearedIntervals = major >= 24
