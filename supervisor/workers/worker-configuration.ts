// What a worker gets before it serves: the same for a first and for a respawned process, with what has changed since the start.

import type { WrittenCompactionKey } from '../../shared/compaction-key.ts'
import type { ConfigureMessage, ListenOptions, SupervisorMessageContent } from '../../shared/ipc/messages.ts'
import type { ServiceName } from '../../shared/services.ts'
import { writeWorkerSettings } from '../../shared/settings/store-settings.ts'
import { writeTransferredCredentials } from '../../shared/settings/transfer.ts'
import type { KeysSource } from '../keys/keys-in-force.ts'
import type { LifecycleState } from '../lifecycle/lifecycle.ts'
import type { RuntimePlan } from '../plan/runtime-plan.ts'

export type ConfigureContent = Extract<SupervisorMessageContent, { kind: 'configure' }>

/** What no worker changes. */
export interface WorkerConfigurationOptions {
  readonly plan: Pick<RuntimePlan, 'settings' | 'profiles' | 'credentials' | 'prices'>
  readonly version: string
  /** Base64 of the key that fingerprints are made with. */
  readonly fingerprintKey: string
  readonly compactionKey: WrittenCompactionKey
  /** Workers write only warnings to stdout. */
  readonly isQuiet: boolean
}

/** What holds when a worker starts. */
export interface WorkerConfigurationSources {
  readonly keys: Pick<KeysSource, 'current'>
  readonly listen: () => ListenOptions
  readonly lifecycle: () => LifecycleState
  /** What the other workers know by now. */
  readonly snapshot: () => Pick<ConfigureMessage, 'catalog' | 'providerHealth' | 'rests'>
  readonly socketPaths: Readonly<Partial<Record<ServiceName, string>>>
}

/** Returns what writes the configuration of a worker. */
export function createWorkerConfiguration(
  { keys, listen, lifecycle, snapshot, socketPaths }: WorkerConfigurationSources,
  { plan, version, fingerprintKey, compactionKey, isQuiet }: WorkerConfigurationOptions
): (workerId: number) => ConfigureContent {
  const settings = writeWorkerSettings(plan.settings)
  const credentials = writeTransferredCredentials(plan.credentials)
  return workerId => {
    const { phase } = lifecycle()
    return {
      kind: 'configure',
      workerId,
      version,
      settings,
      profiles: plan.profiles,
      prices: plan.prices ?? null,
      credentials,
      keys: keys.current() ?? null,
      fingerprintKey,
      compactionKey,
      listen: listen(),
      isQuiet,
      ...snapshot(),
      isHostStarted: phase === 'live' || phase === 'leaving',
      isLeaving: phase === 'leaving',
      writerSocket: socketPaths.writer ?? null,
      storeSocket: socketPaths.store ?? null
    }
  }
}
