// Decides whether a dead worker is replaced, and when: soon after a single death, later after several, not at all when they keep dying.

export interface RestartPolicy {
  /** Upper bound of the first pause. */
  readonly firstDelayMs: number
  readonly longestDelayMs: number
  /** A worker that lived this long starts a new count of deaths in a row. */
  readonly stableUptimeMs: number
  /** Deaths of all workers within this time are counted together. */
  readonly windowMs: number
  readonly deathsInWindowMax: number
}

/** Sized so that one crash is repaired at once, and a build that cannot run gives up within about a minute. */
export function createRestartPolicy(workerCount: number): RestartPolicy {
  return {
    firstDelayMs: 100,
    longestDelayMs: 30_000,
    stableUptimeMs: 60_000,
    windowMs: 60_000,
    deathsInWindowMax: Math.max(8, workerCount * 3)
  }
}

export interface WorkerDeath {
  /** Times of earlier deaths of any worker, and of this one, in milliseconds. */
  readonly deathTimesMs: readonly number[]
  readonly nowMs: number
  /** Deaths of this worker in a row, this one included. */
  readonly deathsInRow: number
  /** 0 inclusive to 1 exclusive. */
  readonly random: number
}

export type RestartDecision = { readonly kind: 'restart'; readonly delayMs: number } | { readonly kind: 'give-up' }

/** Exponential back-off with full jitter, so that workers that died together do not come back together. */
export function decideRestart(policy: RestartPolicy, death: WorkerDeath): RestartDecision {
  const recentDeaths = death.deathTimesMs.filter(time => death.nowMs - time < policy.windowMs)
  if (recentDeaths.length > policy.deathsInWindowMax) return { kind: 'give-up' }
  const ceilingMs = Math.min(policy.longestDelayMs, policy.firstDelayMs * 2 ** Math.max(0, death.deathsInRow - 1))
  return { kind: 'restart', delayMs: Math.floor(death.random * ceilingMs) }
}

/** How many deaths in a row a worker has after dying once more with the given uptime. */
export function countDeathsInRow(policy: RestartPolicy, earlier: number, uptimeMs: number): number {
  return uptimeMs >= policy.stableUptimeMs ? 1 : earlier + 1
}
