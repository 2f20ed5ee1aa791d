// Asks the provider how many tokens each text has. The messages and the content family use it; each family decides which texts count.

import { resolveRoute } from '../bridge/resolve-route.ts'
import type { RequestContext } from '../http/request-context.ts'
import { GatewayError, type JsonObject } from '../normalized/index.ts'
import type { ModelRequest } from '../protocols/face.ts'
import { execute, notePlan } from './execute.ts'
import type { ExecutionRuntime } from './execution-runtime.ts'

export interface TokenCountRequest {
  /** The members of the request that select the model, with the same result as for a chat request. */
  request: ModelRequest
  /** May be empty. */
  texts: string[]
  extraHeaders: JsonObject | undefined
}

/**
 * The number of tokens of each text, counted by the provider in one call; without texts no call is made. Raises `model_required`,
 * `unsupported_semantic` for a provider that cannot count, and the provider's error, because counts are never estimated (decisions 17).
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
