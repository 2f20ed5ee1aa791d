// One probe of a body: what its route would send upstream, and what the gateway itself would do
// with the response. No call is made.

import { admitRoute } from '../../bridge/admit.ts'
import { planChat } from '../../bridge/plan-chat.ts'
import { type ExecutionPlan, resolveEmbeddingsRoute } from '../../bridge/resolve-route.ts'
import {
  accumulateEvents,
  type ClientProtocol,
  createStopSequenceFilter,
  dropLaterCalls,
  EventAssembler,
  GatewayError,
  type JsonObject,
  type JsonValue,
  type NormalizedEvent,
  type NormalizedRequest,
  type ProviderAcceptance,
  toGatewayError
} from '../../normalized/index.ts'
import type { ChatClientFace, ResponseContext } from '../../protocols/client-face.ts'
import { clientFaces, embeddingsFaces, findProviderFace } from '../../protocols/registry.ts'
import { showFields } from '../../protocols/shared/members/shown-fields.ts'
import { joinFrames } from '../../protocols/shared/stream/stream-frames.ts'
import { type ClientFormat, type OutsideBody, protocolsByFormat, readRoutedRequest } from '../formats.ts'
import type { DebugContext } from '../job.ts'
import { type DebugEnvironment, showUpstreamBody } from '../selected-route.ts'

export interface Accepted {
  isAccepted: true
  plan: ExecutionPlan
  /** The path of the call on the provider's origin. */
  path: string
  upstream: JsonObject
  /** What the gateway does itself, in any form that can be compared. */
  ownWork: unknown
  /** The client's fields that the route leaves out (decisions.md 70); absent for embeddings. */
  leftOut?: readonly string[]
  /** The client's own body is sent, and its own response comes back. */
  isSameWire?: true
  /** Of a chat. */
  chat?: { request: NormalizedRequest; acceptance: ProviderAcceptance }
}

export interface Refused {
  isAccepted: false
  error: GatewayError
}

export type Probe = (body: JsonObject) => Accepted | Refused

/** Turns what `look` raises about the body into a refusal; a fault of the gateway is raised. */
function probing(look: (body: JsonObject) => Accepted): Probe {
  return body => {
    try {
      return look(body)
    } catch (thrown) {
      const error = toGatewayError(thrown)
      if (error.code === 'internal_error') throw thrown
      return { isAccepted: false, error }
    }
  }
}

/** Creates the probe of a chat family. */
export function createChatProbe(
  format: ClientFormat,
  outside: OutsideBody,
  context: DebugContext,
  { settings, faces }: DebugEnvironment
): Probe {
  const protocol = protocolsByFormat[format]
  return probing(body => {
    const request = readRoutedRequest(format, body, context, outside, { settings, faces })
    const { apiMode, scope } = context
    const planned = planChat({ protocol, apiMode, scope, request, body }, settings, faces)
    const { plan, face, written, edits, leftOut } = planned
    const isSameWire = edits !== undefined
    return {
      isAccepted: true,
      ...(isSameWire && { isSameWire }),
      plan,
      path: written.path,
      leftOut: showFields(leftOut, path => clientFaces[protocol].members.has(path)),
      upstream: showUpstreamBody(planned),
      ownWork: {
        reading: written.reading,
        headers: written.headers,
        extraHeaders: request.extraHeaders,
        path: written.path,
        ...(!isSameWire && { response: writeSample(protocol, request, plan) })
      },
      chat: { request, acceptance: face.accepts }
    }
  })
}

/** Creates the probe of embeddings. */
export function createEmbeddingsProbe(
  { apiMode, scope, requestId }: DebugContext,
  { settings, faces }: DebugEnvironment
): Probe {
  const { embeddings: client } = embeddingsFaces
  return probing(body => {
    const { input, model, requestedModel, encoding, dimensions, extraHeaders } = client.read(body, { requestId })
    const plan = resolveEmbeddingsRoute({ model, requestedModel }, apiMode, { routes: settings.routes, scope })
    admitRoute(plan, 'completions')
    const { embeddings } = findProviderFace(faces, plan)
    if (embeddings === undefined) throw new GatewayError('unsupported_semantic', { param: 'model' })
    // Token ids are shown as they are: which text they stand for changes nothing here.
    const texts = input.type === 'texts' ? input.texts : input.tokens.map(ids => ids.join(' '))
    const call = { model: plan.upstreamModel, input: texts, ...(dimensions === undefined ? {} : { dimensions }) }
    const { body: upstream, path } = embeddings.write(call, settings.providerOptions[plan.profileId])
    return { isAccepted: true, plan, path, upstream, ownWork: { encoding, extraHeaders, model: plan.publicModel } }
  })
}

/** A response that has something of everything that a request can have an influence on. */
function listSampleEvents(stops: readonly string[]): NormalizedEvent[] {
  const assembler = new EventAssembler()
  assembler.start({ providerModel: null, metadata: {} })
  assembler.reasoning('A thought.')
  assembler.text(`"A text"${stops.map(stop => ` and ${stop}`).join('')}`)
  assembler.toolCall({ id: 'call_1', name: 'first' }, '{"a":1}')
  assembler.toolCall({ id: 'call_2', name: 'second' }, '{"a":2}')
  assembler.finish(
    { reason: 'tool-calls', providerReason: null, metadata: {} },
    { inputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 2, reasoningTokens: 0, totalTokens: 3 }
  )
  return assembler.take()
}

/**
 * The sample as the client would get it. What a response merely repeats of its request is left out.
 */
function writeSample(protocol: ClientProtocol, request: NormalizedRequest, plan: ExecutionPlan): JsonValue {
  const face: ChatClientFace = clientFaces[protocol]
  const context: ResponseContext = {
    requestId: 'sample',
    createdAt: 0,
    now: () => 0,
    model: plan.publicModel,
    request: { ...request, requestId: 'sample', messages: [], echo: { members: {}, text: '"echo":null' } }
  }
  const stops = request.sampling.stop ?? []
  const events = listSampleEvents(stops)
  const filter = createStopSequenceFilter(stops)
  const cut = stops.length === 0 ? events : filter.push(events).concat(filter.finish())
  const shown = request.parallelToolCalls === 'refused' ? dropLaterCalls(cut) : cut
  if (!request.isStream) return face.writeResponse(accumulateEvents(shown), context)
  const writer = face.createStreamWriter(context)
  return [joinFrames(writer.write(shown)), writer.brokenEnd ?? '']
}
