// The parts of a worker that its routes use; each is created once, when the worker starts.

import type { CompactionKey } from '../../shared/compaction-key.ts'
import type { ResponseStore } from '../../shared/memory/store.ts'
import type { ProfileSet } from '../../shared/profile/profile.ts'
import type { LimitsChannel } from '../control/limits-channel.ts'
import type { WorkerMetrics } from '../control/metrics-channel.ts'
import type { CatalogReader } from '../execution/catalog.ts'
import type { ExecutionRuntime } from '../execution/execution-runtime.ts'
import type { ReadReadiness } from '../execution/readiness.ts'
import type { WriterConnection } from '../traffic/writer-connection.ts'

export interface WorkerRuntime extends ExecutionRuntime {
  readonly profiles: ProfileSet
  readonly revisions: { readonly config: string; readonly matrix: string }
  readonly workerId: number
  /** Seals and opens summaries of conversations. */
  readonly compactionKey: CompactionKey
  readonly version: string
  /** Undefined while metrics are off. */
  readonly metrics: WorkerMetrics | undefined
  /** To the process that stores traffic records; undefined where none runs. */
  readonly writer: WriterConnection | undefined
  /** Where responses are stored; undefined where nothing is (decisions.md 89). */
  readonly memory: ResponseStore | undefined
  /** What keys use of their limits; undefined where there is no supervisor. */
  readonly listKeyUsage: LimitsChannel['listUsage'] | undefined
  readonly catalog: CatalogReader
  readonly readReadiness: ReadReadiness
}

/** What the handlers of stored things use of a worker. */
export interface StoredRuntime extends Pick<WorkerRuntime, 'clock' | 'drainGate'> {
  readonly store: ResponseStore
}
