// The parts of a worker that its HTTP side uses; each is created once, when the worker starts.

import type { Clock } from '../../shared/clock.ts'
import type { KeyRing } from '../../shared/keys/key-ring.ts'
import type { Logger } from '../../shared/logging.ts'
import type { ProfileSet } from '../../shared/profile/profile.ts'
import type { Settings } from '../../shared/settings.ts'
import type { Limiter } from '../limits/limiter.ts'
import type { Observation } from '../observation/observation.ts'
import type { PlannedFacts } from '../observation/observer.ts'
import type { Operation } from '../operations/operation.ts'
import type { DrainGate } from './drain-gate.ts'
import type { Fingerprint } from './request/fingerprint.ts'

export interface HttpRuntime {
  readonly settings: Settings
  /** Where the profiles come from: those of a file never take the authorization of a client. */
  readonly profiles: Pick<ProfileSet, 'origin'>
  /** Of the aliases: for the record of a request that its route refuses. */
  readonly routes: {
    readonly aliases: ReadonlyMap<string, Pick<PlannedFacts, 'providerKind' | 'profileId' | 'evidence'>>
  }
  /** The operations that are served. */
  readonly operations: readonly Operation[]
  readonly log: Logger
  readonly drainGate: DrainGate
  readonly fingerprint: Fingerprint
  /** Undefined where nothing observes requests. */
  readonly observation: Observation | undefined
  readonly clock: Clock
  /** The keys that clients may present. */
  readonly keyRing: KeyRing
  /** Admits requests of keys with limits; undefined without a keys file. */
  readonly limiter?: Limiter | undefined
  /** Room for the traffic record of a request; undefined where no request waits for it. */
  readonly recordRoom?: RecordRoom | undefined
}

/** The queue of traffic records, for requests that wait instead of losing their record. */
export interface RecordRoom {
  readonly isFull: boolean
  /** Calls the listener once, when there is room again. Returns a function that removes it. */
  whenRoom(listener: () => void): () => void
}
