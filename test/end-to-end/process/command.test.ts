// What the command line prints, and with which code it exits, before the gateway serves.
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startScript } from './fixtures/run.ts'

const root = join(import.meta.dirname, '../../..')
const main = join(root, 'supervisor/main.ts')
const secret = 'hunter2-hunter2-hunter2'

const start = (t: Test, argumentList: string[], environment: Record<string, string> = {}) =>
  startScript(t, main, argumentList, environment)

async function runToEnd(t: Test, argumentList: string[], environment: Record<string, string> = {}) {
  const started = start(t, argumentList, environment)
  const { code } = await started.exited
  return { code, output: started.output(), errors: started.errors(), hasLog: existsSync(started.logFile) }
}

t.test('help and version go to stdout and exit with 0', async t => {
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

t.test('bridge 49: a preflight opens no connection', async t => {
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
      [[], { GATEWAY_CONFIG: 'profile.yaml' }, /Provider profile config cannot be read/],
      [['--config', 'profile.yaml'], {}, /Provider profile config cannot be read/],
      [['--demo'], { UPSTREAM_CREDENTIALS: secret }, /UPSTREAM_CREDENTIALS/],
      [['--demo'], { GATEWAY_MODE: 'PROD', GATEWAY_API_KEY: secret }, /GATEWAY_MODE/],
      [[], { UPSTREAM_USER: 'u', UPSTREAM_PASSWORD: secret }, /UPSTREAM_BASE_URL/],
      [[], { UPSTREAM_CA_BUNDLE_FILE: `/nope/${secret}.pem` }, /UPSTREAM_CA_BUNDLE_FILE/],
      [[], { UPSTREAM_CERT_FILE: main }, /UPSTREAM_CERT_FILE/],
      [[], { GATEWAY_USE_HTTPS: 'true', GATEWAY_HTTPS_KEY_FILE: main }, /GATEWAY_HTTPS_CERT_FILE/]
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

t.test('a port in use ends the start with 1 and one line, and is logged as an error', async t => {
  const other = createServer()
  other.listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.teardown(() => other.close())
  const address = other.address()
  const port = String(typeof address === 'object' ? address?.port : 0)
  const started = start(t, ['--host', '127.0.0.1', '--port', port])
  t.same(await started.exited, { code: 1, signal: null })
  t.match(started.errors(), /^llm-gateway: startup_failed: port_in_use: [^\n]+\n$/)
  t.match(started.errors(), `127.0.0.1:${port}`)
  t.match(
    started.readLog().find(line => line.event === 'startup_failed'),
    { level: 'ERROR', reason: 'port_in_use' }
  )
})

t.test('an address of another machine ends the start with 1', async t => {
  const { code, errors } = await runToEnd(t, ['--host', '192.0.2.1', '--port', '0'])
  t.equal(code, 1)
  t.match(errors, /^llm-gateway: startup_failed: address_not_available: [^\n]*192\.0\.2\.1:0[^\n]*\n$/)
})

t.test('an IPv6 address is named in brackets and may be given with or without them', async t => {
  for (const host of ['2001:db8::1', '[2001:db8::1]']) {
    const { code, errors } = await runToEnd(t, ['--host', host, '--port', '8090'])
    t.equal(code, 1)
    t.match(errors, /^llm-gateway: startup_failed: address_not_available: \[2001:db8::1\]:8090: [^\n]*\n$/)
  }
})

t.test('a log file that cannot be opened is a wrong setting', async t => {
  const { code, errors } = await runToEnd(t, [], { GATEWAY_LOG_FILENAME: '/nope/gateway.log' })
  t.equal(code, 2)
  t.match(errors, /^llm-gateway: invalid_profile_schema: GATEWAY_LOG_FILENAME [^\n]+\n$/)
})

t.test('settings come from the .env file of the working directory, or from the file of --env-file', async t => {
  const started = start(t, ['--inspect-config'], {})
  await started.exited
  writeFileSync(join(started.directory, 'named.env'), 'UPSTREAM_MODEL=from-named\n')
  const named = await runToEnd(t, ['--inspect-config', '--env-file', join(started.directory, 'named.env')])
  t.equal(JSON.parse(named.output).profiles[0].models[0].public_alias, 'from-named')
  const missing = await runToEnd(t, ['--inspect-config', '--env-path', '/nope.env'])
  t.equal(missing.code, 0)
  t.match(missing.errors, /^llm-gateway: [^\n]*--env-path[^\n]*\n$/)
})

t.test('a missing file of --env-file is reported by Node itself in one line', async t => {
  const { code, errors } = await runToEnd(t, ['--inspect-config', '--env-file', '/nope.env'])
  // Node reads this flag behind the script too and exits with 9; a version that does not leaves it to the gateway, which warns.
  t.ok([0, 9].includes(code ?? -1), String(code))
  t.match(errors, /^[^\n]+\n$/)
})
