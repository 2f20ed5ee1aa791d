// Keeps the writer of the traffic log running: configures it, starts it again after an exit, and closes it after the last worker.
import { fork } from 'node:child_process'
import { createMessage, type MessageOf } from '../shared/ipc/checks.ts'
import type { FromWriterFields, ToWriterContent, ToWriterFields } from '../shared/ipc/writer-messages.ts'
import { readFromWriterMessage } from '../shared/ipc/writer-messages.ts'
import type { Logger } from '../shared/logging.ts'
import { attachChild, type ForkChild } from './child-process.ts'
import { logKeeperEvent } from './fleet-log.ts'
import { createProcessKeeper, type HealthPolicy, type KeeperEvent } from './process-keeper.ts'
import { createRestartBudget, type RestartPolicy } from './restart-policy.ts'
import { isStopSignal } from './signals.ts'

/**
 * The pause after too many exits in a row: the operator may have removed the cause, such as a full
 * disk.
 */
const GIVE_UP_PAUSE_MS = 60_000
const EXITED_EARLY = 'the writer of the traffic log exited before it was ready'

export type WriterEvent =
  /** The first writer process listens. */
  | { readonly kind: 'writer-started' }
  | { readonly kind: 'writer-start-failed'; readonly reason: WriterFailure; readonly detail: string }
  /** A writer process has exited. */
  | { readonly kind: 'writer-exited'; readonly owner: number }
  /** The writer has exited after `close`. */
  | { readonly kind: 'writer-closed' }

export type WriterFailure = FromWriterFields['writer-failed']['reason'] | 'not_ready_in_time'

export interface WriterKeeperOptions {
  readonly configure: Omit<ToWriterFields['configure-writer'], 'kind'>
  readonly startupTimeoutMs: number
  readonly restartPolicy: RestartPolicy
  readonly healthPolicy: HealthPolicy
}

export interface WriterKeeperDependencies {
  readonly log: Logger
  readonly nowMs: () => number
  readonly random: () => number
  readonly fork: ForkChild
  readonly onEvent: (event: WriterEvent) => void
  /** Called with the messages of a writer process about metrics. Each process has its own owner. */
  readonly onMetrics: (message: WriterMetricsMessage, owner: number) => void
}

export type WriterMetricsMessage = MessageOf<FromWriterFields, 'metrics-delta' | 'metrics-collected'>

export interface WriterKeeper {
  /** Names the current process among those that report metrics: negative, because workers have positive numbers. */
  readonly owner: number
  readonly isReady: boolean
  start(): void
  /** Asks for what changed in the metrics. */
  collectMetrics(requestId: number): void
  reopenLog(): void
  /**
   * The gateway stops: a failed first start of the writer is no failure from now on. A running
   * writer continues.
   */
  giveUpStart(): void
  /** Requests that the writer stores everything and exits; `writer-closed` follows. */
  close(): void
  kill(): void
}

export interface WriterForkOptions {
  /** Path of the writer's entry file. */
  readonly entry: string
  readonly execArgv: readonly string[]
  /** Variables of this process that the writer must not get, as undefined. */
  readonly environment: Readonly<Record<string, undefined>>
}

/** Returns the fork of the writer process. */
export function createWriterFork({ entry, execArgv, environment }: WriterForkOptions): ForkChild {
  return listeners => {
    const env = { ...process.env, ...environment }
    return attachChild(fork(entry, [], { execArgv: [...execArgv], env, serialization: 'advanced' }), listeners)
  }
}

/** A writer that a signal stopped is started again: the stop of the gateway follows, or the signal was for the writer alone. */
function wasStopped(event: KeeperEvent): boolean {
  return event.kind === 'exited' && isStopSignal(event.signal)
}

/** Creates the keeper of a writer that is not started yet. */
export function createWriterKeeper(dependencies: WriterKeeperDependencies, options: WriterKeeperOptions): WriterKeeper {
  const { log, nowMs, random, onEvent } = dependencies
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

  function post(content: ToWriterContent): void {
    keeper.send(createMessage(content))
  }

  function react(event: KeeperEvent): void {
    logKeeperEvent(log, event, { name: 'writer', isClosing: isClosing || isStartGivenUp })
    switch (event.kind) {
      case 'message':
        receive(event.value)
        break
      case 'not-ready-in-time':
        fail('not_ready_in_time', 'the writer of the traffic log was not ready in time')
        break
      case 'exited':
      case 'fork-failed':
        onEvent({ kind: 'writer-exited', owner })
        if (isClosing) onEvent({ kind: 'writer-closed' })
        else if (!hasStarted && !wasStopped(event)) fail('internal', EXITED_EARLY)
        break
      case 'gave-up':
        if (!hasStarted) {
          fail('internal', EXITED_EARLY)
          break
        }
        // Requests are served without a writer: their records wait in the workers and are dropped
        // and counted when those queues are full.
        log.fatal(
          { event: 'writer_given_up', retry_ms: GIVE_UP_PAUSE_MS },
          'The writer of the traffic log exits too fast'
        )
        pause = setTimeout(keeper.start, GIVE_UP_PAUSE_MS)
        break
      case 'forking':
        owner -= 1
        break
      case 'unresponsive':
      case 'channel-error':
      case 'restart-planned':
        break
    }
  }

  function receive(value: unknown): void {
    const message = readFromWriterMessage(value)
    switch (message?.kind) {
      case 'writer-online':
        post(isClosing ? { kind: 'close-writer' } : { kind: 'configure-writer', ...options.configure })
        break
      case 'writer-ready':
        keeper.reportReady()
        log.info({ event: 'writer_ready', writer_pid: keeper.pid }, 'The writer of the traffic log is ready')
        if (!hasStarted) onEvent({ kind: 'writer-started' })
        hasStarted = true
        break
      case 'writer-failed':
        fail(message.reason, message.detail)
        break
      case 'pong':
        keeper.reportPong()
        break
      case 'metrics-delta':
      case 'metrics-collected':
        dependencies.onMetrics(message, owner)
        break
      case undefined:
        log.warn({ event: 'ipc_message_dropped' }, 'A message of the writer was malformed and dropped')
        break
    }
  }

  /** A failure of the first start ends the gateway; later the writer is started again. */
  function fail(reason: WriterFailure, detail: string): void {
    if (hasFailed || isStartGivenUp || isClosing) return
    log.error({ event: 'writer_start_failed', reason }, `The writer of the traffic log did not start: ${detail}`)
    if (hasStarted) return
    hasFailed = true
    keeper.stopRestarting()
    onEvent({ kind: 'writer-start-failed', reason, detail })
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
      if (keeper.isRunning) post({ kind: 'close-writer' })
      else onEvent({ kind: 'writer-closed' })
    },
    kill: keeper.kill
  }
}
