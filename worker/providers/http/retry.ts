// When a failed call is tried again, and after how long (upstream contract, section 1.6). Off unless the settings ask for it.

import type { CancelSignal } from '../../performance/cancel-source.ts'
import { delay } from './abort.ts'
import { CallFailure } from './call-failure.ts'

export interface RetryPolicy {
  /** Further tries after the first; 0 switches retries off. */
  retriesMax: number
  backoffSeconds: number
  statuses: readonly number[]
}

/** Longest delay. A server that asks for more is not waited for: the client gets its answer and its `retry-after` at once. */
export const RETRY_DELAY_MS_MAX = 60_000

/** Upper end of the random part of a delay, so that clients that failed together do not come back together. */
const JITTER_MS_MAX = 500

/**
 * Decides about one failure: the delay before the next try, or undefined when it is final.
 * `attempt` counts the tries that were made, from 0 for the first.
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

/** Milliseconds that a `Retry-After` asks for: a number of seconds or an HTTP date. Undefined when it is neither. */
export function readRetryAfter(text: string, nowMs: number): number | undefined {
  const trimmed = text.trim()
  if (/^\d+(\.\d+)?$/.test(trimmed)) return Number(trimmed) * 1000
  // A date in HTTP's own form; Date.parse alone would also read "5" or "2020" as one.
  if (!/^[A-Za-z]{3,9},? .+ GMT$/.test(trimmed)) return undefined
  const dateMs = Date.parse(trimmed)
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs)
}

export interface RetryDependencies {
  signal: CancelSignal
  now: () => number
  random: () => number
  /** False once a retry would repeat what a client has seen, or when the executor is being shut down. */
  canRetry?: () => boolean
}

/**
 * Runs a call until it works or its failure is final, and rejects with that failure.
 * `run` gets the number of tries before it. The delay ends at once when the signal is aborted.
 */
export async function withRetries<T>(
  run: (attempt: number) => Promise<T>,
  policy: RetryPolicy,
  dependencies: RetryDependencies
): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await run(attempt)
    } catch (thrown) {
      if (!(thrown instanceof CallFailure) || dependencies.canRetry?.() === false) throw thrown
      const next = decideRetry(thrown, attempt, policy, { nowMs: dependencies.now(), random: dependencies.random })
      if (next === undefined) throw thrown
      await delay(next.delayMs, dependencies.signal)
    }
  }
}
