// A wait with a deadline, whose timer does not keep a process alive.

/**
 * Resolves or rejects like `work`, or resolves with `expired` at the deadline. The work is not
 * cancelled; its result after the deadline is ignored.
 */
export function withDeadline<Result>(work: Promise<Result>, ms: number): Promise<Result | undefined>
export function withDeadline<Result, Expired>(
  work: Promise<Result>,
  ms: number,
  expired: Expired
): Promise<Result | Expired>
export async function withDeadline(work: Promise<unknown>, ms: number, expired?: unknown): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<unknown>()
  const timer = setTimeout(resolve, ms, expired)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Divides one bound among steps that follow each other. The function that it returns says how long a step may take that wants so many
 * milliseconds: less, when earlier ones have used up the whole, but never less than `leastMs`.
 */
export function shareDeadline(
  wholeMs: number,
  nowMs = () => performance.now()
): (ms: number, leastMs?: number) => number {
  const endMs = nowMs() + wholeMs
  return (ms, leastMs = 0) => Math.max(leastMs, Math.min(ms, endMs - nowMs()))
}
