// Feeds the lifecycle with the events of the fleet, the timers and the operator, and applies the effects that it returns.

import type { WrittenCompactionKey } from '../shared/compaction-key.ts'
import type { MessageSender, WorkerMessageHandlers } from '../shared/ipc/handlers.ts'
import type { ListenOptions } from '../shared/ipc/messages.ts'
import type { RuntimeLog } from '../shared/logging.ts'
import type { ServiceName } from '../shared/services.ts'
import { writeWorkerSettings } from '../shared/settings/store-settings.ts'
import { writeTransferredCredentials } from '../shared/settings/transfer.ts'
import { followCertificate } from './certificate-reload.ts'
import type { ForkChild } from './child-process.ts'
import { startDrainReport } from './drain-report.ts'
import { EXIT_CODES, type ExitCode } from './exit-codes.ts'
import { createFleet, type FleetEvent } from './fleet.ts'
import { createHostServices } from './host-services.ts'
import { createKeptServices, type KeptServicesEvent } from './kept-services.ts'
import type { KeysInForce } from './keys/keys-in-force.ts'
import { followKeysFile } from './keys/keys-reload.ts'
import {
  advanceLifecycle,
  initialLifecycleState,
  type LifecycleEffect,
  type LifecycleEvent,
  type TimerName
} from './lifecycle.ts'
import type { createLimitsService } from './limits/limits-service.ts'
import { createLogRotation } from './log-rotation.ts'
import type { MetricsMessageKind, SupervisorMetrics } from './metrics/supervisor-metrics.ts'
import type { HealthPolicy } from './process-keeper.ts'
import { createRestartPolicy, type RestartPolicy } from './restart-policy.ts'
import type { RuntimePlan } from './runtime-plan.ts'
import type { ServiceMetricsMessage } from './service-keeper.ts'
import { createServiceManager } from './service-manager.ts'
import type { OperatorSignals } from './signals.ts'
import { StartFailure, workerFailure } from './start-failure.ts'

/** How long cancelled requests have for their last response. */
const SETTLE_MS = 1_000
/** Bound of everything that follows: closing clients, workers and services. */
const CLEANUP_MS = 5_000

export interface ControlOptions {
  readonly plan: RuntimePlan
  readonly keys: KeysInForce
  readonly version: string
  readonly listen: ListenOptions
  readonly restartPolicy: RestartPolicy
  readonly healthPolicy: HealthPolicy
  /** Base64 of the key that fingerprints are made with. */
  readonly fingerprintKey: string
  readonly compactionKey: WrittenCompactionKey
  /** Workers write only warnings to stdout. */
  readonly isQuiet: boolean
}

export interface ControlDependencies {
  readonly runtimeLog: RuntimeLog
  readonly forkWorker: ForkChild
  /** Start the writer of traffic records, the store of responses and the process of shared limits. */
  readonly forkService: Readonly<Record<ServiceName, ForkChild>>
  readonly signals: Pick<OperatorSignals, 'onReopen' | 'onReload' | 'onReplace'>
  /** Variables of the service manager, where one runs the gateway. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Writes one line to stderr, for the operator. */
  readonly writeError: (line: string) => void
  /** Called once, when every worker listens. */
  readonly onServing: (address: { host: string; port: number }) => void
  /** Undefined while metrics are off. */
  readonly metrics?: SupervisorMetrics | undefined
  /** Undefined without a keys file. */
  readonly createLimits?: typeof createLimitsService | undefined
  /** Where the service processes listen; none for one that is not needed. */
  readonly socketPaths: Readonly<Partial<Record<ServiceName, string>>>
}

export interface Control {
  /** Starts the shutdown; a second call cancels running requests at once. */
  stop(): void
  /** Resolves after the last process has exited, with the exit code of this one. */
  readonly ended: Promise<ExitCode>
}

/** No worker sends these while metrics are off. */
const ignoreMetrics: WorkerMessageHandlers<MetricsMessageKind, MessageSender> = {
  'metrics-delta': () => undefined,
  'metrics-collected': () => undefined,
  'metrics-scrape': () => undefined
}

/** Starts the workers and everything that the supervisor owns while they run. */
export function startControl(dependencies: ControlDependencies, options: ControlOptions): Control {
  const { runtimeLog, metrics, socketPaths } = dependencies
  const { log } = runtimeLog
  const { settings, profiles, credentials, prices, revisions } = options.plan
  const { promise: ended, resolve: end } = Promise.withResolvers<ExitCode>()
  const timers = new Map<string, NodeJS.Timeout>()
  const events: LifecycleEvent[] = []
  let isDispatching = false
  let state = initialLifecycleState
  /** With the certificate in force. */
  let { listen } = options

  const timerDurationsMs: Record<TimerName, number> = {
    grace: settings.shutdownReadinessGraceSeconds * 1000,
    drain: settings.shutdownTimeoutSeconds * 1000,
    settle: SETTLE_MS,
    cleanup: CLEANUP_MS
  }

  const kept = createKeptServices(
    {
      log,
      nowMs: () => performance.now(),
      random: Math.random,
      forkService: dependencies.forkService,
      onEvent: receiveKept,
      onMetrics: receiveKeptMetrics
    },
    {
      settings,
      socketPaths,
      isQuiet: options.isQuiet,
      startupTimeoutMs: settings.startupTimeoutSeconds * 1000,
      restartPolicy: createRestartPolicy(1),
      healthPolicy: options.healthPolicy
    }
  )
  // The fleet needs the handlers of the services, and they need the fleet for what they send later.
  const services = createHostServices(
    {
      log,
      fleet: {
        send: (owner, message) => fleet.send(owner, message),
        broadcast: message => fleet.broadcast(message),
        nextReadyOwner: () => fleet.nextReadyOwner(),
        readyOwners: () => fleet.readyOwners()
      },
      keys: options.keys,
      createLimits: dependencies.createLimits,
      sharedCounters: kept.counters,
      onCatalogFilled: () => dispatch({ kind: 'catalog-filled' })
    },
    options.plan
  )
  const transferredSettings = writeWorkerSettings(settings)
  const transferredCredentials = writeTransferredCredentials(credentials)
  const fleet = createFleet(
    {
      log,
      nowMs: () => performance.now(),
      random: Math.random,
      fork: dependencies.forkWorker,
      services: { ...services.handlers, ...(metrics?.handlers ?? ignoreMetrics) },
      onEvent: receive
    },
    {
      workerCount: settings.workers,
      startupTimeoutMs: settings.startupTimeoutSeconds * 1000,
      restartPolicy: options.restartPolicy,
      healthPolicy: options.healthPolicy,
      replacement: { drainTimeoutMs: timerDurationsMs.drain, sharesPort: options.listen.reusePort },
      revisions,
      configure: workerId => ({
        kind: 'configure',
        workerId,
        version: options.version,
        settings: transferredSettings,
        profiles,
        prices: prices ?? null,
        credentials: transferredCredentials,
        keys: options.keys.current() ?? null,
        fingerprintKey: options.fingerprintKey,
        compactionKey: options.compactionKey,
        listen,
        isQuiet: options.isQuiet,
        ...services.snapshot(),
        isHostStarted: state.phase === 'live' || state.phase === 'leaving',
        isLeaving: state.phase === 'leaving',
        writerSocket: socketPaths.writer ?? null,
        storeSocket: socketPaths.store ?? null
      })
    }
  )
  options.keys.onChanged(keys => fleet.broadcast({ kind: 'keys-changed', keys }))
  /** Reported once both the workers and the services have started. */
  let servedAddress: { host: string; port: number } | undefined
  metrics?.connect({
    send: (owner, message) => {
      if (owner >= 0) fleet.send(owner, message)
      else if (message.kind === 'metrics-collect') kept.collectMetrics(owner, message.requestId)
    },
    readyOwners: () => [...fleet.readyOwners(), ...kept.readyOwners()]
  })
  const certificate =
    listen.tls &&
    followCertificate(
      {
        log,
        onChanged(tls) {
          listen = { ...listen, tls }
          fleet.broadcast({ kind: 'certificate-changed', tls })
        }
      },
      { settings, current: listen.tls }
    )
  const ignoreCertificateSignals = certificate && dependencies.signals.onReload(certificate.reload)
  metrics?.watch({
    nowMs: Date.now,
    settings,
    profiles,
    lifecycle: () => state,
    fleet,
    slots: services.slots,
    catalog: services.catalog,
    health: services.health,
    limits: services.limits,
    certificate
  })
  const reopenLogs = () => {
    runtimeLog.reopen()
    fleet.broadcast({ kind: 'reopen-log' })
    kept.reopenLogs()
  }
  const rotation = createLogRotation(
    { log, nowMs: Date.now, reopen: reopenLogs },
    { file: settings.logFilename, maxSizeBytes: settings.logMaxSize, retentionDays: settings.logRetentionDays }
  )
  const ignoreReopenSignals = dependencies.signals.onReopen(reopenLogs)
  const ignoreReplaceSignals = dependencies.signals.onReplace(() => {
    // A gateway that starts has new workers, and one that stops needs none.
    if (state.phase === 'live') fleet.replaceWorkers()
  })
  const keysFollower =
    options.plan.keysFile &&
    followKeysFile(options.plan.keysFile, {
      log,
      keys: options.keys,
      signals: dependencies.signals,
      registry: metrics?.registry
    })

  const serviceManager = createServiceManager({
    log,
    environment: dependencies.environment,
    pid: process.pid,
    // The fleet kills workers that do not answer.
    isAlive: () => fleet.readyOwners().length > 0
  })

  function receive(event: FleetEvent): void {
    switch (event.kind) {
      case 'startup-completed':
        servedAddress = event.address
        completeStartup()
        break
      case 'startup-failed': {
        dependencies.writeError(workerFailure(event.reason, event.detail, options.listen).summary)
        const isConfiguration = event.reason === 'configuration'
        const exitCode = isConfiguration ? EXIT_CODES.wrongConfiguration : EXIT_CODES.startupFailed
        dispatch({ kind: 'startup-failed', exitCode })
        break
      }
      case 'workers-keep-dying':
        dependencies.writeError('workers_keep_dying: workers exit faster than they can be respawned')
        log.fatal({ event: 'workers_keep_dying' }, 'Workers exit faster than they can be respawned')
        dispatch(event)
        break
      case 'drain-acknowledged':
      case 'requests-done':
        dispatch(event)
        break
      case 'worker-exited':
        services.releaseOwner(event.owner)
        metrics?.releaseOwner(event.owner)
        break
      case 'all-exited':
        dispatch({ kind: 'workers-exited' })
        break
    }
  }

  function completeStartup(): void {
    if (servedAddress !== undefined && kept.areStarted) dispatch({ kind: 'startup-completed' })
  }

  function receiveKeptMetrics(message: ServiceMetricsMessage, owner: number): void {
    const sender = { owner, workerId: 0 }
    if (message.kind === 'metrics-delta') metrics?.handlers['metrics-delta'](message, sender)
    else metrics?.handlers['metrics-collected'](message, sender)
  }

  function receiveKept(event: KeptServicesEvent): void {
    switch (event.kind) {
      case 'started':
        completeStartup()
        break
      case 'start-failed': {
        const { reason, detail } = event
        dependencies.writeError(new StartFailure(reason, detail).summary)
        const isConfiguration = reason === 'configuration'
        const exitCode = isConfiguration ? EXIT_CODES.wrongConfiguration : EXIT_CODES.startupFailed
        dispatch({ kind: 'startup-failed', exitCode })
        break
      }
      case 'exited':
        metrics?.releaseOwner(event.owner)
        break
      case 'closed':
        dispatch({ kind: 'services-closed' })
        break
    }
  }

  /** An effect may cause the next event at once; that one waits until all effects of this one are applied. */
  function dispatch(event: LifecycleEvent): void {
    events.push(event)
    if (isDispatching) return
    isDispatching = true
    for (let next = events.shift(); next !== undefined; next = events.shift()) {
      const transition = advanceLifecycle(state, next)
      state = transition.state
      for (const effect of transition.effects) apply(effect)
    }
    isDispatching = false
  }

  function apply(effect: LifecycleEffect): void {
    switch (effect.kind) {
      case 'start-workers':
        kept.start()
        fleet.start()
        break
      case 'announce-startup':
        fleet.broadcast({ kind: 'host-started' })
        log.info({ event: 'startup_complete' }, 'Application startup complete')
        if (servedAddress !== undefined) dependencies.onServing(servedAddress)
        serviceManager?.showStatus('waiting for the model list')
        services.catalog.startWarmUp()
        break
      case 'announce-readiness':
        serviceManager?.ready()
        break
      case 'announce-shutdown':
        log.info({ event: 'shutdown_initiated' }, 'Application shutdown initiated')
        serviceManager?.stopping()
        break
      case 'withdraw-readiness':
        fleet.broadcast({ kind: 'readiness-withdrawn' })
        announceGrace()
        break
      case 'drain-workers':
        log.info({ event: 'drain_started' }, 'New model requests are refused; running ones go on')
        fleet.drain()
        timers.set(
          'report',
          startDrainReport({ log, fleet, slots: services.slots, serviceManager }, timerDurationsMs.drain)
        )
        break
      case 'close-listeners':
        fleet.broadcast({ kind: 'close-listener' })
        break
      case 'cancel-requests':
        log.warn({ event: 'requests_cancelled', active: fleet.activeRequests() }, 'Running requests are cancelled')
        fleet.broadcast({ kind: 'cancel' })
        break
      case 'close-workers':
        // A terminal and a service manager signal every process, and a process that is still
        // loading exits on the signal.
        kept.giveUpStart()
        fleet.close()
        break
      case 'close-services':
        // No worker is left that counts, and the place of the counters still takes what was counted.
        services.limits.close()
        kept.close()
        break
      case 'kill-processes':
        log.error({ event: 'cleanup_exceeded' }, 'Cleanup took too long; processes that still run are killed')
        fleet.kill()
        kept.kill()
        break
      case 'start-timer':
        startTimer(effect.timer)
        break
      case 'exit':
        finish(effect.exitCode)
        break
      case 'print-inspect-document':
      case 'print-error-document':
        throw new Error('A running gateway prints no preflight document.')
    }
  }

  function announceGrace(): void {
    const seconds = settings.shutdownReadinessGraceSeconds
    if (seconds === 0) return
    log.info({ event: 'shutdown_grace', seconds }, 'Readiness is false, and requests are served until the grace ends')
    serviceManager?.showStatus(`not ready; serves for ${seconds} s more`)
  }

  function startTimer(timer: TimerName): void {
    const ends = {
      grace: { kind: 'grace-over' },
      drain: { kind: 'drain-deadline' },
      settle: { kind: 'settle-over' },
      cleanup: { kind: 'cleanup-deadline' }
    } as const
    timers.set(
      timer,
      setTimeout(() => dispatch(ends[timer]), timerDurationsMs[timer])
    )
  }

  function finish(exitCode: ExitCode): void {
    for (const timer of timers.values()) clearTimeout(timer)
    ignoreReopenSignals()
    ignoreReplaceSignals()
    keysFollower?.close()
    ignoreCertificateSignals?.()
    certificate?.close()
    serviceManager?.close()
    rotation.close()
    services.close()
    if (exitCode === EXIT_CODES.cleanupExceeded) {
      dependencies.writeError('cleanup_exceeded: closing took longer than its bound')
    }
    log.info({ event: 'shutdown_complete', exit_code: exitCode }, 'Application shutdown complete')
    end(exitCode)
  }

  dispatch({ kind: 'start-accepted' })
  return { stop: () => dispatch({ kind: 'stop-signal' }), ended }
}
