import { readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startFleet } from './fixtures/run.ts'
import { findWorkers } from './fixtures/workers.ts'

t.test('operations 54: with a limit of one, calls in two workers run one after the other', async t => {
  const fleet = await startFleet(t, { GATEWAY_MODEL_MAX_CONNECTIONS: '{"one":1}' })
  const held = await Promise.all(Array.from({ length: 6 }, () => fleet.get('/slot?key=one&ms=100')))
  t.ok(held.every(({ status }) => status === 200))
  const spans = held.map(({ body }) => ({ from: BigInt(String(body.fromNs)), until: BigInt(String(body.untilNs)) }))
  spans.sort((left, right) => (left.from < right.from ? -1 : 1))
  for (const [index, { from }] of spans.entries()) {
    const previous = spans[index - 1]
    if (previous !== undefined) t.ok(previous.until <= from, 'the slot is held by one call at a time')
  }
  const free = await Promise.all([fleet.get('/slot?key=two&ms=1'), fleet.get('/slot?key=two&ms=1')])
  t.ok(free.every(response => response.status === 200))
})

t.test('a slot that a killed worker held is granted again', async t => {
  const fleet = await startFleet(t, { GATEWAY_MODEL_MAX_CONNECTIONS: '{"one":1}' })
  const workers = await findWorkers(fleet, 2)
  const holding = fleet.get('/slot?key=one&ms=600000')
  holding.catch(() => undefined)
  await fleet.get('/state')
  for (const pid of workers.values()) process.kill(pid, 'SIGKILL')
  t.match(await fleet.until('/slot?key=one&ms=1', () => true), { fromNs: String })
})

t.test('bridge 51: the catalog is warmed up from boot, once for the host, and every worker shows the same', async t => {
  const fleet = await startFleet(t)
  const one = await fleet.until('/state', state => state.worker === 1 && state.catalog !== null)
  const two = await fleet.until('/state', state => state.worker === 2 && state.catalog !== null)
  t.equal(one.catalog, two.catalog)
  t.equal(Number(one.discoveries) + Number(two.discoveries), 1)
})

t.test('bridge 54: forced refreshes in all workers at once share discoveries', async t => {
  const fleet = await startFleet(t)
  await fleet.until('/state', state => state.catalog !== null)
  const responses = await Promise.all(Array.from({ length: 16 }, () => fleet.get('/models?refresh=1')))
  t.ok(responses.every(response => response.status === 200))
  const one = await fleet.until('/state', state => state.worker === 1)
  const two = await fleet.until('/state', state => state.worker === 2)
  t.ok(Number(one.discoveries) + Number(two.discoveries) < 16)
})

t.test('without an upstream the gateway serves, and attempts the discovery again', async t => {
  const fleet = await startFleet(t, { GATEWAY_WORKERS: '1' }, 'no-models')
  const state = await fleet.until('/state', one => Number(one.discoveries) >= 2)
  t.equal(state.catalog, null)
  t.equal((await fleet.get('/models')).status, 500)
})

t.test('operations 107: a full log is rotated, and every process continues in the new file', async t => {
  const fleet = await startFleet(t, { GATEWAY_LOG_MAX_SIZE: '5000' })
  const countFiles = () => readdirSync(fleet.directory).filter(name => name.endsWith('.log')).length
  while (countFiles() < 2) await fleet.get('/log?bytes=500')
  await fleet.until('/log?bytes=10', () => {
    const lines = fleet.readLog()
    return lines.some(line => line.worker === 1) && lines.some(line => line.worker === 2)
  })
  t.pass('both workers write to the new file')
})

t.test('SIGUSR1, and SIGHUP without a terminal, open the log anew in every process', async t => {
  const fleet = await startFleet(t)
  for (const signal of ['SIGUSR1', 'SIGHUP'] as const) {
    renameSync(fleet.logFile, join(fleet.directory, `moved-at-${signal}`))
    fleet.child.kill(signal)
    await fleet.until('/log?bytes=10', () => {
      if (!readdirSync(fleet.directory).includes('gateway.log')) return false
      const lines = fleet.readLog()
      return lines.some(line => line.worker === 1) && lines.some(line => line.worker === 2)
    })
  }
  fleet.child.kill('SIGTERM')
  t.same(await fleet.exited, { code: 0, signal: null })
})
