// The frozen decision where a request goes. It is made before any provider I/O and never changed afterwards.

import type { NormalizedRequest, ProviderKind } from '../normalized/index.ts'
import { GatewayError } from '../normalized/index.ts'

/** The upstream contract that a route prefix selects. */
export type ApiMode = 'v1' | 'v2'

/** Which provider face writes and reads. */
export type ProviderWire = 'native-v1' | 'native-v2'

export interface ExecutionPlan {
  providerKind: ProviderKind
  profileId: string
  wire: ProviderWire
  /** Absent only where the upstream's own assistant or thread decides. */
  upstreamModel?: string
  /** The model that every answer names: what the client asked for, else the default that was used. */
  publicModel: string
  /** What the per-model concurrency limit counts. */
  slotKey: string
}

export interface NativeRoutePolicy {
  passModel: boolean
  defaultModel?: string
}

/**
 * Plans a chat request on the native route (completions.md 2.1).
 * Raises `model_required` when neither the client nor the settings name a model and no assistant or thread implies one.
 */
export function planNativeChat(request: NormalizedRequest, apiMode: ApiMode, policy: NativeRoutePolicy): ExecutionPlan {
  const wire: ProviderWire = apiMode === 'v2' ? 'native-v2' : 'native-v1'
  const { named, key } = chooseNativeModel(request, apiMode, policy)
  const plan: ExecutionPlan = {
    providerKind: 'native',
    profileId: 'native-upstream',
    wire,
    publicModel: request.model ?? named ?? '',
    slotKey: key
  }
  if (named !== undefined) plan.upstreamModel = named
  return plan
}

/** The members of a request that decide which model answers it. */
export type ModelWish = Pick<NormalizedRequest, 'model' | 'additionalFields' | 'conversation'>

/**
 * The model that a native call names, absent where an assistant or a thread brings its own, and a key for either.
 * Raises `model_required` when there is neither.
 */
export function chooseNativeModel(
  wish: ModelWish,
  apiMode: ApiMode,
  policy: NativeRoutePolicy
): { named: string | undefined; key: string } {
  const named = (policy.passModel ? wish.model : undefined) ?? policy.defaultModel
  const key = named ?? (apiMode === 'v2' ? findImpliedModel(wish) : undefined)
  if (key === undefined) throw new GatewayError('model_required', { param: 'model' })
  return { named, key }
}

/** The assistant or the stored thread that brings its own model, as a key for the concurrency limit. */
function findImpliedModel(request: ModelWish): string | undefined {
  const fields = request.additionalFields
  const assistantId = fields?.assistant_id
  if (typeof assistantId === 'string' && assistantId !== '') return `assistant:${assistantId}`
  const storage = fields?.storage
  if (typeof storage === 'object' && storage !== null && !Array.isArray(storage)) {
    const threadId = storage.thread_id
    if (typeof threadId === 'string' && threadId !== '') return `thread:${threadId}`
  }
  const stored = request.conversation?.storedConversationId
  return stored === undefined ? undefined : `thread:${stored}`
}
