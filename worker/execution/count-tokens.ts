// Asks the provider how many tokens the texts of a request have, unless the gateway has counted them itself. The messages and the content
// family use it; each family decides which texts count.

import type { RequestContext } from '../http/request-context.ts'
import type { TokenCountProtocol } from '../protocols/registry.ts'
import { writeTokenCount, writeTokenEstimate } from '../translation/token-count.ts'
import type { TranslatedTokenCount, WrittenResponse } from '../translation/types.ts'
import { assertListed, execute, notePlan } from './execute.ts'
import type { ExecutionRuntime } from './execution-runtime.ts'
import { makeRequest } from './make-request.ts'

/**
 * Makes the provider's call, without a text none, and resolves with the response for the client.
 * Rejects with the errors of `execute` and the provider's error: the count of a provider that can
 * count is never replaced by an estimate (decisions.md 17).
 */
export async function countTokens(
  runtime: ExecutionRuntime,
  context: RequestContext,
  { protocol, counted }: { protocol: TokenCountProtocol; counted: TranslatedTokenCount }
): Promise<WrittenResponse> {
  const { plan, call, targeting, count, estimate, extraHeaders, requestedModel, isSameWire } = counted
  if (call === undefined) {
    notePlan(runtime, { context, plan }, { requestedModel, isTokenEstimate: estimate !== undefined })
    if (plan.isUndeclared === true) assertListed(runtime.control, plan)
    return estimate === undefined ? writeTokenCount(protocol, 0) : writeTokenEstimate(protocol, estimate)
  }
  return execute(
    runtime,
    { context, plan, targeting },
    { extraHeaders, requestedModel, takesSlot: false },
    (executor, callContext, place) =>
      makeRequest(executor, place(call), callContext, ({ bytes, ...head }) =>
        runtime.translator.translateTokenCountResponse(
          { protocol, plan, bytes, head, count, ...(isSameWire && { isSameWire }) },
          context.signal
        )
      )
  )
}
