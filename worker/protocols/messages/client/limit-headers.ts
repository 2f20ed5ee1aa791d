// The counters of a limited key as the SDKs of the messages protocol read them (keys.md 2).
import type { Meter, Meters } from '../../../../shared/limits/leases.ts'

/** What the headers of a counter are called, by the counter. */
const HEADER_NAMES = {
  requests: [
    'anthropic-ratelimit-requests-limit',
    'anthropic-ratelimit-requests-remaining',
    'anthropic-ratelimit-requests-reset'
  ],
  tokens: [
    'anthropic-ratelimit-tokens-limit',
    'anthropic-ratelimit-tokens-remaining',
    'anthropic-ratelimit-tokens-reset'
  ]
} as const

/**
 * Names and values in turn; none for a limit that the key does not have.
 * @param nowMs milliseconds since the epoch: these headers name the time at which the whole limit is free.
 */
export function writeMessagesLimitHeaders({ requests, tokens }: Meters, nowMs: number): string[] {
  return [...writeMeter(HEADER_NAMES.requests, requests, nowMs), ...writeMeter(HEADER_NAMES.tokens, tokens, nowMs)]
}

function writeMeter(
  [limit, remaining, reset]: (typeof HEADER_NAMES)[keyof typeof HEADER_NAMES],
  meter: Meter | undefined,
  nowMs: number
): string[] {
  if (meter === undefined) return []
  return [limit, String(meter.limit), remaining, String(meter.remaining), reset, writeTime(nowMs + meter.resetMs)]
}

/** The time in whole seconds of RFC 3339, as the public service writes it; never one before it. */
function writeTime(epochMs: number): string {
  return new Date(Math.ceil(epochMs / 1000) * 1000).toISOString().replace('.000Z', 'Z')
}
