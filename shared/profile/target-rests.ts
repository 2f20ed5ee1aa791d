// The rests of an alias's targets, as workers and supervisor tell them to each other (decisions.md 116). Times are durations: processes
// share no monotonic clock.

import type { ProfileSet } from './profile.ts'
import { listAliases } from './profile-routes.ts'

/** A target that gets no requests for a while. */
export interface TargetRest {
  /** `createTargetKey`. */
  readonly target: string
  /** What is left of the rest. 0 and less: the target waits for its trial. */
  readonly restMs: number
  /** How many rests in a row this is; 1 for the first. */
  readonly round: number
}

/** The longest rest that is told: a provider may name any time in `retry-after`. */
export const REST_MS_MAX = 3_600_000

/** The longest key: an id and a model of 256 characters each. */
const KEY_CHARACTERS_MAX = 513

/** Rounds beyond this one do not change the rest any more. */
export const REST_ROUND_MAX = 32

/** One for all aliases that have this model of this profile among their targets. A profile id has no blank. */
export function createTargetKey(profileId: string, upstreamModel: string): string {
  return `${profileId} ${upstreamModel}`
}

export function isTargetKey(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= KEY_CHARACTERS_MAX
}

export function isTargetRest(value: object): value is TargetRest {
  return (
    'target' in value &&
    isTargetKey(value.target) &&
    'restMs' in value &&
    isAtMost(value.restMs, REST_MS_MAX) &&
    'round' in value &&
    isAtMost(value.round, REST_ROUND_MAX)
  )
}

function isAtMost(value: unknown, max: number): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= max
}

/** The keys of all targets of enabled aliases. */
export function listTargetKeys(set: Pick<ProfileSet, 'profiles'>): ReadonlySet<string> {
  const keys = new Set<string>()
  for (const { alias } of listAliases(set)) {
    if (!alias.enabled) continue
    for (const { profileId, upstreamModel } of alias.targets ?? []) keys.add(createTargetKey(profileId, upstreamModel))
  }
  return keys
}
