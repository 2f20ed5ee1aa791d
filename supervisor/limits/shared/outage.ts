// Whether the place of shared counters can be reached, and what happens while it cannot (keys.md 3).
import type { Logger } from '../../../shared/logging.ts'

/** `local`: this host counts alone. `refuse`: requests of keys with limits are refused. */
export type OutageMode = 'local' | 'refuse'

export interface Outage {
  readonly isOut: boolean
  readonly mode: OutageMode
  /** When the current or the last outage began, by the clock of grants. */
  readonly sinceMs: number
  /** An exchange has ended, with an answer or without one. */
  report(wasAnswered: boolean): void
  /** Calls the listener at the end of each outage. */
  onOver(listener: () => void): void
}

export interface OutageDependencies {
  readonly log: Logger
  readonly nowMs: () => number
}

export function createOutage({ log, nowMs }: OutageDependencies, mode: OutageMode): Outage {
  const listeners: Array<() => void> = []
  let isOut = false
  let sinceMs = Number.NEGATIVE_INFINITY
  return {
    get isOut() {
      return isOut
    },
    get sinceMs() {
      return sinceMs
    },
    mode,
    report(wasAnswered) {
      if (isOut === !wasAnswered) return
      isOut = !wasAnswered
      if (isOut) {
        sinceMs = nowMs()
        const effect = mode === 'local' ? 'this host counts alone' : 'requests of keys with limits are refused'
        log.warn(
          { event: 'limits_outage', mode },
          `The shared place of limits gives no answer; until it does, ${effect}`
        )
        return
      }
      const durationMs = Math.round(nowMs() - sinceMs)
      log.info({ event: 'limits_outage_over', duration_ms: durationMs }, 'The shared place of limits answers again')
      for (const listener of listeners) listener()
    },
    onOver(listener) {
      listeners.push(listener)
    }
  }
}
