// The process side of a worker: waits to be configured, runs the application, and does what the supervisor says until it ends.
import {
  type ConfigureMessage,
  createMessage,
  readSupervisorMessage,
  type SupervisorMessage,
  type WorkerMessage,
  type WorkerMessageContent
} from '../shared/ipc.ts'
import { createRuntimeLog, type RuntimeLog } from '../shared/logging.ts'
import { createNativeProfileSet } from '../shared/native-profile.ts'
import { computeConfigRevision } from '../shared/profile.ts'
import { listSecretTexts } from '../shared/settings/effective.ts'
import { parseSettings, SettingsError } from '../shared/settings.ts'
import { matrixRevision } from '../shared/support-matrix.ts'
import type { WorkerApp, WorkerAppOptions } from './app.ts'
import { createControlChannel, type RemoteControlChannel } from './control-channel.ts'

const PROGRESS_INTERVAL_MS = 1_000
const EXIT_CLEAN = 0
const EXIT_FAILED = 1
/** Started by hand: like every wrong use, a repetition will not help. */
const EXIT_WRONG_USE = 2

export type CreateWorkerApp = (options: WorkerAppOptions) => Promise<WorkerApp>

export interface WorkerProcessOptions {
  /** Loads the application once the worker is configured: a worker that is told to close at once never loads it. */
  readonly loadApp: () => Promise<{ createWorkerApp: CreateWorkerApp }>
}

interface Running {
  readonly app: WorkerApp
  readonly control: RemoteControlChannel
}

/** Runs this process as a worker of the supervisor that forked it. Settings come by message alone, never from the environment. */
export function runWorkerProcess(options: WorkerProcessOptions): void {
  if (process.send === undefined) {
    process.stderr.write('A worker is started by the gateway, not by hand.\n')
    process.exitCode = EXIT_WRONG_USE
    return
  }
  let runtimeLog: RuntimeLog | undefined
  let running: Running | undefined
  let isConfigured = false
  let unknownMessages = 0

  // A terminal's Ctrl-C and its closing reach every process of the group; only the supervisor decides what they mean.
  process.on('SIGINT', ignoreSignal)
  process.on('SIGTERM', ignoreSignal)
  process.on('SIGHUP', ignoreSignal)
  process.on('exit', () => runtimeLog?.flush())
  // The supervisor is gone: nobody would drain, restart or end this process.
  process.on('disconnect', () => process.exit(EXIT_FAILED))
  process.on('uncaughtException', (error, origin) => {
    runtimeLog?.log.fatal({ event: 'worker_crashed', origin, err: error }, 'A worker ends after an unexpected error')
    process.exit(EXIT_FAILED)
  })
  process.on('message', value => {
    const message = readSupervisorMessage(value)
    if (message !== undefined) {
      receive(message)
      return
    }
    unknownMessages += 1
    runtimeLog?.log.warn(
      { event: 'ipc_message_dropped', count: unknownMessages },
      'A message of the supervisor was not understood'
    )
  })
  send({ kind: 'worker-online', pid: process.pid })

  function receive(message: SupervisorMessage): void {
    switch (message.kind) {
      case 'configure':
        if (!isConfigured) void start(message)
        isConfigured = true
        break
      case 'drain':
        if (running !== undefined) drain(running.app)
        break
      case 'close-listener':
        void closeListener()
        break
      case 'cancel':
        running?.app.cancelActive()
        break
      case 'close':
        void close()
        break
      case 'reopen-log':
        runtimeLog?.reopen()
        break
      case 'ping':
        send({ kind: 'pong', nonce: message.nonce })
        break
      default:
        running?.control.receive(message)
    }
  }

  async function start(message: ConfigureMessage): Promise<void> {
    try {
      const settings = parseSettings(message.variables)
      runtimeLog = createRuntimeLog({
        settings,
        worker: message.workerId,
        isQuiet: message.isQuiet,
        knownSecrets: listSecretTexts(settings)
      })
      // Computed here from what arrived: the supervisor compares, so that no worker serves another configuration.
      const revisions = { config: computeConfigRevision(createNativeProfileSet(settings)), matrix: matrixRevision }
      const control = createControlChannel({ send }, { settings, catalog: message.catalog ?? undefined })
      const { createWorkerApp } = await options.loadApp()
      const app = await createWorkerApp({
        settings,
        revisions,
        workerId: message.workerId,
        fingerprintKey: Buffer.from(message.fingerprintKey, 'base64'),
        control,
        log: runtimeLog.log,
        version: message.version
      })
      running = { app, control }
      const { host, port, reusePort, tls } = message.listen
      const address = await app.listen({ host, port, reusePort, ...(tls !== undefined && { tls }) })
      send({ kind: 'worker-ready', revisions, address })
    } catch (error) {
      runtimeLog?.log.error({ event: 'worker_start_failed', err: error }, 'A worker could not start')
      send({ kind: 'worker-failed', ...describeFailure(error) }, () => process.exit(EXIT_FAILED))
    }
  }

  function drain(app: WorkerApp): void {
    app.startDraining()
    send({ kind: 'drain-acknowledged', activeRequests: app.activeRequests })
    const progress = setInterval(() => {
      send({ kind: 'drain-progress', activeRequests: app.activeRequests })
    }, PROGRESS_INTERVAL_MS)
    void app.whenIdle().then(() => {
      clearInterval(progress)
      send({ kind: 'drained' })
    })
  }

  async function closeListener(): Promise<void> {
    await running?.app.closeListener()
    send({ kind: 'listener-closed' })
  }

  async function close(): Promise<void> {
    await running?.app.close()
    await runtimeLog?.drained()
    send({ kind: 'closed' }, () => process.exit(EXIT_CLEAN))
  }
}

function send(message: WorkerMessageContent, sent: () => void = ignoreSent): void {
  if (process.connected) process.send?.(createMessage(message), undefined, undefined, sent)
}

type Failure = Pick<Extract<WorkerMessage, { kind: 'worker-failed' }>, 'reason' | 'detail'>

const FAILURES: Readonly<Record<string, Failure>> = {
  EADDRINUSE: { reason: 'port_in_use', detail: 'the port is already in use' },
  EADDRNOTAVAIL: { reason: 'address_not_available', detail: 'the address does not belong to this machine' },
  ENOTFOUND: { reason: 'address_not_available', detail: 'the host name cannot be resolved' },
  EACCES: { reason: 'permission_denied', detail: 'something may not be used by this user' }
}

function describeFailure(error: unknown): Failure {
  if (error instanceof SettingsError) {
    return { reason: 'configuration', detail: error.issues.map(issue => issue.setting).join(' ') }
  }
  if (error instanceof Error && error.name === 'TransportConfigurationError') {
    return { reason: 'configuration', detail: 'a TLS file of the upstream cannot be used; the log says which' }
  }
  const name = error instanceof Error ? error.name : typeof error
  const code = error instanceof Error && 'code' in error ? String(error.code) : name
  // The message of an unknown error may hold anything; the log, which redacts, has it.
  return FAILURES[code] ?? { reason: 'internal', detail: `unexpected error ${code}; the log says more` }
}

function ignoreSignal(): void {
  // The supervisor has its own handler and tells the workers what to do.
}

function ignoreSent(): void {
  // A message that cannot be sent any more has nobody to read it.
}
