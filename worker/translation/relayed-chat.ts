// The short way of a chat whose client and provider speak the same protocol: only an outline of the body is read, and its bytes are sent
// on with the model renamed. It has the result of the general way, which every other chat takes.

import { hasOwnMemory } from '../../shared/bytes.ts'
import { planChat } from '../bridge/plan-chat.ts'
import type { RouteTable } from '../bridge/resolve-route.ts'
import { clientFaces, type ProviderFaces } from '../protocols/registry.ts'
import { readChat } from './chat.ts'
import type { ChatJob, TaskEnvironment, TranslatedChat } from './types.ts'

/** Whether any chat of this protocol can take the short way. */
export function mayRelay({ protocol, description }: ChatJob, { settings, faces }: TaskEnvironment): boolean {
  // A description is made of the whole request.
  if (clientFaces[protocol].readOutline === undefined || description !== undefined) return false
  return findRelayedModels(settings.routes, faces).size > 0
}

/**
 * The translated chat; undefined for one that takes the general way. It is pure and costs some 0.2 ms per megabyte, so bodies of any size
 * are read on the event loop. Ask `mayRelay` first. Raises the `GatewayError` of a request that its route does not admit.
 */
export function relayChat(job: ChatJob, { settings, faces }: TaskEnvironment): TranslatedChat | undefined {
  const { protocol, apiMode, bytes } = job
  const client = clientFaces[protocol]
  const outline = client.readOutline?.(bytes)
  if (outline === undefined) return undefined
  if (findRelayedModels(settings.routes, faces).get(outline.body.model) !== protocol) return undefined
  const { body } = outline
  const request = readChat(job, body, { settings, faces })
  const { plan, face, written } = planChat({ protocol, apiMode, request, body }, settings, faces)
  const reused = face.relay?.reuseOutlined(bytes, outline, written.body)
  if (reused === undefined) return undefined
  const { attachments, headers, path, reading } = written
  const call: TranslatedChat = { request, plan, path, headers, body: reused, attachments, reading }
  // A large body goes out in pieces that share its memory; a small one was copied.
  if (!(reused instanceof Uint8Array) && hasOwnMemory(bytes)) call.ownMemory = bytes
  request.messages = []
  if (face.relay?.acceptsResponse(request, reading) === true) call.acceptsProviderBytes = true
  return call
}

type RelayedModels = ReadonlyMap<unknown, string>

const relayedModels = new WeakMap<RouteTable, RelayedModels>()

/** The client protocol of each alias whose provider speaks one; computed once, because the routes never change. */
function findRelayedModels(routes: RouteTable, faces: ProviderFaces): RelayedModels {
  const known = relayedModels.get(routes)
  if (known !== undefined) return known
  const models = new Map<string, string>()
  for (const [alias, { providerKind }] of routes.aliases) {
    const relay = faces[providerKind]?.v1.relay
    if (relay !== undefined) models.set(alias, relay.protocol)
  }
  relayedModels.set(routes, models)
  return models
}
