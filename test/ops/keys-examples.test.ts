// The keys file that is shipped as an example, and the schema that editors check it with.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { parse } from 'yaml'
import { keysSchemaFile, renderKeysSchema } from '../../ops/docs/keys-schema.ts'
import { planRuntime } from '../../supervisor/plan/runtime-plan.ts'

const example = join(import.meta.dirname, '../../ops/examples/keys.yaml')
const text = readFileSync(example, 'utf8')
const schemaText = readFileSync(keysSchemaFile, 'utf8')
const validate = new Ajv({ strict: false, allErrors: true }).compile(JSON.parse(schemaText))

t.test('the schema file is what the script writes', async t => {
  t.equal(schemaText, renderKeysSchema(), 'run: node ops/docs/keys-schema.ts')
})

t.test('keys 1: the example passes the schema that it names, and a gateway starts with it', async t => {
  t.match(text, /^# yaml-language-server: \$schema=\.\.\/schema\/keys\.v1\.json\n/)
  t.ok(validate(parse(text)), JSON.stringify(validate.errors))
  const environment = { GATEWAY_KEYS_FILE: example, CI_KEY: 'fake-secret-of-ci' }
  const plan = planRuntime({ environment, options: { variables: {}, isDemo: false, envFile: '/dev/null' } })
  t.same(plan.warnings, [])
  t.same(
    plan.keys?.keys.map(({ name, digests }) => [name, digests.length]),
    [
      ['ci', 1],
      ['notebook', 2]
    ]
  )
})

t.test('the schema refuses what the gateway refuses in a single member', async t => {
  const valid = parse(text)
  const withKey = (members: object) => ({ ...valid, keys: [{ ...valid.keys[0], ...members }] })
  t.ok(validate(withKey({ limits: { budget: { amount: 0.5, period: 'total' } } })))
  for (const content of [
    { ...valid, schema_version: 'gateway.keys.v2' },
    { ...valid, currency: 'euro' },
    { ...valid, keys: [] },
    { ...valid, groups: { 'Team A': {} } },
    withKey({ name: 'CI' }),
    withKey({ secrets: [] }),
    withKey({ secrets: [{ env: 'A', file: 'b' }] }),
    withKey({ secrets: [{ env: 'lower' }] }),
    withKey({ secrets: [{ sha256: 'abc' }] }),
    withKey({ models: ['a*b'] }),
    withKey({ expires_at: 'soon' }),
    withKey({ enabled: 'no' }),
    withKey({ limits: { requests_per_minute: 0 } }),
    withKey({ limits: { budget: { amount: 0, period: 'day' } } }),
    withKey({ limits: { budget: { amount: 1, period: 'year' } } }),
    withKey({ metadata: { owner: 1 } }),
    withKey({ owner: 'build' })
  ]) {
    t.notOk(validate(content), JSON.stringify(content))
  }
})
