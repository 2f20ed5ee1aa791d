// A written call of an alias with several deployments, for the one that was chosen.

import { asBuffer, type Bytes, joinBytes } from '../../shared/bytes.ts'
import type { ExecutionPlan, TargetRoute } from '../bridge/resolve-route.ts'
import type { Targeting } from '../translation/targeting.ts'

/** A call that was written for the first target. */
export interface WrittenForFirst {
  plan: ExecutionPlan
  path: string
  body: Bytes
  ownMemory?: Uint8Array
}

/** A large body goes out in pieces that share its memory; copying a smaller one costs less. */
const JOINED_BYTES_MAX = 256 * 1024

/** The call with the plan, the path and the model of a target. */
export function retarget<Call extends WrittenForFirst>(
  call: Call,
  { paths, mark, names }: Targeting,
  { plan, targets, target }: { plan: ExecutionPlan; targets: readonly TargetRoute[]; target: TargetRoute }
): Call {
  const index = targets.indexOf(target)
  const path = paths[index] ?? call.path
  const name = names?.[index]
  if (mark === undefined || name === undefined) return { ...call, plan, path }
  const body = replaceMark(call.body, mark, name)
  const retargeted = { ...call, plan, path, body }
  // The memory of a body that was copied is no longer that of the call.
  if (body instanceof Uint8Array) delete retargeted.ownMemory
  return retargeted
}

function replaceMark(body: Bytes, mark: string, model: string): Bytes {
  const bytes = asBuffer(joinBytes(body))
  // The mark stands inside of a JSON string.
  const name = Buffer.from(JSON.stringify(model).slice(1, -1))
  const pieces: Uint8Array[] = []
  let from = 0
  for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, from)) {
    pieces.push(bytes.subarray(from, at), name)
    from = at + mark.length
  }
  pieces.push(bytes.subarray(from))
  return bytes.length > JOINED_BYTES_MAX ? pieces : Buffer.concat(pieces)
}
