// The state of one emulator, passed to every handler.
import type { Authority } from './auth.ts'
import type { Faults } from './faults.ts'
import type { FileStore } from './files.ts'
import type { ModelInventory } from './models.ts'
import type { Recorder } from './recorder.ts'
import type { ResponseStore } from './responses/store.ts'
import type { EmulatorSettings } from './settings.ts'
import type { StateIds, ThreadStore } from './threads.ts'

export interface EmulatorState {
  settings: EmulatorSettings
  now: () => number
  /** Larger request bodies are refused with 413. */
  bodyBytesMax: number
  authority: Authority
  models: ModelInventory
  files: FileStore
  threads: ThreadStore
  stateIds: StateIds
  responses: ResponseStore
  faults: Faults
  recorder: Recorder
}
