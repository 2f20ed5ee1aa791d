// The counters of a limited key as the SDKs of completions and Responses read them (keys.md 2).
import type { Meter, Meters } from '../../../../shared/limits/leases.ts'

/** What the headers of a counter are called, by the counter. */
const HEADER_NAMES = {
  requests: ['x-ratelimit-limit-requests', 'x-ratelimit-remaining-requests', 'x-ratelimit-reset-requests'],
  tokens: ['x-ratelimit-limit-tokens', 'x-ratelimit-remaining-tokens', 'x-ratelimit-reset-tokens']
} as const

/** Names and values in turn; none for a limit that the key does not have. */
export function writeLimitHeaders({ requests, tokens }: Meters): string[] {
  return [...writeMeter(HEADER_NAMES.requests, requests), ...writeMeter(HEADER_NAMES.tokens, tokens)]
}

function writeMeter(
  [limit, remaining, reset]: (typeof HEADER_NAMES)[keyof typeof HEADER_NAMES],
  meter: Meter | undefined
): string[] {
  if (meter === undefined) return []
  return [limit, String(meter.limit), remaining, String(meter.remaining), reset, writeDuration(meter.resetMs)]
}

/** A duration in the form of the public service, which is that of Go: `250ms`, `1s`, `59.5s`, `6m0s`, `1h0m0s`. */
export function writeDuration(durationMs: number): string {
  if (durationMs > 0 && durationMs < 1000) return `${durationMs}ms`
  const minutes = Math.floor(durationMs / 60_000)
  const seconds = `${(durationMs - minutes * 60_000) / 1000}s`
  if (minutes === 0) return seconds
  const hours = Math.floor(minutes / 60)
  return hours === 0 ? `${minutes}m${seconds}` : `${hours}h${minutes - hours * 60}m${seconds}`
}
