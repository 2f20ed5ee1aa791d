// Decides profile and model of a request. The decision is made before any provider I/O and never changes afterwards (specification 1.1,
// rules 1 and 2).

import { createSlotKey } from '../../shared/model-slots.ts'
import { GatewayError } from '../normalized/index.ts'
import type { ApiMode, ModelRequest } from '../protocols/face.ts'
import type { ProviderFaces } from '../protocols/registry.ts'

/** The profile that serves every model without an alias. */
export interface DynamicRoute {
  profileId: string
  providerKind: string
  /** Whether the client's model is sent; if false, the default model is always sent. */
  passModel: boolean
  defaultModel?: string
  /** For embeddings requests that name no model. */
  defaultEmbeddingsModel: string
}

/** One public alias of a profile. */
export interface AliasRoute {
  profileId: string
  providerKind: string
  upstreamModel: string
  /** Of an external provider: what the operator reviewed. Absent for a native alias, whose provider declares it. */
  capabilities?: DeclaredCapabilities
  /** The profile refuses token counts. */
  isTokenCountOff?: true
}

/** What a profile file declares about an alias: nothing that is not listed is sent (bridge.md 7.4 and 7.5). */
export interface DeclaredCapabilities {
  features: readonly string[]
  /** The largest output limit that a request may ask for: that of the alias, else its context window. */
  outputTokensMax: number
}

/** Every route of the gateway: plain data, the same in all workers and their threads. */
export interface RouteTable {
  /** By public alias. */
  aliases: Readonly<Record<string, AliasRoute>>
  dynamic?: DynamicRoute
}

export interface ExecutionPlan {
  profileId: string
  providerKind: string
  apiMode: ApiMode
  /** Absent only when an assistant or a stored thread of the provider implies the model. */
  upstreamModel?: string
  /** The model that every response names: the client's model, or the default model when the client named none. */
  publicModel: string
  /** The key under which the per-model concurrency limit counts the request: one for all spellings of a model of a profile. */
  slotKey: string
  capabilities?: DeclaredCapabilities
  isTokenCountOff?: true
}

/**
 * Resolves the route of a chat request or a token count (completions.md 2.1). An alias leads to its profile and model; every other model
 * leads to the dynamic profile. Raises `model_required` when neither the client nor the settings name a model and no assistant or thread
 * implies one, and `unknown_model_alias` when no profile serves the model.
 */
export function resolveRoute(
  request: ModelRequest,
  apiMode: ApiMode,
  { routes, faces }: { routes: RouteTable; faces: ProviderFaces }
): ExecutionPlan {
  const alias = findAlias(routes, request.model)
  if (alias !== undefined) return planAlias(alias, request.model ?? '', apiMode)
  const { dynamic } = routes
  if (dynamic === undefined) throw unroutable(request.model)
  const { profileId, providerKind, passModel, defaultModel } = dynamic
  const upstreamModel = (passModel ? request.model : undefined) ?? defaultModel
  const slotKey =
    upstreamModel === undefined
      ? faces[providerKind]?.[apiMode].findImpliedModel?.(request)
      : createSlotKey(profileId, upstreamModel)
  if (slotKey === undefined) throw new GatewayError('model_required', { param: 'model' })
  const plan: ExecutionPlan = {
    profileId,
    providerKind,
    apiMode,
    publicModel: request.model ?? upstreamModel ?? '',
    slotKey
  }
  if (upstreamModel !== undefined) plan.upstreamModel = upstreamModel
  return plan
}

/** An embeddings plan always names its model: no assistant or thread can imply one. */
export type EmbeddingsPlan = ExecutionPlan & { upstreamModel: string }

/**
 * Resolves the route of an embeddings request. Raises `unknown_model_alias` when no profile serves the model, and `model_required` when
 * the client named none and there is no dynamic profile.
 */
export function resolveEmbeddingsRoute(
  model: string | undefined,
  apiMode: ApiMode,
  routes: RouteTable
): EmbeddingsPlan {
  const alias = findAlias(routes, model)
  if (alias !== undefined) return planAlias(alias, model ?? '', apiMode)
  const { dynamic } = routes
  if (dynamic === undefined) throw unroutable(model)
  const { profileId, providerKind, passModel, defaultEmbeddingsModel } = dynamic
  const upstreamModel = (passModel ? model : undefined) ?? defaultEmbeddingsModel
  return {
    profileId,
    providerKind,
    apiMode,
    upstreamModel,
    publicModel: model ?? upstreamModel,
    slotKey: createSlotKey(profileId, upstreamModel)
  }
}

function findAlias({ aliases }: RouteTable, model: string | undefined): AliasRoute | undefined {
  return model !== undefined && Object.hasOwn(aliases, model) ? aliases[model] : undefined
}

function planAlias(alias: AliasRoute, publicModel: string, apiMode: ApiMode): EmbeddingsPlan {
  const { profileId, providerKind, upstreamModel } = alias
  const slotKey = createSlotKey(profileId, upstreamModel)
  return { profileId, providerKind, apiMode, upstreamModel, publicModel, slotKey }
}

function unroutable(model: string | undefined): GatewayError {
  return new GatewayError(model === undefined ? 'model_required' : 'unknown_model_alias', { param: 'model' })
}
