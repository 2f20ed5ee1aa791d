// Large bodies of requests go out in pieces, and each piece that the connection takes renews the time limit: a slow link may need longer
// than the limit for a large file.

import type { Readable } from 'node:stream'
import { type Bytes, countBytes } from '../../../shared/bytes.ts'
import { createTurnBudget } from '../../performance/turn-budget.ts'

/** Bodies above this size go out in pieces of it. */
const BODY_PIECE_BYTES = 512 * 1024

/**
 * The HTTP client asks for the next piece when the connection has taken this one, but not after a piece that its buffer (64 KB) has room for.
 */
const AWAITED_PIECE_BYTES_MIN = 128 * 1024

/**
 * What is sent of all large bodies before other work of the event loop has its turn: while a provider reads as fast as it can, the system
 * takes one piece after the other, and a body of 8 MB would be written in one turn.
 */
const sendBudget = createTurnBudget(BODY_PIECE_BYTES)

/** Whether a body goes out as it is. */
export function isOnePiece(body: Bytes): body is Uint8Array {
  return body instanceof Uint8Array && body.byteLength <= BODY_PIECE_BYTES
}

/** The HTTP client cannot see the length of a body in pieces, and without a length the body would go out chunked. */
export function writeLength(headers: string[], body: Bytes | undefined): string[] {
  return body === undefined || isOnePiece(body) ? headers : [...headers, 'content-length', String(countBytes(body))]
}

/**
 * The pieces of a body, for the HTTP client: it takes an iterable as well, which its types leave out, and never asks it for a piece ahead
 * as it does a stream.
 * @param onTaken called when the connection has taken all of the body.
 */
export function sendInPieces(body: Bytes, onTaken: (() => void) | undefined): Readable {
  return cutPieces(body, onTaken) as unknown as Readable
}

async function* cutPieces(body: Bytes, onTaken: (() => void) | undefined): AsyncGenerator<Uint8Array> {
  for (const part of body instanceof Uint8Array ? [body] : body) {
    for (let start = 0; start < part.byteLength; start += BODY_PIECE_BYTES) {
      const piece = part.subarray(start, start + BODY_PIECE_BYTES)
      while (!sendBudget.take(piece.byteLength)) await sendBudget.wait()
      // Copied where the connection may still hold it when the body is said to be taken.
      yield piece.byteLength < AWAITED_PIECE_BYTES_MIN ? Buffer.from(piece) : piece
    }
  }
  onTaken?.()
}
