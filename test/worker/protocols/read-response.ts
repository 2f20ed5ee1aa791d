// Shared by the growth tests of the providers' wires.

import type { NormalizedEvent } from '../../../worker/normalized/index.ts'
import type { ResponseReader } from '../../../worker/protocols/provider-face.ts'

/** As much as one read of a socket returns: a stream of any length reaches a reader in such pieces. */
const READ_BYTES = 64 * 1024

/** Reads a response, whole or as a stream; fails unless it ends as a response that is complete. */
export function readResponse(reader: ResponseReader, bytes: Buffer, isWhole: boolean): void {
  const last = isWhole ? reader.readBody(bytes).at(-1) : readStream(reader, bytes)
  if (last?.type !== 'finish') throw new Error(`The response ended as ${last?.type}.`)
}

function readStream(reader: ResponseReader, bytes: Buffer): NormalizedEvent | undefined {
  let last: NormalizedEvent | undefined
  for (let at = 0; at < bytes.length; at += READ_BYTES) {
    last = reader.push(bytes.subarray(at, at + READ_BYTES)).at(-1) ?? last
  }
  return reader.end().at(-1) ?? last
}
