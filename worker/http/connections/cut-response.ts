// The end of a stream that failed (decisions.md 108). Some clients ignore the error in a stream and
// take the text before it for a whole response, unless the body of the response is unfinished.

import type { ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { findConnection, limitUnread } from './served-connection.ts'

/** Pause before a chunk that stands alone: clients join chunks that arrive together. */
const LAST_CHUNK_PAUSE_MS = 100
/**
 * How long a client may read the error of a cut response and close its connection. Clients built on
 * fetch drop what they have not read yet when a body breaks, and then report a lost connection in
 * place of the error.
 */
const LEAVE_MS = 250
/**
 * How long the connection stays half open behind the end of a cut response. A socket that is closed
 * while the client still sends resets the connection, and the client may lose what it has not read.
 */
const LINGER_MS = 1000

/**
 * Closes the connection behind what was written, without the end of the response: FIN and no reset.
 * Resolves when it is closed. From the call on, the connection serves no further request.
 * @param written resolves when the frames before the end are written to the response.
 * @param lastChunk is written behind them, unless it is empty.
 */
export async function cutResponse(response: ServerResponse, written: Promise<void>, lastChunk: string): Promise<void> {
  findConnection(response.req.socket)?.stop()
  await written
  if (lastChunk !== '') {
    await pause(LAST_CHUNK_PAUSE_MS)
    if (response.destroyed) return
    response.write(lastChunk)
  }
  await whenSent(response)
  await closedWithin(response, LEAVE_MS)
  const { socket } = response
  if (socket === null || response.destroyed) return
  socket.end()
  await closedWithin(response, LINGER_MS)
  socket.destroy()
}

/** Resolves when the system has taken everything that was written, or the connection is closed. */
function whenSent(response: ServerResponse): Promise<void> {
  if (response.destroyed) return Promise.resolve()
  return new Promise(resolve => {
    response.once('close', resolve)
    // A pipelined response is sent when those before it are complete, and so is this empty write.
    response.write('', () => resolve())
    limitUnread(response.socket)
  })
}

/** Resolves when the connection is closed, or after this many milliseconds. */
function closedWithin(response: ServerResponse, timeoutMs: number): Promise<void> {
  if (response.destroyed) return Promise.resolve()
  return new Promise(resolve => {
    const timer = setTimeout(finish, timeoutMs)
    function finish(): void {
      clearTimeout(timer)
      response.removeListener('close', finish)
      resolve()
    }
    response.once('close', finish)
  })
}
