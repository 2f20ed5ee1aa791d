// The process side of a worker: waits for its configuration, runs the application, and follows the supervisor's messages until it
// exits.

import { readCompactionKey } from '../shared/compaction-key.ts'
import { type ChildHost, createProcessHost } from '../shared/ipc/child-host.ts'
import { handleMessage, type SupervisorMessageHandlers } from '../shared/ipc/handlers.ts'
import type { ListeningHandle } from '../shared/ipc/listening-handle.ts'
import {
  type ConfigureMessage,
  createMessage,
  FAILURE_DETAIL_MAX,
  readSupervisorMessage,
  type SupervisorMessageFields,
  type TlsPair,
  type WorkerMessageContent,
  type WorkerMessageFields
} from '../shared/ipc/messages.ts'
import { createRuntimeLog, type RuntimeLog } from '../shared/logging.ts'
import { computeConfigRevision } from '../shared/profile/profile-revision.ts'
import { listSecretTexts } from '../shared/settings/effective.ts'
import { readTransferredCredentials, readTransferredSettings } from '../shared/settings/transfer.ts'
import { SettingsError } from '../shared/settings.ts'
import { matrixRevision } from '../shared/support/support-matrix.ts'
import type { WorkerApp, WorkerAppOptions } from './app.ts'
import { type ChannelMessage, createControlChannel, type RemoteControlChannel } from './control/control-channel.ts'
import type { LimitsChannel, LimitsMessage } from './control/limits-channel.ts'
import type { MetricsChannel, MetricsMessage } from './control/metrics-channel.ts'

const PROGRESS_INTERVAL_MS = 1_000
const EXIT_CLEAN = 0
const EXIT_FAILED = 1
/** The worker was started by hand: starting it again cannot succeed. */
const EXIT_WRONG_USE = 2

export type CreateWorkerApp = (options: WorkerAppOptions) => Promise<WorkerApp>

export interface WorkerProcessOptions {
  /** Loads the application after the worker is configured: a worker that is closed before that never loads it. */
  readonly loadApp: () => Promise<{ createWorkerApp: CreateWorkerApp }>
}

/** Runs this process as a worker of the supervisor that forked it. */
export function runWorkerProcess(options: WorkerProcessOptions): void {
  const host = createProcessHost()
  if (host === undefined) {
    process.stderr.write('A worker is started by the gateway, not by hand.\n')
    process.exitCode = EXIT_WRONG_USE
    return
  }
  runWorker(options, host)
}

/** Runs a worker. Its settings arrive only by message, never from the environment. */
export function runWorker(options: WorkerProcessOptions, host: ChildHost): void {
  let runtimeLog: RuntimeLog | undefined
  /** Exists from the configuration on: what the supervisor publishes while the application loads must not be lost. */
  let control: RemoteControlChannel | undefined
  /** Undefined while metrics are off. */
  let metrics: MetricsChannel | undefined
  /** Undefined without a keys file. */
  let limits: LimitsChannel | undefined
  let app: WorkerApp | undefined
  let isConfigured = false
  /** A certificate that was renewed since the configuration. */
  let renewed: TlsPair | undefined
  /** Sockets of the worker that this one replaces. */
  const inherited: ListeningHandle[] = []
  let droppedMessages = 0

  const toChannel = (message: ChannelMessage) => control?.receive(message)
  const toMetrics = (message: MetricsMessage) => metrics?.receive(message)
  const toLimits = (message: LimitsMessage) => limits?.receive(message)
  const handlers: SupervisorMessageHandlers<keyof SupervisorMessageFields, ListeningHandle | undefined> = {
    configure(message) {
      if (!isConfigured) void start(message)
      isConfigured = true
    },
    drain() {
      if (app !== undefined) drain(app)
    },
    'close-listener': () => void closeListener(),
    'share-listener': shareListener,
    'listener-inherited'(_, handle) {
      if (handle !== undefined) inherited.push(handle)
    },
    retire: () => void retire(),
    cancel: () => app?.cancelActive(),
    close: () => void close(),
    'reopen-log': () => runtimeLog?.reopen(),
    ping: ({ nonce }) => send({ kind: 'pong', nonce }),
    'host-started': toChannel,
    'readiness-withdrawn': toChannel,
    'keys-changed': toChannel,
    'certificate-changed'({ tls }) {
      renewed = tls
      app?.useCertificate(tls)
    },
    'slot-granted': toChannel,
    'slot-refused': toChannel,
    'running-listed': toChannel,
    'target-rested': toChannel,
    'target-restored': toChannel,
    'target-trial-granted': toChannel,
    'target-trial-refused': toChannel,
    'running-collect': ({ requestId }) => {
      const { requests, total } = app?.listRunning() ?? { requests: [], total: 0 }
      send({ kind: 'running-collected', requestId, requests: [...requests], total })
    },
    'catalog-lease': toChannel,
    'catalog-result': toChannel,
    'catalog-unavailable': toChannel,
    'catalog-published': toChannel,
    'catalog-refresh-wanted': toChannel,
    'provider-health-published': toChannel,
    'metrics-collect': toMetrics,
    'metrics-text': toMetrics,
    'limits-granted': toLimits,
    'limits-refused': toLimits,
    'limits-unavailable': toLimits,
    'keys-usage-listed': toLimits
  }

  host.onExit(() => runtimeLog?.flush())
  // The supervisor has exited, so no message would ever drain or close this worker.
  host.onDisconnect(() => host.exit(EXIT_FAILED))
  host.onUncaughtError((error, origin) => {
    runtimeLog?.log.fatal({ event: 'worker_crashed', origin, err: error }, 'A worker exits after an unexpected error')
    host.exit(EXIT_FAILED)
  })
  host.onMessage((value, handle) => {
    const message = readSupervisorMessage(value)
    if (message !== undefined) {
      handleMessage(handlers, message, handle)
      return
    }
    droppedMessages += 1
    runtimeLog?.log.warn(
      { event: 'ipc_message_dropped', count: droppedMessages },
      'A message of the supervisor was malformed and dropped'
    )
  })
  send({ kind: 'worker-online', pid: host.pid })

  function send(message: WorkerMessageContent, sent?: () => void, handle?: ListeningHandle): void {
    host.send(createMessage(message), sent, handle)
  }

  async function start(message: ConfigureMessage): Promise<void> {
    try {
      const settings = readTransferredSettings(message.settings)
      const { workerId, version, isQuiet } = message
      const credentials = readTransferredCredentials(message.credentials)
      const knownSecrets = [...listSecretTexts(settings), ...Object.values(credentials).map(secret => secret.reveal())]
      runtimeLog = createRuntimeLog({ settings, worker: workerId, isQuiet, knownSecrets, stdout: host.stdout })
      const { log, writePlainLine, redactText } = runtimeLog
      // Computed from the received profiles: the supervisor compares it, so that no worker serves with another configuration.
      const revisions = { config: computeConfigRevision(message.profiles), matrix: matrixRevision }
      const { isHostStarted, isLeaving, providerHealth } = message
      const catalog = message.catalog ?? undefined
      const { profiles } = message.profiles
      const { rests } = message
      const known = { catalog, rests, isHostStarted, isLeaving, providerHealth }
      control = createControlChannel({ send }, { settings, profiles, ...known })
      if (settings.metricsEnabled) {
        const { createMetricsChannel } = await import('./control/metrics-channel.ts')
        metrics = createMetricsChannel({ send })
      }
      if (message.keys !== null) {
        const { createLimitsChannel } = await import('./control/limits-channel.ts')
        limits = createLimitsChannel({ send })
      }
      const { createWorkerApp } = await options.loadApp()
      const fingerprintKey = Buffer.from(message.fingerprintKey, 'base64')
      const created = await createWorkerApp({
        settings,
        profiles: message.profiles,
        credentials,
        keys: message.keys ?? undefined,
        revisions,
        prices: message.prices ?? undefined,
        workerId,
        fingerprintKey,
        compactionKey: readCompactionKey(message.compactionKey),
        control,
        limits,
        log,
        writePlainLine,
        redactText,
        version,
        metrics,
        writerSocket: message.writerSocket ?? undefined,
        storeSocket: message.storeSocket ?? undefined
      })
      app = created
      const address = await created.listen({ ...message.listen, ...(renewed && { tls: renewed }), inherited })
      send({ kind: 'worker-ready', revisions, address })
    } catch (error) {
      runtimeLog?.log.error({ event: 'worker_start_failed', err: error }, 'A worker could not start')
      // The supervisor may end this process when it has the message, and its line on stderr refers to the log.
      runtimeLog?.flush()
      send({ kind: 'worker-failed', ...describeFailure(error) }, () => host.exit(EXIT_FAILED))
    }
  }

  function drain(draining: WorkerApp): void {
    draining.startDraining()
    send({ kind: 'drain-acknowledged', activeRequests: draining.activeRequests })
    const progress = setInterval(() => {
      send({ kind: 'drain-progress', activeRequests: draining.activeRequests })
    }, PROGRESS_INTERVAL_MS)
    void draining.whenIdle().then(() => {
      clearInterval(progress)
      metrics?.report()
      send({ kind: 'drained' })
    })
  }

  async function closeListener(): Promise<void> {
    await app?.closeListener()
    send({ kind: 'listener-closed' })
  }

  function shareListener(): void {
    const handles = app?.listHandles() ?? []
    for (const handle of handles) send({ kind: 'listener-shared', count: handles.length }, undefined, handle)
    if (handles.length === 0) send({ kind: 'listener-shared', count: 0 })
  }

  async function retire(): Promise<void> {
    await app?.retire()
    metrics?.report()
    send({ kind: 'drained' })
  }

  async function close(): Promise<void> {
    await app?.close()
    control?.close()
    limits?.close()
    metrics?.close()
    await runtimeLog?.drained()
    send({ kind: 'closed' }, () => host.exit(EXIT_CLEAN))
  }
}

type Failure = Pick<WorkerMessageFields['worker-failed'], 'reason' | 'detail'>

const FAILURES: Readonly<Record<string, Failure>> = {
  EADDRINUSE: { reason: 'port_in_use', detail: 'the port is already in use' },
  EADDRNOTAVAIL: { reason: 'address_not_available', detail: 'the address does not belong to this machine' },
  ENOTFOUND: { reason: 'address_not_available', detail: 'the host name cannot be resolved' },
  EACCES: { reason: 'permission_denied', detail: 'this user lacks a permission' }
}

function describeFailure(error: unknown): Failure {
  if (error instanceof SettingsError) {
    // It names settings and what they must be, never their values; the first ones are enough to find the mistake.
    return { reason: 'configuration', detail: error.message.slice(0, FAILURE_DETAIL_MAX) }
  }
  if (error instanceof Error && error.name === 'TransportConfigurationError') {
    return { reason: 'configuration', detail: 'a TLS file of the upstream cannot be used; the log says which' }
  }
  const name = error instanceof Error ? error.name : typeof error
  const code = error instanceof Error && 'code' in error ? String(error.code) : name
  // The message of an unknown error may hold secrets, so it appears only in the log, which redacts it.
  return FAILURES[code] ?? { reason: 'internal', detail: `unexpected error ${code}; the log says more` }
}
