// Runs the worker processes: forks them, configures them, replaces dead ones, and passes the steps of a shutdown on to all of them.
// It decides nothing about the gateway's life (see `lifecycle.ts`) and is the only file that calls `node:cluster`.
import cluster, { type Worker } from 'node:cluster'
import { createMessage, readWorkerMessage, type SupervisorMessageContent, type WorkerMessage } from '../shared/ipc.ts'
import type { Logger } from '../shared/logging.ts'
import { countDeathsInRow, decideRestart, type RestartPolicy } from './restart-policy.ts'

/** A worker that does not answer this many pings in a row has a stuck event loop and is replaced. */
export interface HealthPolicy {
  readonly pingIntervalMs: number
  readonly unansweredPingsMax: number
}

/** Half a minute: longer than any honest work keeps an event loop, and counted in pings, so that a suspended machine costs nothing. */
export const DEFAULT_HEALTH_POLICY: HealthPolicy = Object.freeze({ pingIntervalMs: 5_000, unansweredPingsMax: 6 })

type ConfigureContent = Extract<SupervisorMessageContent, { kind: 'configure' }>
export type StartupFailure = Extract<WorkerMessage, { kind: 'worker-failed' }>['reason'] | 'not_ready_in_time'

export type FleetEvent =
  /** Every worker listens, for the first time. */
  | { readonly kind: 'startup-completed'; readonly address: { readonly host: string; readonly port: number } }
  | { readonly kind: 'startup-failed'; readonly reason: StartupFailure; readonly detail: string }
  | { readonly kind: 'keep-dying' }
  /** Every worker says that it drains. */
  | { readonly kind: 'told' }
  /** No worker has an admitted request left. */
  | { readonly kind: 'requests-done' }
  /** No worker process is left. */
  | { readonly kind: 'gone' }
  /** `owner` names a process: a worker that comes back has another one. */
  | { readonly kind: 'worker-gone'; readonly owner: number }
  | { readonly kind: 'message'; readonly owner: number; readonly message: WorkerMessage }

export interface FleetOptions {
  readonly workerCount: number
  /** Path of the worker's entry file. */
  readonly entry: string
  /** Node options of the workers. */
  readonly execArgv: readonly string[]
  readonly startupTimeoutMs: number
  readonly restartPolicy: RestartPolicy
  readonly healthPolicy: HealthPolicy
  readonly revisions: { readonly config: string; readonly matrix: string }
  /** What a worker is told when it comes up; every one gets the same, whenever it was forked. */
  readonly configure: (workerId: number) => ConfigureContent
}

export interface FleetDependencies {
  readonly log: Logger
  readonly nowMs: () => number
  readonly random: () => number
  readonly onEvent: (event: FleetEvent) => void
}

export interface Fleet {
  start(): void
  send(owner: number, message: SupervisorMessageContent): void
  /** Tells every worker that is configured. */
  broadcast(message: SupervisorMessageContent): void
  /** A worker that serves, in turn; undefined when there is none. */
  nextReadyOwner(): number | undefined
  /** Admitted requests, as the workers last told. */
  activeRequests(): number
  /** From here on dead workers are not replaced. */
  drain(): void
  close(): void
  kill(): void
}

interface Member {
  readonly owner: number
  readonly worker: Worker
  readonly forkedAtMs: number
  phase: 'starting' | 'ready'
  startupTimer: NodeJS.Timeout | undefined
  unansweredPings: number
  activeRequests: number
  isTold: boolean
  areRequestsDone: boolean
}

/** A place for one worker; the processes in it come and go. */
interface Place {
  readonly workerId: number
  member: Member | undefined
  restartTimer: NodeJS.Timeout | undefined
  deathsInRow: number
}

export function createFleet(dependencies: FleetDependencies, options: FleetOptions): Fleet {
  const { log, nowMs, onEvent } = dependencies
  const places: Place[] = Array.from({ length: options.workerCount }, (_, index) => ({
    workerId: index + 1,
    member: undefined,
    restartTimer: undefined,
    deathsInRow: 0
  }))
  let mode: 'running' | 'draining' | 'closing' = 'running'
  let hasStarted = false
  let hasFailed = false
  let deathTimesMs: number[] = []
  let pingTimer: NodeJS.Timeout | undefined
  let nonce = 0
  let turn = 0
  let unknownMessages = 0

  const members = () => places.flatMap(place => (place.member === undefined ? [] : [place.member]))
  const readyMembers = () => members().filter(member => member.phase === 'ready')

  function fork(place: Place): void {
    place.restartTimer = undefined
    const worker = tryFork(place)
    if (worker === undefined) {
      replace(place, nowMs())
      return
    }
    const member: Member = {
      owner: worker.id,
      worker,
      forkedAtMs: nowMs(),
      phase: 'starting',
      startupTimer: undefined,
      unansweredPings: 0,
      activeRequests: 0,
      isTold: false,
      areRequestsDone: false
    }
    place.member = member
    member.startupTimer = setTimeout(
      () => failStartup(place, member, 'not_ready_in_time', 'a worker was not ready in time'),
      options.startupTimeoutMs
    )
    worker.on('message', value => receive(place, member, value))
    worker.on('error', error => {
      if (worker.process.pid !== undefined) {
        log.warn({ event: 'worker_channel_error', err: error }, 'A message to a worker was lost')
        return
      }
      // There is no process, and nobody will say that it ended.
      logForkFailure(place, error)
      leave(place, member, { code: null, signal: null })
    })
    worker.on('exit', (code, signal) => leave(place, member, { code, signal }))
  }

  /** Undefined when the system has no room for a process; it may have some later. */
  function tryFork(place: Place): Worker | undefined {
    try {
      return cluster.fork(hideOwnVariables())
    } catch (error) {
      logForkFailure(place, error)
      return undefined
    }
  }

  function logForkFailure(place: Place, error: unknown): void {
    const fields = { event: 'worker_start_failed', worker_id: place.workerId, reason: 'fork', err: error }
    log.error(fields, 'A worker could not be forked')
  }

  function receive(place: Place, member: Member, value: unknown): void {
    const message = readWorkerMessage(value)
    if (message === undefined) {
      unknownMessages += 1
      log.warn({ event: 'ipc_message_dropped', count: unknownMessages }, 'A message of a worker was not understood')
      return
    }
    switch (message.kind) {
      case 'worker-online':
        post(member, mode === 'running' ? options.configure(place.workerId) : { kind: 'close' })
        break
      case 'worker-ready':
        becomeReady(place, member, message)
        break
      case 'worker-failed':
        failStartup(place, member, message.reason, message.detail)
        break
      case 'pong':
        member.unansweredPings = 0
        break
      case 'drain-acknowledged':
        member.isTold = true
        member.activeRequests = message.activeRequests
        reportProgress()
        break
      case 'drain-progress':
        member.activeRequests = message.activeRequests
        break
      case 'drained':
        member.areRequestsDone = true
        member.activeRequests = 0
        reportProgress()
        break
      default:
        onEvent({ kind: 'message', owner: member.owner, message })
    }
  }

  function becomeReady(place: Place, member: Member, message: Extract<WorkerMessage, { kind: 'worker-ready' }>): void {
    const { config, matrix } = message.revisions
    if (config !== options.revisions.config || matrix !== options.revisions.matrix) {
      failStartup(place, member, 'configuration', 'a worker runs another configuration')
      member.worker.process.kill('SIGKILL')
      return
    }
    clearTimeout(member.startupTimer)
    member.phase = 'ready'
    log.info(
      { event: 'worker_ready', worker_id: place.workerId, worker_pid: member.worker.process.pid },
      'Worker ready'
    )
    if (hasStarted || readyMembers().length < options.workerCount) return
    hasStarted = true
    pingTimer = setInterval(pingAll, options.healthPolicy.pingIntervalMs).unref()
    onEvent({ kind: 'startup-completed', address: message.address })
  }

  function failStartup(place: Place, member: Member, reason: StartupFailure, detail: string): void {
    clearTimeout(member.startupTimer)
    log.error({ event: 'worker_start_failed', worker_id: place.workerId, reason }, `A worker did not start: ${detail}`)
    if (hasStarted) {
      // The others go on serving; this one counts as dead and is tried again.
      member.worker.process.kill('SIGKILL')
    } else if (!hasFailed && mode === 'running') {
      hasFailed = true
      onEvent({ kind: 'startup-failed', reason, detail })
    }
  }

  function leave(place: Place, member: Member, end: { code: number | null; signal: string | null }): void {
    if (place.member !== member) return
    clearTimeout(member.startupTimer)
    place.member = undefined
    const description = {
      event: 'worker_exited',
      worker_id: place.workerId,
      worker_pid: member.worker.process.pid,
      exit_code: end.code,
      signal: end.signal
    }
    if (mode === 'closing' || hasFailed) log.info(description, 'Worker ended')
    else log.error(description, 'Worker died')
    onEvent({ kind: 'worker-gone', owner: member.owner })
    if (mode === 'running' && !hasFailed) replace(place, member.forkedAtMs)
    else reportProgress()
  }

  function replace(place: Place, forkedAtMs: number): void {
    const deathAtMs = nowMs()
    place.deathsInRow = countDeathsInRow(options.restartPolicy, place.deathsInRow, deathAtMs - forkedAtMs)
    deathTimesMs = [...deathTimesMs.filter(time => deathAtMs - time < options.restartPolicy.windowMs), deathAtMs]
    const decision = decideRestart(options.restartPolicy, {
      deathTimesMs,
      nowMs: deathAtMs,
      deathsInRow: place.deathsInRow,
      random: dependencies.random()
    })
    if (decision.kind === 'give-up') {
      hasFailed = true
      onEvent({ kind: 'keep-dying' })
      return
    }
    log.info(
      { event: 'worker_restart', worker_id: place.workerId, delay_ms: decision.delayMs },
      'Worker will be replaced'
    )
    place.restartTimer = setTimeout(() => fork(place), decision.delayMs)
  }

  /** Says what is true of all workers by now; the lifecycle ignores what it heard before. */
  function reportProgress(): void {
    const all = members()
    if (mode === 'draining') {
      if (all.every(member => member.isTold)) onEvent({ kind: 'told' })
      if (all.every(member => member.areRequestsDone)) onEvent({ kind: 'requests-done' })
    }
    if (all.length === 0) onEvent({ kind: 'gone' })
  }

  function pingAll(): void {
    nonce += 1
    for (const member of readyMembers()) {
      if (member.unansweredPings >= options.healthPolicy.unansweredPingsMax) {
        log.error(
          { event: 'worker_stuck', worker_pid: member.worker.process.pid },
          'A worker does not answer and is killed'
        )
        member.worker.process.kill('SIGKILL')
        continue
      }
      member.unansweredPings += 1
      post(member, { kind: 'ping', nonce })
    }
  }

  function post(member: Member, message: SupervisorMessageContent): void {
    if (member.worker.isConnected()) member.worker.send(createMessage(message))
  }

  function stopReplacing(): void {
    for (const place of places) clearTimeout(place.restartTimer)
  }

  return {
    start() {
      cluster.setupPrimary({ exec: options.entry, args: [], execArgv: [...options.execArgv] })
      for (const place of places) fork(place)
    },
    send(owner, message) {
      const member = members().find(one => one.owner === owner)
      if (member !== undefined) post(member, message)
    },
    broadcast(message) {
      for (const member of readyMembers()) post(member, message)
    },
    nextReadyOwner() {
      const ready = readyMembers()
      turn += 1
      return ready[turn % ready.length]?.owner
    },
    activeRequests: () => members().reduce((sum, member) => sum + member.activeRequests, 0),
    drain() {
      mode = 'draining'
      stopReplacing()
      for (const member of members()) {
        // A worker that is still coming up has admitted nothing.
        if (member.phase === 'starting') member.worker.process.kill('SIGKILL')
        else post(member, { kind: 'drain' })
      }
      if (members().length === 0) reportProgress()
    },
    close() {
      mode = 'closing'
      stopReplacing()
      clearInterval(pingTimer)
      for (const member of members()) {
        clearTimeout(member.startupTimer)
        post(member, { kind: 'close' })
      }
      if (members().length === 0) reportProgress()
    },
    kill() {
      for (const member of members()) member.worker.process.kill('SIGKILL')
    }
  }
}

/** Workers are configured by message alone; what they must not read is not even in their environment. */
function hideOwnVariables(): Record<string, undefined> {
  const names = Object.keys(process.env).filter(name => /^(gateway|upstream)_/i.test(name))
  return Object.fromEntries(names.map(name => [name, undefined]))
}
