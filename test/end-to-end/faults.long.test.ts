// The short form of `npm run test:faults`: every entry with a small load.

import t from 'tap'
import { faultEntries } from '../faults/entries.ts'
import { createSuite } from '../faults/run.ts'

const suite = createSuite(0.2)
t.teardown(() => suite.close())

for (const entry of faultEntries) {
  const skip = entry.whySkipped?.() ?? false
  t.test(`${entry.name}: ${entry.expected}`, { skip }, async t => {
    const { violations, counts, seen } = await suite.run(entry)
    t.comment(`${JSON.stringify(counts)} ${seen}`)
    t.same(violations, [])
  })
}
