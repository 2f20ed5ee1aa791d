import t from 'tap'
import { waitUntil } from '../../support/processes.ts'
import { hasTerminals, startFleet, startFleetInTerminal } from './fixtures/run.ts'
import { findWorkers, isAlive, waitForEnd } from './fixtures/workers.ts'

t.test('an idle gateway exits at once with 0 on either signal, after its workers have exited (I3)', async t => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const fleet = await startFleet(t, { GATEWAY_SHUTDOWN_TIMEOUT_SECONDS: '300' })
    const workers = await findWorkers(fleet, 2)
    fleet.child.kill(signal)
    t.same(await fleet.exited, { code: 0, signal: null })
    for (const pid of workers.values()) t.equal(isAlive(pid), false)
    const events = fleet.readLog().map(line => line.event)
    t.ok(events.includes('shutdown_initiated'))
    t.ok(events.includes('shutdown_complete'))
    t.notOk(events.includes('requests_cancelled'))
  }
})

t.test('bridge 95: a running request gets its response, then the gateway exits with 0', async t => {
  const fleet = await startFleet(t, { GATEWAY_WORKERS: '1' })
  const running = fleet.get('/work?ms=1000')
  await fleet.get('/state')
  fleet.child.kill('SIGTERM')
  t.equal((await running).status, 200)
  t.same(await fleet.exited, { code: 0, signal: null })
})

t.test(
  'decisions.md 97: within the grace the gateway is not ready and serves, longer than its drain may last (I1)',
  async t => {
    const fleet = await startFleet(t, {
      GATEWAY_SHUTDOWN_READINESS_GRACE_SECONDS: '4',
      GATEWAY_SHUTDOWN_TIMEOUT_SECONDS: '1.5'
    })
    fleet.child.kill('SIGTERM')
    await fleet.until('/state', state => state.isLeaving === true)
    t.equal((await fleet.get('/work?ms=2000')).status, 200, 'longer than the drain deadline')
    t.same(await fleet.exited, { code: 0, signal: null })
    const events = fleet.readLog().map(line => line.event)
    t.ok(events.indexOf('shutdown_grace') > events.indexOf('shutdown_initiated'))
    t.ok(events.indexOf('drain_started') > events.indexOf('shutdown_grace'))
    t.notOk(events.includes('requests_cancelled'))
    await t.rejects(fleet.get('/state'))
  }
)

t.test('operations 58: at the deadline a running request is cancelled, and the gateway still exits with 0', async t => {
  const fleet = await startFleet(t, { GATEWAY_SHUTDOWN_TIMEOUT_SECONDS: '0.5', GATEWAY_WORKERS: '1' })
  const running = fleet.get('/work?ms=60000')
  await fleet.get('/state')
  fleet.child.kill('SIGTERM')
  const { status, body } = await running
  t.equal(status, 503)
  t.same(body, { reason: 'cancelled' })
  t.same(await fleet.exited, { code: 0, signal: null })
})

t.test('a second signal cancels at once', async t => {
  const fleet = await startFleet(t, { GATEWAY_SHUTDOWN_TIMEOUT_SECONDS: '300', GATEWAY_WORKERS: '1' })
  const running = fleet.get('/work?ms=60000')
  await fleet.get('/state')
  fleet.child.kill('SIGTERM')
  while (!fleet.readLog().some(line => line.event === 'shutdown_initiated'))
    await fleet.get('/state').catch(() => undefined)
  fleet.child.kill('SIGINT')
  t.equal((await running).status, 503)
  t.same(await fleet.exited, { code: 0, signal: null })
})

t.test('a second signal ends the grace of an idle gateway', async t => {
  const fleet = await startFleet(t, {
    GATEWAY_SHUTDOWN_READINESS_GRACE_SECONDS: '60',
    GATEWAY_SHUTDOWN_TIMEOUT_SECONDS: '300'
  })
  fleet.child.kill('SIGTERM')
  await fleet.until('/state', state => state.isLeaving === true)
  fleet.child.kill('SIGINT')
  t.same(await fleet.exited, { code: 0, signal: null })
})

t.test('a worker that exits within the grace is respawned, not ready, and serves', async t => {
  const fleet = await startFleet(t, { GATEWAY_WORKERS: '1', GATEWAY_SHUTDOWN_READINESS_GRACE_SECONDS: '60' })
  const [first] = (await findWorkers(fleet, 1)).values()
  fleet.child.kill('SIGTERM')
  await fleet.until('/state', state => state.isLeaving === true)
  process.kill(Number(first), 'SIGKILL')
  await fleet.until('/state', state => state.pid !== first && state.isLeaving === true)
  t.equal((await fleet.get('/work?ms=0')).status, 200)
  fleet.child.kill('SIGINT')
  t.same(await fleet.exited, { code: 0, signal: null })
})

t.test('a signal that a terminal and a shell both forward counts once: running requests finish', async t => {
  const fleet = await startFleet(t, { GATEWAY_WORKERS: '1' })
  const running = fleet.get('/work?ms=1000')
  await fleet.get('/state')
  fleet.child.kill('SIGINT')
  await new Promise(resolve => setImmediate(resolve))
  fleet.child.kill('SIGINT')
  t.equal((await running).status, 200)
  t.same(await fleet.exited, { code: 0, signal: null })
})

t.test('a worker that does not finish closing is killed after its bound, and the exit code says so (I4)', async t => {
  const fleet = await startFleet(t, { GATEWAY_WORKERS: '1' }, 'hang-in-close')
  const workers = await findWorkers(fleet, 1)
  fleet.child.kill('SIGTERM')
  t.same(await fleet.exited, { code: 4, signal: null })
  t.match(fleet.errors(), /^cleanup_exceeded: [^\n]*\n$/)
  t.ok(fleet.readLog().some(line => line.event === 'cleanup_exceeded'))
  for (const pid of workers.values()) await waitForEnd(pid)
})

t.test('a worker that exits while draining is not respawned, and the gateway exits', async t => {
  const fleet = await startFleet(t, { GATEWAY_WORKERS: '1', GATEWAY_SHUTDOWN_TIMEOUT_SECONDS: '300' })
  const workers = await findWorkers(fleet, 1)
  const running = fleet.get('/work?ms=60000')
  running.catch(() => undefined)
  await fleet.get('/state')
  fleet.child.kill('SIGTERM')
  while (!fleet.readLog().some(line => line.event === 'shutdown_initiated'))
    await fleet.get('/state').catch(() => undefined)
  process.kill(Number(workers.get(1)), 'SIGKILL')
  t.same(await fleet.exited, { code: 0, signal: null })
  await t.rejects(running, 'the connection is cut')
  t.notOk(fleet.readLog().some(line => line.event === 'worker_restart'))
})

t.test('a closed terminal stops the gateway as a signal does', { skip: !hasTerminals }, async t => {
  const fleet = await startFleetInTerminal(t)
  const running = fleet.get('/work?ms=1000')
  const { supervisor } = (await fleet.get('/state')).body
  process.kill(Number(supervisor), 'SIGHUP')
  t.equal((await running).status, 200)
  t.same(await fleet.exited, { code: 0, signal: null })

  const closed = await startFleetInTerminal(t)
  closed.child.kill('SIGKILL')
  await waitUntil(() => closed.readLog().at(-1)?.event === 'shutdown_complete', 'the gateway has exited')
  t.match(closed.readLog().at(-1), { exit_code: 0 })
})

t.test('while requests run on, the log shows every second how many and the seconds left', async t => {
  const fleet = await startFleet(t, { GATEWAY_WORKERS: '1', GATEWAY_SHUTDOWN_TIMEOUT_SECONDS: '60' })
  const running = fleet.get('/work?ms=2500')
  await fleet.get('/state')
  fleet.child.kill('SIGTERM')
  await running
  await fleet.exited
  const progress = fleet.readLog().filter(line => line.event === 'drain_progress')
  t.ok(progress.length >= 1)
  // The first one may be written before the worker has said how many it has.
  const counted = progress.find(({ active }) => active !== 0)
  t.match(counted, { active: 1, waiting: 0, seconds_left: Number })
})
