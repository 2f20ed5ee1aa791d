import { createHash } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { StartupError } from '../../shared/startup-error.ts'
import type { StartOptions } from '../../supervisor/plan/command-line.ts'
import { type PlanSources, planRuntime } from '../../supervisor/plan/runtime-plan.ts'
import { inspectConfiguration } from '../../supervisor/preflight.ts'
import { createTemporaryFolder } from '../support/temporary.ts'

const start: StartOptions = { variables: {}, isDemo: false }

function inspect(environment: Record<string, string>, options: Partial<StartOptions> = {}) {
  const sources: PlanSources = { environment, options: { ...start, ...options } }
  const { output, exitCode, warnings } = inspectConfiguration(sources)
  t.match(output, /^[^\n]+\n$/, 'the document is one line')
  return { document: JSON.parse(output), exitCode, warnings, output }
}

const reasonsOf = (document: { error?: { details: Array<{ reason_id: string; setting?: string }> } }) =>
  document.error?.details.map(detail => `${detail.reason_id} ${detail.setting ?? ''}`.trim())

t.test('bridge 1: an empty environment is native mode with a dynamic inventory and no alias', async t => {
  const { document, exitCode } = inspect({})
  t.equal(exitCode, 0)
  t.match(document, { valid: true, profile_schema_version: 'gateway.provider-profiles.v2' })
  t.equal(document.profiles.length, 1)
  t.match(document.profiles[0], { profile_id: 'native-upstream', model_inventory: 'dynamic' })
  t.same(document.profiles[0].models, [])
})

t.test('bridge 2: the default model becomes one stable alias of its own name', async t => {
  const { document, exitCode } = inspect({ UPSTREAM_MODEL: 'GigaChat-2-Max' })
  t.equal(exitCode, 0)
  t.match(document.profiles[0].models, [{ public_alias: 'GigaChat-2-Max', support_status: 'stable' }])
  t.equal(document.profiles[0].models.length, 1)
})

t.test('native mode takes plain http and private hosts, in canonical form', async t => {
  const { document } = inspect({ UPSTREAM_BASE_URL: 'HTTP://Up.Example:80/API//' })
  t.equal(document.profiles[0].base_url, 'http://up.example/API')
  t.equal(inspect({ UPSTREAM_BASE_URL: 'http://10.0.0.1:9000/v1' }).exitCode, 0)
})

t.test('a base URL that has no canonical form is refused', async t => {
  const wrong = [
    'https://u:p@up.example/v1',
    'https://@up.example/v1',
    'https://up.example/v1?x=1',
    'https://up.example/v1?',
    'https://up.example/v1#f',
    'ftp://up.example',
    'https://up.example:99999',
    'https://up.example/../v1',
    'https://up.example/%2e%2e/v1',
    'https:\\\\up.example',
    ' https://up.example',
    'https://up.exa\tmple',
    'up.example'
  ]
  for (const text of wrong) {
    const { document, exitCode, output } = inspect({ UPSTREAM_BASE_URL: text })
    t.equal(exitCode, 2, text)
    t.same(reasonsOf(document), ['invalid_settings UPSTREAM_BASE_URL'])
    t.notMatch(output, 'up.ex')
  }
})

t.test('a setting that machine documents show is no longer than they allow', async t => {
  const longest = { UPSTREAM_BASE_URL: `https://up.example/${'a'.repeat(493)}`, UPSTREAM_MODEL: 'm'.repeat(512) }
  t.equal(inspect(longest).exitCode, 0)
  for (const [setting, text] of Object.entries(longest)) {
    const { document, exitCode } = inspect({ ...longest, [setting]: `${text}x` })
    t.equal(exitCode, 2)
    t.same(reasonsOf(document), [`invalid_settings ${setting}`])
  }
})

t.test('bridge 45: a wrong setting is named in an error document, all of them at once and without values', async t => {
  const { document, exitCode, output } = inspect({ GATEWAY_PORT: 'hunter2', GATEWAY_MODE: 'hunter2' })
  t.equal(exitCode, 2)
  t.match(document, {
    schema_version: 'gateway.error.v1',
    error: { code: 'invalid_profile_schema', message: 'Provider configuration preflight failed.' }
  })
  t.same(reasonsOf(document), ['invalid_settings GATEWAY_MODE', 'invalid_settings GATEWAY_PORT'])
  t.notMatch(output, /hunter2|at .*\.ts/)
})

t.test('a refused configuration is warned about as an accepted one is: a misspelled key shows', async t => {
  const { exitCode, warnings } = inspect({ GATEWAY_MODE: 'PROD', GATEWAY_APIKEY: 'hunter2' })
  t.equal(exitCode, 2)
  t.match(warnings, [/GATEWAY_APIKEY is ignored; the nearest known name is GATEWAY_API_KEY/])
  t.notMatch(warnings.join(), 'hunter2')
  const envFile = join(t.testdir({ env: 'hunter2\n' }), 'env')
  t.match(inspect({ GATEWAY_PORT: 'x' }, { envFile }).warnings, [/^Line 1 of the .env file/])
  const withFile = inspect({ UPSTREAM_OTHER_KEY: 'k', GATEWAY_PORT: 'x' }, { configPath: 'profiles.yaml' })
  t.match(withFile.warnings, [/^GATEWAY_PORT must be/], 'the file may name the variable')
  t.equal(withFile.warnings.length, 1)
})

t.test('a log file that cannot be written is refused, and none is left behind', async t => {
  const folder = createTemporaryFolder(t)
  for (const file of [folder, join(folder, 'missing', 'gateway.log')]) {
    const { document, exitCode, output } = inspect({ GATEWAY_LOG_FILENAME: file })
    t.equal(exitCode, 2)
    t.same(reasonsOf(document), ['invalid_settings GATEWAY_LOG_FILENAME'])
    t.notMatch(output, folder)
  }
  t.equal(inspect({ GATEWAY_LOG_FILENAME: join(folder, 'gateway.log') }).exitCode, 0)
  t.same(readdirSync(folder), [])
})

t.test('operations 36: PROD, or authentication, without an API key is refused', async t => {
  const expected = ['api_key_required GATEWAY_API_KEY']
  t.same(reasonsOf(inspect({ GATEWAY_MODE: 'PROD' }).document), expected)
  t.same(reasonsOf(inspect({ GATEWAY_ENABLE_API_KEY_AUTH: 'on' }).document), expected)
  t.same(reasonsOf(inspect({ GATEWAY_ENABLE_API_KEY_AUTH: 'on', GATEWAY_API_KEY: '' }).document), expected)
  t.same(reasonsOf(inspect({ GATEWAY_MODE: 'PROD', GATEWAY_API_KEYS: '{}' }).document), expected)
  t.equal(inspect({ GATEWAY_MODE: 'PROD', GATEWAY_API_KEY: 'a-long-enough-key' }).exitCode, 0)
  const further = { GATEWAY_API_KEYS: '{"a":"a-long-enough-key"}' }
  t.equal(inspect({ GATEWAY_MODE: 'PROD', ...further }).exitCode, 0, 'any of the three is enough (decisions.md 92)')
})

t.test('password authorization needs an explicit base URL', async t => {
  const user = { UPSTREAM_USER: 'u', UPSTREAM_PASSWORD: 'p' }
  t.same(reasonsOf(inspect(user).document), ['upstream_base_url_required UPSTREAM_BASE_URL'])
  t.equal(inspect({ ...user, UPSTREAM_BASE_URL: 'https://up.example' }).exitCode, 0)
  t.match(inspect({ UPSTREAM_USER: 'u' }).warnings, [/only together/])
})

t.test('credentials that are no base64 are warned about, without showing them', async t => {
  const wrong = inspect({ UPSTREAM_CREDENTIALS: 'client:hunter2' })
  t.equal(wrong.exitCode, 0)
  t.match(wrong.warnings.join(), 'UPSTREAM_CREDENTIALS')
  t.notMatch(wrong.warnings.join(), 'hunter2')
  t.same(inspect({ UPSTREAM_CREDENTIALS: Buffer.from('client:hunter2').toString('base64') }).warnings, [])
})

t.test('a credential that no header can carry is refused, without showing it', async t => {
  for (const setting of ['UPSTREAM_CREDENTIALS', 'UPSTREAM_ACCESS_TOKEN']) {
    for (const value of ['hunter2\n', 'hunter2\r\nx: y', 'пароль-hunter2']) {
      const { document, exitCode, output, warnings } = inspect({ [setting]: value })
      t.equal(exitCode, 2, setting)
      t.same(reasonsOf(document), [`invalid_settings ${setting}`])
      t.notMatch(output + warnings.join(), 'hunter2')
    }
    t.equal(inspect({ [setting]: 'clé' }).exitCode, 0)
  }
})

t.test('the demo is refused in PROD and beside upstream credentials', async t => {
  const demo = { isDemo: true }
  t.equal(inspect({}, demo).exitCode, 0)
  t.match(reasonsOf(inspect({ GATEWAY_MODE: 'PROD', GATEWAY_API_KEY: 'k' }, demo).document), [/^demo_refused/])
  for (const name of ['UPSTREAM_CREDENTIALS', 'UPSTREAM_ACCESS_TOKEN', 'UPSTREAM_USER', 'UPSTREAM_PASSWORD']) {
    t.same(reasonsOf(inspect({ [name]: 'x' }, demo).document), [`demo_refused ${name}`])
  }
  t.equal(inspect({ UPSTREAM_CREDENTIALS: '' }, demo).exitCode, 0)
})

t.test('unsafe PROD combinations are refused, or warned about where the override is set', async t => {
  const prod = { GATEWAY_MODE: 'PROD', GATEWAY_API_KEY: 'a-long-enough-key', GATEWAY_CORS_ALLOW_ORIGINS: '[]' }
  t.same(inspect(prod).warnings, [])
  const unsafe: Array<[Record<string, string>, string]> = [
    [{ GATEWAY_LOG_REDACT_SENSITIVE: 'no' }, 'GATEWAY_LOG_REDACT_SENSITIVE'],
    [{ GATEWAY_ADMIN_API_ENABLED: 'yes' }, 'GATEWAY_ADMIN_API_KEY'],
    [{ GATEWAY_DEBUG_TRANSLATE_ENABLED: 'yes' }, 'GATEWAY_ADMIN_API_KEY'],
    [{ UPSTREAM_VERIFY_SSL_CERTS: 'no' }, 'UPSTREAM_VERIFY_SSL_CERTS']
  ]
  for (const [variables, setting] of unsafe) {
    t.same(reasonsOf(inspect({ ...prod, ...variables }).document), [`insecure_prod_refused ${setting}`])
    const allowed = inspect({ ...prod, ...variables, GATEWAY_ALLOW_INSECURE_PROD: 'true' })
    t.equal(allowed.exitCode, 0)
    t.match(allowed.warnings.join(), setting)
  }
  for (const variable of ['GATEWAY_ADMIN_API_ENABLED', 'GATEWAY_DEBUG_TRANSLATE_ENABLED']) {
    t.equal(inspect({ [variable]: 'true' }).exitCode, 0, 'DEV starts, and refuses every call')
  }
})

t.test('an admin key that is a client’s key too is refused in every mode, and no setting allows it', async t => {
  const key = 'a-long-enough-key'
  const file = join(createTemporaryFolder(t), 'keys.json')
  const sha256 = createHash('sha256').update(key).digest('hex')
  writeFileSync(
    file,
    JSON.stringify({ schema_version: 'gateway.keys.v1', keys: [{ name: 'one', secrets: [{ sha256 }] }] })
  )
  for (const mode of ['DEV', 'PROD']) {
    for (const keys of [
      { GATEWAY_API_KEY: key },
      { GATEWAY_API_KEYS: JSON.stringify({ one: 'another-long-key', two: key }) },
      { GATEWAY_KEYS_FILE: file }
    ]) {
      const given = { GATEWAY_MODE: mode, GATEWAY_ALLOW_INSECURE_PROD: 'true', GATEWAY_ADMIN_API_KEY: key, ...keys }
      const { exitCode, output, warnings } = inspect(given)
      t.equal(exitCode, 2, `${mode} ${Object.keys(keys)}`)
      t.notOk((output + warnings.join()).includes(key))
      t.equal(inspect({ ...given, GATEWAY_ADMIN_API_KEY: 'a-key-of-the-admin' }).exitCode, 0)
    }
  }
  t.same(reasonsOf(inspect({ GATEWAY_ADMIN_API_KEY: key, GATEWAY_API_KEY: key }).document), [
    'invalid_settings GATEWAY_ADMIN_API_KEY'
  ])
})

t.test('a failed preflight says on stderr in words what the document says in ids', async t => {
  const refused = inspect({ GATEWAY_PORT: 'nine', GATEWAY_MODE: 'PROD', GATEWAY_LOG_LEVEL: 'LOUD' })
  t.equal(refused.exitCode, 2)
  t.same(reasonsOf(refused.document)?.sort(), ['invalid_settings GATEWAY_LOG_LEVEL', 'invalid_settings GATEWAY_PORT'])
  for (const setting of ['GATEWAY_PORT', 'GATEWAY_LOG_LEVEL']) {
    t.equal(refused.warnings.filter(line => line.startsWith(`${setting} must be `) && line.endsWith('.')).length, 1)
  }
  const missing = inspect({ GATEWAY_MODE: 'PROD' })
  t.match(missing.warnings.join('\n'), /^GATEWAY_API_KEY must be set/m)
  t.match(inspect({ GATEWAY_CONFIG: 'no-such-file.yaml' }).warnings.join('\n'), /\w.*\.$/m)
})

t.test('PROD warns of a CORS wildcard that was set, and of none that was not', async t => {
  const prod = { GATEWAY_MODE: 'PROD', GATEWAY_API_KEY: 'a-long-enough-key' }
  t.same(inspect(prod).warnings, [])
  t.match(
    inspect({ ...prod, GATEWAY_CORS_ALLOW_ORIGINS: '["*"]' }).warnings.join(),
    /GATEWAY_CORS_ALLOW_ORIGINS holds "\*"/
  )
})

t.test('a wrong entry of an address list is refused by the name of the setting', async t => {
  for (const setting of ['GATEWAY_LOGS_IP_ALLOWLIST', 'GATEWAY_LOGS_TRUSTED_PROXIES']) {
    for (const list of ['["10.0.0.1","hunter2"]', '["10.0.0.0/33"]', '[""]', '10.0.0.1,hunter2', '{}', '[1]']) {
      const { document, exitCode, output } = inspect({ [setting]: list })
      t.equal(exitCode, 2, list)
      t.same(reasonsOf(document), [`invalid_settings ${setting}`])
      t.notMatch(output, /hunter2/)
    }
    // A list with commas is one, too (decisions.md 115).
    for (const list of ['["10.0.0.1","10.0.0.0/8","::1","2001:db8::/32"]', '10.0.0.1', '10.0.0.1, 2001:db8::/32']) {
      const { exitCode, warnings } = inspect({ [setting]: list })
      t.equal(exitCode, 0, list)
      t.same(warnings, [])
    }
  }
})

t.test('weak PROD settings are warned about', async t => {
  const { warnings } = inspect({
    GATEWAY_MODE: 'PROD',
    GATEWAY_API_KEY: 'hunter2',
    GATEWAY_API_KEYS: '{"one":"hunter2 again"}',
    GATEWAY_ADMIN_API_KEY: 'hunter2 too',
    GATEWAY_LOG_LEVEL: 'DEBUG',
    GATEWAY_CORS_ALLOW_ORIGINS: '["*"]'
  })
  const text = warnings.join('\n')
  for (const name of ['GATEWAY_API_KEY', 'GATEWAY_API_KEYS', 'GATEWAY_ADMIN_API_KEY']) {
    t.match(text, `${name} holds a key of less than 16 characters`)
  }
  for (const name of ['GATEWAY_LOG_LEVEL', 'GATEWAY_CORS_ALLOW_ORIGINS']) t.match(text, name)
  t.notMatch(text, /hunter2/)
})

t.test('cost 23: PROD refuses an upstream whose certificate is not verified, unless it is on loopback', async t => {
  const unverified = {
    GATEWAY_MODE: 'PROD',
    GATEWAY_API_KEY: 'a-long-enough-key',
    GATEWAY_CORS_ALLOW_ORIGINS: '[]',
    UPSTREAM_VERIFY_SSL_CERTS: 'False'
  }
  const UPSTREAM_CREDENTIALS = 'Y2xpZW50OnNlY3JldA=='
  const local = { UPSTREAM_BASE_URL: 'https://127.0.0.1:8443/v1' }
  for (const variables of [
    {},
    { UPSTREAM_BASE_URL: 'https://10.0.0.1/v1' },
    { UPSTREAM_BASE_URL: 'https://127.0.0.1.example/v1' },
    { UPSTREAM_BASE_URL: 'https://localhost.example/v1' },
    { ...local, UPSTREAM_CREDENTIALS },
    { ...local, GATEWAY_PASS_TOKEN: 'true' }
  ]) {
    const { exitCode, document } = inspect({ ...unverified, ...variables })
    t.equal(exitCode, 2, JSON.stringify(variables))
    t.same(reasonsOf(document), ['insecure_prod_refused UPSTREAM_VERIFY_SSL_CERTS'])
  }
  for (const variables of [
    local,
    { UPSTREAM_BASE_URL: 'https://[::1]:8443/v1' },
    { UPSTREAM_BASE_URL: 'https://LOCALHOST:8443/v1' },
    { ...local, UPSTREAM_CREDENTIALS, UPSTREAM_AUTH_URL: 'https://localhost:9443/oauth' },
    { UPSTREAM_CA_BUNDLE_FILE: join(import.meta.dirname, '..', 'ops', 'emulator', 'fixtures', 'ca.pem') }
  ]) {
    const { exitCode, warnings } = inspect({ ...unverified, ...variables })
    t.equal(exitCode, 0, JSON.stringify(variables))
    t.same(warnings, [])
  }
  t.equal(inspect({ UPSTREAM_VERIFY_SSL_CERTS: 'False' }).exitCode, 0, 'DEV accepts it')
})

t.test('a path of the metrics that another route has is refused, unless they have a port of their own', async t => {
  for (const path of ['/ready', '/docs', '/logs', '/v1/models', '/_admin/ui/app.js']) {
    const variables = { GATEWAY_METRICS_ENABLED: '1', GATEWAY_METRICS_PATH: path }
    t.equal(inspect(variables).exitCode, 2, path)
    t.equal(inspect({ ...variables, GATEWAY_METRICS_PORT: '9' }).exitCode, 0)
    t.equal(inspect({ ...variables, GATEWAY_METRICS_ENABLED: '0' }).exitCode, 0)
  }
  t.equal(inspect({ GATEWAY_METRICS_ENABLED: '1', GATEWAY_METRICS_PATH: '/internal/metrics' }).exitCode, 0)
})

t.test('flags win over the environment, and the environment over the file', async t => {
  const directory = createTemporaryFolder(t)
  const envFile = join(directory, 'env')
  writeFileSync(envFile, 'GATEWAY_PORT=1\nGATEWAY_HOST=file\nGATEWAY_WORKERS=7\nUPSTREAM_MODEL=from-file\n')
  const plan = planRuntime({
    environment: { gateway_host: 'environment', GATEWAY_PORT: '2' },
    options: { variables: { GATEWAY_PORT: '3' }, envFile, isDemo: false }
  })
  t.match(plan.settings, { port: 3, host: 'environment', workers: 7, upstream: { model: 'from-file' } })
  writeFileSync(
    join(directory, 'dsn'),
    'GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN=sqlite:of-the-file\nGATEWAY_API_KEY=k-of-the-file\n'
  )
  writeFileSync(join(directory, 'key'), 'k-of-the-environment\n')
  const { trafficLogRelationalDsn, apiKey } = planRuntime({
    environment: {
      GATEWAY_TRAFFIC_LOG_POSTGRES_DSN: 'sqlite:of-the-environment',
      GATEWAY_API_KEY_FILE: join(directory, 'key')
    },
    options: { variables: {}, envFile: join(directory, 'dsn'), isDemo: false }
  }).settings
  t.equal(trafficLogRelationalDsn?.reveal(), 'sqlite:of-the-environment', 'under another name of the setting')
  t.equal(apiKey?.reveal(), 'k-of-the-environment')
})

t.test('a named file that cannot be read is warned about, a missing default file is not', async t => {
  t.match(inspect({}, { envFile: '/nope/.env' }).warnings, [/--env-path/])
  t.same(inspect({}).warnings, [])
})

t.test('a line of the .env file that is not an assignment is reported by its number, never by its content', async t => {
  const directory = t.testdir({ few: 'UPSTREAM_MODEL=m\nhunter2\n# comment\n', many: 'hunter2\n'.repeat(12) })
  t.same(inspect({}, { envFile: join(directory, 'few') }).warnings, [
    'Line 2 of the .env file is not an assignment; it is ignored.'
  ])
  const { warnings } = inspect({}, { envFile: join(directory, 'many') })
  t.equal(warnings.length, 11)
  t.match(warnings, [/^Line 1 of/])
  t.equal(warnings[10], '2 further lines of the .env file are not assignments; they are ignored.')
  t.notMatch(warnings.join(), /hunter2/)
})

t.test('preflight and start run the same plan (N3)', async t => {
  const sources = { environment: { UPSTREAM_MODEL: 'm' }, options: start }
  const { document } = inspect({ UPSTREAM_MODEL: 'm' })
  const { revisions } = planRuntime(sources)
  t.same(revisions, { config: document.config_revision, matrix: document.matrix_revision })
})

t.test('the demo variables win, and their credentials are no reason to refuse the demo', async t => {
  const sources = { environment: { UPSTREAM_BASE_URL: 'https://up.example' }, options: { ...start, isDemo: true } }
  const first = planRuntime(sources)
  const plan = planRuntime({
    ...sources,
    demo: { variables: { UPSTREAM_BASE_URL: 'http://127.0.0.1:9', UPSTREAM_CREDENTIALS: 'x' }, plan: first }
  })
  t.equal(plan.settings.upstream.baseUrl, 'http://127.0.0.1:9')
})

const KEYS = JSON.stringify({
  schema_version: 'gateway.keys.v1',
  keys: [{ name: 'ci', secrets: [{ env: 'GATEWAY_CI_KEY' }], metadata: { owner: 'hunter2' } }]
})

t.test('keys 15: a keys file has its revision in the document, and nothing of its content', async t => {
  const file = join(createTemporaryFolder(t), 'keys.json')
  writeFileSync(file, KEYS)
  const environment = { GATEWAY_KEYS_FILE: file, GATEWAY_CI_KEY: 'hunter2-hunter2-hunter2', GATEWAY_MODE: 'PROD' }
  const { document, exitCode, output, warnings } = inspect(environment)
  t.equal(exitCode, 0, 'it is enough where a key is needed')
  t.match(document.keys_revision, /^sha256:[0-9a-f]{64}$/)
  t.notMatch(warnings.join(), 'GATEWAY_CI_KEY', 'its variables are no misspelled settings')
  t.notMatch(output, /hunter2|GATEWAY_CI_KEY|"ci"/)
  t.notOk('keys_revision' in inspect({}).document, 'keys 19: without a file the document is as before')
})

t.test('keys 14: a faulty keys file ends with 2, its place on stderr and no content', async t => {
  const file = join(createTemporaryFolder(t), 'keys.json')
  const environment = { GATEWAY_KEYS_FILE: file, GATEWAY_CI_KEY: 'hunter2' }
  const missing = inspect(environment)
  t.equal(missing.exitCode, 2)
  t.match(missing.document, { error: { code: 'invalid_keys_file', message: 'Keys file cannot be read.', details: [] } })
  writeFileSync(file, KEYS)
  const short = inspect(environment)
  t.equal(short.exitCode, 2)
  t.match(short.document, { error: { code: 'key_secret_unavailable', details: [] } })
  t.same(short.warnings, [
    'A secret of the keys file cannot be used.',
    'The problem is in the keys file: keys[0].secrets[0]: the value of GATEWAY_CI_KEY must have at least 16 characters'
  ])
  writeFileSync(file, KEYS.replace('}]}', ',"limits":{"budget":{"amount":5,"period":"month"}}}]}'))
  const budget = inspect({ ...environment, GATEWAY_CI_KEY: 'hunter2-hunter2-hunter2' })
  t.match(budget.document, { error: { code: 'budget_without_store' } })
  t.match(budget.warnings, [
    /^A budget needs a durable counter/,
    'The problem is in the keys file: keys[0].limits.budget'
  ])
  const secret = { GATEWAY_CI_KEY: 'hunter2-hunter2-hunter2' }
  const demo = inspect({ ...environment, ...secret }, { isDemo: true })
  t.match(demo.document, { error: { code: 'budget_without_prices' } }, 'the demo has a store of its own')
  for (const { output, warnings } of [missing, short, budget])
    t.notMatch(output + warnings.join(), /hunter2|keys\.json/)
})

t.test('operations-links-port: the variables of a Service named gateway leave the default port', async t => {
  const links = {
    GATEWAY_SERVICE_HOST: '10.96.12.7',
    GATEWAY_SERVICE_PORT: '8090',
    GATEWAY_SERVICE_PORT_HTTP: '8090',
    GATEWAY_PORT_8090_TCP: 'tcp://10.96.12.7:8090',
    GATEWAY_PORT_8090_TCP_PROTO: 'tcp',
    GATEWAY_PORT_8090_TCP_PORT: '8090',
    GATEWAY_PORT_8090_TCP_ADDR: '10.96.12.7',
    GATEWAY_PORT: 'tcp://10.96.12.7:8090',
    GATEWAY_METRICS_PORT: 'tcp://10.96.12.8:9090',
    UPSTREAM_SERVICE_HOST: '10.96.12.9',
    UPSTREAM_PORT: 'udp://10.96.12.9:53'
  }
  const plan = planRuntime({
    environment: { ...links, UPSTREAM_CREDENTIALS: 'Yzpz' },
    options: { ...start, variables: {} }
  })
  t.equal(plan.settings.port, 8090)
  const warnings = plan.warnings.filter(warning => /GATEWAY|UPSTREAM/.test(warning))
  t.equal(warnings.length, 1, warnings.join('\n'))
  for (const name of Object.keys(links)) t.ok(warnings[0]?.includes(name), name)
  t.notMatch(warnings[0], /10\.96/)

  const envFile = join(t.testdir({ env: 'GATEWAY_PORT=9000\n' }), 'env')
  const beside = planRuntime({ environment: links, options: { ...start, envFile, variables: {} } })
  t.equal(beside.settings.port, 9000, 'a port in the .env file is not replaced by a service link')
  t.throws(() => planRuntime({ environment: { GATEWAY_PORT: 'tcp' }, options: start }), {
    code: 'invalid_profile_schema'
  })
})

t.test('a .env file in UTF-16 is refused in words, and one in UTF-8 with a byte order mark is read', async t => {
  const text = 'GATEWAY_PORT=9000\r\n'
  const folder = t.testdir({
    marked: Buffer.from(`\ufeff${text}`, 'utf16le'),
    bare: Buffer.from(text, 'utf16le'),
    large: Buffer.from(`\ufeff${text}`, 'utf16le').swap16(),
    utf8: `\ufeff${text}`
  })
  for (const name of ['marked', 'bare', 'large']) {
    const refused = inspect({}, { envFile: join(folder, name) })
    t.equal(refused.exitCode, 2, name)
    t.match(refused.document, { error: { details: [{ reason_id: 'invalid_settings' }] } })
    const plans = () => planRuntime({ environment: {}, options: { ...start, envFile: join(folder, name) } })
    try {
      plans()
      t.fail('it was read')
    } catch (error) {
      if (!StartupError.is(error)) throw error
      t.match(error.summary, /\.env file is not text in UTF-8.*UTF-16/)
    }
  }
  const plan = planRuntime({ environment: {}, options: { ...start, envFile: join(folder, 'utf8') } })
  t.equal(plan.settings.port, 9000)
})

t.test(
  'a value of the .env file with bytes that are no UTF-8 is named, and a comment with such bytes is not',
  async t => {
    const text =
      '# caf\xe9\nGATEWAY_API_KEY=caf\xe9 # \xe9\nGATEWAY_PORT=9000 # \xe9\nOTHER="\xe9"\nMORE=$' + '{OTHER}\n'
    const folder = t.testdir({ page: Buffer.from(text, 'latin1') })
    const { warnings, exitCode } = inspect({}, { envFile: join(folder, 'page') })
    t.equal(exitCode, 0)
    t.same(
      warnings.filter(line => line.includes('UTF-8')).map(line => line.split(' ')[0]),
      ['GATEWAY_API_KEY', 'OTHER']
    )
    t.notMatch(warnings.join(), 'caf')
  }
)

t.test('a .env file of the working directory that cannot be read is named, and a missing one is not', async t => {
  const before = process.cwd()
  t.teardown(() => process.chdir(before))
  process.chdir(t.testdir({ with: { '.env': {} }, without: {} }))
  process.chdir('with')
  t.match(inspect({}).warnings, [/^The \.env file of the working directory cannot be read/])
  process.chdir('../without')
  t.same(inspect({}).warnings, [])
})
