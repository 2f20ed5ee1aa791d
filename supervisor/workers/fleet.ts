// Runs the worker processes: configures each, checks what it runs, and passes the steps of a shutdown on to all of them. Keeping one
// process alive is the keeper's part; what the gateway does about an event is the lifecycle's (see `lifecycle.ts`).

import { handleMessage, type MessageSender, type WorkerMessageHandlers } from '../../shared/ipc/handlers.ts'
import type { ListeningHandle } from '../../shared/ipc/listening-handle.ts'
import {
  createMessage,
  type MessageOf,
  readWorkerMessage,
  type SupervisorMessageContent,
  type WorkerMessageFields
} from '../../shared/ipc/messages.ts'
import type { Logger } from '../../shared/logging.ts'
import type { ForkChild } from '../processes/child-process.ts'
import {
  createProcessKeeper,
  type HealthPolicy,
  type KeeperEvent,
  type ProcessKeeper
} from '../processes/process-keeper.ts'
import { logKeeperEvent } from '../processes/process-log.ts'
import { createRestartBudget, type RestartPolicy } from '../processes/restart-policy.ts'
import type { ConfigureContent } from './worker-configuration.ts'
import { createReplacement, type ReplacementOptions } from './worker-replacement.ts'

export type StartupFailure = WorkerMessageFields['worker-failed']['reason'] | 'not_ready_in_time'

export type FleetEvent =
  /** Every worker listens, for the first time. */
  | { readonly kind: 'startup-completed'; readonly address: { readonly host: string; readonly port: number } }
  | { readonly kind: 'startup-failed'; readonly reason: StartupFailure; readonly detail: string }
  | { readonly kind: 'workers-keep-dying' }
  /** Every worker has acknowledged that it drains. */
  | { readonly kind: 'drain-acknowledged' }
  /** No worker has an admitted request left. */
  | { readonly kind: 'requests-done' }
  /** `owner` names a process: a respawned worker has another one. */
  | { readonly kind: 'worker-exited'; readonly owner: number }
  | { readonly kind: 'all-exited' }

/** The kinds of message that the fleet itself handles; all others belong to services. */
type FleetKind =
  | 'worker-online'
  | 'worker-ready'
  | 'worker-failed'
  | 'pong'
  | 'drain-acknowledged'
  | 'drain-progress'
  | 'drained'
  | 'listener-closed'
  | 'listener-shared'
  | 'closed'
type ServiceKind = Exclude<keyof WorkerMessageFields, FleetKind>

export interface FleetOptions {
  readonly workerCount: number
  readonly startupTimeoutMs: number
  readonly restartPolicy: RestartPolicy
  readonly healthPolicy: HealthPolicy
  readonly replacement: ReplacementOptions
  readonly revisions: { readonly config: string; readonly matrix: string }
  /** The configuration of a worker: the same for a first and for a respawned process. */
  readonly configure: (workerId: number) => ConfigureContent
}

export interface FleetDependencies {
  readonly log: Logger
  readonly nowMs: () => number
  readonly random: () => number
  readonly fork: ForkChild
  /** Who handles the messages that are not the fleet's own. */
  readonly services: WorkerMessageHandlers<ServiceKind, MessageSender>
  readonly onEvent: (event: FleetEvent) => void
}

export interface FleetCounts {
  readonly starting: number
  readonly ready: number
  readonly draining: number
  readonly restarts: number
  readonly replacements: number
}

export interface Fleet {
  start(): void
  send(owner: number, message: SupervisorMessageContent): void
  /** Sends a message to every worker that runs. */
  broadcast(message: SupervisorMessageContent): void
  /** A worker that is ready, in turn; undefined when none is. */
  nextReadyOwner(): number | undefined
  /** All workers that are ready. */
  readyOwners(): number[]
  /** Admitted requests, as last reported by the workers. */
  activeRequests(): number
  /** How many processes are in each state, and how many were started in place of another one. */
  counts(): FleetCounts
  /** Replaces every worker by a new process, one after the other; nothing while that goes on, before the start and at a stop. */
  replaceWorkers(): void
  /** No worker is respawned from now on. */
  drain(): void
  close(): void
  kill(): void
}

/** One worker: its keeper, and what is known of the process that runs now. */
interface Member extends MessageSender {
  readonly workerId: number
  readonly keeper: ProcessKeeper
  owner: number
  activeRequests: number
  isDrainAcknowledged: boolean
  areRequestsDone: boolean
  /** It still loads at the stop of the gateway and is killed, because it has admitted nothing. */
  isDismissed: boolean
}

export function createFleet(dependencies: FleetDependencies, options: FleetOptions): Fleet {
  const { log, nowMs, random, onEvent } = dependencies
  const restarts = createRestartBudget({ nowMs, random }, options.restartPolicy)
  const members = Array.from({ length: options.workerCount }, (_, index) => createMember(index + 1))
  /** The process that is to replace one, and the one that was replaced, as long as it runs. */
  const extra = new Set<Member>()
  let mode: 'running' | 'draining' | 'closing' = 'running'
  let hasStarted = false
  let lastOwner = 0
  let restartCount = 0
  let turn = 0
  let droppedMessages = 0

  const all = () => [...members, ...extra]
  const running = () => all().filter(({ keeper }) => keeper.isRunning)
  const ready = () => members.filter(({ keeper }) => keeper.isReady)

  const replacement = createReplacement<Member>(
    {
      log,
      create(workerId) {
        const fresh = createMember(workerId)
        extra.add(fresh)
        return fresh
      },
      swap(old, fresh) {
        members[members.indexOf(old)] = fresh
        extra.delete(fresh)
        if (old.keeper.isRunning) extra.add(old)
      },
      post: (member, message, handle) => post(member, message, handle)
    },
    options.replacement
  )

  function createMember(workerId: number): Member {
    const keeper = createProcessKeeper(
      { nowMs, restarts, fork: dependencies.fork, onEvent: event => react(member, event) },
      {
        startupTimeoutMs: options.startupTimeoutMs,
        healthPolicy: options.healthPolicy,
        createPing: nonce => createMessage({ kind: 'ping', nonce })
      }
    )
    const member: Member = {
      workerId,
      keeper,
      owner: 0,
      activeRequests: 0,
      isDrainAcknowledged: false,
      areRequestsDone: false,
      isDismissed: false
    }
    return member
  }

  function react(member: Member, event: KeeperEvent): void {
    const isClosing = mode === 'closing' || member.isDismissed || replacement.isClosing(member)
    logKeeperEvent(log, event, { name: 'worker', workerId: member.workerId, isClosing })
    switch (event.kind) {
      case 'forking':
        // A member without an owner has never had a process.
        if (member.owner !== 0) restartCount += 1
        lastOwner += 1
        Object.assign(member, {
          owner: lastOwner,
          activeRequests: 0,
          isDrainAcknowledged: false,
          areRequestsDone: false
        })
        break
      case 'message':
        receive(member, event.value, event.handle)
        break
      case 'not-ready-in-time':
        failStartup(member, 'not_ready_in_time', 'a worker was not ready in time')
        break
      case 'exited':
        onEvent({ kind: 'worker-exited', owner: member.owner })
        forget(member)
        reportProgress()
        break
      case 'fork-failed':
        forget(member)
        reportProgress()
        break
      case 'gave-up':
        onEvent({ kind: 'workers-keep-dying' })
        break
      case 'unresponsive':
      case 'exit-forced':
      case 'channel-error':
      case 'restart-planned':
        break
    }
  }

  const handlers: WorkerMessageHandlers<keyof WorkerMessageFields, Member> = {
    ...dependencies.services,
    'worker-online'(_, member) {
      replacement.online(member)
      post(member, mode === 'running' ? options.configure(member.workerId) : { kind: 'close' })
    },
    'worker-ready': (message, member) => becomeReady(member, message),
    'worker-failed': ({ reason, detail }, member) => failStartup(member, reason, detail),
    pong: (_, { keeper }) => keeper.reportPong(),
    'drain-acknowledged'({ activeRequests }, member) {
      member.isDrainAcknowledged = true
      member.activeRequests = activeRequests
      reportProgress()
    },
    'drain-progress'({ activeRequests }, member) {
      member.activeRequests = activeRequests
    },
    drained(_, member) {
      member.areRequestsDone = true
      member.activeRequests = 0
      replacement.drained(member)
      reportProgress()
    },
    // Handled where its socket is known.
    'listener-shared': () => undefined,
    // No step waits for one worker alone: listeners close together.
    'listener-closed': () => undefined,
    closed: (_, { keeper }) => keeper.expectExit()
  }

  function forget(member: Member): void {
    extra.delete(member)
    replacement.exited(member)
  }

  function receive(member: Member, value: unknown, handle: ListeningHandle | undefined): void {
    const message = readWorkerMessage(value)
    if (message?.kind === 'listener-shared') replacement.receiveHandle(member, message.count, handle)
    else handle?.close()
    if (message !== undefined) {
      handleMessage(handlers, message, member)
      return
    }
    droppedMessages += 1
    log.warn(
      { event: 'ipc_message_dropped', count: droppedMessages },
      'A message of a worker was malformed and dropped'
    )
  }

  function becomeReady(member: Member, message: MessageOf<WorkerMessageFields, 'worker-ready'>): void {
    const { config, matrix } = message.revisions
    if (config !== options.revisions.config || matrix !== options.revisions.matrix) {
      failStartup(member, 'configuration', 'a worker runs another configuration')
      member.keeper.kill()
      return
    }
    member.keeper.reportReady()
    // A worker that was configured before the stop can become ready after it.
    if (mode !== 'running') return
    log.info({ event: 'worker_ready', worker_id: member.workerId, worker_pid: member.keeper.pid }, 'Worker ready')
    replacement.ready(member)
    if (hasStarted || ready().length < options.workerCount) return
    hasStarted = true
    onEvent({ kind: 'startup-completed', address: message.address })
  }

  /** A failure of the first start ends the gateway; later the process exits or is killed, and the keeper respawns it. */
  function failStartup({ workerId }: Member, reason: StartupFailure, detail: string): void {
    log.error({ event: 'worker_start_failed', worker_id: workerId, reason }, `A worker did not start: ${detail}`)
    if (!hasStarted && mode === 'running') onEvent({ kind: 'startup-failed', reason, detail })
  }

  /** Reports what holds for all workers by now; the lifecycle ignores repetitions. */
  function reportProgress(): void {
    if (mode === 'running') return
    const all = running()
    if (mode === 'draining') {
      if (all.every(member => member.isDrainAcknowledged)) onEvent({ kind: 'drain-acknowledged' })
      if (all.every(member => member.areRequestsDone)) onEvent({ kind: 'requests-done' })
    }
    if (all.length === 0) onEvent({ kind: 'all-exited' })
  }

  /** A worker that still loads could not read a message before its bound on a busy host. */
  function dismiss(member: Member): void {
    member.isDismissed = true
    member.keeper.kill()
  }

  function post({ keeper }: Member, message: SupervisorMessageContent, handle?: ListeningHandle): void {
    keeper.send(createMessage(message), handle)
  }

  return {
    start() {
      for (const { keeper } of members) keeper.start()
    },
    send(owner, message) {
      const member = running().find(one => one.owner === owner)
      if (member !== undefined) post(member, message)
    },
    broadcast(message) {
      // Workers that are still loading get it as well, because the message is not repeated after
      // their configuration.
      for (const member of running()) post(member, message)
    },
    nextReadyOwner() {
      const candidates = ready()
      turn += 1
      return candidates[turn % candidates.length]?.owner
    },
    // A replaced worker still counts and serves.
    readyOwners: () =>
      running()
        .filter(({ keeper }) => keeper.isReady)
        .map(({ owner }) => owner),
    activeRequests: () => running().reduce((sum, member) => sum + member.activeRequests, 0),
    counts() {
      const states = running()
      const served = states.filter(({ keeper }) => keeper.isReady).length
      const serving = mode === 'running' ? ready().length : 0
      return {
        starting: states.length - served,
        ready: serving,
        draining: served - serving,
        restarts: restartCount,
        replacements: replacement.count
      }
    },
    replaceWorkers() {
      if (mode === 'running' && hasStarted) replacement.begin(members)
    },
    drain() {
      mode = 'draining'
      replacement.abort()
      for (const member of all()) {
        member.keeper.stopRestarting()
        if (member.keeper.isReady) post(member, { kind: 'drain' })
        else dismiss(member)
      }
      reportProgress()
    },
    close() {
      mode = 'closing'
      replacement.abort()
      for (const member of all()) {
        member.keeper.stopRestarting()
        member.keeper.stopWatching()
        if (member.keeper.isReady) post(member, { kind: 'close' })
        else dismiss(member)
      }
      reportProgress()
    },
    kill() {
      for (const { keeper } of all()) keeper.kill()
    }
  }
}
