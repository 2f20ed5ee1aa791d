// Compares the features that a request uses with those that its provider declares, before any I/O (contracts/bridge.md 7.3).

import {
  findFeatureUse,
  GatewayError,
  type NormalizedRequest,
  type ProviderAcceptance,
  type RequestFeature,
  requestFeatures
} from '../normalized/index.ts'

/** One shared list: nearly all requests use no feature that their provider ignores. */
const NOTHING_IGNORED: readonly RequestFeature[] = Object.freeze([])

const unsentFeatures = new WeakMap<ProviderAcceptance, readonly RequestFeature[]>()

/**
 * Admits a request to a provider. Raises `unsupported_semantic` with the client's field for a feature that the provider refuses.
 * @returns the features that the request uses and the provider ignores.
 */
export function admitRequest(request: NormalizedRequest, acceptance: ProviderAcceptance): readonly RequestFeature[] {
  let ignored: RequestFeature[] | undefined
  for (const feature of listUnsent(acceptance)) {
    const path = findFeatureUse(request, feature)
    if (path === undefined) continue
    if (acceptance.features[feature] === 'refused') throw refuse(feature, path, acceptance)
    ignored ??= []
    ignored.push(feature)
  }
  return ignored ?? NOTHING_IGNORED
}

/** The features that a provider ignores or refuses; computed once per provider, because only these are looked up in a request. */
function listUnsent(acceptance: ProviderAcceptance): readonly RequestFeature[] {
  const known = unsentFeatures.get(acceptance)
  if (known !== undefined) return known
  const unsent = requestFeatures.filter(feature => acceptance.features[feature] !== 'sent')
  unsentFeatures.set(acceptance, unsent)
  return unsent
}

function refuse(feature: RequestFeature, path: string, acceptance: ProviderAcceptance): GatewayError {
  const message = acceptance.refusals?.[feature]
  return new GatewayError('unsupported_semantic', {
    param: path === '' ? undefined : path,
    ...(message === undefined ? {} : { message })
  })
}
