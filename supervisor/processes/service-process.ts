// The process side of a service that the supervisor keeps: waits for its configuration, starts what the service is, and closes it when the
// supervisor says so. What the writer of the traffic log, the store of responses and the process of shared limits have in common.

import { rm, rmdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createMessage } from '../../shared/ipc/checks.ts'
import { type ChildHost, createProcessHost } from '../../shared/ipc/child-host.ts'
import { FAILURE_DETAIL_MAX } from '../../shared/ipc/messages.ts'
import {
  type FromServiceContent,
  type FromServiceFields,
  readToServiceMessage,
  type ToServiceFields,
  type ToServiceMessage
} from '../../shared/ipc/service-messages.ts'
import type { SharedCounters } from '../../shared/limits/shared-counters.ts'
import { createRuntimeLog, type Logger, type RuntimeLog, type RuntimeLogOptions } from '../../shared/logging.ts'
import type { MetricRegistry } from '../../shared/metrics/registry.ts'
import type { ServiceName } from '../../shared/services.ts'
import type { TransferredSettings } from '../../shared/settings/transfer.ts'

const EXIT_CLEAN = 0
const EXIT_FAILED = 1
/** The process was started by hand, not by a supervisor; a restart cannot succeed. */
const EXIT_WRONG_USE = 2

const METRICS_REPORT_INTERVAL_MS = 1_000
/** New files are readable only by their owner: they may hold prompts. */
const PRIVATE_UMASK = 0o077

export interface ServiceStart {
  readonly settings: TransferredSettings
  readonly socketPath: string
  /** Names this start of the gateway among all hosts. */
  readonly gatewayId: string
  /** Undefined while metrics are off. */
  readonly registry: MetricRegistry | undefined
  /** Opens the log of this process. `knownSecrets` are masked in every line. */
  openLog(settings: RuntimeLogOptions['settings'], knownSecrets: readonly string[]): Logger
  /** Sends a message to the supervisor. */
  send(message: FromServiceContent): void
}

export interface RunningService {
  /** Absent: the service holds no counters. */
  readonly counters?: SharedCounters
  /** Finishes and closes everything within a fixed time; never rejects. */
  close(): Promise<void>
}

export interface Service {
  readonly name: ServiceName
  /** As the lines of the log call it, such as `writer of the traffic log`. */
  readonly title: string
  /** Rejects where the service cannot be used. */
  start(start: ServiceStart): Promise<RunningService>
  /** Why a later start cannot succeed either; undefined for an error of another kind. */
  explainFailure(error: unknown): ServiceFailure | undefined
}

export interface ServiceFailure {
  readonly reason: FromServiceFields['service-failed']['reason']
  /** One line without secrets. */
  readonly detail: string
}

/** Runs this process as a service of the supervisor that forked it. */
export function runServiceProcess(service: Service): void {
  const host = createProcessHost()
  if (host === undefined) {
    process.stderr.write(`The ${service.title} is started by the gateway, not by hand.\n`)
    process.exitCode = EXIT_WRONG_USE
    return
  }
  runService(service, host)
}

/** Runs the service. */
export function runService(service: Service, host: ChildHost): void {
  const { name, title } = service
  host.limitFileRights(PRIVATE_UMASK)
  let runtimeLog: RuntimeLog | undefined
  let running: RunningService | undefined
  let socketPath: string | undefined
  let isConfigured = false
  let isClosing = false
  /** Sends what was counted since the last report; does nothing while metrics are off. */
  let reportMetrics: () => void = () => undefined

  host.onExit(() => runtimeLog?.flush())
  // The supervisor has exited, so no message will close this process; the workers exit as well.
  host.onDisconnect(() => void close(EXIT_FAILED))
  host.onUncaughtError((error, origin) => {
    runtimeLog?.log.fatal(
      { event: `${name}_crashed`, origin, err: error },
      `The ${name} exits after an unexpected error`
    )
    host.exit(EXIT_FAILED)
  })
  host.onMessage(value => {
    const message = readToServiceMessage(value)
    if (message !== undefined) take(message)
  })
  send({ kind: 'service-online', pid: host.pid })

  function send(message: FromServiceContent, sent?: () => void): void {
    host.send(createMessage(message), sent)
  }

  function take(message: ToServiceMessage): void {
    switch (message.kind) {
      case 'configure-service':
        if (!isConfigured) void start(message)
        isConfigured = true
        break
      case 'close-service':
        void close(EXIT_CLEAN)
        break
      case 'reopen-log':
        runtimeLog?.reopen()
        break
      case 'ping':
        send({ kind: 'pong', nonce: message.nonce })
        break
      case 'metrics-collect':
        reportMetrics()
        send({ kind: 'metrics-collected', requestId: message.requestId })
        break
      case 'counters-exchange':
        void exchange(message)
        break
    }
  }

  async function start({
    settings,
    hasMetrics,
    isQuiet,
    ...message
  }: ToServiceFields['configure-service']): Promise<void> {
    try {
      socketPath = message.socketPath
      const registry = hasMetrics ? await startMetrics() : undefined
      // A process that was killed has left its socket behind.
      await rm(socketPath, { force: true })
      running = await service.start({
        settings,
        socketPath,
        gatewayId: message.gatewayId,
        registry,
        send: message => send(message),
        openLog(logSettings, knownSecrets) {
          runtimeLog = createRuntimeLog({ settings: logSettings, isQuiet, knownSecrets, stdout: host.stdout })
          return runtimeLog.log
        }
      })
      // The gateway was stopped in the meantime.
      if (isClosing) await running.close()
      else send({ kind: 'service-ready' })
    } catch (error) {
      runtimeLog?.log.error({ event: `${name}_start_failed`, err: error }, `The ${title} could not start`)
      send({ kind: 'service-failed', ...describeFailure(error, service) }, () => host.exit(EXIT_FAILED))
    }
  }

  async function exchange({ requestId, exchangeId, questions }: ToServiceFields['counters-exchange']): Promise<void> {
    const answers = await running?.counters?.exchange(exchangeId, questions)
    send({ kind: 'counters-reply', requestId, answers: answers === undefined ? null : [...answers] })
  }

  async function startMetrics(): Promise<MetricRegistry> {
    const { createMetricRegistry } = await import('../../shared/metrics/registry.ts')
    const registry = createMetricRegistry()
    reportMetrics = () => {
      const delta = registry.takeDelta()
      if (delta !== undefined) send({ kind: 'metrics-delta', delta })
    }
    setInterval(reportMetrics, METRICS_REPORT_INTERVAL_MS).unref()
    return registry
  }

  async function close(exitCode: number): Promise<void> {
    if (isClosing) return
    isClosing = true
    await running?.close()
    reportMetrics()
    if (!host.isConnected) await removeSocketFolder()
    await runtimeLog?.drained()
    if (host.isConnected) send({ kind: 'service-closed' }, () => host.exit(exitCode))
    else host.exit(exitCode)
  }

  /** The supervisor removes it; after a crash of the supervisor it would stay. The last service leaves an empty folder. */
  async function removeSocketFolder(): Promise<void> {
    if (socketPath === undefined || process.platform === 'win32') return
    await rm(socketPath, { force: true }).catch(() => undefined)
    await rmdir(dirname(socketPath)).catch(() => undefined)
  }
}

function describeFailure(error: unknown, { title, explainFailure }: Service): ServiceFailure {
  const known = explainFailure(error)
  if (known !== undefined) return { ...known, detail: known.detail.slice(0, FAILURE_DETAIL_MAX) }
  const name = error instanceof Error ? error.name : typeof error
  const code = error instanceof Error && 'code' in error ? String(error.code) : name
  return { reason: 'internal', detail: `the ${title} cannot start: ${code}; the log says more` }
}
