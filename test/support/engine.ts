// What the engines that the product runs on do in different ways.

import process from 'node:process'

/**
 * Whether Node raises an error for compressed data that is cut off. That of version 22 gives what it could decompress of zstd, and no
 * error: the reader of the body finds no whole JSON in it.
 */
export function noticesCuts(encoding: string): boolean {
  return encoding !== 'zstd' || Number.parseInt(process.versions.node, 10) >= 24
}
