// Counts the model requests that run, and refuses new ones once the worker drains
// (operations.md 3.8; bridge.md 9.3). A drain waits for the count, never for a fixed time
// (field-lessons.md I3).
import { GatewayError } from '../normalized/index.ts'
import type { RequestContext } from './request-context.ts'

export interface DrainGate {
  readonly isDraining: boolean
  /** Every response is the last one of its connection: while draining, and once another worker has taken the place of this one. */
  readonly closesConnections: boolean
  /** Admitted model requests whose response is not complete yet, streams included. */
  readonly activeRequests: number
  /** The same requests, in no order. */
  listActive(): readonly RequestContext[]
  /** Admits a model request. Raises `gateway_not_ready` while draining. */
  admit(context: RequestContext): void
  /** A request is over; does nothing for one that was never admitted. */
  release(context: RequestContext): void
  /** A drain waits for this work too: it goes on when its request is over. */
  hold(work: Promise<unknown>): void
  /** Model requests are refused from now on. */
  startDraining(): void
  /** Connections close from now on, each behind its next response; model requests are served. */
  startRetiring(): void
  /**
   * How many more milliseconds idle connections should stay open: the head of a response that ended just now said nothing of the drain, and its
   * client may be sending the next request. 0 before connections begin to close.
   */
  readonly keptIdleMs: number
  /** Calls the listener once, when connections begin to close. Returns a function that removes it. */
  onClosingConnections(listener: () => void): () => void
  /** Calls the listener once, when the drain starts. Returns a function that removes it. */
  onDraining(listener: () => void): () => void
  /** Resolves when no admitted request runs any more. */
  whenIdle(): Promise<void>
  /**
   * At the drain deadline: ends the upstream work of every admitted request, so that each gets an
   * error response.
   */
  cancelActive(): void
}

/** A client with more to ask sends its next request within this time, and its answer says that the connection closes. */
const NEXT_REQUEST_MS = 500

export function createDrainGate(): DrainGate {
  // An array in which each request knows its index. A set would rebuild its table every few
  // requests, and each table in the old generation would keep the next one alive, with all requests
  // in it, until a full garbage collection.
  const active: RequestContext[] = []
  let idleWaiters: Array<() => void> = []
  const drainListeners = new Set<() => void>()
  const closingListeners = new Set<() => void>()
  let isDraining = false
  let closesConnections = false
  /** When connections began to close, or the end of a request that ran then. */
  let lastUntoldMs = Number.NEGATIVE_INFINITY
  let heldWork = 0

  function wakeIfIdle(): void {
    if (active.length > 0 || heldWork > 0) return
    const waiters = idleWaiters
    idleWaiters = []
    for (const resolve of waiters) resolve()
  }

  function startClosing(): void {
    closesConnections = true
    lastUntoldMs = performance.now()
    callOnce(closingListeners)
  }

  return {
    get isDraining() {
      return isDraining
    },
    get closesConnections() {
      return closesConnections
    },
    get keptIdleMs() {
      return Math.max(0, lastUntoldMs + NEXT_REQUEST_MS - performance.now())
    },
    get activeRequests() {
      return active.length
    },
    listActive: () => [...active],
    admit(context) {
      if (isDraining) throw shuttingDown()
      context.gatePlace = active.push(context) - 1
    },
    release(context) {
      if (context.gatePlace === undefined) return
      const last = active.pop()
      if (last !== undefined && last !== context) {
        active[context.gatePlace] = last
        last.gatePlace = context.gatePlace
      }
      context.gatePlace = undefined
      if (closesConnections) lastUntoldMs = performance.now()
      wakeIfIdle()
    },
    hold(work) {
      heldWork++
      const release = () => {
        heldWork--
        wakeIfIdle()
      }
      work.then(release, release)
    },
    startDraining() {
      isDraining = true
      callOnce(drainListeners)
      startClosing()
    },
    startRetiring: startClosing,
    onClosingConnections(listener) {
      closingListeners.add(listener)
      return () => closingListeners.delete(listener)
    },
    onDraining(listener) {
      drainListeners.add(listener)
      return () => drainListeners.delete(listener)
    },
    whenIdle() {
      if (active.length === 0 && heldWork === 0) return Promise.resolve()
      return new Promise(resolve => idleWaiters.push(resolve))
    },
    cancelActive() {
      for (const context of [...active]) context.lifetime.abort(shuttingDown())
    }
  }
}

function callOnce(listeners: Set<() => void>): void {
  for (const listener of listeners) listener()
  listeners.clear()
}

/**
 * Refusal and cancellation look the same to a client: it retries after a second and reaches another
 * instance.
 */
export function shuttingDown(): GatewayError {
  return new GatewayError('gateway_not_ready', { reason: 'gateway_shutting_down' })
}
