// The counters per minute of one key as a client may see them between two answers of the supervisor.
import type { LeaseAmounts, Meter, Meters } from '../../shared/limits/leases.ts'

export interface KeyMeters {
  /** The supervisor has said what is left, and has granted `granted` besides. */
  note(meters: Meters, granted: LeaseAmounts, nowMs: number): void
  /** A request takes this much, or gives it back where it is negative. */
  take(amounts: Pick<LeaseAmounts, 'requests' | 'tokens'>): void
  /** Undefined before the first answer. */
  read(nowMs: number): Meters | undefined
}

interface NotedMeters {
  readonly meters: Meters
  readonly atMs: number
  /** What was granted with the answer and taken since. */
  readonly held: { requests: number; tokens: number }
}

export function createKeyMeters(): KeyMeters {
  let noted: NotedMeters | undefined
  return {
    note(meters, { requests, tokens }, nowMs) {
      noted = { meters, atMs: nowMs, held: { requests, tokens } }
    },
    take({ requests, tokens }) {
      if (noted === undefined) return
      noted.held.requests -= requests
      noted.held.tokens -= tokens
    },
    read(nowMs) {
      if (noted === undefined) return undefined
      const { meters, atMs, held } = noted
      const elapsedMs = nowMs - atMs
      return {
        ...(meters.requests && { requests: readMeter(meters.requests, held.requests, elapsedMs) }),
        ...(meters.tokens && { tokens: readMeter(meters.tokens, held.tokens, elapsedMs) })
      }
    }
  }
}

function readMeter({ limit, remaining, resetMs }: Meter, held: number, elapsedMs: number): Meter {
  // All that counted then has left the window since.
  if (elapsedMs >= resetMs && resetMs > 0) return { limit, remaining: limit, resetMs: 0 }
  return {
    limit,
    remaining: Math.min(limit, Math.max(0, remaining + held)),
    resetMs: Math.max(0, Math.ceil(resetMs - elapsedMs))
  }
}
