// What the workers of a host share through the supervisor: slots, the catalog, health of providers, rests of targets, the list of
// running requests, and limits of keys. A further one is added here.

import { createCatalogComposition } from '../../shared/catalog/catalog-composition.ts'
import type { ConfigureMessage } from '../../shared/ipc/messages.ts'
import type { SharedCounters } from '../../shared/limits/shared-counters.ts'
import type { Logger } from '../../shared/logging.ts'
import type { KeysSource } from '../keys/keys-in-force.ts'
import type { createLimitsService, LimitsService } from '../limits/limits-service.ts'
import type { RuntimePlan } from '../plan/runtime-plan.ts'
import type { Fleet } from '../workers/fleet.ts'
import { createCatalogOfRecord } from './catalog-of-record.ts'
import { createConcurrencyBroker } from './concurrency-broker.ts'
import { createHealthOfRecord } from './provider-health.ts'
import { createRunningCollector } from './running-requests.ts'
import { createTargetRests } from './target-rests.ts'

export interface HostServicesDependencies {
  readonly log: Logger
  /** Where hosts share counters; undefined where this one counts alone (keys.md 3). */
  readonly sharedCounters: SharedCounters | undefined
  readonly fleet: Pick<Fleet, 'send' | 'broadcast' | 'nextReadyOwner' | 'readyOwners'>
  /** The keys of the keys file. */
  readonly keys: KeysSource
  /** Undefined without a keys file. */
  readonly createLimits: typeof createLimitsService | undefined
  /** Called once, when the catalog is filled for the first time. */
  readonly onCatalogFilled: () => void
}

/** What the gateway needs of limits; without a keys file no worker asks for any. */
type HostLimits = Pick<LimitsService, 'handlers' | 'isOutage' | 'releaseOwner' | 'close'>
const ignore = () => undefined
const noLimits: HostLimits = {
  handlers: { 'limits-lease': ignore, 'limits-lease-cancelled': ignore, 'limits-settle': ignore, 'keys-usage': ignore },
  isOutage: undefined,
  releaseOwner: ignore,
  close: ignore
}

export type HostServices = ReturnType<typeof createHostServices>

/** Creates all services. None of them sends anything before a worker asks or `catalog.startWarmUp` is called. */
export function createHostServices(
  { log, fleet, keys, createLimits, sharedCounters, onCatalogFilled }: HostServicesDependencies,
  { settings, profiles, revisions }: Pick<RuntimePlan, 'settings' | 'profiles' | 'revisions'>
) {
  const { send, broadcast, nextReadyOwner, readyOwners } = fleet
  const nowMs = () => performance.now()
  const slots = createConcurrencyBroker({ send }, settings, profiles.profiles)
  const catalog = createCatalogOfRecord(
    { log, nowMs: Date.now, send, broadcast, nextReadyOwner, onFilled: onCatalogFilled },
    {
      composition: createCatalogComposition(profiles, { configRevision: revisions.config, startedAtMs: Date.now() }),
      upstreamTimeoutMs: settings.upstream.timeout * 1000
    }
  )
  const targetRests = createTargetRests({ send, broadcast, nowMs }, profiles)
  const profileIds = profiles.profiles.map(({ profileId }) => profileId)
  const health = createHealthOfRecord({ broadcast }, profileIds)
  const running = createRunningCollector({ send, readyOwners })
  const counted = createLimits?.(
    { log, send, place: sharedCounters },
    {
      keys: keys.current(),
      workers: settings.workers,
      countsAll: settings.limitsRedisUrl !== undefined,
      onOutage: settings.limitsOnOutage
    }
  )
  if (counted !== undefined) keys.onChanged(counted.replaceKeys)
  const limits: HostLimits = counted ?? noLimits
  return {
    slots,
    catalog,
    health,
    limits,
    handlers: {
      ...slots.handlers,
      ...catalog.handlers,
      ...health.handlers,
      ...running.handlers,
      ...targetRests.handlers,
      ...limits.handlers
    },
    /** What a worker gets with its configuration, so that a respawned one knows what the others know. */
    snapshot: (): Pick<ConfigureMessage, 'catalog' | 'providerHealth' | 'rests'> => ({
      catalog: catalog.current() ?? null,
      providerHealth: [...health.current()],
      rests: targetRests.list()
    }),
    /** Takes back what a worker process that has exited held. */
    releaseOwner(owner: number): void {
      for (const service of [slots, catalog, running, targetRests, limits]) service.releaseOwner(owner)
    },
    close(): void {
      for (const service of [catalog, health, slots, limits]) service.close()
    }
  }
}
