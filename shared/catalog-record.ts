// The catalog of record: gives one request at a time the lease to fetch the model list, queues the
// others and publishes each new snapshot (bridge.md 6.1). The supervisor holds one record for the
// host; a gateway without a supervisor, and each pass-through credential, holds its own.
import {
  type CatalogFailure,
  type CatalogModels,
  type CatalogSnapshot,
  isFresh,
  markStale,
  needsDiscovery
} from './catalog.ts'
import type { CatalogComposition } from './catalog-composition.ts'

/** First and longest pause after a failed discovery. A forced request does not wait for it. */
const BACKOFF_FIRST_MS = 1_000
const BACKOFF_LONGEST_MS = 30_000

/** Identifies one request: the worker that sent it, and that worker's number for it. */
export interface CatalogTicket {
  readonly owner: number
  readonly requestId: number
}

export type CatalogReply =
  /** Fetch now, then call `complete` or `fail` with the same ticket. */
  | { readonly kind: 'lease' }
  /** Ends the request: the snapshot to show. */
  | { readonly kind: 'result'; readonly snapshot: CatalogSnapshot }
  /** Ends the request: the discovery failed and no earlier snapshot exists. */
  | { readonly kind: 'failure'; readonly failure: CatalogFailure }

export interface CatalogRecord {
  current(): CatalogSnapshot | undefined
  /** Asks for an up-to-date catalog. `sendReply` is called with the reply that ends the request, or before that with a lease. */
  request(ticket: CatalogTicket, options: { force: boolean }, sendReply: (reply: CatalogReply) => void): void
  /** Ends the lease of a ticket with the discovered models. Ignored when the ticket holds no lease. */
  complete(ticket: CatalogTicket, models: CatalogModels): void
  /** Ends the lease of a ticket whose discovery failed. Ignored when the ticket holds no lease. */
  fail(ticket: CatalogTicket, failure: CatalogFailure): void
  /** Drops the requests of a worker that exited; its lease goes to the next waiting request. */
  releaseOwner(owner: number): void
  /** Failed discoveries since the last success. */
  failureCount(): number
}

export interface CatalogRecordDependencies {
  /** How the catalog follows from what was discovered. */
  readonly composition: CatalogComposition
  readonly nowMs: () => number
  /** Called with each snapshot that replaces the current one. */
  readonly publish: (snapshot: CatalogSnapshot) => void
}

interface Request {
  readonly ticket: CatalogTicket
  readonly sendReply: (reply: CatalogReply) => void
}

/** The pause after the given number of failures in a row: 1 s, doubling up to 30 s. */
export function catalogBackoffMs(failureCount: number): number {
  return Math.min(BACKOFF_LONGEST_MS, BACKOFF_FIRST_MS * 2 ** Math.max(0, failureCount - 1))
}

export function createCatalogRecord(dependencies: CatalogRecordDependencies): CatalogRecord {
  const { nowMs, composition } = dependencies
  let snapshot = composition.initial
  let lease: Request | undefined
  let waiting: Request[] = []
  let failureCount = 0
  let nextAttemptAtMs = 0

  function publish(next: CatalogSnapshot): void {
    snapshot = next
    dependencies.publish(next)
  }

  function canServeWithoutDiscovery(current: CatalogSnapshot, force: boolean): boolean {
    if (!needsDiscovery(current)) return true
    return !force && (isFresh(current, nowMs()) || (failureCount > 0 && nowMs() < nextAttemptAtMs))
  }

  /** Ends the lease of a ticket. Returns its request and all waiting requests; an empty list when the ticket holds no lease. */
  function endLease(ticket: CatalogTicket): Request[] {
    if (lease === undefined || !isSameTicket(lease.ticket, ticket)) return []
    const requests = [lease, ...waiting]
    lease = undefined
    waiting = []
    return requests
  }

  return {
    current: () => snapshot,
    failureCount: () => failureCount,
    request(ticket, { force }, sendReply) {
      if (snapshot !== undefined && canServeWithoutDiscovery(snapshot, force)) {
        sendReply({ kind: 'result', snapshot })
      } else if (lease !== undefined) {
        waiting.push({ ticket, sendReply })
      } else {
        lease = { ticket, sendReply }
        sendReply({ kind: 'lease' })
      }
    },
    complete(ticket, models) {
      const requests = endLease(ticket)
      if (requests.length === 0) return
      failureCount = 0
      const next = composition.compose(models, nowMs())
      publish(next)
      for (const request of requests) request.sendReply({ kind: 'result', snapshot: next })
    },
    fail(ticket, failure) {
      const requests = endLease(ticket)
      if (requests.length === 0) return
      failureCount += 1
      nextAttemptAtMs = nowMs() + catalogBackoffMs(failureCount)
      if (snapshot !== undefined && !snapshot.stale) publish(markStale(snapshot))
      const reply: CatalogReply = snapshot === undefined ? { kind: 'failure', failure } : { kind: 'result', snapshot }
      for (const request of requests) request.sendReply(reply)
    },
    releaseOwner(owner) {
      waiting = waiting.filter(request => request.ticket.owner !== owner)
      if (lease?.ticket.owner !== owner) return
      lease = waiting.shift()
      lease?.sendReply({ kind: 'lease' })
    }
  }
}

function isSameTicket(left: CatalogTicket, right: CatalogTicket): boolean {
  return left.owner === right.owner && left.requestId === right.requestId
}
