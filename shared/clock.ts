// The clocks of a process, passed in so that tests can set them.

export interface Clock {
  /** Milliseconds since the epoch. */
  nowMs(): number
  /** Milliseconds of a clock that never goes back, for durations. */
  monotonicMs(): number
}

export const systemClock: Clock = { nowMs: Date.now, monotonicMs: () => performance.now() }
