// Cases of the bridge contract on the members of a profile file.
import t, { type Test } from 'tap'
import { BASE_FEATURES } from '../../../shared/profile/profile.ts'
import {
  baseAlias,
  baseFile,
  baseProfile,
  capabilities,
  createFileInspector,
  expectRefusal,
  features,
  nativeProfile,
  SCHEMA_MESSAGE,
  v2,
  v3,
  withKey
} from './support.ts'

const inspectFile = createFileInspector(t)

function expectSchemaRefusal(t: Test, content: string | object, place?: string): void {
  const result = inspectFile(content)
  expectRefusal(t, result, 'invalid_profile_schema', SCHEMA_MESSAGE)
  if (place !== undefined) t.same(result.warnings, [`The problem is in the profile file: ${place}`])
}

t.test('bridge 3: a valid file with its credential is one line of JSON and nothing else', async t => {
  const { exitCode, document, output, warnings } = inspectFile(baseFile)
  t.equal(exitCode, 0)
  t.same(warnings, [])
  t.match(output, /^\{"schema_version":"gateway\.inspect\.v1",[^\n]*\}\n$/)
  t.equal(document.valid, true)
  t.match(document.profiles, [{ profile_id: 'p1', base_url: 'https://up.example/v1', credential_env: 'UP_KEY' }])
  t.same(document.profiles[0].models, [{ ...baseAlias, enabled: true, deprecated: false }])
})

t.test('bridge 4: a missing credential refuses the file', async t => {
  const result = inspectFile(baseFile, { environment: {} })
  expectRefusal(t, result, 'credential_unavailable', 'Credential reference is unavailable for an enabled profile.')
})

t.test('bridge 5: an empty credential counts as missing', async t => {
  expectRefusal(t, inspectFile(baseFile, { environment: { UP_KEY: '' } }), 'credential_unavailable')
})

t.test('a credential that no header can carry refuses the file, and stderr names its member', async t => {
  for (const profile of [baseProfile, nativeProfile]) {
    for (const value of ['secret-a\n', 'secret-a\r\nx: y', 'секрет', 'secret-a\0']) {
      const result = inspectFile({ ...baseFile, profiles: [profile] }, { environment: { UP_KEY: value } })
      expectRefusal(t, result, 'credential_unavailable')
      t.same(result.warnings, [
        'The problem is in the profile file: profiles[0].credential_env: the value of UP_KEY must be one line of text that a header can carry'
      ])
      t.notMatch(result.output + result.warnings.join(), /secret-a|секрет/)
    }
  }
  for (const value of ['a b\tc', 'clé']) t.equal(inspectFile(baseFile, { environment: { UP_KEY: value } }).exitCode, 0)
})

t.test('bridge 6: a profile whose aliases are all disabled needs no credential', async t => {
  const { exitCode, document } = inspectFile(v2({}, { enabled: false }), { environment: {} })
  t.equal(exitCode, 0)
  t.match(document.profiles[0].models, [{ public_alias: 'bridge/a', enabled: false }])
})

t.test('bridge 7; bridge 8: the first version has neither a model inventory nor capabilities, even null', async t => {
  const v1 = (profile = {}, alias = {}) => ({ ...v2(profile, alias), schema_version: 'gateway.provider-profiles.v1' })
  t.equal(inspectFile(v1()).exitCode, 0)
  for (const model_inventory of ['static', null]) expectSchemaRefusal(t, v1({ model_inventory }))
  for (const value of [null, capabilities]) expectSchemaRefusal(t, v1({}, { capabilities: value }))
  expectSchemaRefusal(t, v1({ models: undefined }))
  expectSchemaRefusal(t, v1({ models: [] }))
})

t.test('bridge 9: the second version has no capabilities', async t => {
  for (const value of [null, capabilities]) {
    expectSchemaRefusal(t, v2({}, { capabilities: value }), 'profiles[0].models[0] has an unknown member')
  }
})

t.test('bridge 10: the second version needs the name of a credential', async t => {
  for (const credential_env of [undefined, null, '', ' UP_KEY', 'up_key', '1UP', 'A'.repeat(257)]) {
    expectSchemaRefusal(t, v2({ credential_env }), 'profiles[0].credential_env')
  }
})

t.test('bridge 11: the third version accepts a profile without a key', async t => {
  for (const credential_env of [undefined, null]) {
    const { exitCode, document, warnings } = inspectFile(v3({ credential_env }), { environment: {} })
    t.equal(exitCode, 0)
    t.same(warnings, [])
    t.equal(document.profiles[0].credential_env, null)
    t.same(document.profiles[0].models[0].capabilities, { ...capabilities, features: [...features].sort() })
  }
  expectSchemaRefusal(t, v3({ credential_env: '' }))
})

t.test('bridge 12: an enabled external alias of the third version needs capabilities, in each kind', async t => {
  const policies = {
    chat_compatible: 'public-openai',
    messages_compatible: 'public-anthropic',
    content_compatible: 'public-gemini'
  }
  for (const [provider_kind, network_policy_ref] of Object.entries(policies)) {
    for (const value of [undefined, null]) {
      const file = v3({ provider_kind, network_policy_ref }, { capabilities: value })
      // `models` of the second argument is replaced by the first one's members, so the alias stays.
      expectSchemaRefusal(t, file, 'profiles[0].models[0].capabilities')
    }
    t.equal(inspectFile(v3({ provider_kind, network_policy_ref })).exitCode, 0)
  }
  t.equal(inspectFile(v3(nativeProfile)).exitCode, 0)
})

t.test('bridge 13: a disabled external alias needs none', async t => {
  t.equal(inspectFile(v3({}, { capabilities: undefined, enabled: false }), { environment: {} }).exitCode, 0)
})

t.test(
  'bridge 14: a dynamic external kind needs a prefix (decisions.md 88), and vendor names are no kinds',
  async t => {
    for (const provider_kind of ['chat_compatible', 'messages_compatible', 'content_compatible']) {
      expectSchemaRefusal(t, v3({ provider_kind, model_inventory: 'dynamic' }), 'profiles[0].public_prefix')
      expectSchemaRefusal(t, v2({ provider_kind, model_inventory: 'dynamic' }), 'profiles[0].model_inventory')
    }
    for (const provider_kind of ['anthropic', 'gemini', 'gigachat']) {
      expectSchemaRefusal(t, v2({ provider_kind }), 'profiles[0].provider_kind')
    }
    const dynamic = inspectFile(v2({ ...nativeProfile, model_inventory: 'dynamic', models: [] }))
    t.equal(dynamic.exitCode, 0)
    t.equal(dynamic.document.profiles[0].model_inventory, 'dynamic')
    expectSchemaRefusal(t, v2({ ...nativeProfile, models: [] }), 'profiles[0].models')
  }
)

t.test('bridge 15: a file has at most one dynamic profile of the native kind', async t => {
  const dynamic = { ...nativeProfile, model_inventory: 'dynamic', models: [] }
  const profiles = [dynamic, { ...dynamic, profile_id: 'n2' }]
  expectSchemaRefusal(t, { ...baseFile, profiles }, 'profiles[1].model_inventory')
})

t.test('bridge 16: the second version is the default and has the same revision', async t => {
  const { schema_version, ...unversioned } = baseFile
  const implied = inspectFile(unversioned)
  t.equal(implied.exitCode, 0)
  t.equal(implied.document.profile_schema_version, schema_version)
  t.equal(implied.document.config_revision, inspectFile(baseFile).document.config_revision)
})

t.test('bridge 17: another schema version is refused', async t => {
  for (const schema_version of ['gateway.provider-profiles.v4', null, 2, '']) {
    expectSchemaRefusal(t, { ...baseFile, schema_version }, 'schema_version')
  }
})

t.test('bridge 18: an unknown member is refused at every level, and neither name nor value is shown', async t => {
  const api_key = 'hunter2-member'
  const files: Array<[object, string]> = [
    [{ ...baseFile, api_key }, 'the top level has an unknown member'],
    [v2({ api_key }), 'profiles[0] has an unknown member'],
    [v2({}, { api_key }), 'profiles[0].models[0] has an unknown member'],
    [v3({}, { capabilities: { ...capabilities, api_key } }), 'profiles[0].models[0].capabilities has an unknown member']
  ]
  for (const [content, place] of files) {
    expectSchemaRefusal(t, content, place)
    const { output, warnings } = inspectFile(content)
    t.notMatch(output + warnings.join(), /api_key|hunter2/)
  }
  for (const name of ['__proto__', 'constructor', 'toString']) {
    const text = JSON.stringify(baseFile)
    for (const place of ['{"schema', '{"profile_id', '{"public_alias']) {
      expectSchemaRefusal(t, text.replace(place, place.replace('{', `{"${name}":{},`)))
    }
  }
})

t.test('bridge 19: profile ids are unique', async t => {
  const second = { ...baseProfile, profile_id: ' p1 ', models: [{ ...baseAlias, public_alias: 'bridge/b' }] }
  const result = inspectFile({ ...baseFile, profiles: [baseProfile, second] })
  expectRefusal(t, result, 'duplicate_profile_id', 'Provider profile ids must be globally unique.')
})

t.test('bridge 20: an alias is unique over all profiles, disabled ones included', async t => {
  for (const enabled of [true, false]) {
    const second = { ...baseProfile, profile_id: 'p2', models: [{ ...baseAlias, enabled }] }
    const result = inspectFile({ ...baseFile, profiles: [baseProfile, second] })
    expectRefusal(t, result, 'duplicate_model_alias', 'Public model aliases must be globally unique.')
  }
})

t.test('bridge 21: an alias is unique within its profile', async t => {
  expectRefusal(t, inspectFile(v2({ models: [baseAlias, baseAlias] })), 'duplicate_model_alias')
})

t.test('bridge 22: aliases are compared in composed form', async t => {
  const models = ['caf\u00e9', 'cafe\u0301'].map(public_alias => ({ ...baseAlias, public_alias }))
  expectRefusal(t, inspectFile(v2({ models })), 'duplicate_model_alias')
})

t.test(
  'of several problems the duplicate id is reported, then the duplicate alias, once every member is valid',
  async t => {
    const twice = { ...baseProfile, model_inventory: 'dynamic' }
    expectRefusal(t, inspectFile({ ...baseFile, profiles: [twice, twice] }), 'duplicate_profile_id')
    const other = { ...twice, profile_id: 'p2' }
    expectRefusal(t, inspectFile({ ...baseFile, profiles: [twice, other] }), 'duplicate_model_alias')
    const wrong = { ...twice, base_url: 'ftp://up.example' }
    expectRefusal(t, inspectFile({ ...baseFile, profiles: [twice, wrong] }), 'invalid_profile_schema')
  }
)

t.test('bridge 23: an alias has at most 256 characters and no white space or invisible character', async t => {
  const accepted = ['a'.repeat(256), '\u{1f600}'.repeat(256), ' padded ', 'Case/Sensitive:1.0']
  for (const public_alias of accepted) {
    const { exitCode, document } = inspectFile(v2({}, { public_alias }))
    t.equal(exitCode, 0)
    t.equal(document.profiles[0].models[0].public_alias, public_alias.trim())
  }
  const refused = [
    'a'.repeat(257),
    'a b',
    'a\u200bb',
    '\u200ba',
    '\ufeffa',
    'a\u00a0b',
    'a\u0000',
    'a\u0085',
    '',
    ' ',
    12,
    null
  ]
  for (const name of ['public_alias', 'upstream_model', 'capability_profile']) {
    for (const value of refused) expectSchemaRefusal(t, v2({}, { [name]: value }), `profiles[0].models[0].${name}`)
  }
  expectSchemaRefusal(t, JSON.stringify(v2({}, { public_alias: '\ud800' })), 'profiles[0].models[0].public_alias')
})

t.test('bridge 24: a profile id is trimmed and has its alphabet', async t => {
  for (const [written, reported] of [
    [' p1 ', 'p1'],
    ['a', 'a'],
    ['a.b_c-1', 'a.b_c-1'],
    ['constructor', 'constructor'],
    ['a'.repeat(256), 'a'.repeat(256)]
  ]) {
    const { exitCode, document } = inspectFile(v2({ profile_id: written }))
    t.equal(exitCode, 0)
    t.equal(document.profiles[0].profile_id, reported)
  }
  for (const profile_id of ['P1', 'p1-', '-p1', '', 'p 1', 'p\u0456', 'a'.repeat(257), 1, null]) {
    expectSchemaRefusal(t, v2({ profile_id }), 'profiles[0].profile_id')
  }
})

t.test('bridge 37: words that mean false in YAML 1.1 are no text, and mean false where a flag is expected', async t => {
  const yaml = (profileId: string, enabled: string) => `
profiles:
  - profile_id: ${profileId}
    provider_kind: chat_compatible
    base_url: https://up.example/v1
    credential_env: UP_KEY
    network_policy_ref: public-openai
    tls_policy_ref: system-default
    models:
      - {public_alias: a, upstream_model: m, capability_profile: c, support_status: stable, enabled: ${enabled}}
`
  for (const word of ['no', 'on', '12', 'off', '~', '1.5']) {
    expectSchemaRefusal(t, yaml(word, 'yes'), 'profiles[0].profile_id')
    expectSchemaRefusal(t, `%YAML 1.2\n---${yaml(word, 'yes')}`)
  }
  for (const [word, expected] of [
    ['no', false],
    ['off', false],
    ['0', false],
    ['"No"', false],
    ['"f"', false],
    ['YES', true],
    ['"1"', true],
    ['1', true],
    ['1.0', true],
    ['"on"', true]
  ] as const) {
    const { exitCode, document } = inspectFile(yaml('p1', word))
    t.equal(exitCode, 0, word)
    t.equal(document.profiles[0].models[0].enabled, expected, word)
  }
  for (const word of ['2', '"maybe"', '~', '[]', '""', '-1']) expectSchemaRefusal(t, yaml('p1', word))
})

t.test('bridge 46: token limits stay within the context window', async t => {
  const withLimits = (limits: object) => v3({}, { capabilities: { features, limits } })
  expectSchemaRefusal(
    t,
    withLimits({ context_window: 10, max_input_tokens: 11 }),
    'profiles[0].models[0].capabilities.limits'
  )
  expectSchemaRefusal(t, withLimits({ context_window: 10, max_output_tokens: 11 }))
  const equal = inspectFile(withLimits({ context_window: 10, max_input_tokens: 10, max_output_tokens: 10 }))
  t.equal(equal.exitCode, 0)
  t.same(equal.document.profiles[0].models[0].capabilities.limits, {
    context_window: 10,
    max_input_tokens: 10,
    max_output_tokens: 10
  })
  t.equal(inspectFile(withLimits({ context_window: '10', max_input_tokens: null })).exitCode, 0)
  for (const context_window of [0, -1, 1.5, '', 'ten', null, true, 1e300]) {
    expectSchemaRefusal(t, withLimits({ context_window }), 'profiles[0].models[0].capabilities.limits.context_window')
  }
})

t.test('bridge 47: features are known names, at least one, and equal ones collapse', async t => {
  const withFeatures = (list: unknown) => v3({}, { capabilities: { ...capabilities, features: list } })
  expectSchemaRefusal(t, withFeatures([]), 'profiles[0].models[0].capabilities.features')
  expectSchemaRefusal(t, withFeatures(['vision']), 'profiles[0].models[0].capabilities.features[0]')
  const { exitCode, document } = inspectFile(withFeatures(['text', 'text']))
  t.equal(exitCode, 0)
  // The features that every request requires need no word (decisions.md 88).
  t.same(document.profiles[0].models[0].capabilities.features, [...BASE_FEATURES, 'text'].sort())
})

t.test('an alias that names none of the features which every request requires starts without a warning', async t => {
  // They are implied (decisions.md 88).
  const { exitCode, warnings } = inspectFile(v3({}, { capabilities: { ...capabilities, features: ['text'] } }))
  t.equal(exitCode, 0)
  t.same(warnings, [])
})

t.test('token counting is a choice of chat_compatible profiles of the third version', async t => {
  for (const token_counting of ['local', 'off']) t.equal(inspectFile(v3({ token_counting })).exitCode, 0)
  // Without quotes it is false in YAML 1.1.
  const revisionOf = (content: object) => inspectFile(content).document.config_revision
  t.equal(revisionOf(v3({ token_counting: false })), revisionOf(v3({ token_counting: 'off' })))
  expectSchemaRefusal(t, v3({ token_counting: 'exact' }), 'profiles[0].token_counting')
  expectSchemaRefusal(t, v3({ token_counting: null }), 'profiles[0].token_counting')
  expectSchemaRefusal(t, v2({ token_counting: 'off' }), 'profiles[0] has an unknown member')
  expectSchemaRefusal(t, v3({ ...nativeProfile, token_counting: 'off' }), 'profiles[0].token_counting')
})

t.test(
  'the wire is a choice of chat_compatible profiles of the third version, and part of a revision where it is written',
  async t => {
    for (const wire of ['chat_completions', 'responses']) {
      const { exitCode, document } = inspectFile(v3({ wire }))
      t.equal(exitCode, 0)
      t.equal(document.profiles[0].wire, wire, 'shown where it is written (bridge.md 5.1)')
    }
    const revisionOf = (content: object) => inspectFile(content).document.config_revision
    const revisions = [v3(), v3({ wire: 'chat_completions' }), v3({ wire: 'responses' })].map(revisionOf)
    t.equal(new Set(revisions).size, 3)
    expectSchemaRefusal(t, v3({ wire: 'completions' }), 'profiles[0].wire')
    expectSchemaRefusal(t, v3({ wire: null }), 'profiles[0].wire')
    expectSchemaRefusal(t, v2({ wire: 'responses' }), 'profiles[0] has an unknown member')
    expectSchemaRefusal(t, v3({ ...nativeProfile, wire: 'responses' }), 'profiles[0].wire')
  }
)

t.test(
  'who keeps the state is a choice of the Responses wire, and part of a revision where it is written (memory.md 3)',
  async t => {
    const wired = (members: object = {}) => v3({ wire: 'responses', ...members })
    for (const state of ['provider', 'gateway']) {
      const { exitCode, document } = inspectFile(wired({ state }))
      t.equal(exitCode, 0)
      t.equal(document.profiles[0].state, state)
    }
    const revisionOf = (content: object) => inspectFile(content).document.config_revision
    t.equal(new Set([wired(), wired({ state: 'provider' }), wired({ state: 'gateway' })].map(revisionOf)).size, 3)
    expectSchemaRefusal(t, wired({ state: 'both' }), 'profiles[0].state')
    expectSchemaRefusal(t, v3({ state: 'gateway' }), 'profiles[0].state')
    expectSchemaRefusal(t, v3({ wire: 'chat_completions', state: 'gateway' }), 'profiles[0].state')
    expectSchemaRefusal(t, v2({ state: 'gateway' }), 'profiles[0] has an unknown member')
  }
)

t.test('bridge 48: the published vectors of both revisions hold', async t => {
  const native = {
    profile_id: 'native-main',
    provider_kind: 'native',
    base_url: 'https://api.upstream.example/v1',
    credential_env: 'UPSTREAM_CREDENTIALS',
    network_policy_ref: 'public-native',
    tls_policy_ref: 'system-default',
    model_inventory: 'dynamic'
  }
  const edge = `# The same content in another form
profiles:
  - models:
      - public_alias: edge/mini
        support_status: technical_preview
        upstream_model: mini-7b
        capability_profile: edge-mini-v1
        capabilities: {limits: {context_window: "4096"}, features: [text, roles, text]}
    allow_loopback: yes
    profile_id: edge-chat
    provider_kind: chat_compatible
    base_url: HTTP://127.0.0.1:9800/v1/
    network_policy_ref: loopback-development
    tls_policy_ref: system-default
schema_version: 'gateway.provider-profiles.v3'
`
  const first = inspectFile(
    { schema_version: 'gateway.provider-profiles.v2', profiles: [native] },
    { environment: { UPSTREAM_CREDENTIALS: 'aHVudGVyMjpzZWNyZXQ=' } }
  )
  t.equal(first.exitCode, 0)
  t.equal(
    first.document.profiles[0].profile_revision,
    'sha256:3086047ce49fbbb2c693a603486cd3ab9e0a086bb0ab4f7d15c7a47333526372'
  )
  t.equal(first.document.config_revision, 'sha256:5246d6e844d6d4c26d11c97a1e8d5af7e119af5a948c1eb6fdde7f1bca932911')
  const second = inspectFile(edge, { environment: {} })
  t.equal(second.exitCode, 0)
  t.equal(
    second.document.profiles[0].profile_revision,
    'sha256:b9b537101465ccd50f4eb017164856b014f68f05e403f7dc836e3c693147d5db'
  )
  t.equal(second.document.config_revision, 'sha256:dfe00e48f6354a99b306442b7cba339447ecc22d03f66ade047ede7cb60d3298')
})

t.test('the inspect document has the members and the order of the contract, profiles and aliases sorted', async t => {
  const aliases = ['b', 'a', 'Z'].map(public_alias => ({ ...baseAlias, public_alias, capabilities }))
  const profiles = [
    { ...baseProfile, profile_id: 'z', models: aliases },
    { ...baseProfile, profile_id: 'a', models: [{ ...baseAlias, capabilities }] }
  ]
  const { document } = inspectFile(
    { schema_version: 'gateway.provider-profiles.v3', profiles },
    { environment: withKey }
  )
  t.same(Object.keys(document), [
    ...['schema_version', 'profile_schema_version', 'valid', 'config_revision', 'matrix_revision', 'profiles']
  ])
  t.same(
    document.profiles.map((profile: { profile_id: string }) => profile.profile_id),
    ['a', 'z']
  )
  t.same(
    document.profiles[1].models.map((model: { public_alias: string }) => model.public_alias),
    ['Z', 'a', 'b']
  )
  t.same(Object.keys(document.profiles[0]), [
    ...['profile_id', 'profile_revision', 'provider_kind', 'base_url', 'credential_env', 'network_policy_ref'],
    ...['tls_policy_ref', 'allow_loopback', 'model_inventory', 'models']
  ])
  t.same(Object.keys(document.profiles[0].models[0]), [
    ...[
      'public_alias',
      'upstream_model',
      'capability_profile',
      'capabilities',
      'support_status',
      'enabled',
      'deprecated'
    ]
  ])
})
