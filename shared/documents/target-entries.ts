// The targets of an alias in the machine documents (decisions.md 116). The model that a provider knows is the operator's affair, and these
// documents need no key: they name profiles alone.
import { z } from 'zod'
import type { AliasTarget } from '../profile/profile.ts'
import { machineText } from './machine-document.ts'

/** Whether a target gets requests, none, or the one that brings it back, as the worker that answers knows it. */
export const TARGET_STATES = ['healthy', 'resting', 'returning'] as const
export type TargetEntryState = (typeof TARGET_STATES)[number]

export const targetEntry = z.strictObject({
  profile_id: machineText,
  weight: z.int().min(1),
  priority: z.int().min(0),
  state: z.enum(TARGET_STATES)
})

export type TargetEntry = z.infer<typeof targetEntry>

/** Returns the state of a target now. */
export type ReadTargetState = (target: Pick<AliasTarget, 'profileId' | 'upstreamModel'>) => TargetEntryState

/** The entries in the order of the file. */
export function describeTargets(targets: readonly AliasTarget[], readState: ReadTargetState): TargetEntry[] {
  return targets.map(target => ({
    profile_id: target.profileId,
    weight: target.weight,
    priority: target.priority,
    state: readState(target)
  }))
}
