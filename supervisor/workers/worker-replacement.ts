// Replaces the workers one by one without a lost request (decisions.md 100; ADR 2026-11-30-workers-are-replaced-one-by-one): a new process gets
// the listening sockets of the old one and is ready before that one stops accepting. The old one serves what its connections still send,
// each response with the end of its connection, and exits. At most one process more than configured runs.
import type { ListeningHandle } from '../../shared/ipc/listening-handle.ts'
import type { SupervisorMessageContent } from '../../shared/ipc/messages.ts'
import type { Logger } from '../../shared/logging.ts'
import { CLEANUP_MS, SETTLE_MS } from '../lifecycle/shutdown-bounds.ts'
import type { ProcessKeeper } from '../processes/process-keeper.ts'

/** A worker whose event loop is stuck shares nothing; its replacement then binds a socket of its own. */
const SHARE_TIMEOUT_MS = 2_000

export interface ReplacedMember {
  readonly workerId: number
  readonly keeper: ProcessKeeper
}

export interface ReplacementDependencies<Member> {
  readonly log: Logger
  /** A member that is not started, and that the fleet knows from now on. */
  readonly create: (workerId: number) => Member
  /** The new member is one of the configured workers now, in place of the old one. */
  readonly swap: (old: Member, fresh: Member) => void
  readonly post: (member: Member, message: SupervisorMessageContent, handle?: ListeningHandle) => void
}

export interface ReplacementOptions {
  /** How long requests of an old process may go on. */
  readonly drainTimeoutMs: number
  /** Every worker binds the port itself, so that its socket has to be handed over. */
  readonly sharesPort: boolean
}

export interface Replacement<Member> {
  /** Replaces these workers; nothing while a replacement runs. */
  begin(members: readonly Member[]): void
  /** Workers that were replaced since the start. */
  readonly count: number
  /** Whether the exit of this member is expected. */
  isClosing(member: Member): boolean
  receiveHandle(member: Member, count: number, handle: ListeningHandle | undefined): void
  /** The process of a member is there, and gets its configuration next. */
  online(member: Member): void
  ready(member: Member): void
  /** A member that stops accepting has no connection and no request any more. */
  drained(member: Member): void
  /** The process of a member has exited or could not be forked. Called before it is restarted. */
  exited(member: Member): void
  /** Ends the replacement where it is: the gateway stops, and its lifecycle closes every process. One that closes already keeps its bound. */
  abort(): void
}

type Step<Member> =
  | { readonly name: 'sharing'; readonly old: Member; readonly handles: ListeningHandle[] }
  | { readonly name: 'starting'; readonly old: Member; readonly fresh: Member; readonly handles: ListeningHandle[] }
  | { readonly name: 'retiring' | 'closing'; readonly old: Member; readonly handles: readonly [] }

export function createReplacement<Member extends ReplacedMember>(
  { log, create, swap, post }: ReplacementDependencies<Member>,
  { drainTimeoutMs, sharesPort }: ReplacementOptions
): Replacement<Member> {
  let waiting: Member[] = []
  let step: Step<Member> | undefined
  let timer: NodeJS.Timeout | undefined
  let count = 0
  let countBefore = 0
  let isAborted = false

  function after(delayMs: number, act: () => void): void {
    clearTimeout(timer)
    timer = setTimeout(act, delayMs)
  }

  /** Ends the current step; its process is no longer waited for. */
  function leaveStep(): void {
    clearTimeout(timer)
    for (const handle of step?.handles ?? []) handle.close()
    step = undefined
  }

  function next(): void {
    leaveStep()
    if (isAborted) return
    const old = waiting.shift()
    if (old === undefined) {
      log.info({ event: 'workers_replaced', workers: count - countBefore }, 'The workers were replaced')
    } else if (!old.keeper.isReady) {
      // It is being respawned, so it is new already.
      next()
    } else if (sharesPort) {
      step = { name: 'sharing', old, handles: [] }
      after(SHARE_TIMEOUT_MS, startFresh)
      post(old, { kind: 'share-listener' })
    } else {
      step = { name: 'sharing', old, handles: [] }
      startFresh()
    }
  }

  function startFresh(): void {
    if (step?.name !== 'sharing') return
    clearTimeout(timer)
    const { old, handles } = step
    const fresh = create(old.workerId)
    step = { name: 'starting', old, fresh, handles }
    // A failed start is no crash of a worker: the old one stays.
    fresh.keeper.stopRestarting()
    fresh.keeper.start()
  }

  function retire(old: Member): void {
    step = { name: 'retiring', old, handles: [] }
    old.keeper.stopRestarting()
    post(old, { kind: 'retire' })
    after(drainTimeoutMs, () => {
      log.warn(
        { event: 'worker_requests_cancelled', worker_id: old.workerId },
        'A replaced worker cancels its requests'
      )
      post(old, { kind: 'cancel' })
      after(SETTLE_MS, () => close(old))
    })
  }

  function close(old: Member): void {
    step = { name: 'closing', old, handles: [] }
    old.keeper.stopWatching()
    post(old, { kind: 'close' })
    after(CLEANUP_MS, () => old.keeper.kill())
  }

  function fail(old: Member): void {
    const fields = { event: 'worker_replacement_failed', worker_id: old.workerId, not_replaced: waiting.length + 1 }
    log.error(fields, 'A worker could not be replaced: its replacement did not start, and the old workers stay')
    waiting = []
    leaveStep()
  }

  return {
    begin(members) {
      if (step !== undefined) {
        log.info({ event: 'workers_replacement_running' }, 'The workers are being replaced already')
        return
      }
      log.info({ event: 'workers_replacement_started', workers: members.length }, 'The workers are replaced one by one')
      waiting = [...members]
      countBefore = count
      next()
    },
    get count() {
      return count
    },
    isClosing: member => step?.name === 'closing' && step.old === member,
    receiveHandle(member, expected, handle) {
      if (step?.name !== 'sharing' || step.old !== member) {
        handle?.close()
        return
      }
      if (handle !== undefined) step.handles.push(handle)
      if (step.handles.length >= expected || handle === undefined) startFresh()
    },
    online(member) {
      if (step?.name !== 'starting' || step.fresh !== member) return
      // Each is closed here once it is sent.
      for (const handle of step.handles.splice(0)) post(member, { kind: 'listener-inherited' }, handle)
    },
    ready(member) {
      if (step?.name !== 'starting' || step.fresh !== member) return
      const { old, fresh } = step
      fresh.keeper.allowRestarting()
      count += 1
      const fields = { worker_id: old.workerId, worker_pid: fresh.keeper.pid, replaced_pid: old.keeper.pid }
      log.info({ event: 'worker_replaced', ...fields }, 'A worker was replaced; the old one finishes its requests')
      swap(old, fresh)
      retire(old)
    },
    drained(member) {
      if (step?.name === 'retiring' && step.old === member) close(member)
    },
    exited(member) {
      if (step?.name === 'starting' && step.fresh === member) {
        fail(step.old)
      } else if (step?.old === member) {
        if (step.name === 'starting') {
          // Its replacement takes its place before it is ready.
          member.keeper.stopRestarting()
          step.fresh.keeper.allowRestarting()
          swap(member, step.fresh)
        }
        next()
      }
    },
    abort() {
      isAborted = true
      // A process that is stuck while it closes is watched by nothing else, and the stop would wait for it until the deadline of the drain.
      if (step?.name !== 'closing') leaveStep()
    }
  }
}
