// Decides profile and model of a request. The decision is made before any provider I/O and never
// changes afterwards (specification.md 1.1, rules 1 and 2).

import { isInScope, type ModelScope } from '../../shared/keys/model-scope.ts'
import { createSlotKey } from '../../shared/model-slots.ts'
import type { ProviderWire } from '../../shared/profile/profile.ts'
import { GatewayError, invalidRequest, unsupportedSemantic } from '../normalized/index.ts'
import { rememberCombinations } from '../performance/remember-texts.ts'
import type { ModelRequest } from '../protocols/client-face.ts'
import type { ApiMode } from '../protocols/provider-face.ts'
import { lookUpProviderFace, type ProviderFaces } from '../protocols/registry.ts'
import type { DeclaredCapabilities } from './declared-capabilities.ts'
import type { AdmissionEvidence, RouteEvidence } from './evidence.ts'
import type { KnownFacts } from './model-facts.ts'
import { nameModel } from './name-model.ts'
import { findPrefixedModel, type PrefixRoute } from './prefix-route.ts'

export type { DeclaredCapabilities } from './declared-capabilities.ts'

/** The native profile, which serves every model without an alias and without the prefix of another profile. */
export interface DynamicRoute {
  profileId: string
  providerKind: string
  /** Whether the client's model is sent; if false, the default model is always sent. */
  passModel: boolean
  defaultModel?: string
  /** For embeddings requests that name no model. */
  defaultEmbeddingsModel: string
  /** A model that the client names must be in the provider's inventory, where that is known: profiles of a file. */
  refusesUnlisted?: true
}

/** Why the requests of an alias are refused. */
export type AliasRefusal = 'alias_disabled' | 'alias_requires_profile_v3' | 'alias_blocked'

/** One of several deployments of an alias (decisions.md 116). */
export interface TargetRoute {
  readonly profileId: string
  readonly upstreamModel: string
  /** 1 to 100. */
  readonly weight: number
  /** The lowest one that has a target in health is used. */
  readonly priority: number
  /** As in the plan. */
  readonly slotKey: string
  /** Only of a profile file. */
  readonly evidence?: RouteEvidence
}

/** One public alias of a profile. */
export interface AliasRoute {
  profileId: string
  providerKind: string
  /** Absent where the profile names none. */
  wire?: ProviderWire
  /** On the Responses wire: the gateway's own store keeps the state, and not the provider (memory.md 3). */
  isStateOurs?: true
  upstreamModel: string
  /** As in the plan. */
  slotKey: string
  /** Of an alias with several deployments: profile, model and slot key are those of the first one until one is chosen. */
  targets?: readonly TargetRoute[]
  /** Absent for an alias that is served. */
  refusal?: AliasRefusal
  /** Of an external provider: what the operator reviewed. Absent for a native alias, whose provider declares it. */
  capabilities?: DeclaredCapabilities
  /** The profile refuses token counts. */
  isTokenCountOff?: true
  /** Only of a profile file. */
  evidence?: RouteEvidence
}

/** Every route of the gateway: plain data, the same in all workers and their threads. */
export interface RouteTable {
  /** By public alias, disabled ones included: their names lead nowhere else. */
  aliases: ReadonlyMap<string, AliasRoute>
  /** Of external profiles with a dynamic inventory; absent where there is none. */
  prefixes?: readonly PrefixRoute[]
  /** What the inventories of these profiles state; absent where there is none. */
  facts?: KnownFacts
  dynamic?: DynamicRoute
}

export interface ExecutionPlan {
  profileId: string
  providerKind: string
  apiMode: ApiMode
  /** The wire of a kind that has several; absent where the profile names none. */
  wire?: ProviderWire
  /** `AliasRoute.isStateOurs`. */
  isStateOurs?: true
  /** Absent only when an assistant or a stored thread of the provider implies the model. */
  upstreamModel?: string
  /** The model that every response names: the client's model, or the default model when the client named none. */
  publicModel: string
  /** The key under which the per-model concurrency limit counts the request: one for all spellings of a model of a profile. */
  slotKey: string
  /** `AliasRoute.targets`; absent once one of them is chosen (`planTarget`). */
  targets?: readonly TargetRoute[]
  capabilities?: DeclaredCapabilities
  isTokenCountOff?: true
  /** The client named a model that no alias declares: it is refused if a fresh inventory of the profile does not have it. */
  isUndeclared?: true
  evidence?: RouteEvidence
  admission?: AdmissionEvidence | undefined
}

/** What the routes of a request depend on besides the request. */
export interface RouteSources {
  routes: RouteTable
  /** The models that its key may use; absent: all of them. A model that is not in it does not exist (keys.md 2). */
  scope?: ModelScope
}

/**
 * Resolves the route of a chat request or a token count (bridge.md 7.2, completions.md 2.1). An alias leads to its profile and model, a
 * name with the prefix of a profile to that profile; every other model leads to the native profile. Raises `model_required` when neither the client nor the settings name a model and no assistant
 * or thread implies one, `invalid_request` for a request without a model where only aliases are served, `unknown_model_alias` when no
 * profile serves the model, and `unsupported_semantic` for an alias that may not be used.
 */
export function resolveRoute(
  request: ModelRequest,
  apiMode: ApiMode,
  { routes, faces, scope }: RouteSources & { faces: ProviderFaces }
): ExecutionPlan {
  const { model } = request
  const named = planNamed({ routes, scope }, model, apiMode)
  if (named !== undefined) return named
  const { dynamic } = routes
  if (dynamic === undefined) throw unroutable(model)
  const { profileId, providerKind, passModel, defaultModel } = dynamic
  const sentModel = passModel ? model : undefined
  const upstreamModel = sentModel ?? defaultModel
  assertInScope(scope, upstreamModel)
  const slotKey =
    upstreamModel === undefined
      ? lookUpProviderFace(faces, { providerKind, apiMode })?.findImpliedModel?.(request)
      : findSlotKey(profileId, upstreamModel)
  if (slotKey === undefined) throw new GatewayError('model_required', { param: 'model' })
  const plan: ExecutionPlan = { profileId, providerKind, apiMode, publicModel: model ?? upstreamModel ?? '', slotKey }
  if (upstreamModel !== undefined) plan.upstreamModel = upstreamModel
  if (sentModel !== undefined && dynamic.refusesUnlisted === true) plan.isUndeclared = true
  return plan
}

/**
 * Runs `read`, and reports a model that leads nowhere before a wrong field of the request (bridge.md 7.3).
 * @param resolve resolves the route of the request's model alone.
 */
export function readForRoute<Read>(read: () => Read, resolve: () => unknown): Read {
  try {
    return read()
  } catch (thrown) {
    throw findModelError(resolve) ?? thrown
  }
}

function findModelError(resolve: () => unknown): GatewayError | undefined {
  try {
    resolve()
  } catch (thrown) {
    if (!GatewayError.is(thrown)) throw thrown
    if (thrown.code === 'unknown_model_alias') return thrown
    if (thrown.code === 'invalid_request' && thrown.param === 'model') return thrown
  }
  return undefined
}

/** An embeddings plan always names its model: no assistant or thread can imply one. */
export type EmbeddingsPlan = ExecutionPlan & { upstreamModel: string }

/**
 * Resolves the route of an embeddings request. Raises the errors of `resolveRoute`, except that the settings always have a default model
 * for the dynamic profile.
 * @param requestedModel the model as the client wrote it, by which an alias is found; `model` is what a provider gets of it.
 */
export function resolveEmbeddingsRoute(
  { model, requestedModel = model }: { model?: string | undefined; requestedModel?: string | undefined },
  apiMode: ApiMode,
  { routes, scope }: RouteSources
): EmbeddingsPlan {
  const named = planNamed({ routes, scope }, requestedModel, apiMode)
  if (named !== undefined) return named
  const { dynamic } = routes
  if (dynamic === undefined) throw unroutable(requestedModel)
  const { profileId, providerKind, passModel, defaultEmbeddingsModel } = dynamic
  const sentModel = passModel ? model : undefined
  const upstreamModel = sentModel ?? defaultEmbeddingsModel
  assertInScope(scope, upstreamModel)
  const plan: EmbeddingsPlan = {
    profileId,
    providerKind,
    apiMode,
    upstreamModel,
    publicModel: model ?? upstreamModel,
    slotKey: findSlotKey(profileId, upstreamModel)
  }
  if (sentModel !== undefined && dynamic.refusesUnlisted === true) plan.isUndeclared = true
  return plan
}

const findSlotKey = rememberCombinations(createSlotKey)

/**
 * The plan for a name of the profile file: that of an alias, which is exact and case-sensitive, or one with the prefix of a profile.
 * Undefined for every other model.
 */
function planNamed(
  { routes: { aliases, prefixes, facts }, scope }: RouteSources,
  model: string | undefined,
  apiMode: ApiMode
): EmbeddingsPlan | undefined {
  if (model === undefined) return undefined
  const alias = aliases.get(model)
  if (alias !== undefined) {
    assertInScope(scope, model)
    return planAlias(alias, model, apiMode)
  }
  const prefixed = prefixes && findPrefixedModel(prefixes, facts, model)
  if (prefixed === undefined) return undefined
  if (prefixed === 'unknown') throw unroutable(model)
  assertInScope(scope, model)
  return { ...prefixed, apiMode, publicModel: model }
}

function planAlias(alias: AliasRoute, publicModel: string, apiMode: ApiMode): EmbeddingsPlan {
  const { profileId, providerKind, wire, upstreamModel, slotKey, refusal, capabilities, isTokenCountOff, evidence } =
    alias
  const { isStateOurs, targets } = alias
  if (refusal !== undefined) throw nameModel(refuseAlias(refusal), publicModel)
  const plan: EmbeddingsPlan = {
    profileId,
    providerKind,
    apiMode,
    upstreamModel,
    publicModel,
    slotKey
  }
  if (wire !== undefined) plan.wire = wire
  if (isStateOurs !== undefined) plan.isStateOurs = isStateOurs
  if (targets !== undefined) plan.targets = targets
  if (capabilities !== undefined) plan.capabilities = capabilities
  if (isTokenCountOff !== undefined) plan.isTokenCountOff = isTokenCountOff
  if (evidence !== undefined) plan.evidence = evidence
  return plan
}

/** The plan of a request for the target that was chosen: nothing but the destination changes. */
export function planTarget(plan: ExecutionPlan, target: TargetRoute): ExecutionPlan {
  const { targets: _chosen, evidence: _first, ...rest } = plan
  const { profileId, upstreamModel, slotKey, evidence } = target
  return { ...rest, profileId, upstreamModel, slotKey, ...(evidence && { evidence }) }
}

/** A disabled alias is unknown, so that nothing tells a client that it exists. The refusal is for the log only. */
function refuseAlias(refusal: AliasRefusal): GatewayError {
  return refusal === 'alias_disabled'
    ? new GatewayError('unknown_model_alias', { param: 'model', cause: refusal })
    : unsupportedSemantic('model', refusal)
}

/**
 * Before everything else that a route may refuse. Where an assistant or a thread implies the model, it is not known, so a key with a scope
 * cannot use it. The cause is for the log only.
 */
function assertInScope(scope: ModelScope, model: string | undefined): void {
  if (scope === undefined || (model !== undefined && isInScope(scope, model))) return
  throw new GatewayError('unknown_model_alias', { param: 'model', cause: 'out_of_scope' })
}

function unroutable(model: string | undefined): GatewayError {
  return model === undefined
    ? invalidRequest('model', `'model' must name a model.`)
    : new GatewayError('unknown_model_alias', { param: 'model', cause: 'alias_unknown' })
}
