import { randomBytes } from 'node:crypto'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { StartupError } from '../../../shared/startup-error.ts'
import { planRuntime } from '../../../supervisor/plan/runtime-plan.ts'
import { warnOfMissingCredentials } from '../../../supervisor/startup-checks/upstream.ts'

t.test('a start without any credentials of the default upstream is warned about', async t => {
  function warn(environment: Record<string, string>): string | undefined {
    const plan = planRuntime({ environment, options: { variables: {}, isDemo: false } })
    return warnOfMissingCredentials(plan.settings, plan.givenSettings)
  }
  t.match(warn({}), 'UPSTREAM_CREDENTIALS')
  t.match(warn({ GATEWAY_PASS_TOKEN: 'false' }), 'UPSTREAM_CREDENTIALS')
  const fixtures = join(import.meta.dirname, '../../ops/emulator/fixtures')
  const file = join(t.testdir({}), 'credentials')
  writeFileSync(file, 'Y2xpZW50OnNlY3JldA==')
  for (const environment of [
    { UPSTREAM_CREDENTIALS: 'Y2xpZW50OnNlY3JldA==' },
    { UPSTREAM_CREDENTIALS_FILE: file },
    { UPSTREAM_ACCESS_TOKEN: 'token' },
    { UPSTREAM_CERT_FILE: join(fixtures, 'client.pem'), UPSTREAM_KEY_FILE: join(fixtures, 'client.key') },
    { UPSTREAM_BASE_URL: 'http://127.0.0.1:9/v1' },
    { GATEWAY_PASS_TOKEN: 'true' }
  ]) {
    t.equal(warn(environment), undefined, Object.keys(environment).join())
  }
})

/** What a start with these variables is refused for, and its warnings. */
function check(environment: Record<string, string>): { refusals: string[]; warnings: readonly string[] } {
  try {
    return { refusals: [], warnings: planRuntime({ environment, options: { variables: {}, isDemo: false } }).warnings }
  } catch (thrown) {
    if (!(thrown instanceof StartupError)) throw thrown
    return { refusals: thrown.details.map(({ explanation }) => explanation), warnings: [] }
  }
}

t.test('the metrics have a port of their own', async t => {
  const ports = { GATEWAY_PORT: '18090', GATEWAY_METRICS_PORT: '18090' }
  t.same(check({ ...ports, GATEWAY_METRICS_ENABLED: 'true' }).refusals, [
    'GATEWAY_METRICS_PORT must be another port than GATEWAY_PORT'
  ])
  t.same(check({ ...ports, GATEWAY_METRICS_ENABLED: 'true', GATEWAY_METRICS_PORT: '18091' }).refusals, [])
  t.match(check(ports), { refusals: [], warnings: [/GATEWAY_METRICS_PORT has no effect/] })
})

t.test('a key with white space around it, which no client could present, is refused by its setting', async t => {
  const padded = {
    GATEWAY_API_KEY: 'a-key-of-clients\n',
    GATEWAY_API_KEYS: '{"old":"a-key","new":"\\tanother-key"}',
    GATEWAY_ADMIN_API_KEY: ' a-key-of-admins'
  }
  for (const [setting, value] of Object.entries(padded)) {
    const { refusals } = check({ [setting]: value })
    t.match(refusals, [new RegExp(`^${setting} must have no white space`)])
    t.equal(refusals.length, 1)
  }
  t.same(check({ GATEWAY_API_KEY: 'a key with a blank' }).refusals, [])
})

t.test('a key of blanks is no key', async t => {
  const refused = check({ GATEWAY_ENABLE_API_KEY_AUTH: 'true', GATEWAY_API_KEY: '  ' }).refusals
  t.match(refused, [/GATEWAY_API_KEY must be set/])
  const production = { GATEWAY_MODE: 'PROD', GATEWAY_API_KEY: 'a-key-of-clients', GATEWAY_ADMIN_API_ENABLED: 'true' }
  t.match(check({ ...production, GATEWAY_ADMIN_API_KEY: '\t' }).refusals, [/GATEWAY_ADMIN_API_KEY must be set/])
})

t.test('the store of responses: wrong addresses, keys and folders are refused by their setting', async t => {
  const folder = t.testdir({ 'a-file': '', 'read-only': {} })
  chmodSync(join(folder, 'read-only'), 0o500)
  const DSN = 'GATEWAY_RESPONSES_STORE_DSN'
  const dsnOf = (name: string) => `sqlite:${join(folder, name)}`
  const key = randomBytes(32).toString('base64')
  for (const dsn of [
    'mysql://user:hunter2@host/db',
    'sqlite:',
    'sqlite::memory:',
    'responses.sqlite',
    'postgres://host:port/'
  ]) {
    const { refusals } = check({ [DSN]: dsn })
    t.same(refusals, [`${DSN} must be sqlite:<path>, or an address that begins with postgres://`], dsn)
  }
  for (const name of [
    '',
    'a-file/responses.sqlite',
    ...(process.getuid?.() === 0 ? [] : ['read-only/responses.sqlite'])
  ]) {
    t.same(check({ [DSN]: dsnOf(name) }).refusals, [`${DSN} must name a file that can be written`], name)
  }
  for (const setting of ['GATEWAY_RESPONSES_STORE_KEY', 'GATEWAY_RESPONSES_STORE_KEY_PREVIOUS']) {
    for (const text of ['hunter2', key.slice(4), `${key.slice(0, -2)}!=`]) {
      t.same(check({ [DSN]: dsnOf('x'), [setting]: text }).refusals, [`${setting} must be 32 bytes in base64`], setting)
    }
    t.same(check({ [DSN]: dsnOf('new/folder/x'), [setting]: `${key}\n` }), { refusals: [], warnings: [] })
    t.match(check({ [setting]: key }), { refusals: [], warnings: [`${setting} has no effect`] })
  }
  t.same(check({ [DSN]: 'postgres://user:hunter2@host/db' }), { refusals: [], warnings: [] })
  t.match(check({ [DSN]: dsnOf('x'), GATEWAY_RESPONSES_STORE_MAX_BYTES_PER_KEY: '1000' }).warnings, [
    'GATEWAY_RESPONSES_STORE_MAX_BYTES_PER_KEY is below'
  ])
  t.same(check({ [DSN]: dsnOf('x'), GATEWAY_RESPONSES_STORE_MAX_BYTES_PER_KEY: '0' }).warnings, [])
})

t.test('the address of shared limits must have the form of one', async t => {
  const setting = 'GATEWAY_LIMITS_REDIS_URL'
  t.same(check({ [setting]: 'rediss://user:canary@redis.example:6380/1' }), {
    refusals: [],
    warnings: [`${setting} has no effect while GATEWAY_KEYS_FILE is unset.`]
  })
  for (const url of ['https://user:canary@redis.example', 'redis://user:canary@redis.example/x']) {
    t.same(check({ [setting]: url }).refusals, [
      `${setting} must be redis://[user:password@]host[:port][/database], or the same with rediss://`
    ])
  }
})
