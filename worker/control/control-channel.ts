// The worker's requests to the supervisor while it serves: host-wide concurrency slots and the shared model catalog.
import type { CatalogModels, CatalogSnapshot } from '../../shared/catalog/catalog.ts'
import { handleMessage, type SupervisorMessageHandlers } from '../../shared/ipc/handlers.ts'
import type { ContentOf, MessageOf, SupervisorMessageFields, WorkerMessageFields } from '../../shared/ipc/messages.ts'
import { createWorkerAsker } from '../../shared/ipc/worker-requests.ts'
import type { KeySet } from '../../shared/keys/key-set.ts'
import { type HostSlot, hostSlotKey, limitOf, type SlotSettings, slotLimitsFrom } from '../../shared/model-slots.ts'
import type { ProviderProfile } from '../../shared/profile/profile.ts'
import type { TargetRest } from '../../shared/profile/target-rests.ts'
import { createHealth, type ProviderHealth } from '../../shared/provider-health.ts'
import type { RunningRequests } from '../../shared/running-request.ts'
import { GatewayError } from '../normalized/index.ts'
import type { RestChannel } from '../targets/target-pool.ts'
import { readCatalogFailure, writeCatalogFailure } from './catalog-failure.ts'

/** The supervisor waits a second for the workers. */
const RUNNING_TIMEOUT_MS = 3_000

/** A request waits for the reply: without one it is sent to another target. */
const TRIAL_TIMEOUT_MS = 250

export interface RefreshCatalogOptions {
  /** Whose models. */
  readonly profileId: string
  /** Calls the upstream even when the current snapshot is fresh. */
  readonly force: boolean
  /** Ends the wait of this caller; the discovery continues for the others. */
  readonly signal?: AbortSignal
}

/** Gives the slot back; null when no slot was granted. */
export type SlotGrant = (() => void) | null

export interface ControlChannel {
  /** Whether every worker of the host has listened: before that the gateway is still starting. */
  readonly isHostStarted: boolean
  /** Whether the gateway stops soon: it is not ready any more, and serves on (decisions.md 97). */
  readonly isLeaving: boolean
  /** How many concurrent calls this model may have; undefined where its requests have nothing to wait for, as for most models. */
  slotLimit(key: string): number | undefined
  /**
   * Takes a host-wide slot for a model: resolves with a function that gives it back, or with null when the wait ended without one
   * (timeout, full queue, or `signal`). For a model without a limit no message is sent.
   */
  acquireSlot(key: string, signal: AbortSignal): Promise<SlotGrant>
  /** Takes one of the host's few slots of this kind. Resolves like `acquireSlot`, and never waits for a free one. */
  acquireHostSlot(slot: HostSlot, signal: AbortSignal): Promise<SlotGrant>
  /** The model requests that run in all workers; undefined where the supervisor did not answer in time, or `signal` came first. */
  listRunning(signal: AbortSignal): Promise<HostRunningRequests | undefined>
  /** Tells the other workers about rests of targets, and asks for trials. */
  readonly targetRests: RestChannel
  /** Calls the listener for each rest of a target: those of the start at once, then those that any worker of the host finds. */
  onTargetRested(listener: (rest: TargetRest) => void): void
  /** Calls the listener for each target that is back. */
  onTargetRestored(listener: (target: string) => void): void
  /**
   * Calls the listener for each key set that replaces the current one; at once for the newest of those that came before the call.
   */
  onKeysChanged(listener: (keys: KeySet) => void): void
  /** The catalog that all workers show now, or undefined before the first discovery. */
  catalogSnapshot(): CatalogSnapshot | undefined
  /** Calls the listener for each snapshot that replaces the current one. */
  onCatalogPublished(listener: (snapshot: CatalogSnapshot) => void): void
  /** What all workers have seen of each profile, as of a moment ago; another list when that has changed. */
  providerHealth(): readonly ProviderHealth[]
  /** Sends what this worker has seen since its last report. */
  reportHealth(reports: ProviderHealth[]): void
  /**
   * Calls the listener when the supervisor requests a refresh of a profile's models (the warm-up, which starts at boot). The listener has
   * to call `refreshCatalog`; after a failed refresh the supervisor repeats its request.
   */
  onRefreshWanted(listener: (profileId: string) => void): void
  /**
   * Refreshes the models of a profile. One caller on the host fetches, all others wait for its result. If the fetch fails and the models
   * are known from earlier, the promise resolves with a snapshot that has them, marked stale. Otherwise it rejects: with the error of `fetchModels` in the worker
   * that fetched, with an equal `GatewayError` in the others. An aborted `signal` rejects with its reason, a closed channel with
   * `gateway_not_ready`.
   */
  refreshCatalog(fetchModels: () => Promise<CatalogModels>, options: RefreshCatalogOptions): Promise<CatalogSnapshot>
}

/** The requests of all workers that answered in time. */
export interface HostRunningRequests extends RunningRequests {
  /** Workers that did not. */
  readonly silentWorkers: number
}

/** The supervisor's messages about the start, slots, running requests and the catalog. */
export type ChannelKind =
  | 'host-started'
  | 'readiness-withdrawn'
  | 'keys-changed'
  | 'slot-granted'
  | 'slot-refused'
  | 'running-listed'
  | 'target-rested'
  | 'target-restored'
  | 'target-trial-granted'
  | 'target-trial-refused'
  | 'catalog-lease'
  | 'catalog-result'
  | 'catalog-unavailable'
  | 'catalog-published'
  | 'catalog-refresh-wanted'
  | 'provider-health-published'
/** The messages that the channel sends to the supervisor. */
export type ChannelRequestKind =
  | 'slot-acquire'
  | 'slot-cancel'
  | 'slot-release'
  | 'running-list'
  | 'target-rest'
  | 'target-restore'
  | 'target-trial'
  | 'target-trial-ended'
  | 'catalog-refresh'
  | 'catalog-fetched'
  | 'catalog-failed'
  | 'provider-health-report'
type ChannelRequest = ContentOf<WorkerMessageFields, ChannelRequestKind>

export type ChannelMessage = MessageOf<SupervisorMessageFields, ChannelKind>

export interface RemoteControlChannel extends ControlChannel {
  /** Handles a message of the supervisor. */
  receive(message: ChannelMessage): void
  /** Ends every wait: the worker exits. */
  close(): void
}

/** The channel of a worker: requests go out through `send`, replies come in through `receive`. */
export function createControlChannel(
  { send }: { send: (message: ChannelRequest) => void },
  options: {
    settings: SlotSettings
    profiles: readonly ProviderProfile[]
    catalog: CatalogSnapshot | undefined
    /** Targets that rest when the worker starts. */
    rests?: readonly TargetRest[]
    isHostStarted: boolean
    isLeaving?: boolean
    /** Nothing was seen unless given. */
    providerHealth?: readonly ProviderHealth[]
  }
): RemoteControlChannel {
  const limits = slotLimitsFrom(options.settings, options.profiles)
  const asker = createWorkerAsker<'slot-acquire' | 'catalog-refresh' | 'running-list' | 'target-trial'>(send)
  const restListeners: Array<(rest: TargetRest) => void> = []
  const restoredListeners: Array<(target: string) => void> = []
  const keysListeners: Array<(keys: KeySet) => void> = []
  let changedKeys: KeySet | undefined
  const publishedListeners: Array<(snapshot: CatalogSnapshot) => void> = []
  const wantedListeners: Array<(profileId: string) => void> = []
  let { catalog: snapshot, isHostStarted, isLeaving = false } = options
  let providerHealth = options.providerHealth ?? options.profiles.map(({ profileId }) => createHealth(profileId))
  /** By profile id. */
  const forced = new Map<string, Promise<CatalogSnapshot>>()
  const unforced = new Map<string, Promise<CatalogSnapshot>>()

  async function waitForSlot(key: string, signal: AbortSignal): Promise<SlotGrant> {
    const onAbandoned = (requestId: number) => send({ kind: 'slot-cancel', requestId })
    const reply = await asker.ask({ kind: 'slot-acquire', key }, { signal, onAbandoned })
    if (reply.kind !== 'slot-granted') return null
    const { requestId } = reply
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      send({ kind: 'slot-release', requestId })
    }
  }

  type Refresh = Pick<RefreshCatalogOptions, 'profileId' | 'force'>

  function startRefresh(fetchModels: () => Promise<CatalogModels>, options: Refresh): Promise<CatalogSnapshot> {
    const running = options.force ? forced : unforced
    const refresh = requestRefresh(fetchModels, options).finally(() => running.delete(options.profileId))
    running.set(options.profileId, refresh)
    return refresh
  }

  async function requestRefresh(
    fetchModels: () => Promise<CatalogModels>,
    { profileId, force }: Refresh
  ): Promise<CatalogSnapshot> {
    let failure: unknown
    async function fetchUnderLease(requestId: number): Promise<void> {
      try {
        send({ kind: 'catalog-fetched', requestId, models: await fetchModels() })
      } catch (error) {
        failure = error
        send({ kind: 'catalog-failed', requestId, failure: writeCatalogFailure(error) })
      }
    }
    const onInterim = ({ requestId }: { requestId: number }) => void fetchUnderLease(requestId)
    const reply = await asker.ask({ kind: 'catalog-refresh', profileId, force }, { onInterim })
    switch (reply.kind) {
      case 'catalog-result':
        return reply.snapshot
      case 'catalog-unavailable':
        throw failure ?? readCatalogFailure(reply.failure)
      case 'unanswered':
        throw new GatewayError('gateway_not_ready')
    }
  }

  const handlers: SupervisorMessageHandlers<ChannelKind> = {
    'host-started'() {
      isHostStarted = true
    },
    'readiness-withdrawn'() {
      isLeaving = true
    },
    'keys-changed'({ keys }) {
      changedKeys = keys
      for (const listener of keysListeners) listener(keys)
    },
    'slot-granted': asker.receive,
    'slot-refused': asker.receive,
    'running-listed': asker.receive,
    'target-rested'({ target, restMs, round }) {
      for (const listener of restListeners) listener({ target, restMs, round })
    },
    'target-restored'({ target }) {
      for (const listener of restoredListeners) listener(target)
    },
    'target-trial-granted': asker.receive,
    'target-trial-refused': asker.receive,
    'catalog-lease': asker.receive,
    'catalog-result': asker.receive,
    'catalog-unavailable': asker.receive,
    'catalog-published'(message) {
      snapshot = message.snapshot
      for (const listener of publishedListeners) listener(message.snapshot)
    },
    'catalog-refresh-wanted'({ profileId }) {
      for (const listener of wantedListeners) listener(profileId)
    },
    'provider-health-published'({ providers }) {
      providerHealth = providers
    }
  }

  const slotLimit = (key: string) => limitOf(limits, key)

  return {
    get isHostStarted() {
      return isHostStarted
    },
    get isLeaving() {
      return isLeaving
    },
    slotLimit,
    async acquireSlot(key, signal) {
      if (slotLimit(key) === undefined) return releaseNothing
      return signal.aborted ? null : waitForSlot(key, signal)
    },
    acquireHostSlot: async (slot, signal) => (signal.aborted ? null : waitForSlot(hostSlotKey(slot), signal)),
    async listRunning(signal) {
      const reply = await asker.ask({ kind: 'running-list' }, { signal, timeoutMs: RUNNING_TIMEOUT_MS })
      return reply.kind === 'running-listed' ? reply : undefined
    },
    targetRests: {
      reportRest: rest => send({ kind: 'target-rest', ...rest }),
      reportRestored: target => send({ kind: 'target-restore', target }),
      async beginTrial(target) {
        // A grant that comes too late is given back, so that the target is not without a trial for good.
        const onAbandoned = () => send({ kind: 'target-trial-ended', target })
        const reply = await asker.ask({ kind: 'target-trial', target }, { timeoutMs: TRIAL_TIMEOUT_MS, onAbandoned })
        return reply.kind === 'target-trial-granted'
      },
      endTrial: target => send({ kind: 'target-trial-ended', target })
    },
    onTargetRested(listener) {
      for (const rest of options.rests ?? []) listener(rest)
      restListeners.push(listener)
    },
    onTargetRestored(listener) {
      restoredListeners.push(listener)
    },
    onKeysChanged(listener) {
      if (changedKeys !== undefined) listener(changedKeys)
      keysListeners.push(listener)
    },
    catalogSnapshot: () => snapshot,
    onCatalogPublished(listener) {
      publishedListeners.push(listener)
    },
    providerHealth: () => providerHealth,
    reportHealth: reports => send({ kind: 'provider-health-report', reports }),
    onRefreshWanted(listener) {
      wantedListeners.push(listener)
    },
    async refreshCatalog(fetchModels, { profileId, force, signal }) {
      if (signal?.aborted) throw signal.reason
      // An unforced refresh may resolve without calling the upstream, so a forced one joins only another forced one.
      const shared = force ? forced.get(profileId) : (forced.get(profileId) ?? unforced.get(profileId))
      return waitUnlessAborted(shared ?? startRefresh(fetchModels, { profileId, force }), signal)
    },
    receive: message => handleMessage(handlers, message, undefined),
    close: asker.close
  }
}

/** Resolves with the result of the work, or rejects with the signal's reason if the abort comes first. The work is not cancelled. */
async function waitUnlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
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
