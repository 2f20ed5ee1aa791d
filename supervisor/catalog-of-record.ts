// The one model catalog of the host: leases the discovery to one worker at a time, gives everybody the result, and warms it up from
// boot on, so that readiness waits for no client (bridge contract, sections 5.3 and 6.1).
import { CATALOG_DISCOVERY_TIMEOUT_MS, type CatalogFailure, type CatalogSnapshot } from '../shared/catalog.ts'
import { catalogBackoffMs, createCatalogRecord } from '../shared/catalog-record.ts'
import type { SupervisorMessageContent, WorkerMessage } from '../shared/ipc.ts'
import type { Logger } from '../shared/logging.ts'
import { NATIVE_PROFILE_ID } from '../shared/native-profile.ts'

/** What a worker's own bound may be late by before its lease counts as failed. */
const LEASE_MARGIN_MS = 2_000

/** What callers are told of a discovery that a worker did not finish; the same as if it had run into its own bound. */
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
  /** Takes in a message of a worker; returns false when it is not about the catalog. */
  receive(owner: number, message: WorkerMessage): boolean
  releaseOwner(owner: number): void
  /** Asks workers for a discovery until the first one succeeds: at once, then after 1, 2, 4, up to 30 seconds. */
  startWarmUp(): void
  close(): void
}

export interface CatalogOfRecordDependencies {
  readonly log: Logger
  readonly nowMs: () => number
  readonly send: (owner: number, message: SupervisorMessageContent) => void
  readonly broadcast: (message: SupervisorMessageContent) => void
  /** A worker that serves, a different one each time where there are several; undefined when none does. */
  readonly nextReadyOwner: () => number | undefined
  /** Called after the first success. */
  readonly onFilled: () => void
}

export function createCatalogOfRecord(
  dependencies: CatalogOfRecordDependencies,
  options: { upstreamTimeoutMs: number }
): CatalogOfRecord {
  const { log, send } = dependencies
  const leaseTimeoutMs = Math.max(CATALOG_DISCOVERY_TIMEOUT_MS, options.upstreamTimeoutMs) + LEASE_MARGIN_MS
  /** Who discovers at the moment, and the end of its patience. */
  let lease: { owner: number; timer: NodeJS.Timeout } | undefined
  let warmUpTimer: NodeJS.Timeout | undefined
  let warmUpTries = 0
  let isFilled = false
  /** The failure that the log knows of; none after a success. */
  let knownFailure: string | undefined

  const record = createCatalogRecord({
    providerProfileId: NATIVE_PROFILE_ID,
    nowMs: dependencies.nowMs,
    publish(snapshot) {
      dependencies.broadcast({ kind: 'catalog-published', snapshot })
      const { models, inventoryRevision, stale } = snapshot
      log.info(
        { event: 'catalog_published', models: models.length, inventory_revision: inventoryRevision, stale },
        'Model catalog published'
      )
      if (isFilled) return
      isFilled = true
      clearTimeout(warmUpTimer)
      dependencies.onFilled()
    }
  })

  function endLease(): void {
    clearTimeout(lease?.timer)
    lease = undefined
  }

  function request(owner: number, requestId: number, force: boolean): void {
    const ticket = { owner, requestId }
    let holdsLease = false
    record.request(ticket, { force }, answer => {
      if (answer.kind === 'lease') {
        endLease()
        holdsLease = true
        const timer = setTimeout(() => {
          log.warn({ event: 'catalog_lease_expired' }, 'A worker did not finish a model discovery in time')
          record.fail(ticket, LEASE_EXPIRED)
        }, leaseTimeoutMs).unref()
        lease = { owner, timer }
        send(owner, { kind: 'catalog-lease', requestId })
        return
      }
      if (holdsLease) endLease()
      if (answer.kind === 'result') send(owner, { kind: 'catalog-result', requestId, snapshot: answer.snapshot })
      else send(owner, { kind: 'catalog-unavailable', requestId, failure: answer.failure })
    })
  }

  function complete(owner: number, message: Extract<WorkerMessage, { kind: 'catalog-fetched' }>): void {
    const { requestId, models } = message
    if (models.skippedCount + models.duplicateCount > 0) {
      const { skippedCount, duplicateCount } = models
      log.warn(
        { event: 'catalog_entries_skipped', skipped: skippedCount, duplicates: duplicateCount },
        'The upstream model list held unusable entries'
      )
    }
    knownFailure = undefined
    record.complete({ owner, requestId }, models)
  }

  /** Says why the list cannot be had, once for each reason: the warm-up and clients may try for hours. */
  function logFailure({ status, code, cause }: CatalogFailure): void {
    const failure = JSON.stringify([status, code, cause])
    if (failure === knownFailure) return
    knownFailure = failure
    log.warn(
      { event: 'catalog_discovery_failed', status, code, cause: cause ?? undefined },
      'The upstream model list could not be had'
    )
  }

  function warmUp(): void {
    const owner = dependencies.nextReadyOwner()
    if (owner !== undefined) send(owner, { kind: 'catalog-refresh-wanted' })
    warmUpTries += 1
    warmUpTimer = setTimeout(warmUp, catalogBackoffMs(warmUpTries)).unref()
  }

  return {
    current: record.current,
    receive(owner, message) {
      switch (message.kind) {
        case 'catalog-refresh':
          request(owner, message.requestId, message.force)
          return true
        case 'catalog-fetched':
          complete(owner, message)
          return true
        case 'catalog-failed':
          logFailure(message.failure)
          record.fail({ owner, requestId: message.requestId }, message.failure)
          return true
        default:
          return false
      }
    },
    releaseOwner(owner) {
      // Before the record gives the lease to the next one.
      if (lease?.owner === owner) endLease()
      record.releaseOwner(owner)
    },
    startWarmUp() {
      if (!isFilled && warmUpTimer === undefined) warmUp()
    },
    close() {
      endLease()
      clearTimeout(warmUpTimer)
    }
  }
}
