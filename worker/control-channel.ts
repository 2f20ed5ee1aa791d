// What a worker asks of the supervisor while it serves: host-wide concurrency slots and the one shared model catalog.
import {
  type CatalogModels,
  type CatalogSnapshot,
  createCatalogSnapshot,
  isFresh,
  markStale
} from '../shared/catalog.ts'
import type { Settings } from '../shared/settings.ts'

export interface RefreshCatalogOptions {
  /** Ask the upstream even when the current snapshot is fresh. */
  readonly force: boolean
  /** Ends the wait of this caller; the discovery itself goes on for the others. */
  readonly signal?: AbortSignal
}

export interface ControlChannel {
  /**
   * Takes a host-wide slot for a model. Resolves with a function that gives it back, or with null when the wait ended without
   * one (timeout, full queue, or `signal`). A model without a limit resolves at once and sends nothing.
   */
  acquireSlot(key: string, signal: AbortSignal): Promise<(() => void) | null>
  /** The catalog that all workers show at the moment, or undefined before the first discovery. */
  catalogSnapshot(): CatalogSnapshot | undefined
  /** Calls the listener for each snapshot that replaces the current one. */
  onCatalogPublished(listener: (snapshot: CatalogSnapshot) => void): void
  /**
   * Calls the listener when the supervisor wants this worker to bring the catalog up to date (the warm-up from boot on). The
   * listener is expected to call `refreshCatalog`; a rejected refresh is tried again by the supervisor.
   */
  onRefreshWanted(listener: () => void): void
  /**
   * Brings the catalog up to date. One caller on the host fetches, all others wait for its result. With an earlier snapshot a
   * failed fetch resolves with that snapshot, marked stale. Without one it rejects: with the error of `fetchModels` in the worker
   * that fetched, with `CatalogUnavailableError` in the others.
   */
  refreshCatalog(fetchModels: () => Promise<CatalogModels>, options: RefreshCatalogOptions): Promise<CatalogSnapshot>
}

/** Another worker's discovery failed and there is no earlier snapshot to show. */
export class CatalogUnavailableError extends Error {
  constructor() {
    super('The model catalog is not available.')
    this.name = 'CatalogUnavailableError'
  }
}

/** Profile id of the provider that exists when no profile file is chosen. */
const NATIVE_PROFILE_ID = 'native-upstream'

/** A control channel without a supervisor, for one process: the same answers, no messages. */
export function createLocalControlChannel(
  settings: Pick<Settings, 'modelMaxConnections' | 'modelMaxConnectionsDefault' | 'modelMaxConnectionsAcquireTimeout'>,
  dependencies: { nowMs: () => number } = { nowMs: Date.now }
): ControlChannel {
  void settings
  let snapshot: CatalogSnapshot | undefined
  let running: Promise<CatalogSnapshot> | undefined
  const listeners: Array<(snapshot: CatalogSnapshot) => void> = []

  function publish(next: CatalogSnapshot): CatalogSnapshot {
    snapshot = next
    for (const listener of listeners) listener(next)
    return next
  }

  async function discover(fetchModels: () => Promise<CatalogModels>): Promise<CatalogSnapshot> {
    try {
      const models = await fetchModels()
      return publish(
        createCatalogSnapshot(models, {
          providerProfileId: NATIVE_PROFILE_ID,
          nowMs: dependencies.nowMs()
        })
      )
    } catch (error) {
      if (snapshot === undefined) throw error
      return publish(markStale(snapshot))
    } finally {
      running = undefined
    }
  }

  return {
    acquireSlot: async () => () => undefined,
    catalogSnapshot: () => snapshot,
    onCatalogPublished(listener) {
      listeners.push(listener)
    },
    onRefreshWanted: () => undefined,
    async refreshCatalog(fetchModels, options) {
      if (!options.force && isFresh(snapshot, dependencies.nowMs())) return snapshot
      running ??= discover(fetchModels)
      return running
    }
  }
}
