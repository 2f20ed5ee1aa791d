// What a request of a limited key keeps of its limits while it runs (keys.md 2 and 3).
import type { LeaseAmounts, Meters } from '../../shared/limits/leases.ts'

/** What a client may be told. */
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

/** The same, for the code that leads the request to its provider. */
export interface RunningLimitState extends LimitState {
  /** Whether the key has a limit of tokens or a budget: both are settled by an estimate where a provider counts nothing. */
  readonly needsEstimate: boolean
  /** An attempt to call the provider begins. */
  attemptStarted(): void
  /** An attempt has ended. `status`: of the response, or the one that an error in its content states. */
  attemptEnded(outcome: { readonly wasSent: boolean; readonly status: number | undefined }): void
}
