// The catalog of record: one inventory record for each profile that is asked for its models, and the
// one snapshot that all of them make together (bridge.md 6.1). The supervisor holds one catalog for
// the host; a gateway without a supervisor, and each pass-through credential, holds its own.
import type { CatalogFailure, CatalogModels, CatalogSnapshot, ProfileInventory } from './catalog.ts'
import type { CatalogComposition } from './catalog-composition.ts'
import { type CatalogTicket, createInventoryRecord, type InventoryRecord } from './inventory-record.ts'

export { type CatalogTicket, catalogBackoffMs } from './inventory-record.ts'

export type CatalogReply =
  /** Fetch now, then call `complete` or `fail` with the same ticket. */
  | { readonly kind: 'lease' }
  /** Ends the request: the snapshot to show. */
  | { readonly kind: 'result'; readonly snapshot: CatalogSnapshot }
  /** Ends the request: the discovery failed and no earlier inventory of the profile exists. */
  | { readonly kind: 'failure'; readonly failure: CatalogFailure }

export interface CatalogRecord {
  current(): CatalogSnapshot | undefined
  /** The profiles that are asked for their models, in the order of the file. */
  readonly profileIds: readonly string[]
  /** Whether the models of a profile are known, fresh or stale. */
  isKnown(profileId: string): boolean
  /**
   * Asks for an up-to-date inventory of a profile. `sendReply` is called with the reply that ends the request, or before that with a lease.
   * A profile that is never asked has its result at once.
   */
  request(
    ticket: CatalogTicket,
    options: { profileId: string; force: boolean },
    sendReply: (reply: CatalogReply) => void
  ): void
  /** Ends the lease of a ticket with the discovered models; returns its profile, or undefined when the ticket holds no lease. */
  complete(ticket: CatalogTicket, models: CatalogModels): string | undefined
  /** Ends the lease of a ticket whose discovery failed. Returns like `complete`. */
  fail(ticket: CatalogTicket, failure: CatalogFailure): string | undefined
  /** Drops the requests of a worker that exited; each of its leases goes to the next waiting request. */
  releaseOwner(owner: number): void
  /** Failed discoveries of a profile since its last success. */
  failureCount(profileId: string): number
}

export interface CatalogRecordDependencies {
  /** How the catalog follows from what was discovered. */
  readonly composition: CatalogComposition
  readonly nowMs: () => number
  /** Called with each snapshot that replaces the current one. */
  readonly publish: (snapshot: CatalogSnapshot) => void
}

/** What a request gets for a profile that is never asked, in a catalog without a snapshot. */
const NOT_DISCOVERED: CatalogFailure = {
  code: 'gateway_not_ready',
  status: 503,
  kind: 'overloaded',
  message: 'Gateway routes are not ready.',
  param: null,
  reason: null,
  retryAfter: null,
  cause: null
}

export function createCatalogRecord({ composition, nowMs, publish }: CatalogRecordDependencies): CatalogRecord {
  const records = new Map<string, InventoryRecord>(
    composition.discovered.map(profileId => [
      profileId,
      createInventoryRecord({ profileId, nowMs, isOptional: () => snapshot !== undefined, onChange: recompose })
    ])
  )
  let snapshot = composition.compose(new Map())

  function recompose(): void {
    const inventories = new Map<string, ProfileInventory>()
    for (const [profileId, record] of records) {
      const inventory = record.current()
      if (inventory !== undefined) inventories.set(profileId, inventory)
    }
    snapshot = composition.compose(inventories)
    if (snapshot !== undefined) publish(snapshot)
  }

  function showSnapshot(): CatalogReply {
    return snapshot === undefined ? { kind: 'failure', failure: NOT_DISCOVERED } : { kind: 'result', snapshot }
  }

  /** The profile whose record has ended the lease. */
  function findEnded(end: (record: InventoryRecord) => boolean): string | undefined {
    for (const [profileId, record] of records) if (end(record)) return profileId
    return undefined
  }

  return {
    current: () => snapshot,
    profileIds: composition.discovered,
    isKnown: profileId => records.get(profileId)?.current() !== undefined,
    request(ticket, { profileId, force }, sendReply) {
      const record = records.get(profileId)
      if (record === undefined) sendReply(showSnapshot())
      else record.request(ticket, { force }, reply => sendReply(reply.kind === 'known' ? showSnapshot() : reply))
    },
    complete: (ticket, models) => findEnded(record => record.complete(ticket, models)),
    fail: (ticket, failure) => findEnded(record => record.fail(ticket, failure)),
    releaseOwner(owner) {
      for (const record of records.values()) record.releaseOwner(owner)
    },
    failureCount: profileId => records.get(profileId)?.failureCount() ?? 0
  }
}
