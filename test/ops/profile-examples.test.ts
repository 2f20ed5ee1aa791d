// The profile files that are shipped as examples, and the schema that editors check them with.
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { parse } from 'yaml'
import { renderProfileSchema, schemaFile } from '../../ops/docs/profile-schema.ts'
import { planRuntime } from '../../supervisor/runtime-plan.ts'

const folder = join(import.meta.dirname, '../../ops/examples')
const examples = globSync('*.yaml', { cwd: folder }).sort()
const schemaText = readFileSync(schemaFile, 'utf8')

const validate = new Ajv({ strict: false, allErrors: true }).compile(JSON.parse(schemaText))

t.test('the schema file is what the script writes', async t => {
  t.equal(schemaText, renderProfileSchema(), 'run: node ops/docs/profile-schema.ts')
})

t.test(
  'every example starts with a fake credential, without a warning, and passes the schema that it names',
  async t => {
    t.ok(examples.length >= 8)
    for (const name of examples) {
      const path = join(folder, name)
      const text = readFileSync(path, 'utf8')
      t.match(text, /^# yaml-language-server: \$schema=\.\.\/schema\/profile\.v3\.json\n/, name)
      t.ok(validate(parse(text)), `${name} ${JSON.stringify(validate.errors)}`)
      const isDemo = basename(name).startsWith('demo')
      const names = [...text.matchAll(/credential_env: (\w+)/g)].map(([, variable]) => variable ?? '')
      const credentials = isDemo ? {} : Object.fromEntries(names.map(variable => [variable, 'fake-credential']))
      const plan = planRuntime({ environment: credentials, options: { variables: {}, configPath: path, isDemo } })
      t.equal(plan.profiles.origin, 'file')
      t.equal(plan.profiles.schemaVersion, 'gateway.provider-profiles.v3')
      t.same(plan.warnings, [], name)
      for (const profile of plan.profiles.profiles) {
        t.equal(Object.hasOwn(plan.credentials, profile.profileId), profile.credentialEnv !== undefined)
      }
    }
  }
)

t.test('the schema refuses what the gateway refuses in a single member', async t => {
  const valid = parse(readFileSync(join(folder, 'openai.yaml'), 'utf8'))
  const withProfile = (members: object) => ({ ...valid, profiles: [{ ...valid.profiles[0], ...members }] })
  t.equal(validate(withProfile({})), true)
  for (const members of [
    { api_key: 'x' },
    { base_url: 'ftp://up.example' },
    { provider_kind: 'openai' },
    { network_policy_ref: 'public-other' },
    { tls_policy_ref: 'insecure' },
    { credential_env: 'lower' },
    { models: [{ ...valid.profiles[0].models[0], public_alias: 'a b' }] },
    { models: [{ ...valid.profiles[0].models[0], capabilities: { features: [], limits: { context_window: 1 } } }] }
  ]) {
    t.equal(validate(withProfile(members)), false, JSON.stringify(members))
  }
})
