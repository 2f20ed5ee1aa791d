// Which limits a key has (keys.md 1): its own, and those that it shares with the other keys of its group. Both apply.
import type { LimitName } from '../limits/leases.ts'
import type { GatewayKey, KeySet, Limits } from './key-set.ts'

/** An absent member limits nothing. */
export interface KeyLimits {
  readonly key: Limits
  readonly group: Limits
}

/** The member of `Limits` that holds each limit. */
export const LIMIT_MEMBERS = {
  requests_per_minute: 'requestsPerMinute',
  tokens_per_minute: 'tokensPerMinute',
  concurrent_requests: 'concurrentRequests',
  budget: 'budget'
} as const satisfies Record<LimitName, keyof Limits>

/** The limits of a key. */
export function readKeyLimits(
  { group, limits }: Pick<GatewayKey, 'group' | 'limits'>,
  { groups }: Pick<KeySet, 'groups'>
): KeyLimits {
  return { key: limits, group: groups.find(({ name }) => name === group)?.limits ?? {} }
}
