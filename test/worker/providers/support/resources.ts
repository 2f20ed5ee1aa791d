// Makes the calls of an executor that are no chats, as the translation writes and reads them.

import type { EmbeddingsCall, EmbeddingsResult } from '../../../../worker/normalized/index.ts'
import type {
  ProviderFace,
  ResponseHead,
  TokenCountCall,
  WrittenPost
} from '../../../../worker/protocols/provider-face.ts'
import type { CallContext, Executor, ResourceCall } from '../../../../worker/providers/types.ts'
import { readResponseJson } from '../../../../worker/translation/json-body.ts'

export interface ResourceAsker {
  executor: Executor
  face: ProviderFace
  faceOptions: unknown
  plan: ResourceCall['plan']
}

export function askForEmbeddings(
  asker: ResourceAsker,
  call: EmbeddingsCall,
  context: CallContext
): Promise<EmbeddingsResult> {
  const { embeddings } = asker.face
  if (embeddings === undefined) throw new Error('The face has no embeddings.')
  const count = call.input.length
  return ask(asker, 'embeddings', embeddings.write(call, asker.faceOptions), context, (body, head) =>
    embeddings.read(body, { count, head })
  )
}

/** Resolves with the tokens of each text. */
export function askForTokenCounts(asker: ResourceAsker, call: TokenCountCall, context: CallContext): Promise<number[]> {
  const { countTokens } = asker.face
  if (countTokens === undefined) throw new Error('The face counts no tokens.')
  const count = call.input.length
  return ask(asker, 'tokens', countTokens.write(call, asker.faceOptions), context, body =>
    countTokens.read(body, { count })
  )
}

async function ask<Result>(
  { executor, plan }: ResourceAsker,
  operation: ResourceCall['operation'],
  { method, path, headers, body }: WrittenPost,
  context: CallContext,
  read: (body: unknown, head: ResponseHead) => Result
): Promise<Result> {
  if (executor.request === undefined) throw new Error('The executor has nothing but chats.')
  const call = { plan, operation, method, path, headers, body: Buffer.from(JSON.stringify(body)) }
  return executor.request(call, context, async ({ bytes, ...head }) => read(readResponseJson(bytes), head))
}
