// A gateway that runs out of descriptors (operations.md 3): running streams end whole, no process exits, and no part stays disabled.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { post } from '../../support/client.ts'
import { emulatorVariables, readLog, type StartedGateway, startEmulator, startGateway } from '../../support/gateway.ts'
import { readChildPids, waitUntil } from '../../support/processes.ts'
import { whyWithout } from '../../support/programs.ts'

const skip = whyWithout('prlimit')

/** The gateway and each of its processes may open so many descriptors. */
const withDescriptors = (count: number): string[] => ['prlimit', `--nofile=${count}:${count}`]

/** Opens connections that send nothing; those that the gateway refuses are closed by it. */
async function openIdle(t: Test, url: string, count: number): Promise<() => Promise<void>> {
  const { port, hostname } = new URL(url)
  const sockets: Socket[] = []
  for (let index = 0; index < count; index += 1) {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => undefined)
    sockets.push(socket)
    await Promise.race([once(socket, 'connect'), once(socket, 'close')])
  }
  const close = async (): Promise<void> => {
    const closed = sockets.map(socket => (socket.destroyed ? undefined : once(socket, 'close')))
    for (const socket of sockets) socket.destroy()
    await Promise.all(closed)
  }
  t.teardown(close)
  return close
}

function startLimited(t: Test, descriptors: number, env: Record<string, string>): Promise<StartedGateway> {
  return startGateway(t, { launcher: withDescriptors(descriptors), env })
}

t.test('operations-emfile-metrics: a lack of descriptors ends no stream and no worker', { skip }, async t => {
  const emulator = await startEmulator(t)
  const gateway = await startLimited(t, 1024, { ...emulatorVariables(emulator), GATEWAY_METRICS_ENABLED: 'true' })
  const workers = readChildPids(gateway.process.pid ?? 0)
  const body = {
    model: 'GigaChat-2',
    stream: true,
    messages: [{ role: 'user', content: '[[tick:100]][[len:50]]' }]
  }
  const streams = Array.from({ length: 3 }, () => post(`${gateway.url}/v1/chat/completions`, body))
  await emulator.waitFor(() => emulator.stats.activeChatRequests === 3)
  await openIdle(t, gateway.url, 1100)
  for (const { status, text } of await Promise.all(streams)) {
    t.equal(status, 200)
    t.ok(text.endsWith('data: [DONE]\n\n'), 'the stream is whole')
  }
  t.same(readChildPids(gateway.process.pid ?? 0), workers, 'no worker was replaced')
  const listLines = () => readLog(gateway).filter(({ event }) => event === 'connections_refused')
  // A worker gathers its lines for a moment before it writes them.
  await waitUntil(() => listLines().length > 0, 'connections are refused')
  t.equal(listLines().length, 1, 'one line says that connections are refused')
})

t.test('a worker that took the place of another one refuses connections as well, and goes on', { skip }, async t => {
  const emulator = await startEmulator(t)
  const gateway = await startLimited(t, 256, emulatorVariables(emulator))
  gateway.process.kill('SIGUSR2')
  await waitUntil(() => readLog(gateway).some(({ event }) => event === 'workers_replaced'), 'the worker is replaced')
  const workers = readChildPids(gateway.process.pid ?? 0)
  const close = await openIdle(t, gateway.url, 400)
  const isRefused = () => readLog(gateway).some(line => Number(line.connections_max) > 0)
  await waitUntil(isRefused, 'one line says that connections are refused')
  await close()
  const body = { model: 'GigaChat-2', messages: [{ role: 'user', content: 'hello' }] }
  t.equal((await post(`${gateway.url}/v1/chat/completions`, body)).status, 200)
  t.same(readChildPids(gateway.process.pid ?? 0), workers, 'no worker was replaced')
})

t.test('operations-emfile-largebody: a large body is served when there are descriptors again', { skip }, async t => {
  const emulator = await startEmulator(t)
  const gateway = await startLimited(t, 128, emulatorVariables(emulator))
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const content = 'word '.repeat(160_000)
  const ask = (): Promise<number | undefined> =>
    new Promise(resolve => {
      const sent = request(`${gateway.url}/v1/chat/completions`, { method: 'POST', agent }, response => {
        response.resume()
        response.on('close', () => resolve(response.statusCode))
      })
      sent.on('error', () => resolve(undefined))
      sent.end(JSON.stringify({ model: 'GigaChat-2', messages: [{ role: 'user', content }] }))
    })
  await new Promise(resolve =>
    request(`${gateway.url}/health`, { agent }, response => response.resume().on('end', resolve)).end()
  )
  const workers = readChildPids(gateway.process.pid ?? 0)
  const close = await openIdle(t, gateway.url, 200)
  t.comment(`without descriptors: ${await ask()}`)
  await close()
  let status: number | undefined
  await waitUntil(
    async () => {
      status = await ask()
      return status === 200
    },
    'the large body is served',
    10_000
  ).catch(() => undefined)
  t.equal(status, 200)
  t.same(readChildPids(gateway.process.pid ?? 0), workers, 'no worker was replaced')
})

t.test('a pool of threads that could not start is made again', { skip }, async t => {
  const [program = '', ...args] = withDescriptors(64)
  const fixture = join(import.meta.dirname, 'fixtures', 'thread-pool-without-descriptors.ts')
  const output = execFileSync(program, [...args, process.execPath, fixture], { encoding: 'utf8' })
  t.same(JSON.parse(output), ['gateway_overloaded', 'gateway_overloaded', 'done'])
})
