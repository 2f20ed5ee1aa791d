import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readChildPids } from '../../support/processes.ts'
import { startControlProcess, startFleet, startScript } from './fixtures/run.ts'

const worker = join(import.meta.dirname, 'fixtures/fixture-worker.ts')
const runner = join(import.meta.dirname, 'fixtures/run-control.ts')
const oneWorker = { GATEWAY_HOST: '127.0.0.1', GATEWAY_PORT: '0', GATEWAY_WORKERS: '1' }

t.test('a worker that is not ready in time ends the start with 1 and one line', async t => {
  const started = startControlProcess(t, { GATEWAY_STARTUP_TIMEOUT_SECONDS: '1' }, 'never-ready')
  t.same(await started.exited, { code: 1, signal: null })
  t.match(started.errors(), /^startup_failed: not_ready_in_time: [^\n]*\n$/)
})

t.test('a worker that cannot start ends the start with 1, without a secret or a trace on stderr', async t => {
  const settings = { GATEWAY_WORKERS: '1', UPSTREAM_CREDENTIALS: 'hunter2-credentials' }
  const started = startControlProcess(t, settings, 'throw-at-start')
  t.same(await started.exited, { code: 1, signal: null })
  t.match(started.errors(), /^startup_failed: internal: [^\n]*\n$/)
  const log = JSON.stringify(started.readLog())
  t.notMatch(started.errors() + started.output() + log, /hunter2/)
  t.match(log, /cannot start with \*\*\*/)
})

t.test('a port that another process binds before a worker does is named', async t => {
  const started = startControlProcess(t, { GATEWAY_WORKERS: '1' }, 'port-taken')
  t.same(await started.exited, { code: 1, signal: null })
  t.match(started.errors(), /^startup_failed: port_in_use: 127\.0\.0\.1:\d+: [^\n]*\n$/)
})

t.test('a worker with another configuration is refused', async t => {
  const started = startControlProcess(t, { GATEWAY_WORKERS: '1' }, 'other-revision')
  t.same(await started.exited, { code: 2, signal: null })
  t.match(started.errors(), /^startup_failed: configuration: [^\n]*\n$/)
})

t.test('a signal while workers are starting ends cleanly (I6)', async t => {
  const started = startControlProcess(t, {}, 'never-ready')
  while (!existsSync(started.logFile)) await new Promise(resolve => setImmediate(resolve))
  started.child.kill('SIGTERM')
  t.same(await started.exited, { code: 0, signal: null })
  t.equal(started.errors(), '')
})

t.test('no credential is left in the environment of a worker, under any name of a variable', async t => {
  const secrets = {
    GATEWAY_API_KEY: 'hunter2-gateway',
    UPSTREAM_CREDENTIALS: 'hunter2-upstream',
    SOME_PROFILE_KEY: 'hunter2-profile',
    NODE_AUTH_TOKEN: 'hunter2-registry',
    HTTPS_PROXY: 'http://user:hunter2-proxy@127.0.0.1:9'
  }
  const started = startScript(t, runner, [JSON.stringify(oneWorker)], { ...secrets, TZ: 'UTC', LC_TIME: 'C' })
  await started.readLine(line => line.includes('"serving"'))
  const [pid = 0] = readChildPids(started.child.pid ?? 0)
  const environment = readFileSync(`/proc/${pid}/environ`, 'utf8')
  t.notMatch(environment, /hunter2/)
  for (const name of Object.keys(secrets)) t.notMatch(environment, name)
  for (const kept of ['PATH=', 'HOME=', 'TZ=UTC', 'LC_TIME=C']) t.match(environment, kept)
})

t.test('workers get the Node options that were planned for them', async t => {
  const fleet = await startFleet(t)
  const { body } = await fleet.get('/state')
  t.ok((body.execArgv as string[]).includes('--max-semi-space-size=32'))
})

t.test('a worker that is started by hand refuses with one line', async t => {
  const started = startScript(t, worker, [], {})
  t.same(await started.exited, { code: 2, signal: null })
  t.match(started.errors(), /^[^\n]+\n$/)
})

t.test('no other gateway gets the port while the workers share it', async t => {
  const fleet = await startFleet(t)
  const { port } = new URL(fleet.baseUrl)
  const second = startControlProcess(t, { GATEWAY_PORT: port })
  t.not((await second.exited).code, 0)
  t.match(second.errors(), /EADDRINUSE/)
})
