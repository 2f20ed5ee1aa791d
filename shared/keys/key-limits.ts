// Which limits a key has (keys.md 1): its own, and those that it shares with the other keys of its group. Both apply.
import type { GatewayKey, KeySet, Limits } from './key-set.ts'

/** An absent member limits nothing. */
export interface KeyLimits {
  readonly key: Limits
  readonly group: Limits
}

/** The limits of a key. */
export function readKeyLimits(
  { group, limits }: Pick<GatewayKey, 'group' | 'limits'>,
  { groups }: Pick<KeySet, 'groups'>
): KeyLimits {
  return { key: limits, group: groups.find(({ name }) => name === group)?.limits ?? {} }
}
