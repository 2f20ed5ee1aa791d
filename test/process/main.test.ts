import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Started, startScript } from './fixtures/run.ts'
import { waitForEnd } from './fixtures/workers.ts'

const root = join(import.meta.dirname, '../..')
const main = join(root, 'supervisor/main.ts')
const secret = 'hunter2-hunter2-hunter2'

const start = (t: Test, argumentList: string[], environment: Record<string, string> = {}) =>
  startScript(t, main, argumentList, environment)

async function runToEnd(t: Test, argumentList: string[], environment: Record<string, string> = {}) {
  const started = start(t, argumentList, environment)
  const { code } = await started.exited
  return { code, output: started.output(), errors: started.errors(), hasLog: existsSync(started.logFile) }
}

function findBaseUrl(started: Started): Promise<string> {
  return started.readLine(line => line.includes('listens on')).then(line => String(/http:\S+/.exec(line)?.[0]))
}

t.test('help and version go to stdout and end with 0', async t => {
  const help = await runToEnd(t, ['--help'])
  t.equal(help.code, 0)
  t.match(help.output, /^Usage: llm-gateway/)
  t.equal(help.errors, '')
  const version = await runToEnd(t, ['--version'])
  t.equal(version.code, 0)
  t.equal(version.output, `${JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version}\n`)
})

t.test(
  'bridge 44: wrong usage prints the usage and one line on stderr, nothing on stdout, and ends with 2',
  async t => {
    for (const argumentList of [['--config'], ['--nope'], [secret], ['--proxy.port', '1'], [`--api-key=${secret}`]]) {
      const { code, output, errors, hasLog } = await runToEnd(t, argumentList)
      t.equal(code, 2)
      t.equal(output, '')
      t.match(errors, /^Usage: [\s\S]+\nllm-gateway: [^\n]+\n$/)
      t.notMatch(errors, /hunter2/)
      t.equal(hasLog, false)
    }
  }
)

t.test('bridge 1: a preflight prints one line of JSON, and opens no log file', async t => {
  const { code, output, errors, hasLog } = await runToEnd(t, ['--inspect-config'])
  t.equal(code, 0)
  t.match(output, /^\{"schema_version":"gateway\.inspect\.v1",[^\n]*\}\n$/)
  t.equal(errors, '')
  t.equal(hasLog, false)
})

t.test('bridge 45: a failed preflight prints one error document and ends with 2, without a trace', async t => {
  const { code, output, errors } = await runToEnd(t, ['--inspect-config'], { GATEWAY_PORT: secret })
  t.equal(code, 2)
  t.match(JSON.parse(output), {
    schema_version: 'gateway.error.v1',
    error: { code: 'invalid_profile_schema', details: [{ reason_id: 'invalid_settings', setting: 'GATEWAY_PORT' }] }
  })
  t.equal(errors, '')
  t.notMatch(output, /hunter2/)
})

t.test('warnings of a preflight go to stderr and do not change its exit code', async t => {
  const { code, output, errors } = await runToEnd(t, ['--inspect-config'], { GATEWAY_LOG_LEVLE: secret })
  t.equal(code, 0)
  t.equal(JSON.parse(output).valid, true)
  t.match(errors, /^llm-gateway: [^\n]*GATEWAY_LOG_LEVEL[^\n]*\n$/)
  t.notMatch(errors, /hunter2/)
})

t.test('bridge 49: a preflight contacts nobody', async t => {
  let connections = 0
  const upstream = createServer(() => {
    connections += 1
  })
  upstream.listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  t.teardown(() => upstream.close())
  const address = upstream.address()
  const port = typeof address === 'object' ? address?.port : 0
  const environment = {
    UPSTREAM_BASE_URL: `http://127.0.0.1:${port}/v1`,
    UPSTREAM_AUTH_URL: `http://127.0.0.1:${port}/oauth`,
    UPSTREAM_CREDENTIALS: secret
  }
  t.equal((await runToEnd(t, ['--inspect-config'], environment)).code, 0)
  t.equal(connections, 0)
})

t.test(
  'a start with a wrong configuration ends with 2, one line on stderr, nothing on stdout and no log file',
  async t => {
    const wrong: Array<[string[], Record<string, string>, RegExp]> = [
      [[], { GATEWAY_PORT: secret }, /GATEWAY_PORT/],
      [[], { GATEWAY_MODE: 'PROD' }, /GATEWAY_API_KEY/],
      [[], { GATEWAY_ENABLE_API_KEY_AUTH: 'true' }, /GATEWAY_API_KEY/],
      [[], { GATEWAY_CONFIG: 'profile.yaml' }, /no universal bridge/],
      [['--config', 'profile.yaml'], {}, /no universal bridge/],
      [['--demo'], { UPSTREAM_CREDENTIALS: secret }, /UPSTREAM_CREDENTIALS/],
      [['--demo'], { GATEWAY_MODE: 'PROD', GATEWAY_API_KEY: secret }, /GATEWAY_MODE/],
      [[], { UPSTREAM_USER: 'u', UPSTREAM_PASSWORD: secret }, /UPSTREAM_BASE_URL/]
    ]
    for (const [argumentList, environment, expected] of wrong) {
      const { code, output, errors, hasLog } = await runToEnd(t, argumentList, environment)
      t.equal(code, 2)
      t.equal(output, '')
      t.match(errors, /^llm-gateway: invalid_profile_schema: [^\n]+\n$/)
      t.match(errors, expected)
      t.notMatch(errors, /hunter2/)
      t.equal(hasLog, false)
    }
  }
)

t.test('operations 36: PROD without a key does not start', async t => {
  t.equal((await runToEnd(t, [], { GATEWAY_MODE: 'prod' })).code, 2)
})

t.test('a port in use ends the start with 1 and one line, and the log says it as an error', async t => {
  const other = createServer()
  other.listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.teardown(() => other.close())
  const address = other.address()
  const port = String(typeof address === 'object' ? address?.port : 0)
  const started = start(t, ['--host', '127.0.0.1', '--port', port])
  t.same(await started.exited, { code: 1, signal: null })
  t.match(started.errors(), /^llm-gateway: startup_failed: port_in_use: [^\n]+\n$/)
  t.match(
    started.readLog().find(line => line.event === 'startup_failed'),
    { level: 'ERROR' }
  )
})

t.test('an address of another machine ends the start with 1', async t => {
  const { code, errors } = await runToEnd(t, ['--host', '192.0.2.1', '--port', '0'])
  t.equal(code, 1)
  t.match(errors, /^llm-gateway: startup_failed: address_not_available: [^\n]+\n$/)
})

t.test('a log file that cannot be opened ends the start with 1', async t => {
  const { code, errors } = await runToEnd(t, [], { GATEWAY_LOG_FILENAME: '/nope/gateway.log' })
  t.equal(code, 1)
  t.match(errors, /^llm-gateway: startup_failed: [^\n]+\n$/)
})

t.test('a TLS file of the upstream that cannot be read ends the start with 2', async t => {
  const environment = { UPSTREAM_CA_BUNDLE_FILE: '/nope/ca.pem', GATEWAY_PORT: '0', GATEWAY_WORKERS: '1' }
  const { code, errors } = await runToEnd(t, [], environment)
  t.equal(code, 2)
  t.match(errors, /^llm-gateway: startup_failed: configuration: [^\n]+\n$/)
})

t.test('bridge 99: the demo serves with its own upstream, says where, and no secret reaches any output', async t => {
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
  const answer = await ask({ authorization: `Bearer ${secret}` })
  t.equal(answer.status, 200)
  t.match(await answer.json(), { choices: [{ message: { content: /Hello!/ } }] })
  started.child.kill('SIGTERM')
  t.same(await started.exited, { code: 0, signal: null })
  t.equal(started.errors(), '')
  t.match(started.output(), 'authorization: Bearer $GATEWAY_API_KEY')
  t.notMatch(started.output() + readFileSync(started.logFile, 'utf8'), /hunter2/)
})

t.test('the log tells the start and the stop, with effective settings and security posture', async t => {
  const started = start(t, ['--demo', '--port', '0'], { GATEWAY_WORKERS: '1', GATEWAY_NORMALIZATION_MODE: 'x' })
  await findBaseUrl(started)
  started.child.kill('SIGTERM')
  await started.exited
  const log = started.readLog()
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

t.test('the embedded upstream ends with the gateway, however the gateway ends', async t => {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const started = start(t, ['--demo', '--port', '0'], { GATEWAY_WORKERS: '1' })
    await findBaseUrl(started)
    const children = readFileSync(`/proc/${started.child.pid}/task/${started.child.pid}/children`, 'utf8')
    const pids = children.trim().split(' ').map(Number)
    t.equal(pids.length, 2, 'one worker and the upstream')
    started.child.kill(signal)
    await started.exited
    for (const pid of pids) await waitForEnd(pid)
  }
})

t.test('a signal at any moment of a start ends it with 0 (I6)', async t => {
  // The moments are spread over the start: module loading, the embedded upstream, the port, the workers.
  for (let waitMs = 100; waitMs <= 1300; waitMs += 150) {
    const started = start(t, ['--demo', '--port', '0'], { GATEWAY_WORKERS: '1' })
    await new Promise(resolve => setTimeout(resolve, waitMs))
    // Before Node runs the first line there is no handler to install; that moment is not ours.
    if (!isLoaded(started)) {
      started.child.kill('SIGKILL')
      continue
    }
    started.child.kill('SIGTERM')
    t.same(await started.exited, { code: 0, signal: null }, `after ${waitMs} ms`)
    t.equal(started.errors(), '')
  }
})

/** Whether the entry has installed its handlers: bit 15 of the caught signals of the process is SIGTERM. */
function isLoaded(started: Started): boolean {
  const caught = /SigCgt:\s*([0-9a-f]+)/.exec(readFileSync(`/proc/${started.child.pid}/status`, 'utf8'))?.[1]
  return (BigInt(`0x${caught}`) & (1n << 14n)) !== 0n
}

t.test('settings come from the .env file of the working directory, or from the one that is named', async t => {
  const started = start(t, ['--inspect-config'], {})
  await started.exited
  writeFileSync(join(started.directory, 'named.env'), 'UPSTREAM_MODEL=from-named\n')
  const named = await runToEnd(t, ['--inspect-config', '--env-file', join(started.directory, 'named.env')])
  t.equal(JSON.parse(named.output).profiles[0].models[0].public_alias, 'from-named')
  const missing = await runToEnd(t, ['--inspect-config', '--env-path', '/nope.env'])
  t.equal(missing.code, 0)
  t.match(missing.errors, /--env-file/)
})
