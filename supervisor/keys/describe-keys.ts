// What the log says of the keys in force: nothing that a secret or a name could stand in (keys.md 1).
import type { KeySet } from '../../shared/keys/key-set.ts'

export function describeKeys({ revision, keys, groups }: KeySet) {
  return { keys_revision: revision, key_count: keys.length, group_count: groups.length }
}
