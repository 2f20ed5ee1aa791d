import t from 'tap'
import { createRestBoard, type RestBoard } from '../../../shared/profile/rest-board.ts'
import { createTargetKey } from '../../../shared/profile/target-rests.ts'
import type { AttemptEnd } from '../../../worker/targets/read-verdict.ts'
import { createTargetPool, type Target, type TargetPool } from '../../../worker/targets/target-pool.ts'
import * as fc from '../../support/properties.ts'

const SUCCESS: AttemptEnd = { failure: undefined, status: 200, retryAfterMs: undefined, wasSent: true }
const REFUSED: AttemptEnd = { failure: 'connect_error', status: undefined, retryAfterMs: undefined, wasSent: false }
const NONE_TRIED: ReadonlySet<Target> = new Set()

function target(profileId: string, fields: Partial<Target> = {}): Target {
  return { profileId, upstreamModel: 'm', weight: 1, priority: 0, ...fields }
}

interface Host {
  workers: TargetPool[]
  board: RestBoard
  advance(ms: number): void
}

/** Workers of one host, whose messages arrive at once. */
function startHost(count: number, targets: readonly Target[]): Host {
  let nowMs = 0
  const now = (): number => nowMs
  const workers: TargetPool[] = []
  const keys = new Set(targets.map(({ profileId, upstreamModel }) => createTargetKey(profileId, upstreamModel)))
  const board = createRestBoard(
    {
      nowMs: now,
      onRested: rest => workers.forEach(worker => void worker.applyRest(rest)),
      onRestored: key => workers.forEach(worker => void worker.applyRestored(key))
    },
    keys
  )
  for (let owner = 0; owner < count; owner++) {
    const channel = {
      reportRest: (rest: Parameters<RestBoard['rest']>[1]) => board.rest(owner, rest),
      reportRestored: (key: string) => board.restore(owner, key),
      beginTrial: async (key: string) => board.beginTrial(owner, key),
      endTrial: (key: string) => board.endTrial(owner, key)
    }
    workers.push(createTargetPool({ channel, nowMs: now, random: () => 0.5 }))
  }
  return {
    workers,
    board,
    advance(ms) {
      nowMs += ms
    }
  }
}

const request = (conversation?: string, tried = NONE_TRIED) => ({ conversation, tried })

t.test('requests that were on their way when a provider began to limit them write one line', async t => {
  let nowMs = 0
  const lines: Array<number | undefined> = []
  const told: number[] = []
  const pool = createTargetPool({
    channel: {
      reportRest: ({ restMs }) => told.push(restMs),
      reportRestored: () => undefined,
      beginTrial: async () => true,
      endTrial: () => undefined
    },
    nowMs: () => nowMs,
    random: () => 0.5,
    onChanged: ({ restMs }) => lines.push(restMs)
  })
  const targets = [target('a'), target('b', { priority: 1 })]
  const leases = await Promise.all(Array.from({ length: 40 }, () => pool.acquire(targets, request())))
  for (const lease of leases) {
    nowMs += 1
    lease?.reportEnd({ failure: 'http_429', status: 429, retryAfterMs: 4000, wasSent: true })
    lease?.release()
  }
  t.same(lines, [4000])
  t.equal(told.length, 40, 'the other workers know the end of the rest all the same')
})

t.test('one failed connection keeps the requests of all workers away', async t => {
  const targets = [target('a'), target('b')]
  const { workers } = startHost(2, targets)
  const lease = await workers[0]?.acquire(targets, request('talk'))
  lease?.reportEnd(REFUSED)
  lease?.release()
  for (const worker of workers) {
    for (let index = 0; index < 50; index++) {
      const next = await worker.acquire(targets, request(`talk ${index}`))
      t.not(next?.target, lease?.target)
      next?.release()
    }
  }
})

t.test('a target whose rest is over gets one request of all workers until that has a response', async t => {
  const targets = [target('a'), target('b', { priority: 1 })]
  const host = startHost(2, targets)
  const failed = await host.workers[0]?.acquire(targets, request())
  failed?.reportEnd(REFUSED)
  failed?.release()
  host.advance(1000)
  const leases = await Promise.all(
    host.workers.flatMap(worker => [1, 2, 3].map(() => worker.acquire(targets, request())))
  )
  const trials = leases.filter(lease => lease?.target.profileId === 'a')
  t.equal(trials.length, 1)
  trials[0]?.reportHead(200)
  for (const worker of host.workers) t.equal((await worker.acquire(targets, request()))?.target.profileId, 'a')
})

t.test('a failed trial lets the target rest twice as long, everywhere', async t => {
  const targets = [target('a'), target('b', { priority: 1 })]
  const host = startHost(2, targets)
  const [first, second] = host.workers as [TargetPool, TargetPool]
  for (const restMs of [1000, 2000, 4000]) {
    const lease = await first.acquire(targets, request())
    t.equal(lease?.target.profileId, 'a')
    lease?.reportEnd(REFUSED)
    lease?.release()
    host.advance(restMs - 1)
    t.equal(second.stateOf(target('a')), 'resting')
    t.equal((await second.acquire(targets, request()))?.target.profileId, 'b')
    host.advance(1)
    t.equal(second.stateOf(target('a')), 'due')
  }
})

t.test('a trial without a result is followed by another one', async t => {
  const targets = [target('a'), target('b', { priority: 1 })]
  const host = startHost(2, targets)
  const [first, second] = host.workers as [TargetPool, TargetPool]
  ;(await first.acquire(targets, request()))?.reportEnd(REFUSED)
  host.advance(1000)
  const trial = await first.acquire(targets, request())
  t.equal((await second.acquire(targets, request()))?.target.profileId, 'b')
  trial?.release()
  t.equal((await second.acquire(targets, request()))?.target.profileId, 'a')
})

t.test('a worker that exits leaves its trial to another one', async t => {
  const targets = [target('a'), target('b', { priority: 1 })]
  const host = startHost(2, targets)
  const [first, second] = host.workers as [TargetPool, TargetPool]
  ;(await first.acquire(targets, request()))?.reportEnd(REFUSED)
  host.advance(1000)
  await first.acquire(targets, request())
  host.board.releaseOwner(0)
  t.equal((await second.acquire(targets, request()))?.target.profileId, 'a')
})

t.test('a request that could not be sent gets each target once', async t => {
  const targets = [target('a'), target('b'), target('c', { priority: 1 })]
  const { workers } = startHost(1, targets)
  const tried = new Set<Target>()
  for (let attempt = 0; attempt < targets.length; attempt++) {
    const lease = await workers[0]?.acquire(targets, request('talk', tried))
    if (lease === undefined) throw new Error('No target is left.')
    t.notOk(tried.has(lease.target))
    tried.add(lease.target)
    lease.reportEnd(REFUSED)
    lease.release()
  }
  t.equal(await workers[0]?.acquire(targets, request('talk', tried)), undefined)
})

t.test('a target that begins to rest while a request waits does not take it', async t => {
  const targets = [target('a')]
  const { workers } = startHost(1, targets)
  const [waiting, other] = [
    await workers[0]?.acquire(targets, request('x')),
    await workers[0]?.acquire(targets, request('x'))
  ]
  t.equal(waiting?.isOpen(), true)
  other?.reportEnd(REFUSED)
  t.equal(waiting?.isOpen(), false)
  // All targets rest, so that the next request is sent all the same.
  const forced = await workers[0]?.acquire(targets, request('x'))
  t.equal(forced?.isOpen(), true)
  forced?.reportEnd(SUCCESS)
  t.equal(workers[0]?.stateOf(target('a')), 'healthy')
})

t.test('a response that breaks off behind its head is no failed connection', async t => {
  const targets = [target('a')]
  const { workers } = startHost(1, targets)
  const lease = await workers[0]?.acquire(targets, request())
  lease?.reportHead(200)
  lease?.reportEnd({ ...REFUSED, wasSent: true })
  t.equal(workers[0]?.stateOf(target('a')), 'healthy')
})

t.test('a respawned worker begins with the rests of the others', async t => {
  const targets = [target('a'), target('b')]
  const host = startHost(1, targets)
  const lease = await host.workers[0]?.acquire(targets, request('talk'))
  lease?.reportEnd(REFUSED)
  const silent = () => undefined
  const channel = { reportRest: silent, reportRestored: silent, beginTrial: async () => false, endTrial: silent }
  const respawned = createTargetPool({ channel, nowMs: () => 500_000, random: () => 0 })
  for (const rest of host.board.list()) respawned.applyRest(rest)
  t.not((await respawned.acquire(targets, request('talk')))?.target, lease?.target)
})

t.test('the board ignores targets that no alias has, and bounds what it is told', async t => {
  const rests: number[] = []
  const board = createRestBoard(
    { nowMs: () => 0, onRested: ({ restMs }) => rests.push(restMs), onRestored: () => undefined },
    new Set(['a m'])
  )
  board.rest(1, { target: 'other m', restMs: 10, round: 1 })
  board.rest(1, { target: 'a m', restMs: 1e12, round: 1e9 })
  t.same(rests, [3_600_000])
  t.same(board.list(), [{ target: 'a m', restMs: 3_600_000, round: 32 }])
  t.equal(board.beginTrial(1, 'other m'), false)
})

const outcome = fc.constantFrom<AttemptEnd>(
  SUCCESS,
  REFUSED,
  { failure: 'http_429', status: 429, retryAfterMs: 3000, wasSent: true },
  { failure: 'http_500', status: 500, retryAfterMs: undefined, wasSent: true },
  { failure: 'timeout', status: undefined, retryAfterMs: undefined, wasSent: true }
)
const step = fc.record({
  worker: fc.nat(1),
  talk: fc.option(fc.nat(20).map(String), { nil: undefined }),
  passedMs: fc.nat(1500),
  outcome,
  /** How many requests run before this one ends. */
  delay: fc.nat(3)
})

t.test('in any history of two workers, resting targets get nothing but one trial at a time', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80 }), async steps => {
      const targets = [target('a', { weight: 3 }), target('b'), target('c', { priority: 1 })]
      const host = startHost(2, targets)
      const running: Array<() => void> = []
      const trials = new Map<string, number>()
      let isRight = true
      for (const { worker, talk, passedMs, outcome: end, delay } of steps) {
        host.advance(passedMs)
        const pool = host.workers[worker] as TargetPool
        const states = targets.map(one => pool.stateOf(one))
        const lease = await pool.acquire(targets, request(talk))
        if (lease === undefined) return false
        const id = lease.target.profileId
        const state = states[targets.indexOf(lease.target)]
        const hasHealthy = states.includes('healthy')
        if (state === 'resting' && hasHealthy) isRight = false
        const isTrial = state === 'due' && hasHealthy
        if (isTrial) {
          if ((trials.get(id) ?? 0) > 0) isRight = false
          trials.set(id, (trials.get(id) ?? 0) + 1)
        }
        running.push(() => {
          if (isTrial) trials.set(id, (trials.get(id) ?? 0) - 1)
          lease.reportEnd(end)
          lease.release()
        })
        while (running.length > delay) running.shift()?.()
      }
      return isRight
    })
  )
})
