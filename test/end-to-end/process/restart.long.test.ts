import t from 'tap'
import { startControlProcess, startFleet } from './fixtures/run.ts'
import { findWorkers, waitForEnd } from './fixtures/workers.ts'

t.test('a worker that is killed is respawned with the same configuration (I11)', async t => {
  const fleet = await startFleet(t, { UPSTREAM_MODEL: 'GigaChat-2-Max' })
  const before = await findWorkers(fleet, 2)
  const { body: first } = await fleet.get('/state')
  process.kill(Number(before.get(1)), 'SIGKILL')
  const after = await fleet.until('/state', state => state.worker === 1 && state.pid !== before.get(1))
  t.same(after.revisions, first.revisions)
  t.equal(after.fingerprintKey, first.fingerprintKey)
  t.equal(after.catalog, (await fleet.until('/state', state => state.worker === 2)).catalog)
  t.match(
    fleet.readLog().find(line => line.event === 'worker_exited'),
    { worker_id: 1, worker_pid: before.get(1), signal: 'SIGKILL', level: 'ERROR' }
  )
  fleet.child.kill('SIGTERM')
  t.same(await fleet.exited, { code: 0, signal: null })
})

t.test('a worker that crashes logs the reason in one line and is respawned', async t => {
  const fleet = await startFleet(t, { GATEWAY_WORKERS: '1' })
  const before = await findWorkers(fleet, 1)
  await fleet.get('/crash')
  await fleet.until('/state', state => state.pid !== before.get(1))
  const crash = fleet.readLog().find(line => line.event === 'worker_crashed')
  t.match(crash, { level: 'CRITICAL', worker: 1, err: { message: 'the fixture crashes' } })
})

t.test('a worker that could not be forked is forked again', async t => {
  const fleet = await startFleet(t, { GATEWAY_WORKERS: '2' })
  const before = await findWorkers(fleet, 2)
  fleet.child.kill('SIGWINCH')
  await fleet.readLine(line => line.includes('fork-will-fail'))
  process.kill(Number(before.get(1)), 'SIGKILL')
  await fleet.until('/state', state => state.worker === 1 && state.pid !== before.get(1))
  const failed = fleet.readLog().filter(line => line.event === 'worker_start_failed')
  t.match(failed, [{ reason: 'fork', worker_id: 1 }])
  fleet.child.kill('SIGTERM')
  t.same(await fleet.exited, { code: 0, signal: null })
})

t.test('a worker whose event loop is stuck is killed and respawned', async t => {
  const fleet = await startFleet(t, { GATEWAY_WORKERS: '1' })
  const before = await findWorkers(fleet, 1)
  await t.rejects(fleet.get('/hang'))
  await fleet.until('/state', state => state.pid !== before.get(1))
  t.ok(fleet.readLog().some(line => line.event === 'worker_stuck'))
})

t.test('a malformed message of a worker is counted and dropped (J7)', async t => {
  const fleet = await startFleet(t, { GATEWAY_WORKERS: '1' })
  await fleet.get('/nonsense')
  await fleet.get('/nonsense')
  const findDropped = () => fleet.readLog().filter(line => line.event === 'ipc_message_dropped')
  while (findDropped().length < 2) await fleet.get('/state')
  t.same(
    findDropped().map(line => line.count),
    [1, 2]
  )
})

t.test('workers that keep dying end the gateway with exit code 5 and one line (I8)', async t => {
  for (const fault of ['die-at-start', 'die-when-ready']) {
    const started = startControlProcess(t, { GATEWAY_WORKERS: '1' }, fault)
    t.same(await started.exited, { code: 5, signal: null })
    t.match(started.errors(), /^workers_keep_dying: [^\n]*\n$/)
    const exits = started.readLog().filter(line => line.event === 'worker_exited')
    t.equal(exits.length, 4, 'the allowed three, and the one too many')
  }
})

t.test('workers do not outlive a supervisor that was killed', async t => {
  const fleet = await startFleet(t)
  const workers = await findWorkers(fleet, 2)
  fleet.child.kill('SIGKILL')
  for (const pid of workers.values()) await waitForEnd(pid)
  t.pass('all have exited')
})
