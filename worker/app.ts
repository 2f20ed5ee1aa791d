// A worker as a whole: the parts that it owns, the application in front of them, and the order in which all of it is let go.
import { setTimeout } from 'node:timers/promises'
import { systemClock } from '../shared/clock.ts'
import type { Logger } from '../shared/logging.ts'
import { NATIVE_PROFILE_ID } from '../shared/native-profile.ts'
import type { ProfileSet } from '../shared/profile.ts'
import type { Settings } from '../shared/settings.ts'
import { createRouteTable } from './bridge/route-table.ts'
import type { ControlChannel } from './control/control-channel.ts'
import { createCatalogReader } from './execution/catalog.ts'
import { createApplication } from './http/application.ts'
import { createDrainGate } from './http/drain-gate.ts'
import { createFingerprint } from './http/fingerprint.ts'
import type { ListenOptions } from './http/listener.ts'
import { createObservers } from './observation/create-observers.ts'
import { createObservation, type Observation } from './observation/observation.ts'
import type { RequestObserver } from './observation/observer.ts'
import { type ProviderFaces, providerFaces } from './protocols/registry.ts'
import { createExecutors, type ProviderKinds, providerKinds, readProviderOptions } from './providers/registry.ts'
import type { Executors } from './providers/types.ts'
import { registerRoutes } from './routes/index.ts'
import type { WorkerRuntime } from './routes/worker-runtime.ts'
import { createTranslator } from './translation/translator.ts'

export interface WorkerAppOptions {
  settings: Settings
  profiles: ProfileSet
  revisions: { config: string; matrix: string }
  workerId: number
  fingerprintKey: Buffer
  control: ControlChannel
  log: Logger
  version: string
}

export interface WorkerApp {
  /** Binds the address and starts to serve. Rejects with the system's error, such as `EADDRINUSE`. */
  listen(options: ListenOptions): Promise<{ host: string; port: number }>
  /** Readiness turns false and model requests are refused with `connection: close`; the listener stays open. */
  startDraining(): void
  /** Stops accepting and closes idle connections, now and whenever one becomes idle; running requests go on. */
  closeListener(): Promise<void>
  /** Admitted model requests that still run, streams included. */
  readonly activeRequests: number
  /** Resolves when `activeRequests` is 0. */
  whenIdle(): Promise<void>
  /** Ends the upstream work of what still runs: each request answers 503 or its family's stream error, then ends. */
  cancelActive(): void
  /** Closes the server, then everything that the worker owns. */
  close(): Promise<void>
}

/** Upstream connections get this long to end by themselves. */
const CLOSE_PATIENCE_MS = 3000

/** The provider kinds that a worker knows. */
export interface WorkerAppParts {
  faces: ProviderFaces
  kinds: ProviderKinds
  /** Observers besides those that the settings switch on. */
  observers?: readonly RequestObserver[]
}

/** Assembles a worker that is ready to listen (bridge contract, section 9.1: nothing listens before its parts exist). */
export async function createWorkerApp(
  options: WorkerAppOptions,
  parts: WorkerAppParts = { faces: providerFaces, kinds: providerKinds }
): Promise<WorkerApp> {
  const observers = [...(await createObservers(options)), ...(parts.observers ?? [])]
  const runtime = createRuntime(options, parts, createObservation(observers, options.log))
  const { drainGate } = runtime
  const application = await createApplication(runtime, app => registerRoutes(app, runtime))
  return {
    listen: application.listen,
    startDraining: drainGate.startDraining,
    closeListener: application.stopAccepting,
    get activeRequests() {
      return drainGate.activeRequests
    },
    whenIdle: drainGate.whenIdle,
    cancelActive: drainGate.cancelActive,
    async close() {
      await application.close()
      await runtime.translator.close()
      await closeExecutors(runtime.executors)
    }
  }
}

function createRuntime(
  options: WorkerAppOptions,
  { faces, kinds }: WorkerAppParts,
  observation: Observation | undefined
): WorkerRuntime {
  const { settings, profiles, control, fingerprintKey, log, version } = options
  const routes = createRouteTable(profiles, settings)
  const executors = createExecutors({ profiles, kinds, faces, settings, log, version })
  const profileId = routes.dynamic?.profileId ?? NATIVE_PROFILE_ID
  const catalog = createCatalogReader({ control, executors, profileId, log })
  control.onRefreshWanted(() => catalog.warmUp())
  return {
    settings,
    revisions: options.revisions,
    workerId: options.workerId,
    version,
    log,
    control,
    drainGate: createDrainGate(),
    fingerprint: createFingerprint(fingerprintKey),
    routes,
    faces,
    executors,
    observation,
    catalog,
    translator: createTranslator({
      settings: { routes, providerOptions: readProviderOptions({ profiles, kinds, settings }) },
      faces,
      threads: settings.poolThreads,
      thresholdBytes: settings.poolThresholdBytes
    }),
    clock: systemClock
  }
}

/** Lets upstream connections close for a moment, then destroys them: the whole close has a bound of five seconds. */
async function closeExecutors(executors: Executors): Promise<void> {
  const patience = new AbortController()
  const closed = executors.close().then(() => true)
  try {
    const isClosed = await Promise.race([closed, setTimeout(CLOSE_PATIENCE_MS, false, { signal: patience.signal })])
    if (!isClosed) await executors.destroy()
  } finally {
    patience.abort()
  }
}
