// Reads the small text files that a start needs. The start waits for them, so neither a pipe without a writer nor a file without an end may
// keep it waiting.

import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { dropByteOrderMark } from './bytes.ts'

/** No `.env`, secret or certificate is larger. */
const FILE_BYTES_MAX = 1024 * 1024
const PIPE_TIMEOUT_MS = 10_000
const PIPE_POLL_MS = 10

export interface TextFileOptions {
  /** How long a pipe may take to deliver everything, in milliseconds. Default: 10 s. */
  pipeTimeoutMs?: number
}

/**
 * Reads a file in UTF-8, or everything that a pipe delivers, without the byte order mark that editors of Windows write first. Throws the
 * system's error where it cannot be read, and an `Error` for more than 1 MiB and for a pipe that takes too long.
 */
export function readTextFile(path: string, { pipeTimeoutMs = PIPE_TIMEOUT_MS }: TextFileOptions = {}): string {
  // Opening a pipe would otherwise wait for its writer.
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    return readAll(descriptor, performance.now() + pipeTimeoutMs)
  } finally {
    closeSync(descriptor)
  }
}

function readAll(descriptor: number, deadlineMs: number): string {
  const isPipe = fstatSync(descriptor).isFIFO()
  const bytes = Buffer.alloc(FILE_BYTES_MAX + 1)
  let length = 0
  while (length <= FILE_BYTES_MAX) {
    const read = readSome(descriptor, bytes.subarray(length))
    // A pipe without a writer is at its end too.
    if (read === 0 && !(isPipe && length === 0)) return dropByteOrderMark(bytes.subarray(0, length)).toString('utf8')
    if (read > 0) length += read
    else if (performance.now() < deadlineMs) Atomics.wait(pause, 0, 0, PIPE_POLL_MS)
    else throw new Error('The file did not deliver its text in time.')
  }
  throw new Error('The file is too large.')
}

const pause = new Int32Array(new SharedArrayBuffer(4))

/** The number of bytes read, 0 at the end; -1 where none have arrived yet. */
function readSome(descriptor: number, target: Uint8Array): number {
  try {
    return readSync(descriptor, target, 0, target.byteLength, null)
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'EAGAIN') return -1
    throw thrown
  }
}
