// What a body holds that does not reach a provider of another wire: its members by the client's table, then tools and parts of the
// conversation (decisions.md 69).

import {
  type JsonObject,
  type NormalizedRequest,
  type ProviderAcceptance,
  unsupportedSemantic
} from '../normalized/index.ts'
import type { ChatClientFace } from '../protocols/face.ts'
import type { PartSink } from '../protocols/shared/members.ts'
import type { LeftOut } from './left-out.ts'

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
