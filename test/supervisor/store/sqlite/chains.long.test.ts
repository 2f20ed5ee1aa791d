// The million of responses is measured by `npm run bench -- --chains`; here are few enough for a test.
import t from 'tap'
import { compareSizes, createSqliteEngine } from '../../../../ops/bench/chains.ts'

/** Beside the goal of 1.5: times of single questions vary on a busy machine. */
const RATIO_MAX = 2

t.test('a continuation costs no more among many responses than among few', async t => {
  const ratios: number[] = []
  // A busy moment of the machine is no growth.
  for (let attempt = 0; attempt < 3 && !ratios.some(ratio => ratio <= RATIO_MAX); attempt++) {
    const engine = await createSqliteEngine()
    try {
      ratios.push((await compareSizes(engine, 20_000)).ratio.whole)
    } finally {
      await engine.close()
    }
  }
  t.ok(
    ratios.some(ratio => ratio <= RATIO_MAX),
    `${ratios}`
  )
})
