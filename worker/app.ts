// Assembles a worker: creates its parts, puts the HTTP application in front of them, and closes everything in the right order.

import type { FastifyInstance } from 'fastify'
import { type Clock, systemClock } from '../shared/clock.ts'
import type { CompactionKey } from '../shared/compaction-key.ts'
import { shareDeadline, withDeadline } from '../shared/deadline.ts'
import type { ListeningHandle } from '../shared/ipc/listening-handle.ts'
import { createKeyRing, type KeyRing } from '../shared/keys/key-ring.ts'
import type { KeySet } from '../shared/keys/key-set.ts'
import type { Logger, WritePlainLine } from '../shared/logging.ts'
import type { ResponseStore } from '../shared/memory/store.ts'
import type { MemoryPlan } from '../shared/memory-plan.ts'
import type { PriceList } from '../shared/prices.ts'
import { createPriceFinder } from '../shared/profile/price-finder.ts'
import type { ProfileCredentials, ProfileSet } from '../shared/profile/profile.ts'
import type { RunningRequests } from '../shared/running-request.ts'
import { planGatewayMemory } from '../shared/services.ts'
import type { Settings } from '../shared/settings.ts'
import { learnFacts } from './bridge/model-facts.ts'
import type { RouteTable } from './bridge/resolve-route.ts'
import { createRouteTable } from './bridge/route-table.ts'
import type { ControlChannel } from './control/control-channel.ts'
import { createHealthReporter, type HealthReporter } from './control/health-channel.ts'
import type { LimitsChannel } from './control/limits-channel.ts'
import type { WorkerMetrics } from './control/metrics-channel.ts'
import { createCatalogReader } from './execution/catalog.ts'
import { createReadinessReader } from './execution/readiness.ts'
import { createApplication } from './http/application.ts'
import { createDrainGate } from './http/drain-gate.ts'
import type { RecordRoom } from './http/http-runtime.ts'
import type { ListenOptions, TlsPair } from './http/listener.ts'
import { createFingerprint } from './http/request/fingerprint.ts'
import { listRunningRequests } from './http/running-requests.ts'
import type { WebSockets } from './http/upgrade.ts'
import type { Limiter } from './limits/limiter.ts'
import type { StoreConnection } from './memory/store-connection.ts'
import { createObservers } from './observation/create-observers.ts'
import type { ProcessProbes } from './observation/metrics/probes.ts'
import { createObservation, type Observation } from './observation/observation.ts'
import type { RequestObserver } from './observation/observer.ts'
import { selectServed } from './operations/stored.ts'
import { memoryRoom } from './performance/memory-room.ts'
import { type ProviderFaces, providerFaces } from './protocols/registry.ts'
import { createExecutors, type ProviderKinds, providerKinds, readProviderOptions } from './providers/registry.ts'
import type { Executors } from './providers/types.ts'
import { registerRoutes } from './routes/index.ts'
import { type ServedOperations, servedOperations } from './routes/operation-handlers.ts'
import type { WorkerRuntime } from './routes/worker-runtime.ts'
import { logTargetChange } from './targets/log-target-change.ts'
import { createTargetPool } from './targets/target-pool.ts'
import type { TrafficLink } from './traffic/traffic-link.ts'
import type { WriterConnection } from './traffic/writer-connection.ts'
import { createTranslator, type Translator } from './translation/translator.ts'

export interface WorkerAppOptions {
  settings: Settings
  profiles: ProfileSet
  credentials: ProfileCredentials
  /** The keys of the keys file at the start; later ones come through `control`. Undefined without a file. */
  keys: KeySet | undefined
  revisions: { config: string; matrix: string }
  /** Undefined where no model has a price. */
  prices?: PriceList | undefined
  workerId: number
  fingerprintKey: Buffer
  compactionKey: CompactionKey
  control: ControlChannel
  /** Where leases of limits come from; undefined where there is no supervisor. */
  limits?: Pick<LimitsChannel, 'leases' | 'listUsage'> | undefined
  log: Logger
  /** As the runtime log has them. */
  writePlainLine: WritePlainLine
  redactText: (text: string) => string
  version: string
  /** Where the parts of the worker count; undefined while metrics are off. */
  metrics?: WorkerMetrics | undefined
  /** Where the writer of traffic records listens; undefined where there is none. */
  writerSocket?: string | undefined
  /** Where the store of responses listens; undefined where there is none. */
  storeSocket?: string | undefined
}

export interface WorkerApp {
  /** Binds the address and starts to accept connections. Rejects with the system's error, such as `EADDRINUSE`. */
  listen(options: ListenOptions): Promise<{ host: string; port: number }>
  /** Shows another certificate to new connections; those that are open stay. */
  useCertificate(pair: TlsPair): void
  /** Sets readiness to false and refuses model requests with `connection: close`; the listener stays open. */
  startDraining(): void
  /** The listening sockets, for a worker that takes the place of this one; none where the supervisor listens for it. */
  listHandles(): ListeningHandle[]
  /**
   * Stops accepting connections, and closes each open one behind its next response. Model requests are served. Resolves when no connection and
   * no model request is left.
   */
  retire(): Promise<void>
  /** Stops accepting connections; those that are open stay usable and running requests continue. */
  closeListener(): Promise<void>
  /** Admitted model requests that still run, streams included. */
  readonly activeRequests: number
  listRunning(): RunningRequests
  /** Resolves when `activeRequests` is 0. */
  whenIdle(): Promise<void>
  /** Aborts the upstream calls of running requests: each ends with a 503 or with the stream error of its family. */
  cancelActive(): void
  /** Closes the server, then the observers, the translator and the executors. */
  close(): Promise<void>
}

/**
 * The whole close: the supervisor gives all processes five seconds together, and the writer stores the last records after the workers have
 * exited.
 */
const CLOSE_MS_MAX = 3000
/** How long the last responses may take to be stored. */
const STORED_MS_MAX = 1500
const OBSERVERS_MS_MAX = 2000
/** How long the writer may take for the last records, and how long in any case: what it does not take is lost. */
const TRAFFIC_MS_MAX = 2000
const TRAFFIC_MS_MIN = 500
/** How long upstream connections may take to close before they are destroyed. */
const GRACEFUL_CLOSE_MS_MAX = 2500
/** How long threads may take to end. No response depends on what they still do: those that go on end with the process. */
const THREADS_MS_MAX = 500

/** What a worker can do, as the registries of the product list it, and observers that no setting switches on. */
export interface WorkerAppParts {
  faces: ProviderFaces
  kinds: ProviderKinds
  /** Absent: the operations of the product. */
  operations?: ServedOperations
  /** Observers in addition to those that the settings switch on. */
  observers?: readonly RequestObserver[]
  /** The store of responses. Absent: that of the settings. */
  memory?: ResponseStore
  /** Absent: the clock of the system. */
  clock?: Clock
}

/**
 * Assembles a worker that is ready to listen; it listens only after all its parts exist
 * (bridge.md 9.1).
 */
export async function createWorkerApp(
  options: WorkerAppOptions,
  parts: WorkerAppParts = { faces: providerFaces, kinds: providerKinds }
): Promise<WorkerApp> {
  const { metrics } = options
  const { createHandlers } = parts.operations ?? servedOperations
  const memory = planGatewayMemory(options.settings)
  if (memory !== undefined) memoryRoom.limit(memory.largeBytes)
  const traffic = await openTraffic(options, memory)
  const storeLink = await openStore(options)
  const probes = metrics && (await startProbes(metrics))
  const routes = createRouteTable(options.profiles, options.settings, options.revisions.config)
  followInventories(routes, options.control)
  const translator = createWorkerTranslator(options, parts, { routes, probes, memory })
  const outbox = traffic?.outbox
  const limiter = await openLimiter(options, parts)
  const { prices } = options
  const findPrice = prices && createPriceFinder(options.profiles.profiles, prices)
  const writing = outbox && { outbox, translator }
  const switchedOn = await createObservers({ ...options, findPrice, traffic: writing, limiter })
  const observers = [...switchedOn, ...(parts.observers ?? [])]
  const observation = createObservation(observers, options.log, findPrice)
  const recordRoom = options.settings.trafficLogDropOnBackpressure ? undefined : outbox
  const writer = traffic?.connection
  const health = createHealthReporter({
    report: options.control.reportHealth,
    readCertificates: profileId => runtime.executors.certificates(profileId),
    now: Date.now
  })
  const runtime = createRuntime(options, parts, {
    routes,
    translator,
    observation,
    probes,
    writer,
    recordRoom,
    health,
    limiter,
    memory: parts.memory ?? storeLink?.store
  })
  probes?.watchPool(translator)
  const { drainGate } = runtime
  const webSockets = options.settings.responsesWebsocket ? await loadWebSockets(runtime) : undefined
  const mountRoutes = (app: FastifyInstance) => registerRoutes(app, runtime, createHandlers)
  const application = await createApplication(runtime, mountRoutes, webSockets)
  return {
    listen: application.listen,
    useCertificate: application.useCertificate,
    startDraining: drainGate.startDraining,
    listHandles: application.listHandles,
    async retire() {
      drainGate.startRetiring()
      await application.whenEmpty(() => drainGate.keptIdleMs)
      await drainGate.whenIdle()
    },
    closeListener: application.stopAccepting,
    get activeRequests() {
      return drainGate.activeRequests
    },
    listRunning: () => listRunningRequests({ ...options, drainGate }),
    whenIdle: drainGate.whenIdle,
    cancelActive: drainGate.cancelActive,
    async close() {
      const share = shareDeadline(CLOSE_MS_MAX)
      await application.close()
      // What was generated of cut streams is stored before the store is closed.
      if (runtime.memory !== undefined) await withDeadline(drainGate.whenIdle(), share(STORED_MS_MAX))
      const executorsClosed = closeExecutors(runtime.executors)
      const observersMs = share(OBSERVERS_MS_MAX)
      await Promise.all(observers.map(observer => observer.close?.(observersMs)))
      // After the observers: its threads redact what they have captured.
      const threadsEnded = withDeadline(translator.close(), THREADS_MS_MAX)
      // Every request that ended has its record now.
      await traffic?.close(share(TRAFFIC_MS_MAX, TRAFFIC_MS_MIN))
      await Promise.all([executorsClosed, threadsEnded])
      health.close()
      storeLink?.close()
      probes?.close()
    }
  }
}

async function loadWebSockets(runtime: WorkerRuntime): Promise<WebSockets> {
  const { createResponsesWebSockets } = await import('./routes/responses-websocket/web-sockets.ts')
  return createResponsesWebSockets(runtime)
}

/** Keeps what the routes know of discovered models up to date. */
function followInventories({ facts }: RouteTable, control: ControlChannel): void {
  if (facts === undefined) return
  const current = control.catalogSnapshot()
  if (current !== undefined) learnFacts(facts, current)
  control.onCatalogPublished(snapshot => learnFacts(facts, snapshot))
}

/** The keys of clients; those of the keys file are always the newest. */
function createFollowingRing({ settings, keys, control }: WorkerAppOptions): KeyRing {
  const ring = createKeyRing(settings, keys)
  control.onKeysChanged(ring.replace)
  return ring
}

/** Holds the leases of keys with limits. With a keys file any key may get some, when it is read again. */
async function openLimiter(
  { limits }: WorkerAppOptions,
  { clock = systemClock }: WorkerAppParts
): Promise<Limiter | undefined> {
  if (limits === undefined) return undefined
  const { createLimiter } = await import('./limits/limiter.ts')
  return createLimiter({ source: limits.leases, ...clock })
}

/** The link to the writer of traffic records, where there is one. */
async function openTraffic(
  options: WorkerAppOptions,
  memory: MemoryPlan | undefined
): Promise<TrafficLink | undefined> {
  const { writerSocket, metrics, settings, workerId, log } = options
  if (writerSocket === undefined) return undefined
  const { openTrafficLink } = await import('./traffic/traffic-link.ts')
  const dropped = metrics?.registry.counter('gateway_traffic_log_dropped_total').with({})
  return openTrafficLink(writerSocket, {
    settings,
    workerId,
    log,
    onDropped: () => dropped?.add(1),
    memory: memory && { recordBytes: memory.recordBytes, share: memoryRoom.open() }
  })
}

/** The connection to the store of responses, where there is one. */
async function openStore({ storeSocket, metrics, log }: WorkerAppOptions): Promise<StoreConnection | undefined> {
  if (storeSocket === undefined) return undefined
  const { openStoreLink } = await import('./memory/store-link.ts')
  return openStoreLink(storeSocket, { log, registry: metrics?.registry })
}

async function startProbes({ registry }: WorkerMetrics): Promise<ProcessProbes> {
  const { startProcessProbes } = await import('./observation/metrics/probes.ts')
  return startProcessProbes(registry)
}

function createWorkerTranslator(
  { settings, profiles }: WorkerAppOptions,
  { faces, kinds }: WorkerAppParts,
  { routes, probes, memory }: { routes: RouteTable; probes: ProcessProbes | undefined; memory: MemoryPlan | undefined }
): Translator {
  return createTranslator({
    settings: { routes, providerOptions: readProviderOptions({ profiles, kinds, settings }) },
    faces,
    threads: settings.poolThreads,
    thresholdBytes: settings.poolThresholdBytes,
    threadHeapBytes: memory?.threadHeapBytes,
    // The other half is for those that wait for the writer.
    recordBytes: memory && memory.recordBytes / 2,
    onPoolWaited: probes?.listeners.onPoolWaited
  })
}

interface RuntimeParts {
  readonly routes: RouteTable
  readonly translator: Translator
  readonly observation: Observation | undefined
  readonly probes: ProcessProbes | undefined
  readonly writer: WriterConnection | undefined
  readonly recordRoom: RecordRoom | undefined
  readonly health: HealthReporter
  readonly limiter: Limiter | undefined
  readonly memory: ResponseStore | undefined
}

function createRuntime(
  options: WorkerAppOptions,
  { faces, kinds, operations = servedOperations, clock = systemClock }: WorkerAppParts,
  { routes, translator, observation, probes, writer, recordRoom, health, limiter, memory }: RuntimeParts
): WorkerRuntime {
  const { settings, profiles, credentials, revisions, control, fingerprintKey, log, version } = options
  const drainGate = createDrainGate()
  const draining = new AbortController()
  drainGate.onDraining(() => draining.abort())
  const executors = createExecutors({
    profiles,
    credentials,
    kinds,
    faces,
    largeResponses: translator,
    settings,
    log,
    version,
    onTokenFetched: probes?.listeners.onTokenFetched,
    onOutcome: health.record,
    onConnectionChange: probes?.listeners.onConnectionChange,
    onStaleConnection: probes?.listeners.onStaleConnection,
    draining: draining.signal
  })
  const targets = createTargetPool({
    channel: control.targetRests,
    nowMs: () => performance.now(),
    random: Math.random,
    onChanged: change => logTargetChange(log, change)
  })
  control.onTargetRested(targets.applyRest)
  control.onTargetRestored(targets.applyRestored)
  const keyRing = createFollowingRing(options)
  const catalog = createCatalogReader({ control, executors, profiles, log })
  control.onRefreshWanted(profileId => catalog.warmUp(profileId))
  return {
    settings,
    operations: selectServed(operations.table, { hasStore: memory !== undefined }),
    profiles,
    revisions,
    workerId: options.workerId,
    metrics: options.metrics,
    writer,
    memory,
    listKeyUsage: options.limits?.listUsage,
    version,
    log,
    control,
    drainGate,
    fingerprint: createFingerprint(fingerprintKey),
    compactionKey: options.compactionKey,
    routes,
    faces,
    executors,
    targets,
    observation,
    catalog,
    readReadiness: createReadinessReader({ profiles, revisions, keys: keyRing, control, executors, drainGate }),
    translator,
    clock,
    keyRing,
    limiter,
    recordRoom
  }
}

/** Closes upstream connections gracefully, then destroys those that are still open. */
async function closeExecutors(executors: Executors): Promise<void> {
  const closed = executors.close().then(() => true)
  const isClosed = await withDeadline(closed, GRACEFUL_CLOSE_MS_MAX, false)
  if (!isClosed) await executors.destroy()
}
