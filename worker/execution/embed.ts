// Embeddings of texts, for the completions and the content family.

import type { RequestContext } from '../http/request-context.ts'
import type { EmbeddingsOperation } from '../protocols/registry.ts'
import type { TranslatedEmbeddings, WrittenEmbeddings } from '../translation/types.ts'
import { execute } from './execute.ts'
import type { ExecutionRuntime } from './execution-runtime.ts'
import { makeRequest } from './make-request.ts'

/** Makes the provider's call and resolves with the response for the client. Rejects with the errors of `execute` and the provider's. */
export async function embedTexts(
  runtime: ExecutionRuntime,
  context: RequestContext,
  { operation, translated }: { operation: EmbeddingsOperation; translated: TranslatedEmbeddings }
): Promise<WrittenEmbeddings> {
  const { call, count, extraHeaders, requestedModel, answer } = translated
  const { plan } = call
  const written = await execute(runtime, { context, plan }, { extraHeaders, requestedModel }, (executor, callContext) =>
    makeRequest(executor, call, callContext, ({ bytes, ...head }) =>
      runtime.translator.translateEmbeddingsResponse({ operation, plan, bytes, head, count, answer }, context.signal)
    )
  )
  const { promptTokens } = written
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
  return written
}
