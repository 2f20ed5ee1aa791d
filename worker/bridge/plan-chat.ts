// Leads a chat request that was read to its provider's wire: route, admission, and the writer of the provider face. Pure, and before any
// I/O; the routes of chats and the debugging routes share it.

import { GatewayError, type JsonObject, type NormalizedRequest } from '../normalized/index.ts'
import type { ApiMode, ChatClientFace, ProviderFace, WrittenChat } from '../protocols/face.ts'
import { clientFaces, findProviderFace, type ProviderFaces } from '../protocols/registry.ts'
import { admitRequest, admitRoute, admitToAlias } from './admit.ts'
import { type ExecutionPlan, type RouteTable, resolveRoute } from './resolve-route.ts'
import { settleConversation } from './settle-conversation.ts'

/** The operator's configuration as plain data that may cross a thread boundary. */
export interface ChatConfiguration {
  routes: RouteTable
  /** The options of each profile's provider face, by profile id. */
  providerOptions: Readonly<Record<string, unknown>>
}

/** A chat request that a client face has read. */
export interface ReadChat {
  protocol: keyof typeof clientFaces
  apiMode: ApiMode
  request: NormalizedRequest
  /** The body that `request` was read from; absent for one that comes from elsewhere. */
  body?: JsonObject
  /** The route where something else than the request's model selects it. */
  plan?: ExecutionPlan
  /** `ReadContext.wireHeaders`. */
  wireHeaders?: readonly string[] | undefined
}

/** A chat on its provider's wire. */
export interface PlannedChat {
  plan: ExecutionPlan
  face: ProviderFace
  written: WrittenChat<unknown>
  /** The written body is the client's own, passed on by the codec of the face. */
  isPassed: boolean
}

/**
 * Resolves the route of a request, admits it and writes it on the provider's wire. Gives `request.conversation` the meaning that it has
 * there. Raises `GatewayError` with the path of the client's own field.
 *
 * A body whose provider speaks the client's protocol is passed on in place of a written one. The provider decides about the members of its
 * wire then; only what the alias declares is still compared with what the request uses.
 */
export function planChat(
  { protocol, apiMode, request, body, plan: given, wireHeaders }: ReadChat,
  { routes, providerOptions }: ChatConfiguration,
  faces: ProviderFaces
): PlannedChat {
  const client = clientFaces[protocol]
  const plan = given ?? resolveRoute(request, apiMode, { routes, faces })
  const cell = admitRoute(plan, protocol)
  const face = findProviderFace(faces, plan)
  const passing = body === undefined || face.passing?.protocol !== protocol ? undefined : face.passing
  const isPassed = passing !== undefined
  if (!isPassed && request.refusal !== undefined) throw request.refusal
  settleConversation(request, face.accepts)
  if (!isPassed && face.accepts.unexpressed === 'refused' && body !== undefined)
    client.assertExpressed(body, request, face.accepts)
  try {
    if (plan.capabilities !== undefined) plan.admission = admitToAlias(request, plan.capabilities, { cell, isPassed })
    if (!isPassed) admitRequest(request, face.accepts)
  } catch (thrown) {
    throw body === undefined ? thrown : spellParam(thrown, client, body)
  }
  const { upstreamModel } = plan
  const options = providerOptions[plan.profileId]
  const { outputTokensMax, features, outputLimitField } = plan.capabilities ?? {}
  const target = { upstreamModel, outputTokensMax, features, outputLimitField }
  const written =
    passing === undefined || body === undefined
      ? face.writeChat(request, target, options)
      : passing.writeChat(body, { ...target, isStream: request.isStream, wireHeaders }, options)
  return { plan, face, written, isPassed }
}

/** Gives a refusal the client's own name of the field. */
function spellParam(thrown: unknown, { spellField }: ChatClientFace, body: JsonObject): unknown {
  if (spellField === undefined || !GatewayError.is(thrown) || thrown.param === undefined) return thrown
  return thrown.with({ param: spellField(body, thrown.param) })
}
