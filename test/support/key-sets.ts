// Sets of keys, as a keys file gives them.

import { hash } from 'node:crypto'
import type { GatewayKey, KeyGroup, KeySet } from '../../shared/keys/key-set.ts'

export interface KeyOptions extends Partial<Omit<GatewayKey, 'digests'>> {
  name: string
  /** Absent: one that no test knows. */
  secrets?: readonly string[]
}

export interface KeySetOptions {
  keys: readonly KeyOptions[]
  groups?: ReadonlyArray<Partial<KeyGroup> & { name: string }>
  revision?: string
}

/** Writes a set whose keys have no limits, all models and no end unless an option says otherwise. */
export function writeKeySet({ keys, groups = [], revision = `sha256:${'a'.repeat(64)}` }: KeySetOptions): KeySet {
  return {
    revision,
    currency: 'USD',
    groups: groups.map(group => ({ limits: {}, ...group })),
    keys: keys.map(({ secrets = [], ...key }) => ({
      limits: {},
      isEnabled: true,
      metadata: {},
      ...key,
      digests: secrets.length === 0 ? ['0'.repeat(64)] : secrets.map(secret => hash('sha256', secret, 'hex'))
    }))
  }
}
