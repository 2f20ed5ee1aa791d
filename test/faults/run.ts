// Runs entries and says what they showed.

import { createOwner } from '../support/owner.ts'
import type { Outcome } from './load.ts'
import { type Counts, countOutcomes, type FaultContext, type FaultEntry, findViolations } from './types.ts'

export interface EntryResult {
  readonly entry: FaultEntry
  /** Why it did not run; undefined where it did. */
  readonly skipped: string | undefined
  readonly seen: string
  readonly counts: Counts
  readonly outcomes: readonly Outcome[]
  readonly violations: readonly string[]
  readonly seconds: number
}

export interface Suite {
  run(entry: FaultEntry): Promise<EntryResult>
  /** Ends what entries share, and what an entry has that runs. */
  close(): Promise<void>
}

const NOTHING: Pick<EntryResult, 'seen' | 'counts' | 'outcomes'> = {
  seen: '',
  counts: { sent: 0, right: 0, refused: 0, lost: 0, lostWithProcess: 0, wrong: 0 },
  outcomes: []
}

/** `scale` of 1 is the size of the page. */
export function createSuite(scale: number): Suite {
  const suiteOwner = createOwner()
  const running = new Set<ReturnType<typeof createOwner>>()
  const values = new Map<string, Promise<unknown>>()
  const sized = (count: number): number => Math.max(1, Math.round(count * scale))
  const shared: FaultContext['shared'] = (name, start) => {
    const value = values.get(name) ?? start(suiteOwner)
    values.set(name, value)
    return value as ReturnType<typeof start>
  }

  async function run(entry: FaultEntry): Promise<EntryResult> {
    const skipped = entry.whySkipped?.() || undefined
    if (skipped !== undefined) return { ...NOTHING, entry, skipped, violations: [], seconds: 0 }
    const owner = createOwner()
    running.add(owner)
    const startedMs = performance.now()
    const secondsOf = (): number => (performance.now() - startedMs) / 1000
    try {
      const shown = await entry.run({ owner, shared, sized })
      const { seen, outcomes } = shown
      const violations = findViolations(shown)
      return { entry, skipped, seen, outcomes, counts: countOutcomes(shown), violations, seconds: secondsOf() }
    } catch (error) {
      const violations = [`the entry could not be run: ${error instanceof Error ? error.stack : error}`]
      return { ...NOTHING, entry, skipped, violations, seconds: secondsOf() }
    } finally {
      running.delete(owner)
      await owner.close()
    }
  }

  return {
    run,
    async close() {
      for (const owner of running) await owner.close()
      await suiteOwner.close()
    }
  }
}
