// The registration of a provider kind: how its options are read, and how its executors are created.

import type { Logger } from '../../shared/logging.ts'
import type { ProfileSet, ProviderProfile } from '../../shared/profile/profile.ts'
import type { Secret } from '../../shared/secrets/secret.ts'
import type { Settings } from '../../shared/settings.ts'
import type { ProviderFaces } from '../protocols/registry.ts'
import type { OutcomeListener } from './http/call-outcome.ts'
import type { ConnectionListener } from './http/connections.ts'
import type { LargeResponses } from './http/large-responses.ts'
import type { ExecutorPool } from './types.ts'

/** What every kind gets for its executors. */
export interface ExecutorDependencies {
  settings: Settings
  /** Where the profile comes from: only a file gives it a destination and a credential of its own. */
  origin: ProfileSet['origin']
  /** The profile's credential from a profile file; undefined for a keyless profile and in native mode. */
  credential: Secret | undefined
  /** The value of a further variable that the profile names, such as that of a header. */
  readSecret: (variable: string) => Secret | undefined
  /** The faces of all kinds; a chat finds its own by the plan. */
  faces: ProviderFaces
  /** Reads responses that are too large for the event loop. */
  largeResponses: LargeResponses
  log: Logger
  /** The product's version, for the user agent. */
  version: string
  /** Milliseconds since the epoch. */
  now: () => number
  /** Milliseconds of a clock that never jumps, for the lifetimes of tokens. */
  monotonicMs: () => number
  /** 0 up to 1. */
  random: () => number
  /** Called after each token call, for the metrics. */
  onTokenFetched?: ((hasFailed: boolean) => void) | undefined
  /** Called for each attempt of a call that ended, unless it was cancelled. */
  onOutcome?: OutcomeListener | undefined
  /** Called for each connection to the provider that opens or closes, for the metrics. */
  onConnectionChange?: ConnectionListener | undefined
  /** Called for each request that is sent again because its connection was stale, for the metrics. */
  onStaleConnection?: (() => void) | undefined
  /** Aborted when a shutdown begins: no further attempt of a call is made from then on. */
  draining?: AbortSignal | undefined
}

export interface ProviderKindRegistration {
  /** What the operator configured for the profile, for the faces of the kind: plain data that may cross a thread boundary. */
  readOptions(profile: ProviderProfile, settings: Settings): unknown
  /** Creates the executors of a profile. Opens no connection; raises an error for a file of the settings that cannot be read. */
  createPool(profile: ProviderProfile, dependencies: ExecutorDependencies): ExecutorPool
}
