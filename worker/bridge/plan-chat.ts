// Leads a chat request that was read to its provider's wire: route, admission, and the writer of the provider face. Pure, and before any
// I/O; the routes of chats and the debugging routes share it.

import { GatewayError, type JsonObject, type NormalizedRequest } from '../normalized/index.ts'
import type { ChatClientFace } from '../protocols/client-face.ts'
import type { ApiMode, ChatTarget, ProviderFace, WrittenChat } from '../protocols/provider-face.ts'
import { clientFaces, findProviderFace, type ProviderFaces } from '../protocols/registry.ts'
import type { JsonEdits } from '../protocols/shared/json/edits.ts'
import { admitRoute, admitToAlias } from './admit.ts'
import { admitFeatures } from './admit-features.ts'
import { LeftOut } from './left-out.ts'
import { nameModel } from './name-model.ts'
import { noteMembers } from './note-members.ts'
import { boundOutput, findOutputMax } from './output-limit.ts'
import { type ExecutionPlan, type RouteSources, type RouteTable, resolveRoute } from './resolve-route.ts'
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
  /** The models that the key of the request may use (keys.md 2); absent: all of them. */
  scope?: RouteSources['scope']
  request: NormalizedRequest
  /** The body that `request` was read from; absent for one that comes from elsewhere. */
  body?: JsonObject
  /** The length of that body. */
  bodyBytes?: number
  /** The route where something else than the request's model selects it. */
  plan?: ExecutionPlan
  /** `ReadContext.wireHeaders`. */
  wireHeaders?: readonly string[] | undefined
  /** `ReadContext.compactionKey`. */
  compactionKey?: Uint8Array | undefined
  /** `ReadContext.refusesUnsupported`. */
  refusesUnsupported?: boolean | undefined
}

/** A chat on its provider's wire. */
export interface PlannedChat {
  plan: ExecutionPlan
  face: ProviderFace
  written: WrittenChat<unknown>
  /** The written body is the client's own: what changes in its bytes (`SameWireCodec`). */
  edits?: JsonEdits
  /** The client's fields that the route leaves out, each once, in code-point order (decisions.md 70). */
  leftOut: readonly string[]
}

/**
 * Resolves the route of a request, admits it and writes it on the provider's wire. Gives `request.conversation` the meaning that it has
 * there. Raises `GatewayError` with the path of the client's own field.
 *
 * A body whose provider speaks the client's protocol is sent in place of a written one. The provider decides about the members of its
 * wire then; only what the alias declares is still compared with what the request uses.
 */
export function planChat(
  read: ReadChat,
  { routes, providerOptions }: ChatConfiguration,
  faces: ProviderFaces
): PlannedChat {
  const { request, apiMode, scope, plan: given } = read
  let plan = given
  try {
    plan ??= resolveRoute(request, apiMode, { routes, faces, scope })
    return writeChat(read, plan, { providerOptions, faces })
  } catch (thrown) {
    throw nameModel(thrown, plan?.publicModel ?? request.model)
  }
}

function writeChat(
  { protocol, request, body, bodyBytes, wireHeaders, compactionKey, refusesUnsupported }: ReadChat,
  plan: ExecutionPlan,
  { providerOptions, faces }: Pick<ChatConfiguration, 'providerOptions'> & { faces: ProviderFaces }
): PlannedChat {
  const client: ChatClientFace = clientFaces[protocol]
  const spell = (field: string): string => (body === undefined ? field : (client.spellField?.(body, field) ?? field))
  const leftOut = new LeftOut(refusesUnsupported === true || plan.capabilities?.refusesUnsupported === true, spell)
  const cell = admitRoute(plan, protocol)
  const face = findProviderFace(faces, plan)
  // Where the gateway keeps the state of a provider of the client's wire, it also summarizes conversations itself (memory.md 5).
  const isSummary = request.compacts !== undefined && plan.isStateOurs === true
  const isTranslated = body === undefined || isSummary || face.sameWire?.protocol !== protocol
  const sameWire = isTranslated ? undefined : face.sameWire
  const isSameWire = sameWire !== undefined
  if (!isSameWire && request.refusal !== undefined) throw request.refusal
  settleConversation(request, face.accepts)
  const { upstreamModel } = plan
  const options = providerOptions[plan.profileId]
  const { features, outputLimitField, isLocal } = plan.capabilities ?? {}
  const target: ChatTarget = { upstreamModel, features, outputLimitField, isLocal }
  try {
    if (!isSameWire && body !== undefined) noteMembers({ body, request }, client, face.accepts, leftOut)
    let sent = request
    if (plan.capabilities !== undefined) {
      const route = { cell, acceptance: face.accepts, isSameWire }
      const admitted = admitToAlias(request, plan.capabilities, route, leftOut)
      plan.admission = admitted.evidence
      target.outputTokensMax = findOutputMax(request, plan.capabilities, bodyBytes)
      sent = boundOutput(admitted.request, target.outputTokensMax, leftOut)
    }
    if (!isSameWire) sent = admitFeatures(sent, face.accepts, leftOut, { hasBody: body !== undefined })
    const { isStream, messages, turn } = request
    const edited =
      sameWire === undefined || body === undefined
        ? undefined
        : sameWire.writeChat(body, { ...target, isStream, messages, wireHeaders, compactionKey, turn }, options)
    const written = edited ?? face.writeChat(sent, target, options)
    for (const path of written.leftOut ?? NOTHING) leftOut.add(path, 'not_on_this_wire')
    const planned = { plan, face, written, leftOut: leftOut.list() }
    return edited === undefined ? planned : { ...planned, edits: edited.edits }
  } catch (thrown) {
    throw spellParam(thrown, spell)
  }
}

const NOTHING: readonly string[] = []

/** Gives a refusal the client's own name of the field. */
function spellParam(thrown: unknown, spell: (field: string) => string): unknown {
  if (!GatewayError.is(thrown) || thrown.code !== 'unsupported_semantic' || thrown.param === undefined) return thrown
  return thrown.with({ param: spell(thrown.param) })
}
