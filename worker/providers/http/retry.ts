// When a failed call is attempted again, and after how long (upstream.md 1.6). Off unless the
// settings ask for it.

import type { CallFailure } from './call-failure.ts'

export interface RetryPolicy {
  /** Attempts after the first one; 0 switches retries off. */
  retriesMax: number
  backoffSeconds: number
  statuses: readonly number[]
}

/** Longest delay. When the provider asks for a longer one, the client gets the failure and its `retry-after` at once. */
const RETRY_DELAY_MS_MAX = 60_000

/** Upper end of the random part of a delay: it spreads the retries of calls that failed at the same time. */
const JITTER_MS_MAX = 500

/**
 * Returns the delay before the next attempt after a failure, or undefined when the failure is final.
 * `attempt` is the number of the failed attempt, 0 for the first.
 */
export function decideRetry(
  failure: Pick<CallFailure, 'status' | 'retryAfter' | 'isRetryable'>,
  attempt: number,
  policy: RetryPolicy,
  clock: { nowMs: number; random: () => number }
): { delayMs: number } | undefined {
  if (attempt >= policy.retriesMax || !failure.isRetryable) return undefined
  if (failure.status !== null && !policy.statuses.includes(failure.status)) return undefined
  const asked = failure.status === 429 || failure.status === 503 ? failure.retryAfter : undefined
  const askedMs = asked === undefined ? undefined : readRetryAfter(asked, clock.nowMs)
  if (askedMs !== undefined && askedMs > 0) {
    return askedMs > RETRY_DELAY_MS_MAX ? undefined : { delayMs: askedMs }
  }
  const backoffMs = policy.backoffSeconds * 1000 * 2 ** attempt + clock.random() * JITTER_MS_MAX
  return { delayMs: Math.min(RETRY_DELAY_MS_MAX, backoffMs) }
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
