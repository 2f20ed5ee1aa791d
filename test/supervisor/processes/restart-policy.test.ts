import t from 'tap'
import { planMemory } from '../../../shared/memory-plan.ts'
import { countExitsInRow, createRestartPolicy, decideRestart } from '../../../supervisor/processes/restart-policy.ts'
import { planServiceArguments, planWorkerArguments } from '../../../supervisor/workers/worker-arguments.ts'
import * as fc from '../../support/properties.ts'

const policy = createRestartPolicy(2)

t.test('the delay before a restart doubles with each exit in a row, up to its longest', async t => {
  const delays = [1, 2, 3, 4, 50].map(exitsInRow =>
    decideRestart(policy, { exitTimesMs: [], nowMs: 0, exitsInRow, random: 0.999999 })
  )
  t.same(delays, [
    { kind: 'restart', delayMs: 99 },
    { kind: 'restart', delayMs: 199 },
    { kind: 'restart', delayMs: 399 },
    { kind: 'restart', delayMs: 799 },
    { kind: 'restart', delayMs: 29999 }
  ])
})

t.test('the jitter spans the whole delay', async t => {
  fc.assert(
    fc.property(
      fc.double({ min: 0, max: 0.9999, noNaN: true }),
      fc.integer({ min: 1, max: 100 }),
      (random, exitsInRow) => {
        const decision = decideRestart(policy, { exitTimesMs: [], nowMs: 0, exitsInRow, random })
        t.equal(decision.kind, 'restart')
        if (decision.kind === 'restart') t.ok(decision.delayMs >= 0 && decision.delayMs < policy.longestDelayMs)
      }
    )
  )
})

t.test('more exits in the window than allowed give up, older ones do not count (I8)', async t => {
  const exits = (count: number, atMs: number) => Array.from({ length: count }, () => atMs)
  const decide = (exitTimesMs: number[], nowMs: number) =>
    decideRestart(policy, { exitTimesMs, nowMs, exitsInRow: 1, random: 0 }).kind
  t.equal(decide(exits(policy.exitsInWindowMax, 0), 0), 'restart')
  t.equal(decide(exits(policy.exitsInWindowMax + 1, 0), 0), 'give-up')
  t.equal(decide(exits(policy.exitsInWindowMax + 1, 0), policy.windowMs), 'restart')
})

t.test('many workers may exit more often together than few', async t => {
  t.ok(createRestartPolicy(32).exitsInWindowMax > createRestartPolicy(2).exitsInWindowMax)
})

t.test('two workers of which one is killed every five seconds are respawned', async t => {
  const exitTimesMs = Array.from({ length: 13 }, (_, index) => index * 5_000)
  t.equal(decideRestart(policy, { exitTimesMs, nowMs: 60_000, exitsInRow: 1, random: 0 }).kind, 'restart')
})

t.test('a process that ran long starts a new count', async t => {
  t.equal(countExitsInRow(policy, 5, 10), 6)
  t.equal(countExitsInRow(policy, 5, policy.stableUptimeMs), 1)
})

const machine = {
  memory: undefined,
  engineVersion: '13.6.233.17-node.53',
  inherited: []
}

const ofAnyEngine = ['--max-semi-space-size=32', '--no-allocation-site-pretenuring', '--v8-pool-size=1']
const buffersInHeapLimit = '--external-memory-accounted-in-global-limit'
const always = [...ofAnyEngine.slice(0, -1), buffersInHeapLimit, ...ofAnyEngine.slice(-1)]

t.test(
  'an option that only some engines have is given to those alone, because Node does not start with an unknown one',
  async t => {
    for (const engineVersion of ['13.6.233.17-node.53', '14.6.202.34-node.34']) {
      t.same(planWorkerArguments({ ...machine, engineVersion }), always)
    }
    for (const engineVersion of ['12.4.254.21-node.33', '14.0.1', '']) {
      t.same(planWorkerArguments({ ...machine, engineVersion }), ofAnyEngine)
    }
  }
)

t.test('workers get a large young generation, no pretenuring, and one thread of the engine', async t => {
  t.same(planWorkerArguments(machine), always)
})

t.test('in a container the heaps have the sizes of the plan (decisions.md 99)', async t => {
  const use = { workers: 1, services: 0, threadsPerWorker: 1, keepsContent: false }
  const memory = planMemory({ ...use, limitBytes: 2 * 1024 ** 3 })
  t.same(planWorkerArguments({ ...machine, memory }), [
    ...always,
    `--max-old-space-size=${Math.floor((memory?.workerHeapBytes ?? 0) / 1024 ** 2)}`
  ])
  const tiny = planWorkerArguments({ ...machine, memory: planMemory({ ...use, limitBytes: 256 * 1024 ** 2 }) })
  t.match(tiny, ['--max-semi-space-size=8'])
})

t.test('options of the operator are kept', async t => {
  const memory = planMemory({
    workers: 1,
    services: 0,
    threadsPerWorker: 1,
    keepsContent: false,
    limitBytes: 2 * 1024 ** 3
  })
  const inherited = [
    '--max_old_space_size=999',
    '--max-semi-space-size=8',
    '--allocation_site_pretenuring',
    '--v8-pool-size=4',
    '--external_memory_accounted_in_global_limit'
  ]
  t.same(planWorkerArguments({ ...machine, memory, inherited }), [])
})

t.test(
  'service processes have a small young generation under a memory limit, unless the operator chose one',
  async t => {
    const use = { workers: 1, services: 1, threadsPerWorker: 1, keepsContent: true }
    const memory = planMemory({ ...use, limitBytes: 512 * 1024 ** 2 })
    t.same(planServiceArguments({ memory: undefined, inherited: [] }), [])
    t.same(planServiceArguments({ memory, inherited: [] }), ['--max-semi-space-size=4'])
    t.same(planServiceArguments({ memory, inherited: ['--max_semi_space_size=9'] }), [])
  }
)
