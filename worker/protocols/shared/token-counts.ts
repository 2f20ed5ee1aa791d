// Reads single token counts of external providers. A count that a provider does not report is null, not zero.

import { GatewayError } from '../../normalized/index.ts'

/** Reads a count; null when it is missing or null. Raises `provider_protocol_error` for any other value (bridge.md 8.4). */
export function readCount(value: unknown): number | null {
  if (value === undefined || value === null) return null
  if (!isCount(value)) throw invalidUsage()
  return value
}

/** Reads a part of a count. It is no reason to refuse a response, so that any other value counts as not reported. */
export function readDetail(value: unknown): number | null {
  return isCount(value) ? value : null
}

/** A part is at most its whole, so that clients can subtract it. */
export function limitPart(part: number | null, whole: number | null): number | null {
  return part === null || whole === null ? part : Math.min(part, whole)
}

/** The error of usage that cannot be read. */
export function invalidUsage(): GatewayError {
  return new GatewayError('provider_protocol_error', { cause: 'invalid_usage' })
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
