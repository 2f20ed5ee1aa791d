// Shared by the tests of the content codec: reads a body, catches an error, writes a response, writes a body on the native wire.

import {
  accumulateEvents,
  type JsonObject,
  type NormalizedEvent,
  type NormalizedMessage,
  type NormalizedRequest
} from '../../../../../worker/normalized/index.ts'
import type { ResponseContext } from '../../../../../worker/protocols/client-face.ts'
import { readContentRequest } from '../../../../../worker/protocols/content/client/face.ts'
import type { ContentResponse } from '../../../../../worker/protocols/content/client/schema.ts'
import { writeContentResponse } from '../../../../../worker/protocols/content/client/write-response.ts'
import type { NativeOptions } from '../../../../../worker/protocols/native/options.ts'
import type { NativeReading } from '../../../../../worker/protocols/native/reading.ts'
import { nativeV1Face } from '../../../../../worker/protocols/native/v1/face.ts'
import { nativeV2Face } from '../../../../../worker/protocols/native/v2/face.ts'
import type { WrittenChat } from '../../../../../worker/protocols/provider-face.ts'
import { eventsOf, failure, requestId } from '../../../../support/codec.ts'

export { eventsOf, failure, requestId }

export const model = 'gemini-2.5-pro'

/** The smallest valid conversation, for bodies that test other members. */
const hi: JsonObject = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }

/** Reads a body as the gateway does, from text: only parsing makes members such as `__proto__`. */
export function read(body: JsonObject, path = { model, isStream: false }): NormalizedRequest {
  return readContentRequest(JSON.parse(JSON.stringify({ ...hi, ...body })), { requestId, path })
}

/** The messages that `contents` are read into. */
export function readMessages(contents: JsonObject['contents']): NormalizedMessage[] {
  return read({ contents }).messages
}

/** The path in the error for an invalid body, or for one that only a provider of the same wire can judge. */
export function refusedAt(body: JsonObject): string | undefined {
  const { code, param } = failure(() => {
    const { refusal } = read(body)
    if (refusal !== undefined) throw refusal
  })
  return code === 'invalid_request' ? param : `${code} ${param}`
}

export const settings: NativeOptions = {
  v1Base: '/api/v1',
  v2Base: '/api/v2',
  isImageInputEnabled: true,
  jsonObjectMode: 'reject',
  parallelToolCalls: 'auto',
  attachmentLimits: {
    audioBytesMax: 1000,
    imageBytesMax: 1000,
    textBytesMax: 1000,
    audioAndImageBytesMax: 2000
  }
}

/** The largest v2 model, the only one that accepts parallel calls. */
export const largestModel = 'GigaChat-2-Max'

export function writeV1(body: JsonObject, upstreamModel = model): WrittenChat<NativeReading> {
  return nativeV1Face.writeChat(read(body), { upstreamModel }, settings)
}

export function writeV2(body: JsonObject, upstreamModel = model): WrittenChat<NativeReading> {
  return nativeV2Face.writeChat(read(body), { upstreamModel }, settings)
}

/** The body on the native wire, without the model. */
export function onV1(body: JsonObject): JsonObject {
  const { model: _model, ...rest } = writeV1(body).body
  return rest
}

export function onV2(body: JsonObject, upstreamModel = model): JsonObject {
  const { model: _model, ...rest } = writeV2(body, upstreamModel).body
  return rest
}

export function responseContext(body: JsonObject = {}): ResponseContext {
  return { requestId, createdAt: 1_795_187_162, model, request: read(body) }
}

export function writeResponse(events: readonly NormalizedEvent[], body: JsonObject = {}): ContentResponse {
  return writeContentResponse(accumulateEvents(events), responseContext(body))
}

/** A body that requests thoughts. */
export const withThoughts: JsonObject = { generationConfig: { thinkingConfig: { includeThoughts: true } } }

/** A body that requests one of two colours as a bare string. */
export const withEnum: JsonObject = {
  generationConfig: { responseMimeType: 'text/x.enum', responseSchema: { type: 'STRING', enum: ['red', 'blue'] } }
}
