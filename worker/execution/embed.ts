// Embeddings of texts, for the completions and the content family.

import { type EmbeddingsPlan, resolveEmbeddingsRoute } from '../bridge/resolve-route.ts'
import type { RequestContext } from '../http/request-context.ts'
import { type EmbeddingsResult, GatewayError, type JsonObject } from '../normalized/index.ts'
import { execute } from './execute.ts'
import type { ExecutionRuntime } from './execution-runtime.ts'

/** The route of an embeddings request. `model` is the client's model, trimmed; undefined when the client named none. */
export function planEmbeddings(
  runtime: ExecutionRuntime,
  context: RequestContext,
  model: string | undefined
): EmbeddingsPlan {
  return resolveEmbeddingsRoute(model, context.apiMode, runtime.routes)
}

/**
 * One vector per text, in order. Raises `unsupported_semantic` for a provider without embeddings, the errors of `execute`, and the
 * provider's error.
 */
export function embedTexts(
  runtime: ExecutionRuntime,
  { context, plan }: { context: RequestContext; plan: EmbeddingsPlan },
  { texts, extraHeaders }: { texts: string[]; extraHeaders: JsonObject | undefined }
): Promise<EmbeddingsResult> {
  return execute(runtime, { context, plan }, { extraHeaders }, async (executor, call) => {
    if (executor.embed === undefined) throw new GatewayError('unsupported_semantic', { param: 'model' })
    const result = await executor.embed({ model: plan.upstreamModel, input: texts }, call)
    const { promptTokens } = result
    if (promptTokens !== null) {
      context.usage({
        inputTokens: promptTokens,
        cacheReadTokens: null,
        cacheWriteTokens: null,
        outputTokens: null,
        reasoningTokens: null,
        totalTokens: promptTokens
      })
    }
    return result
  })
}
