// Keeps one child process running under the restart policy: forks it, bounds its start, pings it while it runs, and forks it again
// after an exit. It knows no message of the process but the ping; its owner says when the process is ready.
import type { ListeningHandle } from '../../shared/ipc/listening-handle.ts'
import type { ChildHandle, ForkChild, ProcessExit } from './child-process.ts'
import { countExitsInRow, type RestartBudget } from './restart-policy.ts'

/** A process that leaves this many pings in a row unacknowledged has a stuck event loop and is killed. */
export interface HealthPolicy {
  readonly pingIntervalMs: number
  readonly unansweredPingsMax: number
}

/**
 * Half a minute: longer than regular work keeps an event loop busy. Counted in pings and not in time, so that a suspended machine
 * kills no process when it wakes up.
 */
export const DEFAULT_HEALTH_POLICY: HealthPolicy = Object.freeze({ pingIntervalMs: 5_000, unansweredPingsMax: 6 })

/**
 * How long a process that has closed everything it owns may take to exit. It writes compiled code for later starts then, and joins its
 * threads: beside other busy processes that takes seconds, and no client or record depends on it.
 */
const EXIT_MS_MAX = 1_000

export type KeeperEvent =
  /** A process is about to be forked; state about an earlier process is invalid. */
  | { readonly kind: 'forking' }
  | { readonly kind: 'message'; readonly value: unknown; readonly handle: ListeningHandle | undefined }
  /** The process is killed next. */
  | { readonly kind: 'not-ready-in-time' }
  /** The process is killed next. */
  | { readonly kind: 'unresponsive'; readonly pid: number | undefined }
  /** It has closed everything and does not exit. The process is killed next. */
  | { readonly kind: 'exit-forced'; readonly pid: number | undefined }
  | { readonly kind: 'channel-error'; readonly error: Error }
  | { readonly kind: 'fork-failed'; readonly error: unknown }
  | ({ readonly kind: 'exited'; readonly pid: number | undefined } & ProcessExit)
  | { readonly kind: 'restart-planned'; readonly delayMs: number }
  /** Exits came too fast; the process is not started again. */
  | { readonly kind: 'gave-up' }

export interface KeeperDependencies {
  readonly nowMs: () => number
  readonly fork: ForkChild
  /** Shared by all processes whose exits are counted together. */
  readonly restarts: RestartBudget
  readonly onEvent: (event: KeeperEvent) => void
}

export interface KeeperOptions {
  readonly startupTimeoutMs: number
  readonly healthPolicy: HealthPolicy
  /** The message that the process acknowledges; the owner reports that by `reportPong`. */
  readonly createPing: (nonce: number) => object
}

export interface ProcessKeeper {
  /** Of the current process; undefined where none runs. */
  readonly pid: number | undefined
  readonly isRunning: boolean
  /** Whether the current process has been reported ready. */
  readonly isReady: boolean
  start(): void
  send(message: object, handle?: ListeningHandle): void
  /** Ends the start-up deadline and starts the pings. */
  reportReady(): void
  reportPong(): void
  /** From here on an exit is final. */
  stopRestarting(): void
  /** From here on an exit is followed by a restart again. */
  allowRestarting(): void
  /**
   * Ends the start-up deadline and the pings: the process is closing, and its owner bounds the
   * close.
   */
  stopWatching(): void
  /** The process has closed everything that it owns. It is killed unless it exits soon: nothing is lost with it. */
  expectExit(): void
  kill(): void
}

export function createProcessKeeper(dependencies: KeeperDependencies, options: KeeperOptions): ProcessKeeper {
  const { nowMs, restarts, onEvent } = dependencies
  const { startupTimeoutMs, healthPolicy } = options
  let child: ChildHandle | undefined
  let isReady = false
  let canRestart = true
  let forkedAtMs = 0
  let exitsInRow = 0
  let unansweredPings = 0
  let nonce = 0
  let startTimer: NodeJS.Timeout | undefined
  let pingTimer: NodeJS.Timeout | undefined
  let restartTimer: NodeJS.Timeout | undefined
  let exitTimer: NodeJS.Timeout | undefined

  function fork(): void {
    isReady = false
    unansweredPings = 0
    forkedAtMs = nowMs()
    onEvent({ kind: 'forking' })
    try {
      child = dependencies.fork({
        onMessage: (value, handle) => onEvent({ kind: 'message', value, handle }),
        onChannelError: error => onEvent({ kind: 'channel-error', error }),
        onForkFailed: failFork,
        onExit: exit
      })
    } catch (error) {
      failFork(error)
      return
    }
    startTimer = setTimeout(() => killAfter({ kind: 'not-ready-in-time' }), startupTimeoutMs)
  }

  function failFork(error: unknown): void {
    forget()
    onEvent({ kind: 'fork-failed', error })
    restart()
  }

  function exit({ code, signal }: ProcessExit): void {
    const pid = child?.pid
    forget()
    onEvent({ kind: 'exited', pid, code, signal })
    restart()
  }

  function forget(): void {
    child = undefined
    isReady = false
    stopWatching()
    clearTimeout(exitTimer)
  }

  function restart(): void {
    if (!canRestart) return
    exitsInRow = countExitsInRow(restarts.policy, exitsInRow, nowMs() - forkedAtMs)
    const decision = restarts.spend(exitsInRow)
    if (decision.kind === 'give-up') {
      onEvent({ kind: 'gave-up' })
      return
    }
    restartTimer = setTimeout(fork, decision.delayMs)
    onEvent({ kind: 'restart-planned', delayMs: decision.delayMs })
  }

  function ping(): void {
    if (unansweredPings >= healthPolicy.unansweredPingsMax) {
      killAfter({ kind: 'unresponsive', pid: child?.pid })
      return
    }
    unansweredPings += 1
    nonce += 1
    child?.send(options.createPing(nonce))
  }

  function killAfter(event: KeeperEvent): void {
    stopWatching()
    onEvent(event)
    child?.kill()
  }

  function stopWatching(): void {
    clearTimeout(startTimer)
    clearInterval(pingTimer)
  }

  return {
    get pid() {
      return child?.pid
    },
    get isRunning() {
      return child !== undefined
    },
    get isReady() {
      return isReady
    },
    start: fork,
    send(message, handle) {
      if (child === undefined) handle?.close()
      else child.send(message, handle)
    },
    reportReady() {
      if (child === undefined || isReady) return
      isReady = true
      clearTimeout(startTimer)
      pingTimer = setInterval(ping, healthPolicy.pingIntervalMs).unref()
    },
    reportPong() {
      unansweredPings = 0
    },
    stopRestarting() {
      canRestart = false
      clearTimeout(restartTimer)
    },
    allowRestarting() {
      canRestart = true
    },
    stopWatching,
    expectExit() {
      if (child === undefined) return
      clearTimeout(exitTimer)
      exitTimer = setTimeout(() => killAfter({ kind: 'exit-forced', pid: child?.pid }), EXIT_MS_MAX)
    },
    kill: () => child?.kill()
  }
}
