// Asks the upstream how many tokens texts have. Both families that count use it; what counts is each family's own matter.

import type { FastifyRequest } from 'fastify'
import { GatewayError, type JsonObject } from '../normalized/index.ts'
import type { WorkerRuntime } from '../runtime.ts'

export interface CountWish {
  /** The model as the client wrote it; absent when it wrote none. */
  model: string | undefined
  /** None is empty. */
  texts: string[]
  extraHeaders: JsonObject | undefined
}

/**
 * The tokens of each text by the upstream's own count, in one call; without texts nothing is asked.
 * Raises `model_required`, and whatever the upstream answers: on the native route there is no estimate (decisions 17).
 */
export async function countTokens(runtime: WorkerRuntime, request: FastifyRequest, wish: CountWish): Promise<number[]> {
  const { passModel, upstream } = runtime.settings
  const { context } = request
  const model = (passModel ? wish.model : undefined) ?? upstream.model
  if (model === undefined) throw new GatewayError('model_required', { param: 'model' })
  context.facts = { model: wish.model ?? model, providerKind: 'native' }
  if (wish.texts.length === 0) return []
  const lease = runtime.providers.acquire(context.authorization)
  try {
    return await lease.provider.countTokens({ model, input: wish.texts }, context.callContext(wish.extraHeaders))
  } finally {
    lease.release()
  }
}
