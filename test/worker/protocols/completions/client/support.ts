// Helpers for the tests of the completions codec: they read a body, catch an error and write a response.

import {
  accumulateEvents,
  type JsonObject,
  type NormalizedEvent,
  type NormalizedRequest
} from '../../../../../worker/normalized/index.ts'
import type { ResponseContext } from '../../../../../worker/protocols/client-face.ts'
import { readCompletionsRequest } from '../../../../../worker/protocols/completions/client/face.ts'
import type { CompletionsResponse } from '../../../../../worker/protocols/completions/client/schema.ts'
import { createCompletionsStreamWriter } from '../../../../../worker/protocols/completions/client/stream.ts'
import { writeCompletionsResponse } from '../../../../../worker/protocols/completions/client/write-response.ts'
import { joinFrames } from '../../../../../worker/protocols/shared/stream/stream-frames.ts'
import { eventsOf, failure, requestId } from '../../../../support/codec.ts'

export { eventsOf, failure, requestId }

/** Reads a body. The smallest valid conversation is added when the body has no `messages`. */
export function read(body: JsonObject): NormalizedRequest {
  return readCompletionsRequest({ messages: [{ role: 'user', content: 'hi' }], ...body }, { requestId })
}

/** Returns the path in the error that an invalid body raises. */
export function refusedAt(body: JsonObject): string | undefined {
  return failure(() => read(body)).param
}

export function responseContext(body: JsonObject = {}): ResponseContext {
  return { requestId, createdAt: 1_795_187_162, model: 'GigaChat-2', request: read(body) }
}

/** Writes the response that the events add up to, for a request with the given body. */
export function writeResponse(events: readonly NormalizedEvent[], body: JsonObject = {}): CompletionsResponse {
  return writeCompletionsResponse(accumulateEvents(events), responseContext(body))
}

/** The text of a stream; every member of `reads` has the events of one upstream read. */
export function writeStream(reads: ReadonlyArray<readonly NormalizedEvent[]>, context = responseContext()): string {
  const writer = createCompletionsStreamWriter(context)
  return reads.map(read => joinFrames(writer.write(read))).join('')
}
