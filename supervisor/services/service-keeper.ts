// Keeps a service process running, such as the writer of the traffic log or the store of responses: configures it, starts it again after an
// exit, and closes it after the last worker.
import { fork } from 'node:child_process'
import { createMessage, type MessageOf } from '../../shared/ipc/checks.ts'
import {
  type FromServiceFields,
  readFromServiceMessage,
  type ToServiceContent,
  type ToServiceFields
} from '../../shared/ipc/service-messages.ts'
import type { Logger } from '../../shared/logging.ts'
import type { ServiceName } from '../../shared/services.ts'
import { isStopSignal } from '../lifecycle/signals.ts'
import { attachChild, type ForkChild } from '../processes/child-process.ts'
import { createProcessKeeper, type HealthPolicy, type KeeperEvent } from '../processes/process-keeper.ts'
import { logKeeperEvent } from '../processes/process-log.ts'
import { createRestartBudget, type RestartPolicy } from '../processes/restart-policy.ts'

/**
 * The pause after too many exits in a row: the operator may have removed the cause, such as a full
 * disk.
 */
const GIVE_UP_PAUSE_MS = 60_000

export type ServiceEvent =
  /** The first process listens. */
  | { readonly kind: 'started' }
  | { readonly kind: 'start-failed'; readonly reason: ServiceFailure; readonly detail: string }
  /** A process has exited. */
  | { readonly kind: 'exited'; readonly owner: number }
  /** The service has exited after `close`. */
  | { readonly kind: 'closed' }

export type ServiceFailure = FromServiceFields['service-failed']['reason'] | 'not_ready_in_time'

/** The service processes by their names in log events, with what their log lines call them. */
const SERVICES = {
  writer: 'writer of the traffic log',
  store: 'store of responses',
  limits: 'process of shared limits'
} as const satisfies Record<ServiceName, string>

export interface ServiceKeeperOptions {
  readonly name: ServiceName
  readonly configure: ToServiceFields['configure-service']
  readonly startupTimeoutMs: number
  readonly restartPolicy: RestartPolicy
  readonly healthPolicy: HealthPolicy
}

export interface ServiceKeeperDependencies {
  readonly log: Logger
  readonly nowMs: () => number
  readonly random: () => number
  readonly fork: ForkChild
  /** A number that no other process has had: negative, because workers have positive ones. */
  readonly nextOwner: () => number
  readonly onEvent: (event: ServiceEvent) => void
  /** Called with the messages of a process about metrics. Each process has its own owner. */
  readonly onMetrics: (message: ServiceMetricsMessage, owner: number) => void
  /** Called with what a process answers about shared counters. */
  readonly onCounters: (reply: CountersReply) => void
  /** Called with what the process says it holds. */
  readonly onHeld: (message: HeldMessage) => void
}

export type CountersContent = Extract<ToServiceContent, { kind: 'counters-exchange' }>
export type CountersReply = MessageOf<FromServiceFields, 'counters-reply'>
export type HeldMessage = MessageOf<FromServiceFields, 'records-held'>
export type ServiceMetricsMessage = MessageOf<FromServiceFields, 'metrics-delta' | 'metrics-collected'>

export interface ServiceKeeper {
  /** Names the current process among those that report metrics. */
  readonly owner: number
  readonly isReady: boolean
  start(): void
  /** Asks for what changed in the metrics. */
  collectMetrics(requestId: number): void
  exchangeCounters(exchange: CountersContent): void
  reopenLog(): void
  /**
   * The gateway stops: a failed first start of the service is no failure from now on. A running
   * one continues.
   */
  giveUpStart(): void
  /** Requests that the service stores everything and exits; `closed` follows. */
  close(): void
  kill(): void
}

export interface ServiceForkOptions {
  /** Path of the entry file. */
  readonly entry: string
  readonly execArgv: readonly string[]
  /** Variables of this process that the service must not get, as undefined. */
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** Returns the fork of a service process. */
export function createServiceFork({ entry, execArgv, environment }: ServiceForkOptions): ForkChild {
  return listeners => {
    const env = { ...process.env, ...environment }
    return attachChild(fork(entry, [], { execArgv: [...execArgv], env, serialization: 'advanced' }), listeners)
  }
}

/** A service that a signal stopped is started again: the stop of the gateway follows, or the signal was for the service alone. */
function wasStopped(event: KeeperEvent): boolean {
  return event.kind === 'exited' && isStopSignal(event.signal)
}

/** Creates the keeper of a service that is not started yet. */
export function createServiceKeeper(
  dependencies: ServiceKeeperDependencies,
  options: ServiceKeeperOptions
): ServiceKeeper {
  const { log, nowMs, random, onEvent } = dependencies
  const { name } = options
  const title = SERVICES[name]
  let hasStarted = false
  let hasFailed = false
  let isStartGivenUp = false
  let isClosing = false
  let owner = 0
  let pause: NodeJS.Timeout | undefined
  const keeper = createProcessKeeper(
    {
      nowMs,
      fork: dependencies.fork,
      restarts: createRestartBudget({ nowMs, random }, options.restartPolicy),
      onEvent: react
    },
    {
      startupTimeoutMs: options.startupTimeoutMs,
      healthPolicy: options.healthPolicy,
      createPing: nonce => createMessage({ kind: 'ping', nonce })
    }
  )

  function post(content: ToServiceContent): void {
    keeper.send(createMessage(content))
  }

  function react(event: KeeperEvent): void {
    logKeeperEvent(log, event, { name, isClosing: isClosing || isStartGivenUp })
    switch (event.kind) {
      case 'message':
        receive(event.value)
        break
      case 'not-ready-in-time':
        fail('not_ready_in_time', `the ${title} was not ready in time`)
        break
      case 'exited':
      case 'fork-failed':
        onEvent({ kind: 'exited', owner })
        if (isClosing) onEvent({ kind: 'closed' })
        else if (!hasStarted && !wasStopped(event)) fail('internal', `the ${title} exited before it was ready`)
        break
      case 'gave-up':
        if (!hasStarted) {
          fail('internal', `the ${title} exited before it was ready`)
          break
        }
        // Requests are served without a writer: their records wait in the workers and are dropped
        // and counted when those queues are full. Without a store those fail that need it, and without
        // the process of shared limits each host counts alone, or refuses requests of limited keys.
        log.fatal({ event: `${name}_given_up`, retry_ms: GIVE_UP_PAUSE_MS }, `The ${title} exits too fast`)
        pause = setTimeout(keeper.start, GIVE_UP_PAUSE_MS)
        break
      case 'forking':
        owner = dependencies.nextOwner()
        break
      case 'unresponsive':
      case 'exit-forced':
      case 'channel-error':
      case 'restart-planned':
        break
    }
  }

  function receive(value: unknown): void {
    const message = readFromServiceMessage(value)
    switch (message?.kind) {
      case 'service-online':
        post(isClosing ? { kind: 'close-service' } : { kind: 'configure-service', ...options.configure })
        break
      case 'service-ready':
        keeper.reportReady()
        log.info({ event: `${name}_ready`, [`${name}_pid`]: keeper.pid }, `The ${title} is ready`)
        if (!hasStarted) onEvent({ kind: 'started' })
        hasStarted = true
        break
      case 'service-failed':
        fail(message.reason, message.detail)
        break
      case 'service-closed':
        keeper.expectExit()
        break
      case 'pong':
        keeper.reportPong()
        break
      case 'metrics-delta':
      case 'metrics-collected':
        dependencies.onMetrics(message, owner)
        break
      case 'counters-reply':
        dependencies.onCounters(message)
        break
      case 'records-held':
        dependencies.onHeld(message)
        break
      case undefined:
        log.warn({ event: 'ipc_message_dropped' }, `A message of the ${name} was malformed and dropped`)
        break
    }
  }

  /** A failure of the first start ends the gateway; later the service is started again. */
  function fail(reason: ServiceFailure, detail: string): void {
    if (hasFailed || isStartGivenUp || isClosing) return
    log.error({ event: `${name}_start_failed`, reason }, `The ${title} did not start: ${detail}`)
    if (hasStarted) return
    hasFailed = true
    keeper.stopRestarting()
    onEvent({ kind: 'start-failed', reason, detail })
  }

  return {
    get owner() {
      return owner
    },
    get isReady() {
      return keeper.isReady
    },
    start: keeper.start,
    collectMetrics: requestId => post({ kind: 'metrics-collect', requestId }),
    exchangeCounters: post,
    reopenLog: () => post({ kind: 'reopen-log' }),
    giveUpStart() {
      if (hasStarted) return
      isStartGivenUp = true
      keeper.stopRestarting()
    },
    close() {
      isClosing = true
      clearTimeout(pause)
      keeper.stopRestarting()
      keeper.stopWatching()
      if (keeper.isRunning) post({ kind: 'close-service' })
      else onEvent({ kind: 'closed' })
    },
    kill: keeper.kill
  }
}
