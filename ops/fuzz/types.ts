// What the kinds of cases and their runner have in common.

import type { Random } from './random.ts'
import type { FuzzTarget } from './target.ts'

/** A kind of cases. `Case` is plain data, so that it can be repeated, made smaller and written to a file. */
export interface FuzzKind<Case> {
  name: string
  /** How many cases run at the same time. */
  concurrency: number
  create(random: Random): Case
  /** Runs a case. Resolves with the broken rule, or undefined when everything holds. Rejects only for a fault of the suite. */
  run(fuzzed: Case, target: FuzzTarget): Promise<string | undefined>
  /** Smaller variants, the smallest first. */
  listSmaller(fuzzed: Case): Iterable<Case>
  /** The case for a person to read. */
  describe(fuzzed: Case): { summary: object; bytes: Buffer }
}
