import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { StartupError } from '../../shared/startup-error.ts'
import { planRuntime } from '../../supervisor/runtime-plan.ts'
import { warnOfMissingCredentials } from '../../supervisor/startup-checks.ts'

t.test('a start without any credentials of the default upstream is warned about', async t => {
  function warn(environment: Record<string, string>): string | undefined {
    const plan = planRuntime({ environment, options: { variables: {}, isDemo: false } })
    return warnOfMissingCredentials(plan.settings, plan.givenSettings)
  }
  t.match(warn({}), 'UPSTREAM_CREDENTIALS')
  t.match(warn({ GATEWAY_PASS_TOKEN: 'false' }), 'UPSTREAM_CREDENTIALS')
  const fixtures = join(import.meta.dirname, '../ops/emulator/fixtures')
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
