// The life of the gateway process as a pure state machine: (state, event) gives (state, effects). It is the table of the
// specification, section 3.1, with the drain sequence of the bridge contract, section 9.3.
import { EXIT_CODES, type ExitCode } from './exit-codes.ts'

export type LifecycleState =
  | { readonly phase: 'not-started' }
  | { readonly phase: 'starting' }
  /** Serving. Ready says whether a model catalog was ever seen, which is what `/ready` waits for. */
  | { readonly phase: 'live'; readonly isReady: boolean }
  /** No new model requests; admitted ones go on. */
  | {
      readonly phase: 'draining'
      readonly areListenersOpen: boolean
      readonly areWorkersTold: boolean
      readonly isGraceOver: boolean
      readonly areRequestsDone: boolean
    }
  /** What still ran was told to end. */
  | { readonly phase: 'cancelling' }
  /** Workers close what they own. */
  | { readonly phase: 'closing'; readonly exitCode: ExitCode }
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
  /** Every worker says that its readiness is false. */
  | { readonly kind: 'workers-told' }
  | { readonly kind: 'grace-over' }
  /** No worker has an admitted request left. */
  | { readonly kind: 'requests-done' }
  | { readonly kind: 'drain-deadline' }
  /** Cancelled requests had their time to answer. */
  | { readonly kind: 'settle-over' }
  /** No worker process is left. */
  | { readonly kind: 'workers-gone' }
  | { readonly kind: 'cleanup-deadline' }
  | { readonly kind: 'workers-keep-dying' }

export type TimerName = 'grace' | 'drain' | 'settle' | 'cleanup'

export type LifecycleEffect =
  | { readonly kind: 'print-inspect-document' }
  | { readonly kind: 'print-error-document' }
  | { readonly kind: 'start-workers' }
  | { readonly kind: 'announce-startup' }
  | { readonly kind: 'announce-shutdown' }
  | { readonly kind: 'tell-workers-to-drain' }
  | { readonly kind: 'close-listeners' }
  | { readonly kind: 'cancel-requests' }
  | { readonly kind: 'close-workers' }
  | { readonly kind: 'kill-workers' }
  | { readonly kind: 'start-timer'; readonly timer: TimerName }
  | { readonly kind: 'exit'; readonly exitCode: ExitCode }

export interface Transition {
  readonly state: LifecycleState
  readonly effects: readonly LifecycleEffect[]
}

type DrainingState = Extract<LifecycleState, { phase: 'draining' }>

export const initialLifecycleState: LifecycleState = { phase: 'not-started' }

/** What an event does in a state. An event that means nothing there changes nothing and has no effect. */
export function advanceLifecycle(state: LifecycleState, event: LifecycleEvent): Transition {
  switch (state.phase) {
    case 'not-started':
      return advanceNotStarted(state, event)
    case 'starting':
      return advanceStarting(state, event)
    case 'live':
      return advanceLive(state, event)
    case 'draining':
      return advanceDraining(state, event)
    case 'cancelling':
      return advanceCancelling(state, event)
    case 'closing':
      return advanceClosing(state, event)
    case 'stopped':
      return stay(state)
  }
}

/** The exit code of a gateway that ends with an event before it started anything. */
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
      return { state: { phase: 'live', isReady: true }, effects: [] }
    case 'workers-keep-dying':
      return close(EXIT_CODES.workersKeepDying)
    case 'stop-signal':
      return {
        state: {
          phase: 'draining',
          areListenersOpen: true,
          areWorkersTold: false,
          isGraceOver: false,
          areRequestsDone: false
        },
        effects: [
          { kind: 'announce-shutdown' },
          { kind: 'tell-workers-to-drain' },
          { kind: 'start-timer', timer: 'grace' },
          { kind: 'start-timer', timer: 'drain' }
        ]
      }
    default:
      return stay(state)
  }
}

function advanceDraining(state: DrainingState, event: LifecycleEvent): Transition {
  switch (event.kind) {
    case 'workers-told':
      return continueDraining({ ...state, areWorkersTold: true })
    case 'grace-over':
      return continueDraining({ ...state, isGraceOver: true })
    case 'requests-done':
      return continueDraining({ ...state, areRequestsDone: true })
    case 'workers-gone':
      return stop(EXIT_CODES.clean)
    case 'drain-deadline':
    case 'stop-signal':
      return {
        state: { phase: 'cancelling' },
        effects: [
          ...(state.areListenersOpen ? [{ kind: 'close-listeners' } as const] : []),
          { kind: 'cancel-requests' },
          { kind: 'start-timer', timer: 'settle' },
          // From here on the whole rest has one bound.
          { kind: 'start-timer', timer: 'cleanup' }
        ]
      }
    default:
      return stay(state)
  }
}

/** Listeners close once every worker is told and the grace is over; closing follows when no request is left. */
function continueDraining(state: DrainingState): Transition {
  if (!state.areWorkersTold || !state.isGraceOver) return { state, effects: [] }
  const effects: LifecycleEffect[] = state.areListenersOpen ? [{ kind: 'close-listeners' }] : []
  if (!state.areRequestsDone) return { state: { ...state, areListenersOpen: false }, effects }
  return close(EXIT_CODES.clean, effects)
}

function advanceCancelling(state: LifecycleState, event: LifecycleEvent): Transition {
  switch (event.kind) {
    case 'requests-done':
    case 'settle-over':
      return { state: { phase: 'closing', exitCode: EXIT_CODES.clean }, effects: [{ kind: 'close-workers' }] }
    case 'workers-gone':
      return stop(EXIT_CODES.clean)
    case 'cleanup-deadline':
      return stop(EXIT_CODES.cleanupExceeded, [{ kind: 'kill-workers' }])
    default:
      return stay(state)
  }
}

function advanceClosing(state: Extract<LifecycleState, { phase: 'closing' }>, event: LifecycleEvent): Transition {
  switch (event.kind) {
    case 'workers-gone':
      return stop(state.exitCode)
    case 'cleanup-deadline': {
      // A process that fails for another reason keeps that reason.
      const exitCode = state.exitCode === EXIT_CODES.clean ? EXIT_CODES.cleanupExceeded : state.exitCode
      return stop(exitCode, [{ kind: 'kill-workers' }])
    }
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
    effects: [...before, { kind: 'close-workers' }, { kind: 'start-timer', timer: 'cleanup' }]
  }
}

function stop(exitCode: ExitCode, before: readonly LifecycleEffect[] = []): Transition {
  return { state: { phase: 'stopped', exitCode }, effects: [...before, exit(exitCode)] }
}

function exit(exitCode: ExitCode): LifecycleEffect {
  return { kind: 'exit', exitCode }
}
