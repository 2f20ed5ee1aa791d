// What a body holds that does not reach a provider of another wire: its members by the client's table, then tools and parts of the
// conversation (decisions.md 69).

import {
  type JsonObject,
  type NormalizedRequest,
  type ProviderAcceptance,
  unsupportedSemantic
} from '../normalized/index.ts'
import type { ChatClientFace } from '../protocols/client-face.ts'
import type { Members, PartSink } from '../protocols/shared/members/members.ts'
import { LeftOut } from './left-out.ts'
import { nameModel } from './name-model.ts'
import type { ExecutionPlan } from './resolve-route.ts'

/** Notes them. Raises `unsupported_semantic` for what may not be left out, `invalid_request` for what the protocol forbids. */
export function noteMembers(
  { body, request }: { body: JsonObject; request: NormalizedRequest },
  client: ChatClientFace,
  acceptance: ProviderAcceptance,
  leftOut: LeftOut
): void {
  const sink: PartSink = {
    isExact: leftOut.isRefused,
    leaveOut: (path, reasonId) => leftOut.add(path, reasonId),
    refuse(path, reasonId) {
      if (acceptance.refusesLoss === true) throw unsupportedSemantic(path, reasonId)
      leftOut.add(path, reasonId)
    },
    drop(path, reasonId) {
      if (leftOut.isRefused) leftOut.add(path, reasonId)
    }
  }
  if (acceptance.refusesLoss === true) client.assertValid?.(body, request)
  client.members.visit(body, sink, acceptance)
  client.noteParts(body, request, sink)
}

/**
 * What a token count or a request for embeddings leaves out, in code-point order: members without effect, and fields that the wire does
 * not carry. Nothing of it is refused but for a client or an alias that wants exactness (decisions.md 71).
 */
export function listWithoutEffect(
  { body, members, uncarried = [] }: { body: JsonObject; members: Members; uncarried?: readonly string[] },
  { plan, refusesUnsupported }: { plan: ExecutionPlan; refusesUnsupported?: boolean | undefined }
): readonly string[] {
  const leftOut = new LeftOut(refusesUnsupported === true || plan.capabilities?.refusesUnsupported === true)
  const note = (path: string, reasonId: string): void => leftOut.add(path, reasonId)
  try {
    members.visit(body, { leaveOut: note, refuse: note })
    for (const path of uncarried) note(path, 'not_on_this_wire')
  } catch (thrown) {
    throw nameModel(thrown, plan.publicModel)
  }
  return leftOut.list()
}
