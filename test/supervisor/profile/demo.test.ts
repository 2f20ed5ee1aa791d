// A profile file beside the embedded upstream of `--demo`.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { chooseDemoPort, DEMO_CREDENTIALS } from '../../../supervisor/demo/demo-upstream.ts'
import { planRuntime } from '../../../supervisor/plan/runtime-plan.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { baseAlias, createFileInspector, inspect, nativeProfile, v2 } from './support.ts'

const loopback = { allow_loopback: true, network_policy_ref: 'loopback-development' }
const local = {
  ...nativeProfile,
  ...loopback,
  base_url: 'http://127.0.0.1:8091/api/v1',
  credential_env: 'UPSTREAM_CREDENTIALS'
}
const options = { variables: {}, isDemo: true }

t.test('the credentials of the embedded upstream are known before it runs', async t => {
  const config = join(createTemporaryFolder(t), 'demo.json')
  writeFileSync(config, JSON.stringify(v2(local)))
  t.equal(inspect({}, { configPath: config, isDemo: true }).exitCode, 0)
  t.equal(inspect({}, { configPath: config }).document.error.code, 'credential_unavailable')
  const refused = inspect({ UPSTREAM_CREDENTIALS: 'eDp5' }, { configPath: config, isDemo: true })
  t.match(refused.document.error.details, [{ reason_id: 'demo_refused', setting: 'UPSTREAM_CREDENTIALS' }])
})

t.test('the file is read once, also when the plan is made again for the embedded upstream', async t => {
  const config = join(createTemporaryFolder(t), 'demo.json')
  writeFileSync(config, JSON.stringify(v2(local)))
  const sources = { environment: {}, options: { ...options, configPath: config } }
  const plan = planRuntime(sources)
  t.equal(plan.credentials.n1?.reveal(), DEMO_CREDENTIALS)
  rmSync(config)
  const variables = { UPSTREAM_BASE_URL: 'http://127.0.0.1:9/api/v1', UPSTREAM_CREDENTIALS: DEMO_CREDENTIALS }
  const again = planRuntime({ ...sources, demo: { variables, plan } })
  t.equal(again.profiles, plan.profiles)
  t.equal(again.credentials, plan.credentials)
  t.same(again.revisions, plan.revisions)
  t.equal(again.settings.upstream.baseUrl, 'http://127.0.0.1:9/api/v1')
  t.same(again.warnings, [])
})

t.test('a loaded file is frozen at every depth', async t => {
  const config = join(createTemporaryFolder(t), 'demo.json')
  writeFileSync(config, JSON.stringify(v2(local)))
  const { profiles, credentials } = planRuntime({ environment: {}, options: { ...options, configPath: config } })
  const isFrozen = (value: unknown): boolean =>
    typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(isFrozen))
  t.ok(isFrozen(profiles))
  t.ok(Object.isFrozen(credentials))
  t.equal(credentials.constructor, undefined, 'no profile id finds an inherited member')
})

t.test('the embedded upstream takes the port of the first loopback profile', async t => {
  const folder = createTemporaryFolder(t)
  const portOf = (...profiles: object[]) => {
    const config = join(folder, 'demo.json')
    writeFileSync(config, JSON.stringify({ schema_version: 'gateway.provider-profiles.v2', profiles }))
    return chooseDemoPort(
      planRuntime({ environment: { UP_KEY: 'k' }, options: { ...options, configPath: config } }).profiles
    )
  }
  const publicProfile = { ...v2().profiles[0], models: [{ ...baseAlias, public_alias: 'public' }] }
  t.equal(portOf(publicProfile, local), 8091)
  t.equal(portOf(publicProfile, { ...local, base_url: 'http://localhost' }), 80)
  t.equal(portOf(publicProfile), 0)
  t.equal(chooseDemoPort(planRuntime({ environment: {}, options }).profiles), 0, 'any free port without a file')
})

const inspectFile = createFileInspector(t)

t.test('PROD refuses a native profile whose certificates are not verified, and no other profile', async t => {
  const environment = {
    GATEWAY_MODE: 'PROD',
    GATEWAY_API_KEY: 'a-long-enough-key',
    GATEWAY_CORS_ALLOW_ORIGINS: '[]',
    UPSTREAM_VERIFY_SSL_CERTS: 'False',
    UP_KEY: 'k'
  }
  const refused = inspectFile(v2(nativeProfile), { environment })
  t.match(refused.document.error.details, [
    { reason_id: 'insecure_prod_refused', setting: 'UPSTREAM_VERIFY_SSL_CERTS' }
  ])
  t.equal(inspectFile(v2(), { environment }).exitCode, 0, 'an external provider is always verified')
  const tokenServer = inspectFile(v2({ ...local, credential_env: 'UP_KEY' }), { environment })
  t.equal(tokenServer.exitCode, 2, 'its credential goes to the token server')
  const UPSTREAM_AUTH_URL = 'https://localhost:9443/oauth'
  const onLoopback = { environment: { ...environment, UPSTREAM_AUTH_URL } }
  t.equal(inspectFile(v2({ ...local, credential_env: 'UP_KEY' }), onLoopback).exitCode, 0)
})
