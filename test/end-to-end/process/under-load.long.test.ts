import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { get, post, readUntilCut } from '../../support/client.ts'
import { startDraining } from '../../support/drain.ts'
import { emulatorVariables, readLog, type StartedGateway, startEmulator, startGateway } from '../../support/gateway.ts'
import { readChildPids, waitUntil } from '../../support/processes.ts'
import { assertSdkError } from '../../support/sdk-refusal.ts'

const CLIENTS = 12
/** How connections reach the workers: by the kernel, or through the supervisor where the kernel cannot share a port. */
const listeningModes: Array<{ mode: string; sharesPort: boolean; env: Record<string, string> }> = [
  { mode: 'shared port', sharesPort: process.platform === 'linux', env: {} },
  {
    mode: 'round robin',
    sharesPort: false,
    env: { NODE_OPTIONS: `--import=${new URL('fixtures/no-port-sharing.ts', import.meta.url).href}` }
  }
]
const body = JSON.stringify({ model: 'GigaChat-2', messages: [{ role: 'user', content: '[[slow:5]] hi' }] })

interface Outcome {
  status: number | undefined
  /** The connection could not be opened, so no worker accepted this request. */
  isRefused: boolean
  /** The id that the client gave the request. */
  id: string
  headers: Record<string, string | string[] | undefined>
}

function ask(url: string, agent: Agent): Promise<Outcome> {
  const id = randomUUID()
  return new Promise(resolve => {
    const options = { method: 'POST', agent, headers: { 'x-trace-id': id } }
    const sent = request(`${url}/v1/chat/completions`, options, response => {
      response.resume()
      response.on('end', () =>
        resolve({ id, status: response.statusCode, isRefused: false, headers: response.headers })
      )
      response.on('error', () => resolve({ id, status: undefined, isRefused: false, headers: {} }))
    })
    sent.on('error', (error: NodeJS.ErrnoException) =>
      resolve({ id, status: undefined, isRefused: error.code === 'ECONNREFUSED', headers: {} })
    )
    sent.end(body)
  })
}

/** The ids of all requests that a worker has received, with any outcome. */
function readServedIds(gateway: StartedGateway): Set<string> {
  const log = readFileSync(join(gateway.folder, 'gateway.log'), 'utf8')
  return new Set([...log.matchAll(/"event":"http_access".*?"trace_id":"([^"]+)"/g)].map(([, id]) => id ?? ''))
}

/** Starts two workers and checks how they listen. */
async function startWorkers(t: Test, { sharesPort, env }: (typeof listeningModes)[number]): Promise<StartedGateway> {
  const emulator = await startEmulator(t)
  const gateway = await startGateway(t, {
    env: { ...emulatorVariables(emulator), ...env, GATEWAY_WORKERS: '2', GATEWAY_ACCESS_LOG: 'true' }
  })
  t.match(
    readLog(gateway).find(({ event }) => event === 'port_reserved'),
    { reuse_port: sharesPort }
  )
  return gateway
}

/** Clients that ask one after the other on kept connections until told to stop. */
function startLoad(t: Test, url: string) {
  const outcomes: Outcome[] = []
  let isRunning = true
  const clients = Array.from({ length: CLIENTS }, async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    while (isRunning) {
      const outcome = await ask(url, agent)
      outcomes.push(outcome)
      if (outcome.isRefused) break
    }
    agent.destroy()
  })
  const stop = async () => {
    isRunning = false
    await Promise.all(clients)
    return outcomes
  }
  t.teardown(stop)
  return { outcomes, stop, ended: Promise.all(clients) }
}

for (const listening of listeningModes) {
  t.test(`kill -9 of a worker loses only the requests it was working on (I11), ${listening.mode}`, async t => {
    const gateway = await startWorkers(t, listening)
    const supervisor = gateway.process.pid ?? 0
    const before = readChildPids(supervisor)
    t.equal(before.length, 2)
    const load = startLoad(t, gateway.url)
    await waitUntil(() => load.outcomes.length > 200, 'some load has passed')
    process.kill(before[0] ?? 0, 'SIGKILL')
    const atKill = load.outcomes.length
    await waitUntil(() => load.outcomes.length > atKill + 200, 'load goes on')
    await waitUntil(() => readChildPids(supervisor).length === 2, 'a new worker has been forked')
    const outcomes = await load.stop()
    const lost = outcomes.filter(({ status }) => status !== 200)
    t.ok(lost.length <= CLIENTS, `${lost.length} of ${outcomes.length} requests were lost`)
    t.notOk(readChildPids(supervisor).includes(before[0] ?? 0))
    t.equal((await post(`${gateway.url}/v1/chat/completions`, body)).status, 200)
    t.equal(await gateway.stop(), 0)
  })

  t.test(`workers that replace all others at once listen on the announced port, ${listening.mode}`, async t => {
    const gateway = await startWorkers(t, listening)
    const before = readChildPids(gateway.process.pid ?? 0)
    t.equal(before.length, 2)
    for (const pid of before) process.kill(pid, 'SIGKILL')
    const isServed = () =>
      get(`${gateway.url}/health`).then(
        ({ status }) => status === 200,
        () => false
      )
    await waitUntil(isServed, 'a new worker serves')
    t.equal(await gateway.stop(), 0)
  })

  t.test(`SIGTERM under load loses no request (I1, I3, I5), ${listening.mode}`, async t => {
    const gateway = await startWorkers(t, listening)
    const load = startLoad(t, gateway.url)
    await waitUntil(() => load.outcomes.length > 200, 'some load has passed')
    const exited = gateway.stop()
    await load.ended
    t.equal(await exited, 0)
    const workers = new Set(readLog(gateway).flatMap(({ event, worker }) => (event === 'http_access' ? [worker] : [])))
    // The kernel spreads connections at random, so one worker may get all of them.
    if (!listening.sharesPort) t.equal(workers.size, 2, 'both workers got connections')
    // A connection that was queued in the kernel is reset when the listener closes: no worker had accepted it.
    const served = readServedIds(gateway)
    const answered = load.outcomes.filter(({ status }) => status === 200 || status === 503)
    t.ok(
      answered.every(({ id }) => served.has(id)),
      'every request with a response is in the log'
    )
    const lost = load.outcomes.filter(outcome => !answered.includes(outcome) && served.has(outcome.id))
    t.strictSame(lost, [], 'every request that a worker received got a response')
    for (const { status, headers } of load.outcomes) {
      if (status !== 503) continue
      t.equal(headers['retry-after'], '1')
      t.equal(headers.connection, 'close')
    }
  })
}

t.test('bridge 95, 96: SIGTERM lets a short request finish and ends an endless stream at the deadline', async t => {
  const emulator = await startEmulator(t)
  const gateway = await startGateway(t, {
    env: { ...emulatorVariables(emulator), GATEWAY_SHUTDOWN_TIMEOUT_SECONDS: '2' }
  })
  const url = `${gateway.url}/v1/chat/completions`
  const stream = await fetch(url, {
    method: 'POST',
    body: JSON.stringify({
      model: 'GigaChat-2',
      stream: true,
      messages: [{ role: 'user', content: '[[tick:100]][[len:100000]]' }]
    })
  })
  const exited = gateway.stop()
  const { text, isCut } = await readUntilCut(stream)
  t.equal(await exited, 0)
  t.ok(isCut, 'the body has no end (decisions.md 108)')
  t.match(text.trim().split('\n\n').at(-1), /"error":\{.*"code":"gateway_not_ready"/)
})

t.test('completions 73: a request during shutdown is refused with a machine readable reason (I1, I2)', async t => {
  const emulator = await startEmulator(t)
  const gateway = await startGateway(t, {
    env: { ...emulatorVariables(emulator), GATEWAY_WORKERS: '2' }
  })
  const url = `${gateway.url}/v1/chat/completions`
  const running = post(url, {
    model: 'GigaChat-2',
    messages: [{ role: 'user', content: '[[slow:3000]][[text:late]]' }]
  })
  await emulator.waitFor(() => emulator.stats.activeChatRequests > 0)
  const draining = await startDraining(t, gateway)
  const ready = await get(`${draining.url}/ready`)
  t.same([ready.status, ready.json.reasons[0].reason_id], [503, 'gateway_shutting_down'])
  t.equal((await get(`${draining.url}/health`)).status, 200)
  const late = `${draining.url}/v1/chat/completions`
  const refused = await post(late, body)
  t.equal(refused.status, 503)
  t.equal(refused.headers.get('retry-after'), '1')
  t.strictSame(refused.json, {
    schema_version: 'gateway.error.v1',
    error: {
      message: 'Gateway routes are not ready.',
      type: 'server_error',
      param: null,
      code: 'gateway_not_ready',
      details: [{ reason_id: 'gateway_shutting_down' }]
    }
  })
  const refusal = { status: 503, type: 'server_error', code: 'gateway_not_ready', param: null }
  await assertSdkError(t, { url: late, body }, refusal)
  t.equal((await running).json.choices[0].message.content, 'late', 'the running request got its response')
  t.equal(await gateway.stop(), 0)
})
