// SIGUSR2 replaces the workers one by one (decisions.md 100).
import { Agent, request } from 'node:http'
import t from 'tap'
import { get, post } from '../../support/client.ts'
import { emulatorVariables, readLog, type StartedGateway, startEmulator, startGateway } from '../../support/gateway.ts'
import { scrape, scrapeUntil } from '../../support/metrics.ts'
import { waitUntil } from '../../support/processes.ts'
import { openStream, readEnd, streamedTextIn } from '../system/support.ts'
import { startFleet } from './fixtures/run.ts'
import { findWorkers, isAlive, occupyWorkers, waitForEnd } from './fixtures/workers.ts'

const CHAT = JSON.stringify({ model: 'GigaChat-2', messages: [{ role: 'user', content: '[[text:hello]]' }] })

/** One chat; resolves with its status and whether the connection is kept, rejects where the connection fails. */
function chat(url: string, agent: Agent): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': CHAT.length }
    const sent = request(`${url}/v1/chat/completions`, { method: 'POST', agent, headers }, response => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', chunk => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      response.on('error', reject)
    })
    sent.on('error', reject)
    sent.end(CHAT)
  })
}

const eventsOf = (gateway: StartedGateway, name: string) => readLog(gateway).filter(({ event }) => event === name)

const waysToShare = [
  { how: 'the kernel spreads connections', env: {} },
  {
    how: 'the supervisor hands out connections',
    env: { NODE_OPTIONS: `--import=${new URL('fixtures/no-port-sharing.ts', import.meta.url).href}` }
  }
]

for (const { how, env } of waysToShare) {
  t.test(
    `under load over kept and over new connections no request is lost across two replacements: ${how}`,
    async t => {
      const emulator = await startEmulator(t)
      const gateway = await startGateway(t, {
        env: {
          ...emulatorVariables(emulator),
          ...env,
          GATEWAY_WORKERS: '2',
          GATEWAY_METRICS_ENABLED: 'true',
          GATEWAY_METRICS_PORT: '0',
          GATEWAY_SHUTDOWN_TIMEOUT_SECONDS: '20'
        }
      })
      const metricsUrl = `http://127.0.0.1:${readLog(gateway).find(({ event }) => event === 'metrics_listening')?.port}`
      await waitUntil(async () => {
        const asked = Array.from({ length: 12 }, () => get(`${gateway.url}/ready`, { connection: 'close' }))
        return (await Promise.all(asked)).every(({ status }) => status === 200)
      }, 'both workers are ready')
      const kept = new Agent({ keepAlive: true, maxSockets: 6 })
      const fresh = new Agent({ keepAlive: false })
      t.teardown(() => kept.destroy())
      const failures: string[] = []
      const notReady: number[] = []
      let served = 0
      let isOver = false
      const loop = async (agent: Agent) => {
        while (!isOver) {
          const outcome = await chat(gateway.url, agent).catch((error: Error) => ({ status: 0, text: error.message }))
          if (outcome.status === 200 && outcome.text.includes('hello')) served += 1
          else failures.push(`${outcome.status} ${outcome.text.slice(0, 200)}`)
        }
      }
      const watch = async () => {
        while (!isOver) {
          const { status } = await get(`${gateway.url}/ready`)
          if (status !== 200) notReady.push(status)
        }
      }
      const loops = [...Array.from({ length: 6 }, () => loop(kept)), loop(fresh), loop(fresh), watch()]
      const readyCounts: number[] = []
      const finished = (count: number) => eventsOf(gateway, 'workers_replaced').length >= count
      for (const round of [1, 2]) {
        const before = served
        await waitUntil(() => served > before + 50, 'requests are served')
        const stream = await openStream(gateway, 'completions', '[[tick:400]][[chunks:a|b|c|d|e|f|g|h]]')
        gateway.process.kill('SIGUSR2')
        await waitUntil(
          async () => {
            readyCounts.push((await scrape({ url: metricsUrl })).sum('gateway_workers', { lifecycle: 'ready' }))
            return finished(round)
          },
          'both workers were replaced',
          120_000
        )
        const text = await stream.text()
        t.equal(streamedTextIn('completions', text), 'abcdefgh', 'a stream of an old worker is whole')
        t.equal(readEnd('completions', text), 'success')
      }
      const after = served
      await waitUntil(() => served > after + 50, 'the new workers serve')
      isOver = true
      await Promise.all(loops)
      t.same(failures, [])
      t.same(notReady, [])
      t.ok(served > 200, `${served} requests were served`)
      t.ok(
        readyCounts.every(count => count >= 2),
        `never fewer ready workers than configured: ${readyCounts}`
      )
      const replaced = eventsOf(gateway, 'worker_replaced')
      t.equal(replaced.length, 4)
      t.equal(new Set(replaced.map(({ replaced_pid: pid }) => pid)).size, 4, 'each process was replaced once')
      t.notOk(readLog(gateway).some(({ level }) => level === 'ERROR' || level === 'CRITICAL'))
      // A scrape does not wait long for a worker that is late.
      const metrics = await scrapeUntil(
        { url: metricsUrl },
        one => one.sum('gateway_requests_total', { route: '/v1/chat/completions' }) >= served,
        'nothing counted is forgotten'
      )
      t.equal(metrics.sum('gateway_worker_replacements_total'), 4)
      t.equal(metrics.sum('gateway_worker_restarts_total'), 0)
      t.equal(await gateway.stop(), 0)
    }
  )
}

t.test('the only worker of a host is replaced, and a kept connection is closed behind its next response', async t => {
  const emulator = await startEmulator(t)
  const gateway = await startGateway(t, { env: { ...emulatorVariables(emulator), GATEWAY_WORKERS: '1' } })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const ask = () =>
    new Promise<string | undefined>((resolve, reject) => {
      const sent = request(`${gateway.url}/health`, { agent }, response => {
        response.resume()
        response.on('end', () => resolve(response.headers.connection))
      })
      sent.on('error', reject)
      sent.end()
    })
  t.equal(await ask(), 'keep-alive')
  gateway.process.kill('SIGUSR2')
  await waitUntil(() => eventsOf(gateway, 'worker_replaced').length === 1, 'the new worker is ready')
  t.equal(eventsOf(gateway, 'workers_replaced').length, 0, 'the old one waits for its connection')
  // The line is written before the old worker knows that it is replaced.
  await waitUntil(async () => (await ask()) === 'close', 'the old one closes its connection behind a response')
  await waitUntil(() => eventsOf(gateway, 'workers_replaced').length === 1, 'the old one has exited')
  t.equal(await ask(), 'keep-alive')
  t.equal((await post(`${gateway.url}/v1/chat/completions`, JSON.parse(CHAT))).status, 200)
  t.equal(await gateway.stop(), 0)
})

t.test('a new worker that cannot be forked leaves the old one, with one error line', async t => {
  const fleet = await startFleet(t, { GATEWAY_WORKERS: '1' })
  const before = await findWorkers(fleet, 1)
  fleet.child.kill('SIGWINCH')
  await fleet.readLine(line => line.includes('fork-will-fail'))
  fleet.child.kill('SIGUSR2')
  const failed = () => fleet.readLog().filter(line => line.event === 'worker_replacement_failed')
  await waitUntil(() => failed().length > 0, 'the replacement has failed')
  t.match(failed(), [{ level: 'ERROR', worker_id: 1 }])
  t.same((await fleet.get('/state')).body.pid, before.get(1))
  fleet.child.kill('SIGUSR2')
  await fleet.until('/state', state => state.pid !== before.get(1))
  fleet.child.kill('SIGTERM')
  t.same(await fleet.exited, { code: 0, signal: null })
})

t.test('SIGTERM while workers are replaced lets the requests of old and new ones finish', async t => {
  const fleet = await startFleet(t, { GATEWAY_WORKERS: '1' })
  const before = await findWorkers(fleet, 1)
  const old = fleet.get('/work?ms=3000')
  await fleet.get('/state')
  fleet.child.kill('SIGUSR2')
  await fleet.until('/state', state => state.pid !== before.get(1))
  const fresh = fleet.get('/work?ms=1000')
  await fleet.get('/state')
  fleet.child.kill('SIGTERM')
  t.equal((await old).status, 200)
  t.equal((await fresh).status, 200)
  t.same(await fleet.exited, { code: 0, signal: null })
  t.notOk(isAlive(Number(before.get(1))))
})

t.test('an old worker that is killed is not respawned, and the replacement goes on', async t => {
  const fleet = await startFleet(t, { GATEWAY_WORKERS: '2' })
  const before = await findWorkers(fleet, 2)
  // One without a request would exit by itself.
  await occupyWorkers(fleet, 2)
  fleet.child.kill('SIGUSR2')
  const replaced = () => fleet.readLog().filter(line => line.event === 'worker_replaced')
  await waitUntil(() => replaced().length === 1, 'the first one was replaced')
  process.kill(Number(before.get(1)), 'SIGKILL')
  await waitForEnd(Number(before.get(1)))
  await waitUntil(() => replaced().length === 2, 'the second one was replaced')
  process.kill(Number(before.get(2)), 'SIGKILL')
  await waitUntil(() => fleet.readLog().some(line => line.event === 'workers_replaced'), 'all of them were replaced')
  t.notOk(fleet.readLog().some(line => line.event === 'worker_restart'))
  const after = await findWorkers(fleet, 2)
  t.notOk([...after.values()].some(pid => [...before.values()].includes(pid)))
  fleet.child.kill('SIGTERM')
  t.same(await fleet.exited, { code: 0, signal: null })
})
