// Drives the lifecycle of a running gateway: takes its events one by one, runs its timers and calls the step of each effect.
import type { ExitCode } from './exit-codes.ts'
import {
  advanceLifecycle,
  initialLifecycleState,
  type LifecycleEffect,
  type LifecycleEvent,
  type LifecycleState,
  type TimerName
} from './lifecycle.ts'

type PreflightKind = 'print-inspect-document' | 'print-error-document'

/** An effect that the gateway carries out. */
export type LifecycleStep = Exclude<LifecycleEffect['kind'], 'start-timer' | 'exit' | PreflightKind>

/** What each effect does; `Names` are the effects of one part of the supervisor. */
export type LifecycleSteps<Names extends LifecycleStep = LifecycleStep> = Readonly<Record<Names, () => void>>

export interface LifecycleRunnerOptions {
  readonly steps: LifecycleSteps
  readonly timersMs: Readonly<Record<TimerName, number>>
  /** Called once, after the last step; no timer runs any more. */
  readonly onExit: (exitCode: ExitCode) => void
}

export interface LifecycleRunner {
  readonly state: LifecycleState
  dispatch(event: LifecycleEvent): void
}

const timerEvents = {
  grace: { kind: 'grace-over' },
  drain: { kind: 'drain-deadline' },
  settle: { kind: 'settle-over' },
  cleanup: { kind: 'cleanup-deadline' }
} as const satisfies Record<TimerName, LifecycleEvent>

export function createLifecycleRunner({ steps, timersMs, onExit }: LifecycleRunnerOptions): LifecycleRunner {
  const waiting: LifecycleEvent[] = []
  const timers: NodeJS.Timeout[] = []
  let isDispatching = false
  let state = initialLifecycleState

  /** A step may cause the next event at once; that one waits until all steps of this one are done. */
  function dispatch(event: LifecycleEvent): void {
    waiting.push(event)
    if (isDispatching) return
    isDispatching = true
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const transition = advanceLifecycle(state, next)
      state = transition.state
      for (const effect of transition.effects) apply(effect)
    }
    isDispatching = false
  }

  function apply(effect: LifecycleEffect): void {
    switch (effect.kind) {
      case 'start-timer': {
        const { timer } = effect
        timers.push(setTimeout(() => dispatch(timerEvents[timer]), timersMs[timer]))
        break
      }
      case 'exit':
        for (const timer of timers) clearTimeout(timer)
        onExit(effect.exitCode)
        break
      case 'print-inspect-document':
      case 'print-error-document':
        throw new Error('A running gateway prints no preflight document.')
      default:
        steps[effect.kind]()
    }
  }

  return {
    get state() {
      return state
    },
    dispatch
  }
}
