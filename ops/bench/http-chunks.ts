// Writes the chunks of a chunked response itself. Node 26 joins all writes of one turn of the event loop to one chunk, so an upstream that
// writes its events one by one would send several in a chunk, and the cost of an event in a chunk of its own would not be measured.

import type { ServerResponse } from 'node:http'

/** Ends a response that `startChunks` began. */
export const END_OF_CHUNKS = '0\r\n\r\n'

/** Starts a response of status 200 whose body is written in chunks of `writeChunk`. */
export function startChunks(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
  response.writeHead(200, { ...headers, 'transfer-encoding': 'chunked' })
  response.flushHeaders()
  // The head says chunked already; what is written from here on is sent as it is.
  response.chunkedEncoding = false
}

/** One chunk with this text. */
export function writeChunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
}
