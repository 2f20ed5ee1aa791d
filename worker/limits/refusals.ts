// The errors of requests that their limits do not admit (keys.md 2). A message names the key, the limit and when the request fits again.
import { type KeyLimits, LIMIT_MEMBERS } from '../../shared/keys/key-limits.ts'
import type { Limits } from '../../shared/keys/key-set.ts'
import type { LeaseRefusal } from '../../shared/limits/leases.ts'
import { GatewayError } from '../normalized/index.ts'

export interface RefusedRequest {
  readonly key: { readonly name: string; readonly limits: KeyLimits }
  readonly refusal: LeaseRefusal
  /** What it was to reserve. */
  readonly tokens: number
  /** Milliseconds since the epoch. */
  readonly nowMs: number
}

export function refuseRequest({ key, refusal, tokens, nowMs }: RefusedRequest): GatewayError {
  const { limit, holder, retryAfterMs } = refusal
  const limits = key.limits[holder]
  const who = holder === 'key' ? `The API key '${key.name}'` : `The group of the API key '${key.name}'`
  return new GatewayError(limit === 'budget' ? 'budget_exceeded' : 'rate_limit_exceeded', {
    message: `${who} ${describe(refusal, limits, tokens)} ${describeWait(refusal, nowMs)}`,
    retryAfter: waitSeconds(refusal)?.toString(),
    limit: { name: limit, holder, key: key.name, amount: readAmount(limit, limits), retryAfterMs }
  })
}

/** The counters cannot be read, and the operator wants requests refused then. */
export function refuseUnavailable(): GatewayError {
  return new GatewayError('limits_unavailable', { retryAfter: '1' })
}

/**
 * SDKs ignore a `retry-after` above a minute, some also one of exactly a minute, and try again at once. A window is a little longer
 * than a minute, because leases count in it: a client that needs a whole window gets the rest of the wait with its next refusal.
 */
const WINDOW_RETRY_MAX_S = 59

function toSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000))
}

function waitSeconds({ limit, retryAfterMs }: LeaseRefusal): number | undefined {
  if (retryAfterMs === null) return undefined
  const seconds = toSeconds(retryAfterMs)
  return limit === 'budget' ? seconds : Math.min(seconds, WINDOW_RETRY_MAX_S)
}

function readAmount(limit: LeaseRefusal['limit'], limits: Limits): number {
  const value = limits[LIMIT_MEMBERS[limit]] ?? 0
  return typeof value === 'number' ? value : value.amount
}

function describe({ limit }: LeaseRefusal, limits: Limits, tokens: number): string {
  const amount = readAmount(limit, limits)
  switch (limit) {
    case 'requests_per_minute':
      return `has reached its limit of ${amount} requests per minute.`
    case 'tokens_per_minute':
      return `has a limit of ${amount} tokens per minute, and this request needs about ${tokens}.`
    case 'concurrent_requests':
      return `has reached its limit of ${amount} concurrent requests.`
    case 'budget':
      return `has spent its budget of ${amount}${describePeriod(limits)}.`
  }
}

function describePeriod({ budget }: Limits): string {
  return budget === undefined || budget.period === 'total' ? '' : ` per ${budget.period}`
}

function describeWait(refusal: LeaseRefusal, nowMs: number): string {
  const { limit, retryAfterMs } = refusal
  if (retryAfterMs === null) return limit === 'budget' ? 'It does not begin again.' : 'It is too large to ever fit.'
  if (limit !== 'budget') return `Try again in ${waitSeconds(refusal)} s.`
  return `It begins again at ${new Date(nowMs + retryAfterMs).toISOString().slice(0, 19)}Z.`
}
