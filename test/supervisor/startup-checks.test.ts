import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
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
