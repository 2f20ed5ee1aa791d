// The real gateway as a process: what it prints and logs while it serves, and that it always exits.
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { get } from 'node:https'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { waitUntil } from '../../support/processes.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { type Started, startScript } from './fixtures/run.ts'
import { waitForEnd } from './fixtures/workers.ts'

const root = join(import.meta.dirname, '../../..')
const main = join(root, 'supervisor/main.ts')
const secret = 'hunter2-hunter2-hunter2'

const start = (t: Test, argumentList: string[], environment: Record<string, string> = {}) =>
  startScript(t, main, argumentList, environment)

function findBaseUrl(started: Started): Promise<string> {
  return started.readLine(line => line.includes('listens on')).then(line => String(/http:\S+/.exec(line)?.[0]))
}

t.test(
  'bridge 99: the demo serves with its own upstream, prints its address, and no secret reaches any output',
  async t => {
    const environment = { GATEWAY_WORKERS: '2', GATEWAY_ENABLE_API_KEY_AUTH: 'true', GATEWAY_API_KEY: secret }
    const started = start(t, ['--demo', '--port', '0', '--host', '127.0.0.1'], environment)
    const baseUrl = await findBaseUrl(started)
    await started.readLine(line => line.includes('Stop with'))
    const ask = (headers: Record<string, string>) =>
      fetch(`${baseUrl}/v1/chat/completions`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ model: 'GigaChat-2-Max', messages: [{ role: 'user', content: 'Hello!' }] })
      })
    t.equal((await ask({})).status, 401)
    const response = await ask({ authorization: `Bearer ${secret}` })
    t.equal(response.status, 200)
    t.match(await response.json(), { choices: [{ message: { content: /Hello!/ } }] })
    started.child.kill('SIGTERM')
    t.same(await started.exited, { code: 0, signal: null })
    t.equal(started.errors(), '')
    t.match(started.output(), 'authorization: Bearer $GATEWAY_API_KEY')
    t.notMatch(started.output() + readFileSync(started.logFile, 'utf8'), /hunter2/)
  }
)

t.test('with a full disk under the log file the gateway serves and exits as usual', async t => {
  const environment = { GATEWAY_WORKERS: '2', GATEWAY_LOG_FILENAME: '/dev/full', GATEWAY_ACCESS_LOG: 'true' }
  const started = start(t, ['--demo', '--port', '0', '--host', '127.0.0.1'], environment)
  const baseUrl = await findBaseUrl(started)
  const ask = async () => (await fetch(`${baseUrl}/v1/models`)).status
  t.equal(await ask(), 200)
  started.child.kill('SIGUSR1')
  t.equal(await ask(), 200, 'the file was opened anew')
  started.child.kill('SIGTERM')
  t.same(await started.exited, { code: 0, signal: null })
})

const hasIPv6 = Object.values(networkInterfaces()).some(list => list?.some(({ address }) => address === '::1'))

t.test('it serves on an IPv6 address in brackets', { skip: !hasIPv6 }, async t => {
  const started = start(t, ['--demo', '--port', '0', '--host', '[::1]'], { GATEWAY_WORKERS: '1' })
  const baseUrl = await findBaseUrl(started)
  t.match(baseUrl, /^http:\/\/\[::1\]:\d+$/)
  t.equal((await fetch(`${baseUrl}/health`)).status, 200)
  started.child.kill('SIGTERM')
  t.same(await started.exited, { code: 0, signal: null })
})

t.test('the log shows the start and the stop, with effective settings and security posture', async t => {
  const started = start(t, ['--demo', '--port', '0'], { GATEWAY_WORKERS: '1', GATEWAY_NORMALIZATION_MODE: 'x' })
  await findBaseUrl(started)
  await waitUntil(() => started.readLog().some(line => line.event === 'catalog_published'), 'the catalog is published')
  started.child.kill('SIGTERM')
  await started.exited
  const log = started.readLog()
  for (const line of log) {
    t.same(
      Object.keys(line).filter(name => !/^[a-z]+(_[a-z]+)*$/.test(name)),
      [],
      String(line.event)
    )
  }
  const events = log.map(line => line.event)
  for (const event of [
    'starting',
    'effective_settings',
    'security_posture',
    'startup_complete',
    'shutdown_initiated'
  ]) {
    t.ok(events.includes(event), event)
  }
  t.ok(log.some(line => line.msg === 'Application startup complete'))
  t.match(
    log.find(line => line.event === 'effective_settings'),
    { settings: { GATEWAY_WORKERS: 1, UPSTREAM_CREDENTIALS: '***', UPSTREAM_MODEL: 'GigaChat-2-Max' } }
  )
  t.match(log.find(line => line.event === 'security_posture')?.msg, /^Security posture: \{"mode":"DEV"/)
  t.match(
    log.find(line => line.event === 'configuration_warning'),
    { level: 'WARNING', msg: /GATEWAY_NORMALIZATION_MODE/ }
  )
})

t.test('the embedded upstream exits with the gateway, also when the gateway is killed', async t => {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    // A killed gateway cannot remove its temporary folders.
    const environment = { GATEWAY_WORKERS: '1', TMPDIR: createTemporaryFolder(t) }
    const started = start(t, ['--demo', '--port', '0'], environment)
    await findBaseUrl(started)
    const children = readFileSync(`/proc/${started.child.pid}/task/${started.child.pid}/children`, 'utf8')
    const pids = children.trim().split(' ').map(Number)
    t.equal(pids.length, 4, 'one worker, the writer of records, the store of responses and the upstream')
    started.child.kill(signal)
    await started.exited
    for (const pid of pids) await waitForEnd(pid)
  }
})

t.test('a stdout that is not read blocks neither requests nor the exit', async t => {
  const environment = { GATEWAY_WORKERS: '1', GATEWAY_ACCESS_LOG: 'true', UPSTREAM_BASE_URL: 'http://127.0.0.1:9' }
  const started = start(t, ['--port', '0', '--host', '127.0.0.1'], environment)
  const { port } = JSON.parse(await started.readLine(line => line.includes('"event":"listening"')))
  started.child.stdout?.pause()
  // Far more than a pipe holds.
  const path = `/v1/${'x'.repeat(400)}`
  while (statSync(started.logFile).size < 2 * 1024 * 1024) {
    const responses = await Promise.all(Array.from({ length: 50 }, () => fetch(`http://127.0.0.1:${port}${path}`)))
    for (const response of responses) await response.arrayBuffer()
  }
  started.child.kill('SIGTERM')
  const [code] = await once(started.child, 'exit')
  t.equal(code, 0)
  started.child.stdout?.resume()
})

t.test('with HTTPS on, the gateway serves TLS with the given certificate', async t => {
  const fixtures = join(root, 'test/ops/emulator/fixtures')
  const started = start(t, ['--demo', '--port', '0', '--host', '127.0.0.1'], {
    GATEWAY_WORKERS: '1',
    GATEWAY_USE_HTTPS: 'true',
    GATEWAY_HTTPS_KEY_FILE: join(fixtures, 'server.key'),
    GATEWAY_HTTPS_CERT_FILE: join(fixtures, 'server.pem')
  })
  const line = await started.readLine(one => one.includes('listens on'))
  const url = String(/https:\S+/.exec(line)?.[0])
  const status = await new Promise((resolve, reject) => {
    get(`${url}/health`, { rejectUnauthorized: false }, response => resolve(response.statusCode)).on('error', reject)
  })
  t.equal(status, 200)
  started.child.kill('SIGTERM')
  t.same(await started.exited, { code: 0, signal: null })
})
