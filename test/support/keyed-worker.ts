// Starts a worker in the process of a test whose clients need the keys of a keys file.

import type { Test } from 'tap'
import type { KeySet } from '../../shared/keys/key-set.ts'
import type { ProviderProfile } from '../../shared/profile/profile.ts'
import { parseSettings } from '../../shared/settings.ts'
import type { WorkerAppParts } from '../../worker/app.ts'
import { providerFaces } from '../../worker/protocols/registry.ts'
import { providerKinds } from '../../worker/providers/registry.ts'
import { type KeySetOptions, writeKeySet } from './key-sets.ts'
import { fileOf } from './profile-sets.ts'
import { startWorker, workerOptions } from './worker-app.ts'

export interface KeyedWorkerOptions {
  env?: Record<string, string>
  profiles: readonly ProviderProfile[]
  keys: KeySetOptions
  parts?: Partial<WorkerAppParts>
}

export interface KeyedWorker {
  url: string
  /** What the keys of the file are now, for the worker's clock. */
  clock: { nowMs: number }
  /** Puts another keys file in force, as the supervisor does. */
  replaceKeys(keys: KeySetOptions): void
}

export async function startKeyedWorker(
  t: Test,
  { env = {}, profiles, keys, parts = {} }: KeyedWorkerOptions
): Promise<KeyedWorker> {
  const settings = parseSettings({ GATEWAY_METRICS_ENABLED: 'false', ...env })
  const options = workerOptions(settings, fileOf(profiles), writeKeySet(keys))
  const listeners: Array<(keySet: KeySet) => void> = []
  const clock = { nowMs: 0 }
  const { url } = await startWorker(
    t,
    { ...options, control: { ...options.control, onKeysChanged: listener => listeners.push(listener) } },
    {
      faces: providerFaces,
      kinds: providerKinds,
      clock: { nowMs: () => clock.nowMs, monotonicMs: () => performance.now() },
      ...parts
    }
  )
  return {
    url,
    clock,
    replaceKeys(next) {
      for (const listener of listeners) listener(writeKeySet(next))
    }
  }
}
