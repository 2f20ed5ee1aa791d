// The lifecycle of the gateway process as a pure state machine: (state, event) gives (state,
// effects). It is the table of specification.md 3.1, with the drain sequence of the
// bridge.md 9.3.
import { EXIT_CODES, type ExitCode } from './exit-codes.ts'

export type LifecycleState =
  | { readonly phase: 'not-started' }
  | { readonly phase: 'starting' }
  /** Serving. `isReady` becomes true with the first model catalog, which is what `/ready` waits for. */
  | { readonly phase: 'live'; readonly isReady: boolean }
  /** Readiness is false and everything is served: balancers still send requests (decisions.md 97). */
  | { readonly phase: 'leaving' }
  /** New model requests are refused; admitted ones run on. */
  | {
      readonly phase: 'draining'
      readonly isDrainAcknowledged: boolean
      readonly areRequestsDone: boolean
    }
  /** Requests that still ran have been cancelled. */
  | { readonly phase: 'cancelling' }
  /** Workers close what they own and exit. */
  | { readonly phase: 'closing'; readonly exitCode: ExitCode }
  /** No worker is left that needs them, so the writer and the store of responses close what they own and exit. */
  | { readonly phase: 'closing-services'; readonly exitCode: ExitCode }
  | { readonly phase: 'stopped'; readonly exitCode: ExitCode }

export type LifecycleEvent =
  | { readonly kind: 'preflight-passed' }
  | { readonly kind: 'preflight-failed' }
  | { readonly kind: 'start-accepted' }
  | { readonly kind: 'start-refused' }
  /** Every worker listens. */
  | { readonly kind: 'startup-completed' }
  | { readonly kind: 'startup-failed'; readonly exitCode: ExitCode }
  | { readonly kind: 'catalog-filled' }
  | { readonly kind: 'stop-signal' }
  /** The time in which balancers learn that the gateway stops is over. */
  | { readonly kind: 'grace-over' }
  /** Every worker has acknowledged that it drains. */
  | { readonly kind: 'drain-acknowledged' }
  /** No worker has an admitted request left. */
  | { readonly kind: 'requests-done' }
  | { readonly kind: 'drain-deadline' }
  /** The time that cancelled requests have for their last response is over. */
  | { readonly kind: 'settle-over' }
  /** Every worker process has exited. */
  | { readonly kind: 'workers-exited' }
  /** The writer and the store of responses have exited, or there are none. */
  | { readonly kind: 'services-closed' }
  | { readonly kind: 'cleanup-deadline' }
  | { readonly kind: 'workers-keep-dying' }

export type TimerName = 'grace' | 'drain' | 'settle' | 'cleanup'

export type LifecycleEffect =
  | { readonly kind: 'print-inspect-document' }
  | { readonly kind: 'print-error-document' }
  | { readonly kind: 'start-workers' }
  | { readonly kind: 'announce-startup' }
  | { readonly kind: 'announce-readiness' }
  | { readonly kind: 'announce-shutdown' }
  /** `/ready` becomes 503 in every worker. */
  | { readonly kind: 'withdraw-readiness' }
  | { readonly kind: 'drain-workers' }
  | { readonly kind: 'close-listeners' }
  | { readonly kind: 'cancel-requests' }
  | { readonly kind: 'close-workers' }
  | { readonly kind: 'close-services' }
  /** Kills every child process that has not exited. */
  | { readonly kind: 'kill-processes' }
  | { readonly kind: 'start-timer'; readonly timer: TimerName }
  | { readonly kind: 'exit'; readonly exitCode: ExitCode }

export interface Transition {
  readonly state: LifecycleState
  readonly effects: readonly LifecycleEffect[]
}

const startCleanupTimer: LifecycleEffect = { kind: 'start-timer', timer: 'cleanup' }

type DrainingState = Extract<LifecycleState, { phase: 'draining' }>

export const initialLifecycleState: LifecycleState = { phase: 'not-started' }

/** The next state and the effects of an event. An event that has no meaning in a state changes nothing and has no effect. */
export function advanceLifecycle(state: LifecycleState, event: LifecycleEvent): Transition {
  switch (state.phase) {
    case 'not-started':
      return advanceNotStarted(state, event)
    case 'starting':
      return advanceStarting(state, event)
    case 'live':
      return advanceLive(state, event)
    case 'leaving':
      return advanceLeaving(state, event)
    case 'draining':
      return advanceDraining(state, event)
    case 'cancelling':
      return advanceCancelling(state, event)
    case 'closing':
      return advanceClosing(state, event)
    case 'closing-services':
      return advanceClosingServices(state, event)
    case 'stopped':
      return stay(state)
  }
}

/** The exit code of a gateway that stops before it has started anything. Throws when the event stops no such gateway. */
export function exitCodeBeforeStart(event: LifecycleEvent): ExitCode {
  const { state } = advanceLifecycle(initialLifecycleState, event)
  if (state.phase !== 'stopped') throw new Error(`The event ${event.kind} does not end a gateway that has not started.`)
  return state.exitCode
}

function advanceNotStarted(state: LifecycleState, event: LifecycleEvent): Transition {
  switch (event.kind) {
    case 'preflight-passed':
      return stop(EXIT_CODES.clean, [{ kind: 'print-inspect-document' }])
    case 'preflight-failed':
      return stop(EXIT_CODES.wrongConfiguration, [{ kind: 'print-error-document' }])
    case 'start-refused':
      return stop(EXIT_CODES.wrongConfiguration)
    case 'startup-failed':
      return stop(event.exitCode)
    case 'start-accepted':
      return { state: { phase: 'starting' }, effects: [{ kind: 'start-workers' }] }
    case 'stop-signal':
      return stop(EXIT_CODES.clean)
    default:
      return stay(state)
  }
}

function advanceStarting(state: LifecycleState, event: LifecycleEvent): Transition {
  switch (event.kind) {
    case 'startup-completed':
      return { state: { phase: 'live', isReady: false }, effects: [{ kind: 'announce-startup' }] }
    case 'startup-failed':
      return close(event.exitCode)
    case 'workers-keep-dying':
      return close(EXIT_CODES.workersKeepDying)
    case 'stop-signal':
      // Nothing was admitted yet, so there is nothing to drain.
      return close(EXIT_CODES.clean, [{ kind: 'announce-shutdown' }])
    default:
      return stay(state)
  }
}

function advanceLive(state: LifecycleState, event: LifecycleEvent): Transition {
  switch (event.kind) {
    case 'catalog-filled':
      return { state: { phase: 'live', isReady: true }, effects: [{ kind: 'announce-readiness' }] }
    case 'workers-keep-dying':
      return close(EXIT_CODES.workersKeepDying)
    case 'stop-signal':
      return {
        state: { phase: 'leaving' },
        effects: [
          { kind: 'announce-shutdown' },
          { kind: 'withdraw-readiness' },
          { kind: 'start-timer', timer: 'grace' }
        ]
      }
    default:
      return stay(state)
  }
}

function advanceLeaving(state: LifecycleState, event: LifecycleEvent): Transition {
  switch (event.kind) {
    case 'grace-over':
      return {
        state: { phase: 'draining', isDrainAcknowledged: false, areRequestsDone: false },
        effects: [{ kind: 'drain-workers' }, { kind: 'start-timer', timer: 'drain' }]
      }
    case 'stop-signal':
      return cancel([{ kind: 'drain-workers' }, { kind: 'close-listeners' }])
    case 'workers-keep-dying':
      return close(EXIT_CODES.workersKeepDying)
    default:
      return stay(state)
  }
}

function advanceDraining(state: DrainingState, event: LifecycleEvent): Transition {
  switch (event.kind) {
    case 'drain-acknowledged':
      return continueDraining({ ...state, isDrainAcknowledged: true }, closeListeners(state))
    case 'requests-done':
      return continueDraining({ ...state, areRequestsDone: true })
    case 'workers-exited':
      return closeServices(EXIT_CODES.clean, [startCleanupTimer])
    case 'drain-deadline':
    case 'stop-signal':
      // Without a request that runs, only a late acknowledgement is missing.
      return state.areRequestsDone ? close(EXIT_CODES.clean, closeListeners(state)) : cancel(closeListeners(state))
    default:
      return stay(state)
  }
}

/** Workers close once every worker has acknowledged the drain and no request is left. */
function continueDraining(state: DrainingState, effects: readonly LifecycleEffect[] = []): Transition {
  if (!state.isDrainAcknowledged || !state.areRequestsDone) return { state, effects }
  return close(EXIT_CODES.clean, effects)
}

/** They stay open until every worker refuses model requests, so that none of them admits what another one would refuse. */
function closeListeners({ isDrainAcknowledged }: DrainingState): LifecycleEffect[] {
  return isDrainAcknowledged ? [] : [{ kind: 'close-listeners' }]
}

/** Ends the requests that still run. */
function cancel(before: readonly LifecycleEffect[]): Transition {
  return {
    state: { phase: 'cancelling' },
    effects: [
      ...before,
      { kind: 'cancel-requests' },
      { kind: 'start-timer', timer: 'settle' },
      // One bound for all that follows: the cancelled requests, the workers and the writer.
      startCleanupTimer
    ]
  }
}

function advanceCancelling(state: LifecycleState, event: LifecycleEvent): Transition {
  switch (event.kind) {
    case 'requests-done':
    case 'settle-over':
      return { state: { phase: 'closing', exitCode: EXIT_CODES.clean }, effects: [{ kind: 'close-workers' }] }
    case 'workers-exited':
      return closeServices(EXIT_CODES.clean)
    case 'cleanup-deadline':
      return exceedCleanup(EXIT_CODES.clean)
    default:
      return stay(state)
  }
}

function advanceClosing(state: Extract<LifecycleState, { phase: 'closing' }>, event: LifecycleEvent): Transition {
  switch (event.kind) {
    case 'workers-exited':
      return closeServices(state.exitCode)
    case 'cleanup-deadline':
      return exceedCleanup(state.exitCode)
    default:
      return stay(state)
  }
}

function advanceClosingServices(
  state: Extract<LifecycleState, { phase: 'closing-services' }>,
  event: LifecycleEvent
): Transition {
  switch (event.kind) {
    case 'services-closed':
      return stop(state.exitCode)
    case 'cleanup-deadline':
      return exceedCleanup(state.exitCode)
    default:
      return stay(state)
  }
}

function stay(state: LifecycleState): Transition {
  return { state, effects: [] }
}

function close(exitCode: ExitCode, before: readonly LifecycleEffect[] = []): Transition {
  return {
    state: { phase: 'closing', exitCode },
    effects: [...before, { kind: 'close-workers' }, startCleanupTimer]
  }
}

function closeServices(exitCode: ExitCode, before: readonly LifecycleEffect[] = []): Transition {
  return { state: { phase: 'closing-services', exitCode }, effects: [...before, { kind: 'close-services' }] }
}

/** A process that ends for another reason keeps that exit code. */
function exceedCleanup(exitCode: ExitCode): Transition {
  const code = exitCode === EXIT_CODES.clean ? EXIT_CODES.cleanupExceeded : exitCode
  return stop(code, [{ kind: 'kill-processes' }])
}

function stop(exitCode: ExitCode, before: readonly LifecycleEffect[] = []): Transition {
  return { state: { phase: 'stopped', exitCode }, effects: [...before, { kind: 'exit', exitCode }] }
}
