// Small words for the tests of the completions codec: a body read, an error caught, an answer written.

import {
  accumulateEvents,
  type JsonObject,
  type NormalizedEvent,
  type NormalizedRequest
} from '../../../../../worker/normalized/index.ts'
import { readCompletionsRequest } from '../../../../../worker/protocols/completions/client/face.ts'
import type { CompletionsResponse } from '../../../../../worker/protocols/completions/client/schema.ts'
import { writeCompletionsResponse } from '../../../../../worker/protocols/completions/client/write-response.ts'
import type { ResponseContext } from '../../../../../worker/protocols/face.ts'
import { eventsOf, failure, requestId } from '../../../../support/codec.ts'

export { eventsOf, failure, requestId }

/** Reads a body that has the smallest valid conversation unless it brings its own. */
export function read(body: JsonObject): NormalizedRequest {
  return readCompletionsRequest({ messages: [{ role: 'user', content: 'hi' }], ...body }, { requestId })
}

/** The path that an invalid body is refused with. */
export function refusedAt(body: JsonObject): string | undefined {
  return failure(() => read(body)).param
}

export function responseContext(body: JsonObject = {}): ResponseContext {
  return { requestId, createdAt: 1_795_187_162, model: 'GigaChat-2', request: read(body) }
}

export function writeAnswer(events: readonly NormalizedEvent[], body: JsonObject = {}): CompletionsResponse {
  return writeCompletionsResponse(accumulateEvents(events), responseContext(body))
}
