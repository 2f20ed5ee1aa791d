// What an entry of the suite is, and what its run shows.

import type { Owner } from '../support/owner.ts'
import type { Outcome } from './load.ts'

export interface FaultContext {
  /** Ends what the entry has started. */
  readonly owner: Owner
  /** What several entries use, started with the first of them and ended with the suite. */
  shared<Value>(name: string, start: (owner: Owner) => Promise<Value>): Promise<Value>
  /** How many of something at this size of the run: `count` at full size, at least 1. */
  sized(count: number): number
}

export interface FaultRun {
  readonly outcomes: readonly Outcome[]
  /** Whether a question may have been lost: those of a process that was killed. */
  readonly mayBeLost?: (outcome: Outcome) => boolean
  /** Nothing was asked, because nothing could answer. */
  readonly isWithoutQuestions?: boolean
  /** One line for the page. */
  readonly seen: string
  /** What else is not as it should be. */
  readonly problems: readonly string[]
}

export interface FaultEntry {
  /** The row of the page. */
  readonly name: string
  readonly done: string
  readonly expected: string
  /** Why this machine cannot run it; false where it can. */
  readonly whySkipped?: () => string | false
  readonly run: (context: FaultContext) => Promise<FaultRun>
}

export interface Counts {
  readonly sent: number
  readonly right: number
  readonly refused: number
  readonly lost: number
  /** Of `lost`, those on connections of a process that was killed. */
  readonly lostWithProcess: number
  readonly wrong: number
}

export function countOutcomes({ outcomes, mayBeLost = () => false }: FaultRun): Counts {
  const of = (kind: Outcome['kind']): Outcome[] => outcomes.filter(outcome => outcome.kind === kind)
  const lost = of('lost')
  return {
    sent: outcomes.length,
    right: of('right').length,
    refused: of('refused').length,
    lost: lost.length,
    lostWithProcess: lost.filter(mayBeLost).length,
    wrong: of('wrong').length
  }
}

/** What a run violates; empty where everything holds. */
export function findViolations(run: FaultRun): string[] {
  const { mayBeLost = () => false, outcomes, problems } = run
  const bad = outcomes.filter(outcome => outcome.kind === 'wrong' || (outcome.kind === 'lost' && !mayBeLost(outcome)))
  const samples = bad.slice(0, 5).map(({ kind, question, why, isFirst }) => {
    const connection = isFirst ? 'on a new connection' : 'on a kept connection'
    return `${kind}: ${question} ${connection}: ${why.slice(0, 400)}`
  })
  const more = bad.length > samples.length ? [`${bad.length - samples.length} more are lost or wrong`] : []
  const nothing = outcomes.length === 0 && run.isWithoutQuestions !== true ? ['no question was asked'] : []
  return [...problems, ...nothing, ...samples, ...more]
}
