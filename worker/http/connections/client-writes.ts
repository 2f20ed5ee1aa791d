// Writes to clients of any speed: waits for one that reads slowly, and gives the event loop a turn
// between the pieces for one that reads fast.

import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createTurnBudget } from '../../performance/turn-budget.ts'
import { UNREAD_TIMEOUT_MS } from './served-connection.ts'

/** More than this goes out in pieces of this size. */
export const PIECE_BYTES = 512 * 1024

/**
 * Bytes that are sent of all large bodies in one turn of the event loop. While a client reads as
 * fast as it can, the system takes all that is written: a write of 7 MB takes 10 ms, and a body of
 * 40 MB in pieces would still be written in one turn.
 */
const budget = createTurnBudget(PIECE_BYTES)

/**
 * Writes bytes piece by piece, each in a turn of the event loop in which no other piece is written.
 * Resolves when all are written, or when the response was closed: by the client, or here after the
 * client has read nothing for `stallTimeoutMs`.
 */
export async function writeInPieces(
  response: ServerResponse,
  bytes: Uint8Array,
  stallTimeoutMs?: number
): Promise<void> {
  for (let start = 0; start < bytes.byteLength; start += PIECE_BYTES) {
    await whenDrained(response, stallTimeoutMs)
    while (!budget.take(PIECE_BYTES)) await budget.wait()
    if (response.destroyed) return
    response.write(bytes.subarray(start, start + PIECE_BYTES))
  }
}

/**
 * Whether the client has to read before more is written. The connection knows better than the response: what
 * was written to a corked response counts as a full buffer until a `drain`, which on Node 22 never comes where
 * the connection took all of it.
 */
export function isFull({ socket, writableNeedDrain }: ServerResponse): boolean {
  return writableNeedDrain && (socket === null || socket.writableNeedDrain)
}

/**
 * Resolves when more can be written to the response, or when it was closed: by the client, or here
 * after the client has read nothing for this long.
 */
export async function whenDrained(response: ServerResponse, stallTimeoutMs = UNREAD_TIMEOUT_MS): Promise<void> {
  if (response.destroyed || !response.writableNeedDrain) return
  // What was written in this turn of the event loop may not be on the connection yet: without another turn, a loop of
  // writes and waits would never put it there.
  if (!isFull(response)) await nextTurn()
  if (!response.destroyed && isFull(response)) await whenRead(response, stallTimeoutMs)
}

/** Resolves when the client has read what was written, or when the response was closed. */
function whenRead(response: ServerResponse, stallTimeoutMs: number): Promise<void> {
  return new Promise(resolve => {
    // `drain` alone never comes after a client disconnect (field-lessons.md H7), or while the
    // client reads nothing.
    const timer = setTimeout(() => response.destroy(), stallTimeoutMs)
    function finish(): void {
      clearTimeout(timer)
      response.removeListener('drain', finish)
      response.removeListener('close', finish)
      resolve()
    }
    response.once('drain', finish)
    response.once('close', finish)
  })
}
