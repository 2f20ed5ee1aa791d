// The short form of `npm run test:faults`: entries with small loads as tests.

import t from 'tap'
import { createSuite } from './run.ts'
import type { FaultEntry } from './types.ts'

/** Of the loads of the page. */
const SCALE = 0.2

/** Makes a test of each entry. */
export function testEntries(entries: readonly FaultEntry[]): void {
  const suite = createSuite(SCALE)
  t.teardown(() => suite.close())
  for (const entry of entries) {
    const skip = entry.whySkipped?.() ?? false
    t.test(`${entry.name}: ${entry.expected}`, { skip }, async t => {
      const { violations, counts, seen } = await suite.run(entry)
      t.comment(`${JSON.stringify(counts)} ${seen}`)
      t.same(violations, [])
    })
  }
}
