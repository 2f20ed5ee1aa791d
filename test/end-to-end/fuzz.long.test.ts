// The short form of `npm run fuzz`: a few hundred cases of each kind with a fixed seed.

import t from 'tap'
import { kinds } from '../../ops/fuzz/kinds.ts'
import { startTarget } from '../../ops/fuzz/target.ts'
import { createTemporaryFolder } from '../support/temporary.ts'

const limits = { seed: 1, first: 0, cases: 300, durationMs: 100_000 }
const target = await startTarget(createTemporaryFolder(t))
t.teardown(() => target.close())

for (const { name, run } of kinds) {
  t.test(`${name}: what holds for every case holds for ${limits.cases} of them`, async t => {
    const count = await run(target, limits, ({ number, rule, summary, bytes }) => {
      t.fail(rule, { number, summary, text: bytes.toString('latin1').slice(0, 2000) })
      return true
    })
    t.equal(count, limits.cases)
  })
}
