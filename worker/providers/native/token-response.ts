// The response of a token endpoint as a token with its expiry (upstream.md 2.1 and 2.2).

import { Secret } from '../../../shared/secrets/secret.ts'

export interface NativeToken {
  value: Secret
  /** Milliseconds since the epoch; undefined when the response did not say. */
  expiresAtMs: number | undefined
}

/**
 * Reads `{"access_token","expires_at"}`, or `{"tok","exp"}` which wins where both stand. Returns undefined for anything that
 * holds no token.
 */
export function readTokenResponse(body: unknown): NativeToken | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const members = new Map<string, unknown>(Object.entries(body))
  const isShort = isText(members.get('tok'))
  const token = members.get(isShort ? 'tok' : 'access_token')
  if (!isText(token)) return undefined
  return { value: new Secret(token), expiresAtMs: readExpiry(members.get(isShort ? 'exp' : 'expires_at')) }
}

/**
 * Up to here a time is in seconds: in milliseconds it would lie in April 1970 (decisions.md 36).
 */
const SECONDS_MAX = 10 ** 10

function readExpiry(value: unknown): number | undefined {
  const time = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  if (typeof time !== 'number' || !Number.isFinite(time) || time <= 0) return undefined
  return time < SECONDS_MAX ? time * 1000 : time
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
