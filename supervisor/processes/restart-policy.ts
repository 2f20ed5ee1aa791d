// Decides whether a process that has exited is started again, and when: soon after a single exit, later after several in a row, not
// at all when exits keep coming.

export interface RestartPolicy {
  /** Upper bound of the first delay. */
  readonly firstDelayMs: number
  readonly longestDelayMs: number
  /** A process that ran this long starts a new count of exits in a row. */
  readonly stableUptimeMs: number
  /** Exits of all processes under one budget within this time are counted together. */
  readonly windowMs: number
  readonly exitsInWindowMax: number
}

/** Sized so that one crash is repaired at once, and a build that cannot run gives up within about a minute. */
export function createRestartPolicy(workerCount: number): RestartPolicy {
  return {
    firstDelayMs: 100,
    longestDelayMs: 30_000,
    stableUptimeMs: 60_000,
    windowMs: 60_000,
    // A gateway of several workers outlives one that is killed every five seconds.
    exitsInWindowMax: Math.max(8, workerCount * 6)
  }
}

export interface ProcessExits {
  /** Times of earlier exits under the same budget, and of this one, in milliseconds. */
  readonly exitTimesMs: readonly number[]
  readonly nowMs: number
  /** Exits of this process in a row, this one included. */
  readonly exitsInRow: number
  /** 0 inclusive to 1 exclusive. */
  readonly random: number
}

export type RestartDecision = { readonly kind: 'restart'; readonly delayMs: number } | { readonly kind: 'give-up' }

/** Exponential back-off with full jitter, so that processes that exited together do not start together. */
export function decideRestart(policy: RestartPolicy, exits: ProcessExits): RestartDecision {
  const recentExits = exits.exitTimesMs.filter(time => exits.nowMs - time < policy.windowMs)
  if (recentExits.length > policy.exitsInWindowMax) return { kind: 'give-up' }
  const ceilingMs = Math.min(policy.longestDelayMs, policy.firstDelayMs * 2 ** Math.max(0, exits.exitsInRow - 1))
  return { kind: 'restart', delayMs: Math.floor(exits.random * ceilingMs) }
}

/** How many exits in a row a process has after one more exit with the given uptime. */
export function countExitsInRow(policy: RestartPolicy, earlier: number, uptimeMs: number): number {
  return uptimeMs >= policy.stableUptimeMs ? 1 : earlier + 1
}

/** Counts the exits of several processes together, so that a crash loop of many gives up as soon as that of one. */
export interface RestartBudget {
  readonly policy: RestartPolicy
  /** Takes one exit into account; `exitsInRow` are those of the process that exited. */
  spend(exitsInRow: number): RestartDecision
}

export function createRestartBudget(
  dependencies: { readonly nowMs: () => number; readonly random: () => number },
  policy: RestartPolicy
): RestartBudget {
  let exitTimesMs: number[] = []
  return {
    policy,
    spend(exitsInRow) {
      const nowMs = dependencies.nowMs()
      exitTimesMs = [...exitTimesMs.filter(time => nowMs - time < policy.windowMs), nowMs]
      return decideRestart(policy, { exitTimesMs, nowMs, exitsInRow, random: dependencies.random() })
    }
  }
}
