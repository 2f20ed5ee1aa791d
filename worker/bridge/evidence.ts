// The evidence of a decision, for logs and records: which configuration led a request where, and
// what it was admitted for (bridge.md 7.7). It holds no content, no destination and no name of a
// credential.

import type { ModelAlias, ProviderProfile } from '../../shared/profile/profile.ts'
import { isExternalKind } from '../../shared/profile/profile-routes.ts'
import { matrixRevision } from '../../shared/support/support-matrix.ts'

/** What is known of an alias before any request: made once per alias, and never changed. */
export interface RouteEvidence {
  readonly schemaVersion: 'gateway.execution-context.v1'
  /** Why the request is executed there. */
  readonly reason: 'native_provider_route' | 'cross_provider_route'
  readonly configRevision: string
  readonly profileRevision: string
  readonly profileId: string
  readonly publicAlias: string
  readonly providerKind: string
  readonly upstreamModel: string
  /** The operator's label for what was reviewed. */
  readonly capabilityProfile: string
  readonly lossMatrixRevision: string
}

/** What a request was admitted for, on a route whose support matrix was consulted. */
export interface AdmissionEvidence {
  readonly schemaVersion: 'gateway.bridge-admission.v1'
  readonly publicProtocol: string
  readonly lossMatrixRevision: string
  /** The predicates of the cell's conditional rows that the request needs; the alias declares all of them. */
  readonly predicates: readonly string[]
  /** The cell's evidence. */
  readonly evidenceIds: readonly string[]
}

/** The label of models that no alias names: what holds for them is the profile's default. */
export const DEFAULT_CAPABILITY_PROFILE = 'default_capabilities'

/** The evidence of every model of a profile with a dynamic inventory; the model itself is added for each request. */
export function createPrefixEvidence(
  { profileId, providerKind }: Pick<ProviderProfile, 'profileId' | 'providerKind'>,
  revisions: Pick<RouteEvidence, 'configRevision' | 'profileRevision'>
): Omit<RouteEvidence, 'publicAlias' | 'upstreamModel'> {
  return {
    schemaVersion: 'gateway.execution-context.v1',
    reason: 'cross_provider_route',
    ...revisions,
    profileId,
    providerKind,
    capabilityProfile: DEFAULT_CAPABILITY_PROFILE,
    lossMatrixRevision: matrixRevision
  }
}

export function createRouteEvidence(
  profile: ProviderProfile,
  alias: ModelAlias,
  revisions: Pick<RouteEvidence, 'configRevision' | 'profileRevision'>
): RouteEvidence {
  return {
    schemaVersion: 'gateway.execution-context.v1',
    reason: isExternalKind(profile.providerKind) ? 'cross_provider_route' : 'native_provider_route',
    configRevision: revisions.configRevision,
    profileRevision: revisions.profileRevision,
    profileId: profile.profileId,
    publicAlias: alias.publicAlias,
    providerKind: profile.providerKind,
    upstreamModel: alias.upstreamModel,
    capabilityProfile: alias.capabilityProfile,
    lossMatrixRevision: matrixRevision
  }
}
