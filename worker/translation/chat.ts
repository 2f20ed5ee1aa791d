// Translates a chat in one pure step each way: a client's body into a provider's body, and a large answer of the provider into the
// client's body.

import { writeJsonBody } from '../../shared/json.ts'
import { admitRequest, admitRoute, admitToAlias } from '../bridge/admit.ts'
import { type RouteTable, resolveRoute } from '../bridge/resolve-route.ts'
import { settleConversation } from '../bridge/settle-conversation.ts'
import { assertBounded, GatewayError, type JsonObject } from '../normalized/index.ts'
import type { ChatClientFace } from '../protocols/face.ts'
import { clientFaces, findProviderFace } from '../protocols/registry.ts'
import { describeChat } from './describe-call.ts'
import { readJsonObject } from './json-body.ts'
import type { ChatAnswerJob, ChatJob, TaskEnvironment, TranslatedChat, WrittenAnswer } from './types.ts'

/** The operator's configuration as plain data that may cross a thread boundary. */
export interface TranslationSettings {
  routes: RouteTable
  /** The options of each profile's provider face, by profile id. */
  providerOptions: Readonly<Record<string, unknown>>
}

/**
 * Reads a chat body of a client protocol, resolves its route and writes it on the provider's wire.
 * Raises `GatewayError` with the path of the invalid field, before anything is sent to the provider.
 */
export function translateChat(job: ChatJob, { settings, faces }: TaskEnvironment): TranslatedChat {
  const client = clientFaces[job.protocol]
  const body = readJsonObject(job.bytes)
  const request = client.readRequest(body, job.context)
  assertBounded(request)
  const plan = resolveRoute(request, job.apiMode, { routes: settings.routes, faces })
  const cell = admitRoute(plan, job.protocol)
  const face = findProviderFace(faces, plan)
  settleConversation(request, face.accepts)
  if (face.accepts.unexpressed === 'refused') client.assertExpressed(body, request)
  try {
    if (plan.capabilities !== undefined) plan.admission = admitToAlias(request, plan.capabilities, cell)
    admitRequest(request, face.accepts)
  } catch (thrown) {
    throw spellParam(thrown, client, body)
  }
  const target = { upstreamModel: plan.upstreamModel }
  const written = face.writeChat(request, target, settings.providerOptions[plan.profileId])
  const { attachments, headers, path, reading } = written
  const relay = face.relay?.protocol === job.protocol ? face.relay : undefined
  const bytes = relay?.reuseBody(job.bytes, body, written.body) ?? writeJsonBody(written.body)
  const call: TranslatedChat = { request, plan, path, headers, body: bytes, attachments, reading }
  if (relay?.acceptsResponse(request, reading) === true) call.acceptsProviderBytes = true
  if (job.description !== undefined) call.description = describeChat(request, job.protocol, job.description)
  return call
}

/** Gives a refusal the client's own name of the field. */
function spellParam(thrown: unknown, { spellField }: ChatClientFace, body: JsonObject): unknown {
  if (spellField === undefined || !GatewayError.is(thrown) || thrown.param === undefined) return thrown
  return thrown.with({ param: spellField(body, thrown.param) })
}

/** Writes a whole response as JSON in the client's form. */
export function writeChatAnswer({ protocol, response, context, completedAt }: ChatAnswerJob): WrittenAnswer {
  const written = clientFaces[protocol].writeResponse(response, { ...context, now: () => completedAt })
  return { body: JSON.stringify(written) }
}
