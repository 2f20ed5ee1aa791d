// Asks the provider how many tokens texts have. Both families that count use it; which texts count is decided by each family.

import { resolveRoute } from '../bridge/resolve-route.ts'
import type { RequestContext } from '../http/request-context.ts'
import { GatewayError, type JsonObject } from '../normalized/index.ts'
import type { ModelRequest } from '../protocols/face.ts'
import { execute, notePlan } from './execute.ts'
import type { ExecutionRuntime } from './execution-runtime.ts'

export interface TokenCountRequest {
  /** What the client said of the model: a count names the model that a chat would name. */
  request: ModelRequest
  /** May be empty. */
  texts: string[]
  extraHeaders: JsonObject | undefined
}

/**
 * The tokens of each text by the provider's own count, in one call; without texts no call is made. Raises `model_required`,
 * `unsupported_semantic` for a provider that counts nothing, and the provider's error: there is no estimate (decisions 17).
 */
export async function countTokens(
  runtime: ExecutionRuntime,
  context: RequestContext,
  { request, texts, extraHeaders }: TokenCountRequest
): Promise<number[]> {
  const plan = resolveRoute(request, context.apiMode, runtime)
  if (texts.length === 0) {
    notePlan(context, plan)
    return []
  }
  return execute(runtime, { context, plan }, { extraHeaders, takesSlot: false }, async (executor, call) => {
    if (executor.countTokens === undefined) throw new GatewayError('unsupported_semantic', { param: 'model' })
    return executor.countTokens({ model: plan.upstreamModel, input: texts }, call)
  })
}
