// When a failed call is attempted again, and after how long (upstream.md 1.6; decisions.md 112). Off unless the settings or the profile ask
// for it.

import type { CallFailure } from './call-failure.ts'

export interface RetryPolicy {
  /** Attempts after the first one; 0 switches retries off. */
  retriesMax: number
  /** Before the first retry; doubled for each further one. */
  backoffMs: number
  /** Upper end of the random part of a delay: it spreads the retries of calls that failed at the same time. */
  jitterMsMax: number
  /** Statuses of the provider that are retried. */
  statuses: readonly number[]
  /** Statuses whose `retry-after` replaces the delay; undefined: every one's. */
  waitStatuses?: readonly number[]
  /** Longest delay. When the provider asks for a longer one, the client gets the failure and its `retry-after` at once. */
  delayMsMax: number
  /** Of the failures without a status only refused and reset connections, and not what a response holds. */
  isStrict: boolean
}

/** The policy of the settings, for the native upstream. */
export function createSettingsRetries(settings: {
  retriesMax: number
  backoffSeconds: number
  statuses: readonly number[]
}): RetryPolicy {
  const { retriesMax, backoffSeconds, statuses } = settings
  return {
    retriesMax,
    backoffMs: backoffSeconds * 1000,
    jitterMsMax: 500,
    statuses,
    waitStatuses: [429, 503],
    delayMsMax: 60_000,
    isStrict: false
  }
}

/** The policy of a profile's `retries`. */
export function createProfileRetries(retriesMax: number): RetryPolicy {
  return {
    retriesMax,
    backoffMs: 250,
    jitterMsMax: 125,
    statuses: [429, 502, 503, 504, 529],
    delayMsMax: 5_000,
    isStrict: true
  }
}

type Failure = Pick<CallFailure, 'status' | 'retryAfter' | 'isRetryable' | 'isBrokenConnection' | 'error'>

/**
 * Returns the delay before the next attempt after a failure, or undefined when the failure is final.
 * `attempt` is the number of the failed attempt, 0 for the first.
 */
export function decideRetry(
  failure: Failure,
  attempt: number,
  policy: RetryPolicy,
  clock: { nowMs: number; random: () => number }
): { delayMs: number } | undefined {
  if (attempt >= policy.retriesMax || !failure.isRetryable || !mayRepeat(failure, policy)) return undefined
  const askedMs = readWait(failure, policy, clock.nowMs)
  if (askedMs !== undefined && askedMs > 0) {
    return askedMs > policy.delayMsMax ? undefined : { delayMs: askedMs }
  }
  const backoffMs = policy.backoffMs * 2 ** attempt + clock.random() * policy.jitterMsMax
  return { delayMs: Math.min(policy.delayMsMax, backoffMs) }
}

function mayRepeat(failure: Failure, { statuses, isStrict }: RetryPolicy): boolean {
  if (failure.status !== null) return statuses.includes(failure.status)
  if (!isStrict || failure.isBrokenConnection) return true
  // The provider's own error as the first event of a stream that the client has seen nothing of.
  const stated = failure.error.upstreamStatus
  return typeof stated === 'number' && statuses.includes(stated)
}

function readWait(failure: Failure, { waitStatuses }: RetryPolicy, nowMs: number): number | undefined {
  const { status, retryAfter } = failure
  const counts = waitStatuses === undefined || (status !== null && waitStatuses.includes(status))
  return counts && retryAfter !== undefined ? readRetryAfter(retryAfter, nowMs) : undefined
}

/** The milliseconds of a `Retry-After`: a number of seconds or an HTTP date. Undefined when it is neither. */
export function readRetryAfter(text: string, nowMs: number): number | undefined {
  const trimmed = text.trim()
  if (/^\d+(\.\d+)?$/.test(trimmed)) return Number(trimmed) * 1000
  // Only the form of an HTTP date: Date.parse alone also reads "5" and "2020" as dates.
  if (!/^[A-Za-z]{3,9},? .+ GMT$/.test(trimmed)) return undefined
  const dateMs = Date.parse(trimmed)
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs)
}
