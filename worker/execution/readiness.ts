// The facts of the readiness document: what the supervisor has told this worker, and what the
// worker's own parts are able to do (bridge.md 5.3).
import type { ReadinessFacts } from '../../shared/documents/documents.ts'
import type { KeyRing } from '../../shared/keys/key-ring.ts'
import type { ProfileSet } from '../../shared/profile/profile.ts'
import { listRouted, requiresNewerSchema } from '../../shared/profile/profile-routes.ts'
import { isKindExecuted } from '../../shared/support/support-matrix.ts'
import type { ControlChannel } from '../control/control-channel.ts'
import type { DrainGate } from '../http/drain-gate.ts'
import type { Executors } from '../providers/types.ts'

/** Returns the facts of now. Nothing is asked of a provider. */
export type ReadReadiness = () => ReadinessFacts

/**
 * Creates the reader. Start and catalog are those of the supervisor, the revisions those that it has compared, so every worker reports
 * the same; only the adapters and the drain are the worker's own.
 */
export function createReadinessReader(dependencies: {
  profiles: ProfileSet
  revisions: { readonly config: string; readonly matrix: string }
  /** The keys that are in force in this worker. */
  keys: Pick<KeyRing, 'revision'>
  control: ControlChannel
  executors: Pick<Executors, 'isReady'>
  drainGate: Pick<DrainGate, 'isDraining'>
}): ReadReadiness {
  const { profiles, revisions, keys, control, executors, drainGate } = dependencies
  const routed = listRouted(profiles)
  const current = routed.filter(profile => !requiresNewerSchema(profiles, profile))
  const warningIds = current.length < routed.length ? ['alias_requires_profile_v3'] : []
  const executable = current.filter(({ providerKind }) => isKindExecuted(providerKind))
  return () => ({
    isDraining: control.isLeaving || drainGate.isDraining,
    revisions,
    keysRevision: keys.revision,
    hasProviderRoutes: routed.length > 0,
    areAdaptersReady: control.isHostStarted && executable.every(({ profileId }) => executors.isReady(profileId)),
    catalog: control.catalogSnapshot(),
    warningIds
  })
}
