// The v2 option for several calls in one response: when it is sent, and how it leaves a body again.
// No recorded exchange has the option, so an upstream may refuse it (decisions.md 7 and 50).

import type { JsonObject, NormalizedRequest } from '../../normalized/index.ts'
import { PARALLEL_TOOL_CALLS_MEMBER } from './constants.ts'
import type { ToolPlan } from './tools.ts'

/** When the option is sent: wherever the client did not refuse several calls, only where it requested them, or never. */
export type ParallelCallsPolicy = 'auto' | 'explicit' | 'off'

/**
 * Whether the option belongs to a request to a model that has it. A protocol without a word for it asks
 * by declaring several functions, also where the policy wants to be asked (content.md 4.4).
 */
export function wantsParallelCalls(
  { parallelToolCalls, usesLegacyFunctions, fieldPaths }: NormalizedRequest,
  { functions, choice }: ToolPlan,
  policy: ParallelCallsPolicy
): boolean {
  if (parallelToolCalls !== undefined) return parallelToolCalls === 'requested'
  // The legacy form of a client can hold only one call.
  const isSilent = policy === 'explicit' && fieldPaths.parallelToolCalls !== undefined
  if (isSilent || usesLegacyFunctions) return false
  return functions.length > 1 && (choice === undefined || choice.type === 'any')
}

/** The bytes with which a body begins that has the option. */
const BODY_START = Buffer.from(`{"${PARALLEL_TOOL_CALLS_MEMBER}":true,`)

/**
 * The body with the option as its first member, so that it can be removed without parsing a body of megabytes. A client's vendor
 * field of the same name counts, unless the operator has switched the option off.
 */
export function writeParallelCalls(body: JsonObject, isWanted: boolean, policy: ParallelCallsPolicy): JsonObject {
  if (!isWanted && body[PARALLEL_TOOL_CALLS_MEMBER] === undefined) return body
  const { [PARALLEL_TOOL_CALLS_MEMBER]: isParallel = isWanted, ...others } = body
  if (policy === 'off') return others
  return isParallel === true ? { [PARALLEL_TOOL_CALLS_MEMBER]: true, ...others } : body
}

/** A written body without the option; undefined when it does not have the option. */
export function withoutParallelCalls(body: Uint8Array): Uint8Array | undefined {
  const start = BODY_START.length
  if (body.byteLength < start || !BODY_START.equals(body.subarray(0, start))) return undefined
  return Buffer.concat([Buffer.from('{'), body.subarray(start)])
}

/** Whether the body of a refusal names the option. */
export function namesParallelCalls(body: Uint8Array): boolean {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).includes(PARALLEL_TOOL_CALLS_MEMBER)
}
