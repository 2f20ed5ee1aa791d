// The API keys that a gateway admits: those of its settings, and those of the keys file that is in force (keys.md 1 and 2). One ring is in
// each process that checks keys; it holds digests, and the texts that have matched.
import { hash, timingSafeEqual } from 'node:crypto'
import { LIMIT_NAMES, type LimitName } from '../limits/leases.ts'
import type { PresentedKey } from '../secrets/api-key.ts'
import type { Secret } from '../secrets/secret.ts'
import { type KeyLimits, LIMIT_MEMBERS, readKeyLimits } from './key-limits.ts'
import type { GatewayKey, KeySet } from './key-set.ts'
import { type ModelScope, readModelScope } from './model-scope.ts'

/** The name of the key of `GATEWAY_API_KEY`. */
export const DEFAULT_KEY_NAME = 'default'

/** A key that a client has presented. A request keeps the one that it was admitted with, also after the keys file has changed. */
export interface FoundKey {
  readonly name: string
  /** The group of its keys file, whose limits it shares. */
  readonly group: string | undefined
  readonly scope: ModelScope
  /** The limits that the key or its group has. */
  readonly limitNames: ReadonlySet<LimitName>
  readonly hasLimits: boolean
  readonly limits: KeyLimits
  /** Milliseconds since the epoch. */
  readonly expiresAtMs: number | undefined
  readonly isEnabled: boolean
}

export type KeyState = 'active' | 'disabled' | 'expired'

/** The keys of settings, as `GATEWAY_API_KEY` and `GATEWAY_API_KEYS` name them. */
export interface ConfiguredKeys {
  readonly apiKey: Secret | undefined
  readonly apiKeys: Readonly<Record<string, Secret>>
}

export interface KeyRing {
  /** While a keys file is in force, every client needs a key. */
  readonly hasFile: boolean
  /** Of the keys file in force (keys.md 1); undefined without one. */
  readonly revision: string | undefined
  /** The keys of the file in force. */
  readonly keySet: KeySet | undefined
  /** Names of the keys of the settings. */
  readonly ownNames: readonly string[]
  /** Undefined for a key that is not configured. Whether a key may be used now is `readKeyState`. */
  find(presented: PresentedKey): FoundKey | undefined
  findByName(name: string): FoundKey | undefined
  /** Puts the keys of a file in force, in place of those of the file before it. */
  replace(keySet: KeySet | undefined): void
}

/** Whether the key may be used at this time. */
export function readKeyState(
  { isEnabled, expiresAtMs }: Pick<FoundKey, 'isEnabled'> & Partial<Pick<FoundKey, 'expiresAtMs'>>,
  nowMs: number
): KeyState {
  if (!isEnabled) return 'disabled'
  return expiresAtMs !== undefined && expiresAtMs <= nowMs ? 'expired' : 'active'
}

interface KnownSecret {
  readonly digest: Buffer
  readonly key: FoundKey
}

export function createKeyRing(settings: ConfiguredKeys, keySet?: KeySet): KeyRing {
  const ownKeys = listConfigured(settings)
  let current: KeySet | undefined
  /** By the hexadecimal digits of their digest. */
  let secrets = new Map<string, KnownSecret>()
  let byName = new Map<string, FoundKey>()
  /**
   * Keys that have matched, by their text; digests cost 3 us per request. A map finds a text by a hash of all of it, with a seed of
   * this process, so the time of a miss does not depend on how much of a wrong key is right.
   */
  const matchedBefore = new Map<PresentedKey, FoundKey>()

  function replace(next: KeySet | undefined): void {
    current = next
    matchedBefore.clear()
    secrets = new Map()
    byName = new Map()
    for (const { digest, key } of [...ownKeys, ...listSet(next)]) {
      // The first one counts; a keys file cannot have a name or a secret of the settings.
      if (!secrets.has(digest)) secrets.set(digest, { digest: Buffer.from(digest, 'latin1'), key })
      if (!byName.has(key.name)) byName.set(key.name, key)
    }
  }

  replace(keySet)
  return {
    get hasFile() {
      return current !== undefined
    },
    get revision() {
      return current?.revision
    },
    get keySet() {
      return current
    },
    ownNames: ownKeys.map(({ key }) => key.name),
    find(presented) {
      const known = matchedBefore.get(presented)
      if (known !== undefined) return known
      // Where no key is set, clients send one all the same: SDKs require it.
      if (secrets.size === 0) return undefined
      const digest = hash('sha256', presented, 'hex')
      const secret = secrets.get(digest)
      // A digest tells nothing of a secret that is nearly right, and what was found is compared once more in constant time.
      if (secret === undefined || !timingSafeEqual(secret.digest, Buffer.from(digest, 'latin1'))) return undefined
      if (typeof presented === 'string') matchedBefore.set(presented, secret.key)
      return secret.key
    },
    findByName: name => byName.get(name),
    replace
  }
}

interface NamedDigest {
  readonly digest: string
  readonly key: FoundKey
}

function listConfigured({ apiKey, apiKeys }: ConfiguredKeys): NamedDigest[] {
  const named = Object.entries(apiKeys)
  const all = apiKey === undefined ? named : [[DEFAULT_KEY_NAME, apiKey] as const, ...named]
  return all.map(([name, secret]) => ({ digest: hash('sha256', secret.reveal(), 'hex'), key: createOwnKey(name) }))
}

/** A key of the settings: it may use everything. */
function createOwnKey(name: string): FoundKey {
  return {
    name,
    group: undefined,
    scope: undefined,
    limitNames: new Set(),
    hasLimits: false,
    limits: NO_LIMITS,
    expiresAtMs: undefined,
    isEnabled: true
  }
}

const NO_LIMITS: KeyLimits = { key: {}, group: {} }

function listSet(keySet: KeySet | undefined): NamedDigest[] {
  if (keySet === undefined) return []
  return keySet.keys.flatMap(key => {
    const found = createFileKey(key, keySet)
    return key.digests.map(digest => ({ digest, key: found }))
  })
}

function createFileKey(key: GatewayKey, { groups }: KeySet): FoundKey {
  const limits = readKeyLimits(key, { groups })
  const limitNames = new Set(
    LIMIT_NAMES.filter(name => (limits.key[LIMIT_MEMBERS[name]] ?? limits.group[LIMIT_MEMBERS[name]]) !== undefined)
  )
  return {
    name: key.name,
    group: key.group,
    scope: readModelScope(key, { groups }),
    limitNames,
    hasLimits: limitNames.size > 0,
    limits,
    expiresAtMs: key.expiresAtMs,
    isEnabled: key.isEnabled
  }
}
