// Embeddings of texts, for the completions and the content family.

import type { RequestContext } from '../http/request-context.ts'
import type { EmbeddingsOperation } from '../protocols/registry.ts'
import type { ResourceResponse } from '../providers/types.ts'
import type { TranslatedEmbeddings, WrittenEmbeddings } from '../translation/types.ts'
import { execute } from './execute.ts'
import type { ExecutionRuntime } from './execution-runtime.ts'
import { makeRequest } from './make-request.ts'
import { requestAll } from './request-all.ts'

/** Makes the provider's calls and resolves with the response for the client. Rejects with the errors of `execute` and the provider's. */
export async function embedTexts(
  runtime: ExecutionRuntime,
  context: RequestContext,
  { operation, translated }: { operation: EmbeddingsOperation; translated: TranslatedEmbeddings }
): Promise<WrittenEmbeddings> {
  const { calls, counts, plan, targeting, tokenEstimate, extraHeaders, requestedModel, answer } = translated
  const readResponse = ({ bytes, ...head }: ResourceResponse) =>
    runtime.translator.translateEmbeddingsResponse({ operation, plan, bytes, head, counts, answer }, context.signal)
  const written = await execute(
    runtime,
    { context, plan, targeting, tokenEstimate },
    { extraHeaders, requestedModel },
    async (executor, callContext, place) => {
      const placed = calls.map(call => place(call))
      const [call, ...more] = placed
      if (call !== undefined && more.length === 0) return makeRequest(executor, call, callContext, readResponse)
      return readResponse(joinResponses(await requestAll(executor, placed, callContext)))
    }
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

const LIST_START = Buffer.from('[')
const SEPARATOR = Buffer.from(',')
const LIST_END = Buffer.from(']')

/** The bodies as one JSON list, with the head of the first. */
function joinResponses(responses: readonly ResourceResponse[]): ResourceResponse {
  const pieces = responses.flatMap(({ bytes }, index) => [index === 0 ? LIST_START : SEPARATOR, bytes])
  const { status = 200, headers = {} } = responses[0] ?? {}
  return { status, headers, bytes: Buffer.concat([...pieces, LIST_END]) }
}
