// The record of one profile's inventory: gives one request at a time the lease to fetch the model
// list, queues the others, and spaces the attempts after a failure (bridge.md 6.1).
import { type CatalogFailure, type CatalogModels, createInventory, isFresh, type ProfileInventory } from './catalog.ts'

/** First and longest pause after a failed discovery. A forced request does not wait for it. */
const BACKOFF_FIRST_MS = 1_000
const BACKOFF_LONGEST_MS = 30_000

/** Identifies one request: the worker that sent it, and that worker's number for it. */
export interface CatalogTicket {
  readonly owner: number
  readonly requestId: number
}

export type InventoryReply =
  /** Fetch now, then call `complete` or `fail` with the same ticket. */
  | { readonly kind: 'lease' }
  /** Ends the request: there is an inventory, fresh or stale. */
  | { readonly kind: 'known' }
  /** Ends the request: the discovery failed and there is no earlier inventory. */
  | { readonly kind: 'failure'; readonly failure: CatalogFailure }

export interface InventoryRecord {
  current(): ProfileInventory | undefined
  request(ticket: CatalogTicket, options: { force: boolean }, sendReply: (reply: InventoryReply) => void): void
  /** Ends the lease of a ticket with the discovered models. False when the ticket holds no lease. */
  complete(ticket: CatalogTicket, models: CatalogModels): boolean
  /** Ends the lease of a ticket whose discovery failed. False when the ticket holds no lease. */
  fail(ticket: CatalogTicket, failure: CatalogFailure): boolean
  /** Drops the requests of a worker that exited; its lease goes to the next waiting request. */
  releaseOwner(owner: number): void
  /** Failed discoveries since the last success. */
  failureCount(): number
}

export interface InventoryRecordDependencies {
  readonly profileId: string
  readonly nowMs: () => number
  /** Whether the catalog is served without this inventory: then no request waits for a provider that has just failed. */
  readonly isOptional: () => boolean
  /** Called after each change of the inventory, before the replies. */
  readonly onChange: () => void
}

interface Request {
  readonly ticket: CatalogTicket
  readonly sendReply: (reply: InventoryReply) => void
}

/** The pause after the given number of failures in a row: 1 s, doubling up to 30 s. */
export function catalogBackoffMs(failureCount: number): number {
  return Math.min(BACKOFF_LONGEST_MS, BACKOFF_FIRST_MS * 2 ** Math.max(0, failureCount - 1))
}

export function createInventoryRecord(dependencies: InventoryRecordDependencies): InventoryRecord {
  const { profileId, nowMs, isOptional, onChange } = dependencies
  let inventory: ProfileInventory | undefined
  let lease: Request | undefined
  let waiting: Request[] = []
  let lastFailure: CatalogFailure | undefined
  let failureCount = 0
  let nextAttemptAtMs = 0

  function change(next: ProfileInventory): void {
    inventory = next
    onChange()
  }

  /** The reply to a request that starts no discovery. */
  function findReply(force: boolean): InventoryReply | undefined {
    if (force) return undefined
    const pauseLeftMs = nextAttemptAtMs - nowMs()
    // A longer rest shows that the clock was set back.
    const isPaused = lastFailure !== undefined && pauseLeftMs > 0 && pauseLeftMs <= BACKOFF_LONGEST_MS
    if (inventory !== undefined) return isFresh(inventory, nowMs()) || isPaused ? { kind: 'known' } : undefined
    return isPaused && lastFailure !== undefined && isOptional() ? { kind: 'failure', failure: lastFailure } : undefined
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
    current: () => inventory,
    failureCount: () => failureCount,
    request(ticket, { force }, sendReply) {
      const reply = findReply(force)
      if (reply !== undefined) {
        sendReply(reply)
      } else if (lease !== undefined) {
        waiting.push({ ticket, sendReply })
      } else {
        lease = { ticket, sendReply }
        sendReply({ kind: 'lease' })
      }
    },
    complete(ticket, models) {
      const requests = endLease(ticket)
      if (requests.length === 0) return false
      failureCount = 0
      lastFailure = undefined
      change(createInventory(profileId, models, nowMs()))
      for (const request of requests) request.sendReply({ kind: 'known' })
      return true
    },
    fail(ticket, failure) {
      const requests = endLease(ticket)
      if (requests.length === 0) return false
      failureCount += 1
      lastFailure = failure
      nextAttemptAtMs = nowMs() + catalogBackoffMs(failureCount)
      if (inventory !== undefined && !inventory.stale) change({ ...inventory, stale: true })
      const reply: InventoryReply = inventory === undefined ? { kind: 'failure', failure } : { kind: 'known' }
      for (const request of requests) request.sendReply(reply)
      return true
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
