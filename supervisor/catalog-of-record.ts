// The one model catalog of the host: leases the discovery to one worker at a time, publishes the
// result to all, and starts the first discovery at boot, so that readiness does not depend on a
// client's request (bridge.md 5.3 and 6.1).
import {
  CATALOG_DISCOVERY_TIMEOUT_MS,
  type CatalogFailure,
  type CatalogModels,
  type CatalogSnapshot
} from '../shared/catalog.ts'
import type { CatalogComposition } from '../shared/catalog-composition.ts'
import { type CatalogTicket, catalogBackoffMs, createCatalogRecord } from '../shared/catalog-record.ts'
import { writeCatalogReply } from '../shared/ipc/catalog-reply.ts'
import type { MessageSender, WorkerMessageHandlers } from '../shared/ipc/handlers.ts'
import type { SupervisorMessageContent } from '../shared/ipc/messages.ts'
import type { Logger } from '../shared/logging.ts'

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
  /** Drops the requests of a worker process that has exited and passes its lease on. */
  releaseOwner(owner: number): void
  /**
   * Asks workers for a discovery until the first success: at once, then after 1, 2, 4, up to 30 seconds. A catalog that needs no discovery
   * counts as filled at once.
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
  /** Called once, when the catalog is filled for the first time. */
  readonly onFilled: () => void
}

export function createCatalogOfRecord(
  dependencies: CatalogOfRecordDependencies,
  options: { composition: CatalogComposition; upstreamTimeoutMs: number }
): CatalogOfRecord {
  const { log, send } = dependencies
  const leaseTimeoutMs = Math.max(CATALOG_DISCOVERY_TIMEOUT_MS, options.upstreamTimeoutMs) + LEASE_MARGIN_MS
  /** The worker that discovers now, and the timer that ends its lease. */
  let lease: { owner: number; timer: NodeJS.Timeout } | undefined
  let warmUpTimer: NodeJS.Timeout | undefined
  let warmUpAttempts = 0
  let isFilled = false
  /** The failure that was logged last; none after a success. */
  let loggedFailure: string | undefined

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
    clearTimeout(warmUpTimer)
    dependencies.onFilled()
  }

  function endLease(): void {
    clearTimeout(lease?.timer)
    lease = undefined
  }

  function request(owner: number, requestId: number, force: boolean): void {
    const ticket = { owner, requestId }
    let holdsLease = false
    record.request(ticket, { force }, reply => {
      if (reply.kind === 'lease') {
        endLease()
        holdsLease = true
        const timer = setTimeout(() => {
          log.warn({ event: 'catalog_lease_expired' }, 'A worker did not finish a model discovery in time')
          record.fail(ticket, LEASE_EXPIRED)
        }, leaseTimeoutMs).unref()
        lease = { owner, timer }
      } else if (holdsLease) {
        endLease()
      }
      send(owner, writeCatalogReply(requestId, reply))
    })
  }

  function complete(ticket: CatalogTicket, models: CatalogModels): void {
    if (models.skippedCount + models.duplicateCount > 0) {
      const { skippedCount, duplicateCount } = models
      log.warn(
        { event: 'catalog_entries_skipped', skipped: skippedCount, duplicates: duplicateCount },
        'The upstream model list held unusable entries'
      )
    }
    loggedFailure = undefined
    record.complete(ticket, models)
  }

  /** Logs why the discovery failed, once for each reason: the attempts may go on for hours. */
  function logFailure({ status, code, cause }: CatalogFailure): void {
    const failure = JSON.stringify([status, code, cause])
    if (failure === loggedFailure) return
    loggedFailure = failure
    log.warn(
      { event: 'catalog_discovery_failed', status, code, cause: cause ?? undefined },
      'The upstream model list could not be fetched'
    )
  }

  function warmUp(): void {
    const owner = dependencies.nextReadyOwner()
    if (owner !== undefined) send(owner, { kind: 'catalog-refresh-wanted' })
    warmUpAttempts += 1
    warmUpTimer = setTimeout(warmUp, catalogBackoffMs(warmUpAttempts)).unref()
  }

  return {
    current: record.current,
    handlers: {
      'catalog-refresh': ({ requestId, force }, { owner }) => request(owner, requestId, force),
      'catalog-fetched': ({ requestId, models }, { owner }) => complete({ owner, requestId }, models),
      'catalog-failed': ({ requestId, failure }, { owner }) => {
        logFailure(failure)
        record.fail({ owner, requestId }, failure)
      }
    },
    releaseOwner(owner) {
      // Before the record passes the lease on, which sets the next timer.
      if (lease?.owner === owner) endLease()
      record.releaseOwner(owner)
    },
    startWarmUp() {
      if (record.current() !== undefined) reportFilled()
      else if (warmUpTimer === undefined) warmUp()
    },
    close() {
      endLease()
      clearTimeout(warmUpTimer)
    }
  }
}
