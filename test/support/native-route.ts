// A chat request on the native route as pure steps: read, plan and write the request, then read the upstream's bytes and write the
// response. No connection is opened, so a test describes both sides of an exchange in a few lines.

import { admitFeatures } from '../../worker/bridge/admit-features.ts'
import { LeftOut } from '../../worker/bridge/left-out.ts'
import { resolveRoute } from '../../worker/bridge/resolve-route.ts'
import { settleConversation } from '../../worker/bridge/settle-conversation.ts'
import {
  accumulateEvents,
  createStopSequenceFilter,
  type JsonObject,
  type NormalizedEvent,
  type NormalizedRequest,
  type NormalizedResponse
} from '../../worker/normalized/index.ts'
import type { ReadContext, ResponseContext, StreamWriter } from '../../worker/protocols/client-face.ts'
import type { NativeOptions } from '../../worker/protocols/native/options.ts'
import type { NativeReading } from '../../worker/protocols/native/reading.ts'
import { nativeV1Face } from '../../worker/protocols/native/v1/face.ts'
import { nativeV2Face } from '../../worker/protocols/native/v2/face.ts'
import type { ApiMode, ResponseReader, WrittenChat } from '../../worker/protocols/provider-face.ts'
import { requestId } from './codec.ts'

const ATTACHMENT_BYTES_MAX = 1024
export const plainOptions: NativeOptions = {
  v1Base: '/v1',
  v2Base: '/v2',
  isImageInputEnabled: true,
  jsonObjectMode: 'reject',
  parallelToolCalls: 'auto',
  attachmentLimits: {
    audioBytesMax: ATTACHMENT_BYTES_MAX,
    imageBytesMax: ATTACHMENT_BYTES_MAX,
    textBytesMax: ATTACHMENT_BYTES_MAX,
    audioAndImageBytesMax: ATTACHMENT_BYTES_MAX
  }
}

/** The client face of a protocol. */
export interface RouteFace<Written> {
  /** Default members of every body. */
  smallest: JsonObject
  read(body: JsonObject, context: ReadContext): NormalizedRequest
  writeResponse(response: NormalizedResponse, context: ResponseContext): Written
  createStreamWriter(context: ResponseContext): StreamWriter
}

export interface SendOptions extends Partial<NativeOptions> {
  /** False sends the default model in place of the model of the request. */
  passModel?: boolean
  defaultModel?: string
  /** The header with the ids of uploaded files. */
  attachmentIds?: string
}

export interface Exchange<Written> {
  request: NormalizedRequest
  /** The body of the upstream request. */
  upstream: JsonObject
  written: WrittenChat<NativeReading>
  /** The client's response for a whole response of the upstream. */
  whole(upstream: JsonObject): Written
  /** The client's stream for the upstream's frames, one read per frame. */
  stream(frames: readonly string[]): string
}

/** Creates a function that sends a body of the protocol on a contract. */
export function createSend<Written>(face: RouteFace<Written>) {
  return (mode: ApiMode, body: JsonObject, options: SendOptions = {}): Exchange<Written> => {
    const { attachmentIds, passModel = true, defaultModel, ...changes } = options
    const request = face.read({ ...face.smallest, ...body }, { requestId, attachmentIds })
    const dynamic = {
      profileId: 'main',
      providerKind: 'native',
      passModel,
      defaultEmbeddingsModel: 'Embeddings',
      ...(defaultModel === undefined ? {} : { defaultModel })
    }
    const faces = { native: { v1: nativeV1Face, v2: nativeV2Face } }
    const plan = resolveRoute(request, mode, { routes: { aliases: new Map(), dynamic }, faces })
    const nativeFace = faces.native[mode]
    settleConversation(request, nativeFace.accepts)
    admitFeatures(request, nativeFace.accepts, new LeftOut(false))
    const target = { upstreamModel: plan.upstreamModel }
    const written = nativeFace.writeChat(request, target, { ...plainOptions, ...changes })
    // A request that was translated in a pool thread comes back without its messages.
    const context = { requestId, createdAt: 0, model: plan.publicModel, request: { ...request, messages: [] } }
    const openReader = (): ResponseReader =>
      nativeFace.createReader(written.reading, { status: 200, headers: {} }, { createNonce: () => requestId })
    const openFilter = () => {
      const { stop } = request.sampling
      const filter = stop === undefined ? undefined : createStopSequenceFilter(stop)
      return (events: readonly NormalizedEvent[]) => filter?.push(events) ?? events
    }
    return {
      request,
      upstream: written.body,
      written,
      whole: body => {
        const events = openReader().readBody(Buffer.from(JSON.stringify(body)))
        return face.writeResponse(accumulateEvents(openFilter()(events)), context)
      },
      stream: frames => {
        const reader = openReader()
        const writer = face.createStreamWriter(context)
        const cut = openFilter()
        const reads = frames.map(frame => reader.push(Buffer.from(frame)))
        const written = [...reads, reader.end()].map(events => writer.write(cut(events))).join('')
        return written + (writer.brokenEnd ?? '')
      }
    }
  }
}

const usageV1 = { prompt_tokens: 19, completion_tokens: 8, total_tokens: 27, precached_prompt_tokens: 5 }
const usageV2 = {
  input_tokens: 19,
  input_tokens_details: { prompt_tokens: 19, cached_tokens: 5 },
  output_tokens: 8,
  total_tokens: 27
}

/** A whole response of v1. */
export function wholeV1(message: JsonObject, finishReason = 'stop'): JsonObject {
  return {
    choices: [{ index: 0, message: { role: 'assistant', content: '', ...message }, finish_reason: finishReason }],
    model: 'GigaChat-2-Max:2.0',
    usage: usageV1
  }
}

/** A whole response of v2. */
export function wholeV2(messages: JsonObject[], finishReason = 'stop'): JsonObject {
  return { model: 'GigaChat-2-Max:2.0', messages, finish_reason: finishReason, usage: usageV2 }
}

/** The frames of a v1 stream: one per delta, then one with the finish reason. */
export function framesV1(deltas: JsonObject[], finishReason: string | undefined = 'stop'): string[] {
  const chunk = (choice: JsonObject, rest: JsonObject = {}) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }], model: 'm:1', ...rest })}\n\n`
  const end = chunk({ delta: { content: '' }, finish_reason: finishReason ?? 'stop' }, { usage: usageV1 })
  return [...deltas.map(delta => chunk({ delta })), end, 'data: [DONE]\n\n']
}

/** The frames of a v2 stream: one per message, then one with the finish reason. */
export function framesV2(messages: JsonObject[], finishReason = 'stop'): string[] {
  const frame = (name: string, data: JsonObject) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
  return [
    ...messages.map(message => frame('response.message.delta', { model: 'm:1', messages: [message] })),
    frame('response.message.done', { model: 'm:1', finish_reason: finishReason, usage: usageV2 })
  ]
}
