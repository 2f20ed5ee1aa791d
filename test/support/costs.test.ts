import t from 'tap'
import { DEFAULT_SHARE, type FileCost, formatCosts, judgeCosts, type RunCost, sharesOf, sumCosts } from './costs.ts'

function cost(name: string, ownMs: number, childrenMs = 0): FileCost {
  return { name, ownMs, childrenMs }
}

function runOf(files: FileCost[], totalMs: number): RunCost {
  return { files: sumCosts(files), totalMs, wallMs: 61_400, countsChildren: true }
}

t.test('the processes of a file are summed, and the most costly file is first', async t => {
  const costs = [cost('a.test.ts', 1, 2), cost('b.test.ts', 10), cost('a.test.ts', 4, 8), cost('c.test.ts', 15)]
  t.strictSame(sumCosts(costs), [cost('a.test.ts', 5, 10), cost('c.test.ts', 15), cost('b.test.ts', 10)])
})

t.test(
  'the table shows each file with its share, sums up the small ones, and names what belongs to no file',
  async t => {
    const files = [
      cost('large.test.ts', 1000, 5000),
      cost('s.test.ts', 9),
      cost('tiny.test.ts', 8),
      cost('small.test.ts', 2000)
    ]
    const lines = formatCosts(runOf(files, 10_000)).split('\n')
    t.strictSame(
      lines.slice(1).map(line => line.trim().replaceAll(/ +/g, ' ')),
      [
        '6.0 s 60.0 % large.test.ts',
        '2.0 s 20.0 % small.test.ts',
        '0.0 s 0.2 % 2 other files, each below 0.1 %',
        '2.0 s 19.8 % the runner, and processes that no file waited for',
        '10.0 s 100.0 % in total, in 61 s on the clock'
      ]
    )
  }
)

t.test('where child processes are not counted, the table says so and no file is judged', async t => {
  const run = { ...runOf([cost('a.test.ts', 100)], 100), countsChildren: false }
  t.match(formatCosts(run), /without child processes/)
  t.notMatch(formatCosts(run), /runner/)
  t.strictSame(judgeCosts(run, {}), [])
})

t.test(
  'a file fails beyond twice its share and the noise, and a file without a share beyond twice the default',
  async t => {
    const files = [cost('listed.test.ts', 10_000), cost('new.test.ts', 1000 * (DEFAULT_SHARE * 2 + 0.5))]
    const run = runOf(files, 100_000)
    t.strictSame(judgeCosts(run, { 'listed.test.ts': 4.75 }), [])
    t.strictSame(judgeCosts(run, { 'listed.test.ts': 4.7 }), [
      'listed.test.ts took 10.0 % of the processor time, more than twice its share of 4.7 %.'
    ])
    const larger = runOf([cost('new.test.ts', 1600)], 100_000)
    t.strictSame(judgeCosts(larger, {}), [
      'new.test.ts took 1.6 % of the processor time, more than twice its share of 0.5 %.'
    ])
  }
)

t.test('shares are written by name, rounded up, for files above the default only, and then hold', async t => {
  const files = [cost('z.test.ts', 1210), cost('a.test.ts', 90_000), cost('small.test.ts', 490)]
  const run = runOf(files, 100_000)
  const shares = sharesOf(run)
  t.strictSame(JSON.stringify(shares), '{"a.test.ts":90,"z.test.ts":1.3}')
  t.strictSame(judgeCosts(run, shares), [])
})

t.test('a run that took no time has no shares', async t => {
  t.strictSame(judgeCosts(runOf([cost('a.test.ts', 0)], 0), {}), [])
})
