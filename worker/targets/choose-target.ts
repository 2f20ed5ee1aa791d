// Chooses one of the targets of an alias before anything is sent (decisions.md 116). Pure: health, running calls and randomness are
// passed in, so that all workers choose the same target for a conversation.

import { createHash } from 'node:crypto'
import type { TargetState } from './target-health.ts'

/** What the choice needs of one target. */
export interface Candidate {
  readonly key: string
  readonly weight: number
  readonly priority: number
  readonly state: TargetState
  /** When its rest began; of a target in health irrelevant. */
  readonly restsSinceMs: number
  /** Calls that run on it now. */
  readonly running: number
}

export interface ChoiceOptions {
  /** The same text for all requests of a conversation; undefined for requests that belong to none. */
  readonly conversation: string | undefined
  /** 0 up to 1. */
  readonly random: () => number
}

/** The candidate, and whether it is in health, has to be tried first, or rests like all others. */
export interface Choice<Target extends Candidate> {
  readonly target: Target
  readonly mode: 'ordinary' | 'trial' | 'forced'
}

/**
 * Chooses among the targets of the lowest priority that has one which takes requests. A target whose rest is over is chosen like one in
 * health, as its trial; where no trial is wanted the candidates say `resting`. Where all rest, the one that has rested longest among those
 * of the lowest priority is chosen all the same: a provider may be back earlier than expected, and its own error says more than a refusal
 * of the gateway. Undefined without candidates.
 */
export function chooseTarget<Target extends Candidate>(
  candidates: readonly Target[],
  options: ChoiceOptions
): Choice<Target> | undefined {
  const open = takeLowest(candidates.filter(({ state }) => state !== 'resting'))
  if (open.length === 0) {
    const target = findLongestRest(takeLowest(candidates))
    return target && { target, mode: 'forced' }
  }
  const target =
    options.conversation === undefined ? pickIdlest(open, options.random) : pickBySeat(open, options.conversation)
  return target && { target, mode: target.state === 'due' ? 'trial' : 'ordinary' }
}

function takeLowest<Target extends Candidate>(candidates: readonly Target[]): Target[] {
  const lowest = Math.min(...candidates.map(({ priority }) => priority))
  return candidates.filter(({ priority }) => priority === lowest)
}

function findLongestRest<Target extends Candidate>(candidates: readonly Target[]): Target | undefined {
  return findBest(candidates, ({ restsSinceMs }) => -restsSinceMs)
}

/**
 * Weighted rendezvous hashing: each pair of conversation and target has a number, and the largest wins. Without one target only its own
 * conversations move, and they are spread over the others by weight.
 */
function pickBySeat<Target extends Candidate>(candidates: readonly Target[], conversation: string): Target | undefined {
  return findBest(candidates, ({ key, weight }) => -weight / Math.log(hashToUnit(`${conversation}\n${key}`)))
}

/** The fewest running calls for its weight; equal ones are drawn by weight, so that calls one after the other are spread too. */
function pickIdlest<Target extends Candidate>(candidates: readonly Target[], random: () => number): Target | undefined {
  const least = Math.min(...candidates.map(loadOf))
  const idlest = candidates.filter(candidate => loadOf(candidate) === least)
  let drawn = random() * idlest.reduce((sum, { weight }) => sum + weight, 0)
  for (const candidate of idlest) {
    drawn -= candidate.weight
    if (drawn < 0) return candidate
  }
  return idlest.at(-1)
}

function loadOf({ running, weight }: Candidate): number {
  return running / weight
}

/** The first one with the largest score. */
function findBest<Target>(targets: readonly Target[], score: (target: Target) => number): Target | undefined {
  let best: Target | undefined
  let bestScore = Number.NEGATIVE_INFINITY
  for (const target of targets) {
    const itsScore = score(target)
    if (best !== undefined && itsScore <= bestScore) continue
    best = target
    bestScore = itsScore
  }
  return best
}

const BYTES = 6

/** A number between 0 and 1, both excluded, that any process computes of the text. */
function hashToUnit(text: string): number {
  const digest = createHash('sha256').update(text).digest()
  return (digest.readUIntBE(0, BYTES) + 0.5) / 2 ** (8 * BYTES)
}
