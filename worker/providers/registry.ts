// Every provider kind that has executors, one line each, and the executors of all profiles. A further kind adds its line here and
// one in `protocols/registry.ts`.

import { systemClock } from '../../shared/clock.ts'
import { labelProvider } from '../../shared/metrics/provider-label.ts'
import { type ProfileCredentials, type ProfileSet, secretKey } from '../../shared/profile/profile.ts'
import type { Settings } from '../../shared/settings.ts'
import { chatCompatibleKind } from './compatible/chat.ts'
import { contentCompatibleKind } from './compatible/content.ts'
import { messagesCompatibleKind } from './compatible/messages.ts'
import { nativeKind } from './native/index.ts'
import type { ExecutorDependencies, ProviderKindRegistration } from './provider-kind.ts'
import type { ExecutorPool, Executors } from './types.ts'

export type { ProviderKindRegistration } from './provider-kind.ts'

export type ProviderKinds = Readonly<Record<string, ProviderKindRegistration>>

export const providerKinds: ProviderKinds = {
  native: nativeKind,
  chat_compatible: chatCompatibleKind,
  content_compatible: contentCompatibleKind,
  messages_compatible: messagesCompatibleKind
}

export interface ExecutorsOptions
  extends Omit<
    ExecutorDependencies,
    | 'now'
    | 'monotonicMs'
    | 'random'
    | 'origin'
    | 'credential'
    | 'readSecret'
    | 'onConnectionChange'
    | 'onStaleConnection'
  > {
  profiles: ProfileSet
  /** Those of a profile file. */
  credentials: ProfileCredentials
  kinds?: ProviderKinds
  /** The system's clock unless given, in milliseconds since the epoch. */
  now?: () => number
  /** The system's clock for durations unless given, in milliseconds. */
  monotonicMs?: () => number
  /** `Math.random` unless given. */
  random?: () => number
  /** Called for each connection to a provider that opens (1) or closes (-1), for the metrics. */
  onConnectionChange?: ((provider: string, change: 1 | -1) => void) | undefined
  /** Called for each request that is sent again because its connection was stale, for the metrics. */
  onStaleConnection?: ((provider: string) => void) | undefined
}

/**
 * Creates a pool for each profile whose kind is registered; routes to the aliases of the others are
 * blocked (bridge.md 7.3 and 9.1). Raises what a kind raises for a file of the settings that cannot
 * be read.
 */
export function createExecutors(options: ExecutorsOptions): Executors {
  const {
    profiles,
    credentials,
    kinds = providerKinds,
    now = systemClock.nowMs,
    monotonicMs = systemClock.monotonicMs,
    random = Math.random,
    onConnectionChange,
    onStaleConnection,
    ...dependencies
  } = options
  const pools = new Map<string, ExecutorPool>()
  for (const profile of profiles.profiles) {
    const kind = kinds[profile.providerKind]
    if (kind === undefined) continue
    pools.set(
      profile.profileId,
      kind.createPool(profile, {
        ...dependencies,
        origin: profiles.origin,
        credential: credentials[profile.profileId],
        readSecret: variable => credentials[secretKey(profile.profileId, variable)],
        now,
        monotonicMs,
        random,
        onConnectionChange: onConnectionChange && (change => onConnectionChange(labelProvider(profile), change)),
        onStaleConnection: onStaleConnection && (() => onStaleConnection(labelProvider(profile)))
      })
    )
  }
  let isClosed = false
  return {
    isReady: profileId => !isClosed && pools.has(profileId),
    acquire(profileId, authorization) {
      const pool = pools.get(profileId)
      if (pool === undefined) throw new Error(`No profile has the id ${profileId}.`)
      return pool.acquire(authorization)
    },
    certificates: profileId => pools.get(profileId)?.certificates?.(),
    async close() {
      isClosed = true
      await Promise.all([...pools.values()].map(pool => pool.close()))
    },
    async destroy() {
      isClosed = true
      await Promise.all([...pools.values()].map(pool => pool.destroy()))
    }
  }
}

/** The options of every profile for the faces of its kind, by profile id; none for a profile whose kind is not registered. */
export function readProviderOptions({
  profiles,
  kinds = providerKinds,
  settings
}: {
  profiles: ProfileSet
  kinds?: ProviderKinds
  settings: Settings
}): Record<string, unknown> {
  return Object.fromEntries(
    profiles.profiles.flatMap(profile => {
      const kind = kinds[profile.providerKind]
      return kind === undefined ? [] : [[profile.profileId, kind.readOptions(profile, settings)]]
    })
  )
}
