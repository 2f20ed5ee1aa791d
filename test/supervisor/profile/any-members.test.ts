// Any value in any member of a profile: it is read and survives every later step, or it is refused at
// a place of the schema; its content is never repeated (bridge.md 4.6, providers.md 1).
import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import t from 'tap'
import { schemaFile } from '../../../ops/docs/profile-schema.ts'
import { createInspectDocument } from '../../../shared/documents/inspect-document.ts'
import { profileSet } from '../../../shared/ipc/schemas.ts'
import { FEATURE_NAMES } from '../../../shared/profile/profile.ts'
import { PRESET_NAMES, writeRemoval } from '../../../shared/profile/profile-features.ts'
import { computeConfigRevision } from '../../../shared/profile/profile-revision.ts'
import { StartupError } from '../../../shared/startup-error.ts'
import { matrixRevision } from '../../../shared/support/support-matrix.ts'
import { readProfileDocument } from '../../../supervisor/profile/document.ts'
import * as fc from '../../support/properties.ts'
import { baseAlias, baseProfile, capabilities } from './support.ts'

const CANARY = 'canary'
const SCHEMA_PLACE = /^(the top level|profiles\[\d+\][a-z0-9_.[\]]*|schema_version|profiles)( has an unknown member)?$/

const name = fc.constantFrom(
  'api-key',
  'x-team',
  'Authorization',
  'Host',
  'content-type',
  '__proto__',
  'a b',
  '',
  'é',
  `x-${CANARY}`
)
const variable = fc.constantFrom('KEY', 'A1_', 'lower', '', '1A')
const text = fc.constantFrom(
  'a',
  '',
  `${CANARY}\n`,
  CANARY,
  'none',
  'environment',
  'x'.repeat(5000),
  'https://up.example/v1'
)
const url = fc.constantFrom(
  'https://up.example/t',
  'http://10.0.0.1',
  'http://u:p@h',
  'ftp://h',
  'https://h?q',
  `https://${CANARY}`
)
const number = fc.constantFrom(-1, 0, 0.5, 1, 3, 4, 64, 1e6, 2 ** 20, 2 ** 30, 2 ** 31, 1e300)
const entries = fc.dictionary(name, fc.oneof(text, fc.record({ env: variable })), { maxKeys: 3 })
const words = fc.constantFrom(...PRESET_NAMES, ...FEATURE_NAMES, ...FEATURE_NAMES.map(writeRemoval), 'constructor')
const declared = fc.record({
  features: fc.array(words, { maxLength: 4 }),
  limits: fc.record({ context_window: number, max_output_tokens: number }, { requiredKeys: ['context_window'] })
})

const members: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  allow_private: fc.boolean(),
  ca_file: text,
  client_cert_file: text,
  client_key_file: text,
  proxy: fc.oneof(text, url),
  proxy_credential_env: variable,
  credential_env: fc.oneof(variable, fc.constant(null)),
  auth: fc.oneof(
    fc.record({ header: name, prefix: text }, { requiredKeys: ['header'] }),
    fc.record({ query: name }),
    fc.record({
      oauth2: fc.record(
        { token_url: url, client_id_env: variable, client_secret_env: variable, scope: text, client_auth: text },
        { requiredKeys: ['token_url', 'client_id_env', 'client_secret_env'] }
      )
    }),
    fc.record({ google_service_account: fc.record({ file: text, env: variable }, { requiredKeys: [] }) }),
    fc.record({ aws_sigv4: fc.record({ region: text, service: text }) })
  ),
  headers: entries,
  query: entries,
  timeouts: fc.record(
    { connect_seconds: number, first_byte_seconds: number, idle_seconds: number, total_seconds: number },
    { requiredKeys: [] }
  ),
  limits: fc.record({ response_bytes: number }),
  connections: number,
  retries: number,
  wire: fc.constantFrom('chat_completions', 'responses'),
  state: fc.constantFrom('provider', 'gateway'),
  provider_kind: fc.constantFrom('native', 'chat_compatible', 'messages_compatible', 'content_compatible'),
  model_inventory: fc.constantFrom('static', 'dynamic'),
  public_prefix: fc.constantFrom('a/', 'a:', 'a', `${CANARY} /`, ''),
  default_capabilities: declared
}

const targets = fc.array(
  fc.record(
    {
      profile_id: fc.constantFrom('p1', 'p2', CANARY),
      upstream_model: fc.constantFrom('a', 'b'),
      weight: number,
      priority: number
    },
    { requiredKeys: ['profile_id', 'upstream_model'] }
  ),
  { maxLength: 4 }
)

const aliases = fc.oneof(
  fc.constant({}),
  fc.record({ capabilities: declared }),
  targets.map(list => ({ targets: list, upstream_model: undefined }))
)

const profiles = fc.tuple(fc.subarray(Object.keys(members), { maxLength: 4 }), aliases).chain(([names, alias]) =>
  fc.record(Object.fromEntries(names.map(member => [member, members[member] ?? fc.constant(null)]))).map(chosen => ({
    ...baseProfile,
    models: [{ ...baseAlias, capabilities, ...alias }],
    ...chosen
  }))
)

const validate = new Ajv({ strict: false }).compile(JSON.parse(readFileSync(schemaFile, 'utf8')))

/** The place of a refusal; undefined for a file that is read and whose profiles survive every later step. */
function findRefusal(file: unknown): string | undefined {
  try {
    const { set } = readProfileDocument(file)
    // Workers get a copy, and have to compute the same revision from it.
    const received = profileSet.parse(structuredClone(set))
    if (computeConfigRevision(received) !== computeConfigRevision(set)) throw new Error('Another revision.')
    createInspectDocument(set, { matrix: matrixRevision })
    return undefined
  } catch (error) {
    if (!StartupError.is(error)) throw error
    const { location = '' } = error
    if (error.summary.includes(CANARY)) throw new Error(`It repeats content: ${error.summary}`)
    if (!SCHEMA_PLACE.test(location)) throw new Error(`No place of the schema: ${location}`)
    return location
  }
}

const fileOf = (profile: object): unknown =>
  JSON.parse(
    JSON.stringify({
      schema_version: 'gateway.provider-profiles.v3',
      profiles: [
        profile,
        { ...baseProfile, profile_id: 'p2', models: [{ ...baseAlias, public_alias: 'b', capabilities }] }
      ]
    })
  )

t.test('providers 1: values like those of the schema are read or refused, and editors know what is read', async t => {
  let read = 0
  fc.assert(
    fc.property(profiles, profile => {
      const file = fileOf(profile)
      if (findRefusal(file) !== undefined) return
      read += 1
      if (!validate(file)) throw new Error(JSON.stringify(validate.errors))
    }),
    { numRuns: 4000 }
  )
  t.ok(read > 0)
})

t.test('providers 1: any JSON in any member is read or refused at a place of the schema', async () => {
  const names = [...Object.keys(members), 'models', 'unsupported', 'token_counting', 'network_policy_ref']
  const any = fc.jsonValue({ maxDepth: 3 })
  fc.assert(
    fc.property(fc.constantFrom(...names), any, (member, value) => {
      findRefusal(fileOf({ ...baseProfile, models: [{ ...baseAlias, capabilities }], [member]: value }))
    }),
    { numRuns: 4000 }
  )
  fc.assert(
    fc.property(
      fc.constantFrom(...Object.keys(baseAlias), 'capabilities', 'targets', 'unsupported'),
      any,
      (member, value) => {
        findRefusal(fileOf({ ...baseProfile, models: [{ ...baseAlias, capabilities, [member]: value }] }))
      }
    ),
    { numRuns: 2000 }
  )
})
