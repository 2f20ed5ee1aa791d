// What a worker asks of the supervisor while it serves: host-wide concurrency slots and the one shared model catalog.
import type { CatalogFailure, CatalogModels, CatalogSnapshot } from '../shared/catalog.ts'
import { type CatalogReply, type CatalogTicket, createCatalogRecord } from '../shared/catalog-record.ts'
import type { SupervisorMessage, WorkerMessageContent } from '../shared/ipc.ts'
import { createSlotPool, limitOf, type SlotSettings, slotLimitsFrom } from '../shared/model-slots.ts'
import { NATIVE_PROFILE_ID } from '../shared/native-profile.ts'
import { readCatalogFailure, writeCatalogFailure } from './catalog-failure.ts'
import type { CancelSignal } from './performance/cancel-source.ts'

export interface RefreshCatalogOptions {
  /** Ask the upstream even when the current snapshot is fresh. */
  readonly force: boolean
  /** Ends the wait of this caller; the discovery itself goes on for the others. */
  readonly signal?: CancelSignal
}

/** Gives the slot back, or null: there was none to have. */
export type SlotGrant = (() => void) | null

export interface ControlChannel {
  /**
   * Takes a host-wide slot for a model: gives a function that gives it back, or null when the wait ended without one (timeout,
   * full queue, or `signal`). A model without a limit sends nothing and is answered without a promise.
   */
  acquireSlot(key: string, signal: CancelSignal): SlotGrant | Promise<SlotGrant>
  /** The catalog that all workers show at the moment, or undefined before the first discovery. */
  catalogSnapshot(): CatalogSnapshot | undefined
  /** Calls the listener for each snapshot that replaces the current one. */
  onCatalogPublished(listener: (snapshot: CatalogSnapshot) => void): void
  /**
   * Calls the listener when the supervisor wants this worker to bring the catalog up to date (the warm-up from boot on). The
   * listener is expected to call `refreshCatalog`; after a failed refresh the supervisor asks again.
   */
  onRefreshWanted(listener: () => void): void
  /**
   * Brings the catalog up to date. One caller on the host fetches, all others wait for its result. With an earlier snapshot a
   * failed fetch resolves with that snapshot, marked stale. Without one it rejects: with the error of `fetchModels` in the worker
   * that fetched, with a `GatewayError` that says the same in the others. An aborted `signal` rejects with its reason.
   */
  refreshCatalog(fetchModels: () => Promise<CatalogModels>, options: RefreshCatalogOptions): Promise<CatalogSnapshot>
}

/** What the two kinds of channel differ in: where slots and leases come from. */
interface Broker {
  acquire(requestId: number, key: string): void
  release(requestId: number): void
  cancel(requestId: number): void
  requestCatalog(requestId: number, force: boolean): void
  completeCatalog(requestId: number, models: CatalogModels): void
  failCatalog(requestId: number, failure: CatalogFailure): void
}

interface PendingRefresh {
  readonly kind: 'forced' | 'unforced'
  readonly fetchModels: () => Promise<CatalogModels>
  readonly resolve: (snapshot: CatalogSnapshot) => void
  readonly reject: (error: unknown) => void
  failure: unknown
}

export interface RemoteControlChannel extends ControlChannel {
  /** Takes in a message of the supervisor; returns false when it is not one for the channel. */
  receive(message: SupervisorMessage): boolean
}

/** The channel of a worker: every question becomes a message, every answer comes in through `receive`. */
export function createControlChannel(
  dependencies: { send: (message: WorkerMessageContent) => void },
  options: { settings: SlotSettings; catalog: CatalogSnapshot | undefined }
): RemoteControlChannel {
  const { send } = dependencies
  const core = createChannelCore(options, {
    acquire: (requestId, key) => send({ kind: 'slot-acquire', requestId, key }),
    release: requestId => send({ kind: 'slot-release', requestId }),
    cancel: requestId => send({ kind: 'slot-cancel', requestId }),
    requestCatalog: (requestId, force) => send({ kind: 'catalog-refresh', requestId, force }),
    completeCatalog: (requestId, models) => send({ kind: 'catalog-fetched', requestId, models }),
    failCatalog: (requestId, failure) => send({ kind: 'catalog-failed', requestId, failure })
  })
  return {
    ...core.channel,
    receive(message) {
      switch (message.kind) {
        case 'slot-granted':
        case 'slot-refused':
          core.answerSlot(message.requestId, message.kind === 'slot-granted')
          return true
        case 'catalog-lease':
          core.answerCatalog(message.requestId, { kind: 'lease' })
          return true
        case 'catalog-result':
          core.answerCatalog(message.requestId, { kind: 'result', snapshot: message.snapshot })
          return true
        case 'catalog-unavailable':
          core.answerCatalog(message.requestId, { kind: 'failure', failure: message.failure })
          return true
        case 'catalog-published':
          core.publish(message.snapshot)
          return true
        case 'catalog-refresh-wanted':
          core.wantRefresh()
          return true
        default:
          return false
      }
    }
  }
}

/** A channel without a supervisor, for one process: the same rules, no messages. */
export function createLocalControlChannel(
  settings: SlotSettings,
  dependencies: { nowMs: () => number } = { nowMs: Date.now }
): ControlChannel {
  const slots = createSlotPool(slotLimitsFrom(settings))
  const record = createCatalogRecord({
    providerProfileId: NATIVE_PROFILE_ID,
    nowMs: dependencies.nowMs,
    publish: snapshot => core.publish(snapshot)
  })
  const ticket = (requestId: number): CatalogTicket => ({ owner: 0, requestId })
  const core = createChannelCore(
    { settings, catalog: undefined },
    {
      acquire: (requestId, key) =>
        slots.acquire(ticket(requestId), key, outcome => core.answerSlot(requestId, outcome === 'granted')),
      release: requestId => slots.release(ticket(requestId)),
      cancel: requestId => slots.release(ticket(requestId)),
      requestCatalog: (requestId, force) =>
        record.request(ticket(requestId), { force }, answer => core.answerCatalog(requestId, answer)),
      completeCatalog: (requestId, models) => record.complete(ticket(requestId), models),
      failCatalog: (requestId, failure) => record.fail(ticket(requestId), failure)
    }
  )
  return core.channel
}

function createChannelCore(options: { settings: SlotSettings; catalog: CatalogSnapshot | undefined }, broker: Broker) {
  const limits = slotLimitsFrom(options.settings)
  const slotWaiters = new Map<number, (isGranted: boolean) => void>()
  const refreshes = new Map<number, PendingRefresh>()
  const publishedListeners: Array<(snapshot: CatalogSnapshot) => void> = []
  const wantedListeners: Array<() => void> = []
  let snapshot = options.catalog
  const running: { forced: Promise<CatalogSnapshot> | undefined; unforced: Promise<CatalogSnapshot> | undefined } = {
    forced: undefined,
    unforced: undefined
  }
  let lastRequestId = 0

  function createRelease(requestId: number): () => void {
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      broker.release(requestId)
    }
  }

  function waitForSlot(key: string, signal: CancelSignal): Promise<SlotGrant> {
    lastRequestId += 1
    const requestId = lastRequestId
    return new Promise(resolve => {
      const onAbort = () => {
        slotWaiters.delete(requestId)
        broker.cancel(requestId)
        resolve(null)
      }
      slotWaiters.set(requestId, isGranted => {
        slotWaiters.delete(requestId)
        signal.removeEventListener('abort', onAbort)
        resolve(isGranted ? createRelease(requestId) : null)
      })
      signal.addEventListener('abort', onAbort, { once: true })
      broker.acquire(requestId, key)
    })
  }

  function startRefresh(fetchModels: () => Promise<CatalogModels>, force: boolean): Promise<CatalogSnapshot> {
    lastRequestId += 1
    const requestId = lastRequestId
    const kind = force ? 'forced' : 'unforced'
    const { promise, resolve, reject } = Promise.withResolvers<CatalogSnapshot>()
    running[kind] = promise
    refreshes.set(requestId, { kind, fetchModels, resolve, reject, failure: undefined })
    broker.requestCatalog(requestId, force)
    return promise
  }

  async function fetchUnderLease(requestId: number, refresh: PendingRefresh): Promise<void> {
    try {
      broker.completeCatalog(requestId, await refresh.fetchModels())
    } catch (error) {
      refresh.failure = error
      broker.failCatalog(requestId, writeCatalogFailure(error))
    }
  }

  const channel: ControlChannel = {
    acquireSlot(key, signal) {
      if (limitOf(limits, key) === undefined) return releaseNothing
      return signal.aborted ? null : waitForSlot(key, signal)
    },
    catalogSnapshot: () => snapshot,
    onCatalogPublished(listener) {
      publishedListeners.push(listener)
    },
    onRefreshWanted(listener) {
      wantedListeners.push(listener)
    },
    async refreshCatalog(fetchModels, { force, signal }) {
      if (signal?.aborted) throw signal.reason
      // An unforced refresh may be answered without asking the upstream, so a forced one only joins its own kind.
      const shared = force ? running.forced : (running.forced ?? running.unforced)
      return waitUnlessAborted(shared ?? startRefresh(fetchModels, force), signal)
    }
  }

  return {
    channel,
    answerSlot(requestId: number, isGranted: boolean): void {
      const waiter = slotWaiters.get(requestId)
      if (waiter !== undefined) waiter(isGranted)
    },
    answerCatalog(requestId: number, answer: CatalogReply): void {
      const refresh = refreshes.get(requestId)
      if (refresh === undefined) return
      if (answer.kind === 'lease') {
        void fetchUnderLease(requestId, refresh)
        return
      }
      refreshes.delete(requestId)
      running[refresh.kind] = undefined
      if (answer.kind === 'result') refresh.resolve(answer.snapshot)
      else refresh.reject(refresh.failure ?? readCatalogFailure(answer.failure))
    },
    publish(next: CatalogSnapshot): void {
      snapshot = next
      for (const listener of publishedListeners) listener(next)
    },
    wantRefresh(): void {
      for (const listener of wantedListeners) listener()
    }
  }
}

/** Resolves with the work, or rejects with the signal's reason if that comes first. The work goes on either way. */
async function waitUnlessAborted<T>(work: Promise<T>, signal: CancelSignal | undefined): Promise<T> {
  if (signal === undefined) return work
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

function releaseNothing(): void {
  // A model without a limit has nothing to give back.
}
