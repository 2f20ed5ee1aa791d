// Helpers for tests of the messages client face: read a body, catch an error, write a response.

import {
  accumulateEvents,
  type JsonObject,
  type NormalizedEvent,
  type NormalizedRequest
} from '../../../../../worker/normalized/index.ts'
import type { ResponseContext } from '../../../../../worker/protocols/client-face.ts'
import { readMessagesRequest } from '../../../../../worker/protocols/messages/client/face.ts'
import type { MessagesResponse } from '../../../../../worker/protocols/messages/client/schema.ts'
import { createMessagesStreamWriter } from '../../../../../worker/protocols/messages/client/stream.ts'
import { writeMessagesResponse } from '../../../../../worker/protocols/messages/client/write-response.ts'
import { catchError, eventsOf, failure, requestId } from '../../../../support/codec.ts'

export { catchError, eventsOf, failure, requestId }

/** Reads a body. Without `messages` it gets the smallest valid conversation. */
export function read(body: JsonObject): NormalizedRequest {
  return readMessagesRequest({ messages: [{ role: 'user', content: 'hi' }], ...body }, { requestId })
}

/** The path in the error of an invalid body. */
export function refusedAt(body: JsonObject): string | undefined {
  return failure(() => read(body)).param
}

export function responseContext(body: JsonObject = {}): ResponseContext {
  return { requestId, createdAt: 1_795_187_162, model: 'claude-sonnet-4-5', request: read(body) }
}

export function writeResponse(events: readonly NormalizedEvent[], body: JsonObject = {}): MessagesResponse {
  return writeMessagesResponse(accumulateEvents(events), responseContext(body))
}

/** The data of the frames of a streamed response. */
export function writeFrames(events: readonly NormalizedEvent[], body: JsonObject = {}): JsonObject[] {
  return readFrames(createMessagesStreamWriter(responseContext(body)).write(events))
}

export function readFrames(text: string): JsonObject[] {
  const frames = text.split('\n\n').filter(frame => frame !== '')
  return frames.map(frame => JSON.parse(frame.slice(frame.indexOf('\ndata: ') + '\ndata: '.length)))
}
