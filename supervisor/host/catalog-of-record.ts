// The one model catalog of the host: leases the discovery of each profile to one worker at a time,
// publishes the result to all, and starts the first discoveries at boot, so that no inventory waits
// for a client's request (bridge.md 5.3 and 6.1).
import {
  CATALOG_DISCOVERY_TIMEOUT_MS,
  type CatalogFailure,
  type CatalogModels,
  type CatalogSnapshot
} from '../../shared/catalog/catalog.ts'
import type { CatalogComposition } from '../../shared/catalog/catalog-composition.ts'
import { type CatalogTicket, catalogBackoffMs, createCatalogRecord } from '../../shared/catalog/catalog-record.ts'
import { writeCatalogReply } from '../../shared/ipc/catalog-reply.ts'
import type { MessageSender, WorkerMessageHandlers } from '../../shared/ipc/handlers.ts'
import type { SupervisorMessageContent } from '../../shared/ipc/messages.ts'
import type { Logger } from '../../shared/logging.ts'

/** How much later than its own bound a worker may report before its lease counts as failed. */
const LEASE_MARGIN_MS = 2_000

/** The failure of a discovery that a worker did not finish: equal to the one of a discovery that ran into its own bound. */
const LEASE_EXPIRED: CatalogFailure = {
  code: 'provider_timeout',
  status: 504,
  kind: 'timeout',
  message: 'The upstream did not answer in time.',
  param: null,
  reason: null,
  retryAfter: null,
  cause: null
}

export interface CatalogOfRecord {
  current(): CatalogSnapshot | undefined
  /** For the messages about the catalog. */
  readonly handlers: WorkerMessageHandlers<'catalog-refresh' | 'catalog-fetched' | 'catalog-failed', MessageSender>
  /** Drops the requests of a worker process that has exited and passes its leases on. */
  releaseOwner(owner: number): void
  /**
   * Asks workers for a discovery of each profile until its first success: at once, then after 1, 2, 4, up to 30 seconds. A catalog that can
   * be served without a discovery counts as filled at once.
   */
  startWarmUp(): void
  close(): void
}

export interface CatalogOfRecordDependencies {
  readonly log: Logger
  readonly nowMs: () => number
  readonly send: (owner: number, message: SupervisorMessageContent) => void
  readonly broadcast: (message: SupervisorMessageContent) => void
  /** A worker that is ready, in turn; undefined when none is. */
  readonly nextReadyOwner: () => number | undefined
  /** Called once, when the catalog can be served for the first time. */
  readonly onFilled: () => void
}

export function createCatalogOfRecord(
  dependencies: CatalogOfRecordDependencies,
  options: { composition: CatalogComposition; upstreamTimeoutMs: number }
): CatalogOfRecord {
  const { log, send } = dependencies
  const leaseTimeoutMs = Math.max(CATALOG_DISCOVERY_TIMEOUT_MS, options.upstreamTimeoutMs) + LEASE_MARGIN_MS
  /** By profile id: the worker that discovers now, and the timer that ends its lease. */
  const leases = new Map<string, { owner: number; timer: NodeJS.Timeout }>()
  /** By profile id. */
  const warmUpTimers = new Map<string, NodeJS.Timeout>()
  /** By profile id: the failure that was logged last; none after a success. */
  const loggedFailures = new Map<string, string>()
  let isFilled = false

  const record = createCatalogRecord({
    composition: options.composition,
    nowMs: dependencies.nowMs,
    publish(snapshot) {
      dependencies.broadcast({ kind: 'catalog-published', snapshot })
      const { models, inventoryRevision, stale } = snapshot
      log.info(
        { event: 'catalog_published', models: models.length, inventory_revision: inventoryRevision, stale },
        'Model catalog published'
      )
      reportFilled()
    }
  })

  function reportFilled(): void {
    if (isFilled) return
    isFilled = true
    dependencies.onFilled()
  }

  function endLease(profileId: string): void {
    clearTimeout(leases.get(profileId)?.timer)
    leases.delete(profileId)
  }

  function expire(profileId: string, ticket: CatalogTicket): void {
    log.warn(
      { event: 'catalog_lease_expired', profile_id: profileId },
      'A worker did not finish a model discovery in time'
    )
    record.fail(ticket, LEASE_EXPIRED)
  }

  function request(ticket: CatalogTicket, profileId: string, force: boolean): void {
    const { owner, requestId } = ticket
    let holdsLease = false
    record.request(ticket, { profileId, force }, reply => {
      if (reply.kind === 'lease') {
        endLease(profileId)
        holdsLease = true
        leases.set(profileId, { owner, timer: setTimeout(expire, leaseTimeoutMs, profileId, ticket).unref() })
      } else if (holdsLease) {
        endLease(profileId)
      }
      send(owner, writeCatalogReply(requestId, reply))
    })
  }

  function complete(ticket: CatalogTicket, models: CatalogModels): void {
    const profile = record.complete(ticket, models)
    if (profile === undefined) return
    clearTimeout(warmUpTimers.get(profile))
    loggedFailures.delete(profile)
    const { skippedCount: skipped, duplicateCount: duplicates } = models
    if (skipped + duplicates === 0) return
    log.warn(
      { event: 'catalog_entries_skipped', profile, skipped, duplicates },
      'The upstream model list held unusable entries'
    )
  }

  function fail(ticket: CatalogTicket, failure: CatalogFailure): void {
    const profile = record.fail(ticket, failure)
    if (profile !== undefined) logFailure(profile, failure)
  }

  /** Logs why the discovery failed, once for each reason: the attempts may go on for hours. */
  function logFailure(profile: string, { status, code, cause }: CatalogFailure): void {
    const failure = JSON.stringify([status, code, cause])
    if (failure === loggedFailures.get(profile)) return
    loggedFailures.set(profile, failure)
    log.warn(
      { event: 'catalog_discovery_failed', profile_id: profile, status, code, cause: cause ?? undefined },
      'The upstream model list could not be fetched'
    )
  }

  /** Asks the next worker for a profile's models, and again later until they are known. */
  function warmUp(profileId: string, attempts = 1): void {
    if (record.isKnown(profileId)) return
    const owner = dependencies.nextReadyOwner()
    if (owner !== undefined) send(owner, { kind: 'catalog-refresh-wanted', profileId })
    warmUpTimers.set(profileId, setTimeout(warmUp, catalogBackoffMs(attempts), profileId, attempts + 1).unref())
  }

  return {
    current: record.current,
    handlers: {
      'catalog-refresh': ({ requestId, profileId, force }, { owner }) =>
        request({ owner, requestId }, profileId, force),
      'catalog-fetched': ({ requestId, models }, { owner }) => complete({ owner, requestId }, models),
      'catalog-failed': ({ requestId, failure }, { owner }) => fail({ owner, requestId }, failure)
    },
    releaseOwner(owner) {
      // Before the record passes the leases on, which sets the next timers.
      for (const [profileId, lease] of leases) if (lease.owner === owner) endLease(profileId)
      record.releaseOwner(owner)
    },
    startWarmUp() {
      if (record.current() !== undefined) reportFilled()
      for (const profileId of record.profileIds) if (!warmUpTimers.has(profileId)) warmUp(profileId)
    },
    close() {
      for (const profileId of [...leases.keys()]) endLease(profileId)
      for (const timer of warmUpTimers.values()) clearTimeout(timer)
    }
  }
}
