// The parts of a worker that its HTTP side uses; each is created once, when the worker starts.

import type { Clock } from '../../shared/clock.ts'
import type { Logger } from '../../shared/logging.ts'
import type { ProfileSet } from '../../shared/profile.ts'
import type { Settings } from '../../shared/settings.ts'
import type { Observation } from '../observation/observation.ts'
import type { DrainGate } from './drain-gate.ts'
import type { Fingerprint } from './fingerprint.ts'

export interface HttpRuntime {
  readonly settings: Settings
  /** Where the profiles come from: those of a file never take the authorization of a client. */
  readonly profiles: Pick<ProfileSet, 'origin'>
  readonly log: Logger
  readonly drainGate: DrainGate
  readonly fingerprint: Fingerprint
  /** Undefined where nothing observes requests. */
  readonly observation: Observation | undefined
  readonly clock: Clock
}
