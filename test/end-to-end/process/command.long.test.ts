// What the command line prints, and with which code it exits, before the gateway serves.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { startScript } from './fixtures/run.ts'

const root = join(import.meta.dirname, '../../..')
const main = join(root, 'supervisor/main.ts')
const secret = 'hunter2-hunter2-hunter2'

const start = (t: Test, argumentList: string[], environment: Record<string, string> = {}) =>
  startScript(t, main, argumentList, environment)

const writeAlias = (name: string) => ({
  public_alias: name,
  upstream_model: 'm',
  capability_profile: 'c',
  support_status: 'stable',
  capabilities: {
    features: [
      ...['roles', 'ordered_content_parts', 'text', 'stop_reason', 'usage', 'model_identity', 'request_error_classes'],
      ...['cancellation', 'context_token_limits']
    ],
    limits: { context_window: 4096 }
  }
})

/** A profile of a provider on this machine, without a key. */
const writeLocalProfile = (id: string, baseUrl: string) => ({
  profile_id: id,
  provider_kind: 'chat_compatible',
  base_url: baseUrl,
  allow_loopback: true,
  network_policy_ref: 'loopback-development',
  tls_policy_ref: 'system-default',
  models: [writeAlias('local/a')]
})

const writeFile = (...profiles: object[]) =>
  JSON.stringify({ schema_version: 'gateway.provider-profiles.v3', profiles })

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
  t.equal(errors, 'llm-gateway: GATEWAY_PORT must be an integer >= 0 and <= 65535.\n')
  t.notMatch(output + errors, /hunter2/)
})

t.test('warnings of a preflight go to stderr and do not change its exit code', async t => {
  const { code, output, errors } = await runToEnd(t, ['--inspect-config'], { GATEWAY_LOG_LEVLE: secret })
  t.equal(code, 0)
  t.equal(JSON.parse(output).valid, true)
  t.match(errors, /^llm-gateway: [^\n]*GATEWAY_LOG_LEVEL[^\n]*\n$/)
  t.notMatch(errors, /hunter2/)
})

/** Preloaded into the gateway: writes every connection and every query for a name that the process starts to a file. */
const watchNetwork = `
import { createHook } from 'node:async_hooks'
import { appendFileSync } from 'node:fs'
const watched = new Set(['TCPCONNECTWRAP', 'PIPECONNECTWRAP', 'GETADDRINFOREQWRAP', 'GETNAMEINFOREQWRAP', 'QUERYWRAP', 'UDPSENDWRAP'])
createHook({ init: (id, type) => { if (watched.has(type)) appendFileSync(process.env.NETWORK_FILE, type + '\\n') } }).enable()
`

t.test('bridge 49: a preflight opens no connection and resolves no name', async t => {
  let connections = 0
  const upstream = createServer(socket => {
    connections += 1
    socket.destroy()
  })
  upstream.listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  t.teardown(() => upstream.close())
  const address = upstream.address()
  const port = typeof address === 'object' ? address?.port : 0
  const folder = createTemporaryFolder(t)
  const NETWORK_FILE = join(folder, 'network')
  const environment = {
    UPSTREAM_BASE_URL: `http://127.0.0.1:${port}/v1`,
    UPSTREAM_AUTH_URL: `http://127.0.0.1:${port}/oauth`,
    UPSTREAM_CREDENTIALS: secret,
    NETWORK_FILE,
    NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(watchNetwork)}`
  }
  const local = writeLocalProfile('local', `http://127.0.0.1:${port}/v1`)
  const named = { ...local, profile_id: 'named', base_url: 'https://localhost.example/v1', allow_loopback: false }
  const profiles = [local, { ...named, network_policy_ref: 'public-openai', models: [writeAlias('named')] }]
  const config = join(folder, 'profiles.json')
  writeFileSync(config, JSON.stringify({ schema_version: 'gateway.provider-profiles.v3', profiles }))
  const native = await runToEnd(t, ['--inspect-config'], environment)
  t.equal(native.code, 0)
  const file = await runToEnd(t, ['--inspect-config', '--config', config], environment)
  t.equal(file.code, 0)
  t.equal(JSON.parse(file.output).profiles.length, 2)
  t.equal(connections, 0)
  t.equal(existsSync(NETWORK_FILE), false)

  // The watcher sees what there is to see.
  const probe = join(folder, 'probe.mjs')
  writeFileSync(probe, `import { connect } from 'node:net'\nconnect(${port}, 'localhost').on('error', () => {})`)
  await startScript(t, probe, [], environment).exited
  t.match(readFileSync(NETWORK_FILE, 'utf8'), /GETADDRINFOREQWRAP\n(.*\n)*TCPCONNECTWRAP/)
})

t.test(
  'bridge 3: a preflight of a file prints one line of JSON and nothing else, bridge 41: also through a link',
  async t => {
    const folder = createTemporaryFolder(t)
    const config = join(folder, 'profiles.json')
    const link = join(folder, 'link.json')
    const profile = { ...writeLocalProfile('p1', 'http://127.0.0.1:9/v1'), credential_env: 'LOCAL_KEY' }
    writeFileSync(config, JSON.stringify({ schema_version: 'gateway.provider-profiles.v3', profiles: [profile] }))
    symlinkSync(config, link)
    const environment = { LOCAL_KEY: secret, GATEWAY_CONFIG: link }
    const { code, output, errors, hasLog } = await runToEnd(t, ['--inspect-config', '--config', config], environment)
    t.equal(code, 0)
    t.match(output, /^\{"schema_version":"gateway\.inspect\.v1",[^\n]*\}\n$/)
    t.match(JSON.parse(output).profiles, [{ profile_id: 'p1', credential_env: 'LOCAL_KEY' }])
    t.equal(errors, '')
    t.notMatch(output, /hunter2/)
    t.equal(hasLog, false)
  }
)

t.test('bridge 99: a refused file shows no secret in a preflight, in a start and in the log', async t => {
  const folder = createTemporaryFolder(t)
  const profile = { ...writeLocalProfile('p1', 'http://127.0.0.1:9/v1'), credential_env: 'LOCAL_KEY' }
  const wrong: Array<[string, string, string]> = [
    ['unknown-member.json', JSON.stringify({ profiles: [{ ...profile, api_key: secret }] }), 'invalid_profile_schema'],
    ['user.json', writeFile({ ...profile, base_url: `https://u:${secret}@up.example` }), 'invalid_profile_schema'],
    ['host.json', writeFile({ ...profile, base_url: `http://${secret}.example` }), 'invalid_destination'],
    ['policy.json', writeFile({ ...profile, tls_policy_ref: secret }), 'invalid_policy_reference'],
    // The name of a missing variable is shown (decisions.md 87), a value never.
    [
      'variable.json',
      writeFile({ ...profile, proxy: 'environment', proxy_credential_env: 'LOCAL_KEY' }),
      'credential_unavailable'
    ],
    ['twice.json', writeFile(profile, { ...profile, models: [writeAlias(secret)] }), 'duplicate_profile_id'],
    ['aliases.json', writeFile(profile, { ...profile, profile_id: 'p2' }), 'duplicate_model_alias'],
    ['broken.json', `{"api_key":"${secret}"`, 'invalid_profile_schema'],
    ['broken.yaml', `api_key: !${secret} "${secret}`, 'invalid_profile_schema'],
    [`${secret}.txt`, secret, 'invalid_profile_schema'],
    [`${secret}/missing.yaml`, '', 'invalid_profile_schema']
  ]
  for (const [name, content, code] of wrong) {
    const config = join(folder, name)
    if (content !== '') writeFileSync(config, content)
    const environment = { LOCAL_KEY: secret, UPSTREAM_CREDENTIALS: secret, GATEWAY_API_KEY: secret }
    const preflight = await runToEnd(t, ['--inspect-config', '--config', config], environment)
    t.equal(preflight.code, 2)
    t.match(JSON.parse(preflight.output), { schema_version: 'gateway.error.v1', error: { code, details: [] } })
    const start = await runToEnd(t, ['--config', config], environment)
    t.equal(start.code, 2)
    t.equal(start.output, '')
    t.match(start.errors, new RegExp(`^llm-gateway: ${code}: [^\n]+\n$`))
    t.equal(start.hasLog, false)
    t.notMatch(preflight.output + preflight.errors + start.errors, /hunter2/i, name)
  }
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

t.test('a refused demo prints the usage and one line on stderr, nothing on stdout, and ends with 2', async t => {
  const refused: Array<[Record<string, string>, string]> = [
    [{ UPSTREAM_CREDENTIALS: secret }, 'UPSTREAM_CREDENTIALS'],
    [{ UPSTREAM_USER: secret }, 'UPSTREAM_USER'],
    [{ GATEWAY_MODE: 'PROD', GATEWAY_API_KEY: secret }, 'GATEWAY_MODE']
  ]
  for (const [environment, setting] of refused) {
    const { code, output, errors, hasLog } = await runToEnd(t, ['--demo'], environment)
    t.equal(code, 2)
    t.equal(output, '')
    t.match(errors, new RegExp(`^Usage: [\\s\\S]+\nllm-gateway: [^\n]*${setting}[^\n]*\n$`))
    t.notMatch(errors, /hunter2/)
    t.equal(hasLog, false)
  }
})

t.test('operations 36: PROD, or authentication, without a key does not start', async t => {
  for (const variables of [{ GATEWAY_MODE: 'prod' }, { GATEWAY_ENABLE_API_KEY_AUTH: 'true' }]) {
    const { code, output, errors, hasLog } = await runToEnd(t, [], variables)
    t.equal(code, 2)
    t.match(errors, /^llm-gateway: [^\n]*GATEWAY_API_KEY[^\n]*\n$/)
    t.equal(output, '')
    t.notOk(hasLog, 'it ends before anything is opened')
    const preflight = await runToEnd(t, ['--inspect-config'], variables)
    t.equal(preflight.code, 2)
    t.match(JSON.parse(preflight.output), { error: { details: [{ reason_id: 'api_key_required' }] } })
  }
})

t.test('further API keys alone are enough where a key is needed (decisions.md 92)', async t => {
  const variables = { GATEWAY_ENABLE_API_KEY_AUTH: 'true', GATEWAY_API_KEYS: '{"a":"a-rather-long-key-of-a"}' }
  const { code, output, errors } = await runToEnd(t, ['--inspect-config'], variables)
  t.equal(code, 0)
  t.notMatch(output + errors, 'a-rather-long-key-of-a')
})

t.test('keys 14: a faulty keys file ends the start with 2 and one line that names the place', async t => {
  const file = join(createTemporaryFolder(t), 'keys.yaml')
  writeFileSync(file, `schema_version: gateway.keys.v1\nkeys: [{name: ci, secrets: [{env: CI_KEY}], ${secret}: 1}]\n`)
  const variables = { GATEWAY_KEYS_FILE: file, CI_KEY: secret }
  const { code, output, errors, hasLog } = await runToEnd(t, [], variables)
  t.equal(code, 2)
  t.match(errors, /^llm-gateway: invalid_keys_file: [^\n]+ \(keys\[0\]: has an unknown member\)\n$/)
  t.equal(output, '')
  t.notOk(hasLog, 'it ends before anything is opened')
  const preflight = await runToEnd(t, ['--inspect-config'], variables)
  t.equal(preflight.code, 2)
  t.match(JSON.parse(preflight.output), { error: { code: 'invalid_keys_file', details: [] } })
  t.match(
    preflight.errors,
    /^llm-gateway: Keys file does not match[^\n]*\nllm-gateway: [^\n]*keys\[0\]: has an unknown member\n$/
  )
  t.notMatch(errors + preflight.errors + preflight.output, secret)
})

t.test('a printed entry is a keys file that a start accepts', async t => {
  const printed = await runToEnd(t, ['--new-key', 'ci'])
  t.equal(printed.code, 0)
  t.equal(printed.errors, '')
  t.notOk(printed.hasLog)
  const file = join(createTemporaryFolder(t), 'keys.yaml')
  const entry = printed.output.slice(printed.output.indexOf('  - name'))
  writeFileSync(file, `schema_version: gateway.keys.v1\nkeys:\n${entry}`)
  const preflight = await runToEnd(t, ['--inspect-config'], { GATEWAY_KEYS_FILE: file, GATEWAY_MODE: 'PROD' })
  t.equal(preflight.code, 0)
  t.match(JSON.parse(preflight.output).keys_revision, /^sha256:[0-9a-f]{64}$/)
})

t.test('operations 80: an unknown traffic sink is refused by the name of its setting', async t => {
  for (const variables of [{ GATEWAY_TRAFFIC_LOG_SINK: 'kafka' }, { GATEWAY_TRAFFIC_LOG_SINKS: 'sqlite,kafka' }]) {
    const { code, errors, hasLog } = await runToEnd(t, [], { ...variables, GATEWAY_TRAFFIC_LOG_ENABLED: 'true' })
    t.equal(code, 2)
    t.match(errors, new RegExp(`^llm-gateway: [^\\n]*${Object.keys(variables)[0]}[^\\n]*\\n$`))
    t.notMatch(errors, 'kafka')
    t.notOk(hasLog)
  }
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
  const pipe = join(started.directory, 'pipe.env')
  execFileSync('mkfifo', [pipe])
  const writer = spawn('sh', ['-c', 'echo UPSTREAM_MODEL=from-pipe > "$0"', pipe])
  const piped = await runToEnd(t, ['--inspect-config', '--env-path', pipe])
  t.equal(JSON.parse(piped.output).profiles[0].models[0].public_alias, 'from-pipe')
  if (writer.exitCode === null) await once(writer, 'exit')
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
