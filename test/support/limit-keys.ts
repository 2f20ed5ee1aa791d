// Key sets for the tests of limits, with only the members that a test names.
import type { KeySet, Limits } from '../../shared/keys/key-set.ts'

/** Limits by name of a key, or of a group and its keys. */
export function keySetOf(
  keys: Readonly<Record<string, Limits & { readonly group?: string }>>,
  groups: Readonly<Record<string, Limits>> = {}
): KeySet {
  return {
    revision: `sha256:${'0'.repeat(64)}`,
    currency: 'USD',
    groups: Object.entries(groups).map(([name, limits]) => ({ name, limits })),
    keys: Object.entries(keys).map(([name, { group, ...limits }], index) => ({
      name,
      digests: [index.toString(16).padStart(64, '0')],
      limits,
      isEnabled: true,
      metadata: {},
      ...(group !== undefined && { group })
    }))
  }
}
