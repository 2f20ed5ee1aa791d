// What a worker's routes work with: everything that is made once when the worker starts, under one name each.
import type { Logger } from '../shared/logging.ts'
import type { Settings } from '../shared/settings.ts'
import type { ControlChannel } from './control-channel.ts'
import type { CatalogReader } from './execution/catalog.ts'
import type { DrainGate } from './http/drain-gate.ts'
import type { Fingerprint } from './http/fingerprint.ts'
import type { Observation } from './observation/observation.ts'
import type { NativeProviderPool } from './providers/types.ts'
import type { Translator } from './translation/translator.ts'

export interface WorkerRuntime {
  readonly settings: Settings
  readonly revisions: { readonly config: string; readonly matrix: string }
  readonly workerId: number
  readonly version: string
  readonly log: Logger
  readonly control: ControlChannel
  readonly drainGate: DrainGate
  readonly fingerprint: Fingerprint
  /** Undefined where nothing observes requests. */
  readonly observation: Observation | undefined
  readonly providers: NativeProviderPool
  readonly catalog: CatalogReader
  readonly translator: Translator
  readonly clock: Clock
}

/** What the HTTP side needs of a worker; its routes may need more. */
export type HttpRuntime = Pick<
  WorkerRuntime,
  'settings' | 'log' | 'drainGate' | 'fingerprint' | 'observation' | 'clock'
>

export interface Clock {
  /** Milliseconds since the epoch. */
  nowMs(): number
  /** Milliseconds of a clock that never goes back, for durations. */
  monotonicMs(): number
}

export const systemClock: Clock = { nowMs: Date.now, monotonicMs: () => performance.now() }
