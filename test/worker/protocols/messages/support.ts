// Small words for the tests of the messages codec: a body read, an error caught, an answer written.

import {
  accumulateEvents,
  EventAssembler,
  GatewayError,
  type JsonObject,
  type NormalizedEvent,
  type NormalizedRequest
} from '../../../../worker/normalized/index.ts'
import type { AnswerContext } from '../../../../worker/protocols/face.ts'
import { readMessagesRequest } from '../../../../worker/protocols/messages/client.ts'
import type { MessagesResponse } from '../../../../worker/protocols/messages/schema.ts'
import { createMessagesStreamWriter } from '../../../../worker/protocols/messages/stream.ts'
import { writeMessagesResponse } from '../../../../worker/protocols/messages/write-response.ts'

export const requestId = '6f3f0f0e-9d5e-4c1b-8a53-1f2b7f6c0d11'

/** Reads a body that has the smallest valid conversation unless it brings its own. */
export function read(body: JsonObject): NormalizedRequest {
  return readMessagesRequest({ messages: [{ role: 'user', content: 'hi' }], ...body }, { requestId })
}

/** What `run` raises, in the words that a client sees; fails when it raises nothing. */
export function failure(run: () => unknown): { code: string; param: string | undefined; status: number } {
  const { code, param, status } = catchError(run)
  return { code, param, status }
}

/** The error that `run` raises; fails when it raises nothing. */
export function catchError(run: () => unknown): GatewayError {
  try {
    run()
  } catch (thrown) {
    if (GatewayError.is(thrown)) return thrown
    throw thrown
  }
  throw new Error('Nothing was raised.')
}

/** The path that an invalid body is refused with. */
export function refusedAt(body: JsonObject): string | undefined {
  return failure(() => read(body)).param
}

export function answerContext(body: JsonObject = {}): AnswerContext {
  return { requestId, createdAt: 1_795_187_162, model: 'claude-sonnet-4-5', request: read(body) }
}

/** The events of an answer that `build` makes; it begins and ends by itself unless `build` ends it. */
export function eventsOf(build: (assembler: EventAssembler) => void): NormalizedEvent[] {
  const assembler = new EventAssembler()
  assembler.start({ providerModel: 'GigaChat-2:1.0', metadata: {} })
  build(assembler)
  assembler.finish({ reason: 'stop', providerReason: 'stop', metadata: {} }, null)
  return assembler.take()
}

export function writeAnswer(events: readonly NormalizedEvent[], body: JsonObject = {}): MessagesResponse {
  return writeMessagesResponse(accumulateEvents(events), answerContext(body))
}

/** The data of the frames that a streamed answer consists of. */
export function writeFrames(events: readonly NormalizedEvent[], body: JsonObject = {}): JsonObject[] {
  return readFrames(createMessagesStreamWriter(answerContext(body)).write(events))
}

export function readFrames(text: string): JsonObject[] {
  const frames = text.split('\n\n').filter(frame => frame !== '')
  return frames.map(frame => JSON.parse(frame.slice(frame.indexOf('\ndata: ') + '\ndata: '.length)))
}
