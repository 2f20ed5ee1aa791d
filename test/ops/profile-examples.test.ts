// The profile files that are shipped as examples, and the schema that editors check them with.
import { generateKeyPairSync } from 'node:crypto'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { parse } from 'yaml'
import { renderProfileSchema, schemaFile } from '../../ops/docs/profile-schema.ts'
import { createInspectDocument } from '../../shared/documents/inspect-document.ts'
import { planRuntime } from '../../supervisor/plan/runtime-plan.ts'
import { createTemporaryFolder } from '../support/temporary.ts'

const folder = join(import.meta.dirname, '../../ops/examples')
/** The other files are for keys and for prices. */
const examples = globSync('*.yaml', { cwd: folder })
  .filter(name => /^schema_version: gateway\.provider-profiles\./m.test(readFileSync(join(folder, name), 'utf8')))
  .sort()
const schemaText = readFileSync(schemaFile, 'utf8')

const validate = new Ajv({ strict: false, allErrors: true }).compile(JSON.parse(schemaText))

t.test('the schema file is what the script writes', async t => {
  t.equal(schemaText, renderProfileSchema(), 'run: node ops/docs/profile-schema.ts')
})

/** What the variables of an example hold, by the member that names them; any other one holds a word. */
const values: Readonly<Record<string, string>> = { proxy_credential_env: 'user:password', env: 'fake-value' }

/** The files that an example may name: the paths are those of a machine that is not this one. */
const fixtures: Readonly<Record<string, string>> = {
  ca_file: 'ca.pem',
  client_cert_file: 'client.pem',
  client_key_file: 'client.key'
}

t.test(
  'providers 18: every example starts with fake secrets, without a warning, and passes the schema that it names',
  async t => {
    t.ok(examples.length >= 27)
    const temporary = createTemporaryFolder(t)
    const account = writeServiceAccount(join(temporary, 'account.json'))
    for (const name of examples) {
      const text = readFileSync(join(folder, name), 'utf8')
      t.match(text, /^# yaml-language-server: \$schema=\.\.\/schema\/profile\.v3\.json\n/, name)
      t.ok(validate(parse(text)), `${name} ${JSON.stringify(validate.errors)}`)
      const isDemo = basename(name).startsWith('demo')
      const named = [...text.matchAll(/\b(\w*env): ([A-Z_][A-Z0-9_]*)/g)]
      const environment = isDemo
        ? {}
        : {
            ...(text.includes('aws_sigv4') && { AWS_ACCESS_KEY_ID: 'fake', AWS_SECRET_ACCESS_KEY: 'fake' }),
            ...Object.fromEntries(
              named.map(([, member = '', variable]) => [variable, values[member] ?? 'fake-credential'])
            )
          }
      const path = join(temporary, name)
      writeFileSync(
        path,
        text
          .replaceAll(/\b(ca_file|client_cert_file|client_key_file): [^\s,}]+/g, (_all, member: string) => {
            return `${member}: ${join(import.meta.dirname, 'emulator/fixtures', fixtures[member] ?? '')}`
          })
          .replaceAll(/(google_service_account: ?\{ ?|\n +)file: [^\s,}]+/g, `$1file: ${account}`)
      )
      const plan = planRuntime({ environment, options: { variables: {}, configPath: path, isDemo } })
      t.equal(plan.profiles.origin, 'file')
      t.equal(plan.profiles.schemaVersion, 'gateway.provider-profiles.v3')
      t.same(plan.warnings, [], name)
      for (const profile of plan.profiles.profiles) {
        t.equal(Object.hasOwn(plan.credentials, profile.profileId), profile.credentialEnv !== undefined)
      }
      const shown = JSON.stringify(createInspectDocument(plan.profiles, { matrix: plan.revisions.matrix }))
      t.notMatch(shown, /fake|password/, `${name} shows no secret`)
    }
  }
)

/** Files with several profiles, to show what a file can hold. */
const LARGE = ['demo-profile.yaml', 'mixed.yaml']
const ONE_MODEL_LINES_MAX = 20
const ALL_MODELS_LINES_MAX = 12

t.test('an example is short: 20 lines for a model, 12 for all models of a server', async t => {
  for (const name of examples.filter(one => !LARGE.includes(one))) {
    const lines = readFileSync(join(folder, name), 'utf8')
      .split('\n')
      .filter(line => line.trim() !== '' && !line.trimStart().startsWith('#'))
    const isDynamic = lines.some(line => line.trim() === 'model_inventory: dynamic')
    t.ok(lines.length <= (isDynamic ? ALL_MODELS_LINES_MAX : ONE_MODEL_LINES_MAX), `${name} has ${lines.length}`)
  }
})

t.test('the guide names every example and no other file', async t => {
  const guide = readFileSync(join(folder, '../guides/profiles.md'), 'utf8')
  const linked = [...guide.matchAll(/\]\(\.\.\/examples\/([\w-]+\.yaml)\)/g)].map(([, name]) => name)
  t.same(linked.sort(), examples)
})

function writeServiceAccount(path: string): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const private_key = privateKey.export({ type: 'pkcs8', format: 'pem' })
  const key = { type: 'service_account', client_email: 'gateway@fake.example', private_key }
  writeFileSync(path, JSON.stringify(key))
  return path
}

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
    { proxy: 'socks5://proxy.corp' },
    { headers: { 'a b': 'x' } },
    { auth: {} },
    { auth: { header: 'api-key', query: 'key' } },
    { auth: { google_service_account: {} } },
    { auth: { header: 'api key' } },
    { timeouts: { connect_seconds: 0 } },
    { limits: { response_bytes: 1 } },
    { retries: 4 },
    { public_prefix: 'vendor' },
    { default_capabilities: { features: ['chat'] } },
    { models: [{ ...valid.profiles[0].models[0], public_alias: 'a b' }] },
    { models: [{ ...valid.profiles[0].models[0], targets: [{ profile_id: 'openai', upstream_model: 'a' }] }] },
    {
      models: [
        { ...valid.profiles[0].models[0], capabilities: { features: ['vision'], limits: { context_window: 1 } } }
      ]
    },
    { models: [{ ...valid.profiles[0].models[0], capabilities: { features: [], limits: { context_window: 1 } } }] }
  ]) {
    t.equal(validate(withProfile(members)), false, JSON.stringify(members))
  }
})
