// Embeds texts for whichever family asked: admit and execute.

import type { FastifyRequest } from 'fastify'
import { NATIVE_PROFILE_ID } from '../../shared/native-profile.ts'
import type { JsonObject, NormalizedUsage } from '../normalized/index.ts'
import type { EmbeddingsResult } from '../providers/types.ts'
import type { WorkerRuntime } from '../runtime.ts'
import { admitToModel } from './model-slot.ts'

export interface EmbedWish {
  /** The model as the client wrote it, without blanks around it; absent when it wrote none. */
  model: string | undefined
  texts: string[]
  extraHeaders: JsonObject | undefined
}

/** The model that embeds: the client's where that is passed on, else the configured one. */
export function chooseEmbeddingsModel(runtime: WorkerRuntime, model: string | undefined): string {
  const { passModel, embeddings } = runtime.settings
  return (passModel ? model : undefined) ?? embeddings
}

/** One vector per text, in order. Raises `model_concurrency_limit`, and whatever the upstream answers. */
export async function embedTexts(
  runtime: WorkerRuntime,
  request: FastifyRequest,
  wish: EmbedWish
): Promise<EmbeddingsResult> {
  const { context } = request
  const model = chooseEmbeddingsModel(runtime, wish.model)
  context.planned({ model: wish.model ?? model, providerKind: 'native', profileId: NATIVE_PROFILE_ID, isStream: false })
  const slot = await admitToModel(runtime, model, context)
  let lease: ReturnType<typeof runtime.providers.acquire> | undefined
  try {
    lease = runtime.providers.acquire(context.authorization)
    const answer = await lease.provider.embed({ model, input: wish.texts }, context.callContext(wish.extraHeaders))
    if (answer.promptTokens !== null) context.usage(writeInputUsage(answer.promptTokens))
    return answer
  } finally {
    lease?.release()
    slot.release()
  }
}

/** Embeddings have input tokens only. */
function writeInputUsage(inputTokens: number): NormalizedUsage {
  return {
    inputTokens,
    cachedInputTokens: null,
    outputTokens: null,
    reasoningTokens: null,
    totalTokens: inputTokens
  }
}
