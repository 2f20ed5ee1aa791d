// Which limits a key has (keys.md 1): its own, and those that it shares with the other keys of its group. Both apply.
import type { GatewayKey, KeySet, Limits } from './key-set.ts'

/** An absent member limits nothing. */
export interface KeyLimits {
  readonly key: Limits
  readonly group: Limits
}

/** The limits of a key; undefined for one that has none. */
export function readKeyLimits(
  { group: groupName, limits }: Pick<GatewayKey, 'group' | 'limits'>,
  { groups }: Pick<KeySet, 'groups'>
): KeyLimits | undefined {
  const group = groups.find(({ name }) => name === groupName)?.limits ?? {}
  const hasLimits = Object.keys(limits).length > 0 || Object.keys(group).length > 0
  return hasLimits ? { key: limits, group } : undefined
}
