// A wait that ends. Every wait has a deadline, and a timer that is not needed any more must not keep a process alive.

/**
 * Resolves with what `work` resolves with, or with `expired` after so many milliseconds; rejects like `work`. The work itself goes on, and
 * what becomes of it after the deadline is ignored.
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
