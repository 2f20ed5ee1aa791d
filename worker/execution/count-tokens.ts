// Asks the upstream how many tokens texts have. Both families that count use it; what counts is each family's own matter.

import type { FastifyRequest } from 'fastify'
import { NATIVE_PROFILE_ID } from '../../shared/native-profile.ts'
import { chooseNativeModel, type ModelWish } from '../bridge/plan.ts'
import type { JsonObject } from '../normalized/index.ts'
import type { WorkerRuntime } from '../runtime.ts'

export interface CountWish {
  /** What the client said of the model. */
  request: ModelWish
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
  const policy = upstream.model === undefined ? { passModel } : { passModel, defaultModel: upstream.model }
  // A count names the model that a chat would name: where an assistant or a thread brings its own, the upstream decides.
  const { named } = chooseNativeModel(wish.request, context.apiMode, policy)
  context.planned({
    model: wish.request.model ?? named ?? '',
    providerKind: 'native',
    profileId: NATIVE_PROFILE_ID,
    isStream: false
  })
  if (wish.texts.length === 0) return []
  const lease = runtime.providers.acquire(context.authorization)
  try {
    return await lease.provider.countTokens({ model: named, input: wish.texts }, context.callContext(wish.extraHeaders))
  } finally {
    lease.release()
  }
}
