// What a request of a limited key keeps of its limits while it runs (keys.md 2 and 3).
import type { LeaseAmounts, Meters } from '../../shared/limits/leases.ts'

export interface LimitState {
  /** The name of the key. */
  readonly key: string
  /** What was taken for the request; undefined for one that was not admitted. */
  readonly reserved: LeaseAmounts | undefined
  /**
   * The counters per minute of the key as of now, as far as this worker knows them: `remaining` has what the worker itself holds and has not
   * used. Undefined before the first answer of the supervisor.
   */
  readMeters(): Meters | undefined
}
