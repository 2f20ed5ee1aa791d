// The catalog of record: who may ask the upstream next, who waits for the answer, and what everybody is shown (bridge contract, 6.1).
// The supervisor holds one for the host; a gateway without a supervisor, and each pass-through credential, holds its own.
import {
  type CatalogFailure,
  type CatalogModels,
  type CatalogSnapshot,
  createCatalogSnapshot,
  isFresh,
  markStale
} from './catalog.ts'

/** First and longest pause after a failed discovery before the next one that nobody forces. */
const BACKOFF_FIRST_MS = 1_000
const BACKOFF_LONGEST_MS = 30_000

/** Who asks: the worker, and its own number for this request. */
export interface CatalogTicket {
  readonly owner: number
  readonly requestId: number
}

export type CatalogReply =
  /** Fetch now, then call `complete` or `fail` with the same ticket. */
  | { readonly kind: 'lease' }
  /** The end of the request: what to show. */
  | { readonly kind: 'result'; readonly snapshot: CatalogSnapshot }
  /** The end of the request: the discovery failed and there is nothing to show instead. */
  | { readonly kind: 'failure'; readonly failure: CatalogFailure }

export interface CatalogRecord {
  current(): CatalogSnapshot | undefined
  /** Asks for an up-to-date catalog. `answer` gets the end of the request, or first a lease. */
  request(ticket: CatalogTicket, options: { force: boolean }, answer: (answer: CatalogReply) => void): void
  /** Ends the lease of a ticket with what was discovered. Without a lease it is ignored. */
  complete(ticket: CatalogTicket, models: CatalogModels): void
  /** Ends the lease of a ticket whose discovery failed. Without a lease it is ignored. */
  fail(ticket: CatalogTicket, failure: CatalogFailure): void
  /** The owner died: its requests are dropped, and its lease goes to the next one who waits. */
  releaseOwner(owner: number): void
  /** Failed discoveries since the last success. */
  failureCount(): number
}

export interface CatalogRecordDependencies {
  readonly providerProfileId: string
  readonly nowMs: () => number
  /** Called for each snapshot that takes the place of the current one. */
  readonly publish: (snapshot: CatalogSnapshot) => void
}

interface Request {
  readonly ticket: CatalogTicket
  readonly answer: (answer: CatalogReply) => void
}

/** The pause after the given number of failures in a row: 1 s, doubling up to 30 s. */
export function catalogBackoffMs(failureCount: number): number {
  return Math.min(BACKOFF_LONGEST_MS, BACKOFF_FIRST_MS * 2 ** Math.max(0, failureCount - 1))
}

export function createCatalogRecord(dependencies: CatalogRecordDependencies): CatalogRecord {
  const { nowMs, providerProfileId } = dependencies
  let snapshot: CatalogSnapshot | undefined
  let lease: Request | undefined
  let waiting: Request[] = []
  let failureCount = 0
  let nextTryAtMs = 0

  function publish(next: CatalogSnapshot): void {
    snapshot = next
    dependencies.publish(next)
  }

  function isAnsweredFromHand(current: CatalogSnapshot, force: boolean): boolean {
    return !force && (isFresh(current, nowMs()) || (failureCount > 0 && nowMs() < nextTryAtMs))
  }

  /** Ends the lease of a ticket and gives all whom its end concerns; none when the ticket holds no lease. */
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
    request(ticket, { force }, answer) {
      if (snapshot !== undefined && isAnsweredFromHand(snapshot, force)) {
        answer({ kind: 'result', snapshot })
      } else if (lease !== undefined) {
        waiting.push({ ticket, answer })
      } else {
        lease = { ticket, answer }
        answer({ kind: 'lease' })
      }
    },
    complete(ticket, models) {
      const requests = endLease(ticket)
      if (requests.length === 0) return
      failureCount = 0
      const next = createCatalogSnapshot(models, { providerProfileId, nowMs: nowMs() })
      publish(next)
      for (const request of requests) request.answer({ kind: 'result', snapshot: next })
    },
    fail(ticket, failure) {
      const requests = endLease(ticket)
      if (requests.length === 0) return
      failureCount += 1
      nextTryAtMs = nowMs() + catalogBackoffMs(failureCount)
      if (snapshot !== undefined && !snapshot.stale) publish(markStale(snapshot))
      const answer: CatalogReply = snapshot === undefined ? { kind: 'failure', failure } : { kind: 'result', snapshot }
      for (const request of requests) request.answer(answer)
    },
    releaseOwner(owner) {
      waiting = waiting.filter(request => request.ticket.owner !== owner)
      if (lease?.ticket.owner !== owner) return
      lease = waiting.shift()
      lease?.answer({ kind: 'lease' })
    }
  }
}

function isSameTicket(left: CatalogTicket, right: CatalogTicket): boolean {
  return left.owner === right.owner && left.requestId === right.requestId
}
