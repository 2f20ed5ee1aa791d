// The members of the third version that say how a provider is called (providers.md 1): what each
// may hold, with the place that stderr names for what it may not.
import t, { type Test } from 'tap'
import {
  baseAlias,
  capabilities,
  createFileInspector,
  expectRefusal,
  type Members,
  nativeProfile,
  SCHEMA_MESSAGE,
  v2,
  v3
} from './support.ts'

const inspectFile = createFileInspector(t)

const loopback = {
  base_url: 'http://127.0.0.1:9/v1',
  allow_loopback: true,
  network_policy_ref: 'loopback-development'
}

function expectRefusals(t: Test, rows: ReadonlyArray<readonly [members: Members, place: string, alias?: Members]>) {
  for (const [members, place, alias] of rows) {
    const result = inspectFile(v3(members, alias))
    t.equal(result.exitCode, 2, `${JSON.stringify({ members, alias })} is refused`)
    expectRefusal(t, result, 'invalid_profile_schema', SCHEMA_MESSAGE)
    t.same(result.warnings, [`The problem is in the profile file: ${place}`], JSON.stringify({ members, alias }))
  }
}

function expectAccepted(t: Test, rows: readonly Members[], alias: Members = {}) {
  for (const members of rows) {
    const { exitCode, warnings } = inspectFile(v3(members, alias))
    t.equal(exitCode, 0, `${JSON.stringify(members)} ${warnings}`)
  }
}

/** Each member with a value that a file of the third version may have. */
const written: Members = {
  allow_private: false,
  ca_file: '/nowhere/ca.pem',
  client_cert_file: '/nowhere/tls.crt',
  client_key_file: '/nowhere/tls.key',
  proxy: 'none',
  proxy_credential_env: 'PROXY_USER',
  auth: { header: 'api-key' },
  headers: { 'x-team': 'research' },
  query: { 'api-version': '2026-10-01' },
  timeouts: { connect_seconds: 10 },
  limits: { response_bytes: 67_108_864 },
  connections: 1024,
  retries: 1,
  public_prefix: 'vllm/',
  default_capabilities: capabilities
}

t.test('providers 16: files of the first and the second version refuse every new member', async t => {
  for (const [name, value] of Object.entries(written)) {
    for (const schema_version of ['gateway.provider-profiles.v1', 'gateway.provider-profiles.v2']) {
      for (const given of [value, null]) {
        const result = inspectFile({ ...v2({ [name]: given }), schema_version })
        expectRefusal(t, result, 'invalid_profile_schema', SCHEMA_MESSAGE)
        t.same(result.warnings, ['The problem is in the profile file: profiles[0] has an unknown member'], name)
      }
    }
  }
  const targets = [
    { profile_id: 'p1', upstream_model: 'a' },
    { profile_id: 'p1', upstream_model: 'b' }
  ]
  const result = inspectFile(v2({}, { targets }))
  t.same(result.warnings, ['The problem is in the profile file: profiles[0].models[0] has an unknown member'])
  expectRefusal(t, inspectFile(v2({ model_inventory: 'dynamic' })), 'invalid_profile_schema')
})

t.test('providers 1: a member that is written as null is refused, because absence is its only empty form', async t => {
  for (const name of Object.keys(written)) expectRefusals(t, [[{ [name]: null }, `profiles[0].${name}`]])
})

/** The members that every kind has: how connections are made, and what each call brings. */
const ofEveryKind = /^(allow_private|ca_file|client_.*_file|proxy.*|headers|query)$/

t.test(
  'providers 1: the native kind is authorized and bounded as the settings say, so it has no such member',
  async t => {
    for (const name of Object.keys(written).filter(name => !ofEveryKind.test(name))) {
      expectRefusals(t, [[{ ...nativeProfile, [name]: written[name] }, `profiles[0].${name}`]])
    }
  }
)

t.test(
  'providers 1: the native kind has the members of connections; without `proxy` it takes that of the environment',
  async t => {
    const { headers, query } = written
    expectAccepted(t, [
      { ...nativeProfile, proxy: 'http://proxy.example:3128', headers, query },
      { ...nativeProfile, proxy: 'none' }
    ])
    const credential = { proxy_credential_env: 'PROXY_USER' }
    expectRefusals(t, [[{ ...nativeProfile, proxy: 'none', ...credential }, 'profiles[0].proxy_credential_env']])
    // The rule is kept; only the value of the variable is missing.
    t.match(inspectFile(v3({ ...nativeProfile, ...credential })).warnings, [/PROXY_USER/])
  }
)

t.test('providers 1: allow_private is a flag that belongs to private-network and excludes allow_loopback', async t => {
  expectAccepted(t, [
    { allow_private: false },
    { allow_private: 'no' },
    { allow_private: true, network_policy_ref: 'private-network' }
  ])
  expectRefusals(t, [[{ allow_private: 'maybe' }, 'profiles[0].allow_private']])
  for (const [members, member] of [
    [{ ...loopback, allow_private: true }, 'allow_private'],
    [{ allow_private: true }, 'network_policy_ref'],
    [{ network_policy_ref: 'private-network' }, 'allow_private']
  ] as const) {
    const result = inspectFile(v3(members))
    expectRefusal(t, result, 'invalid_policy_reference')
    t.same(result.warnings, [`The problem is in the profile file: profiles[0].${member}`])
  }
})

t.test('providers 1: a client certificate and its key are named together', async t => {
  expectRefusals(t, [
    [{ client_cert_file: 'tls.crt' }, 'profiles[0].client_key_file'],
    [{ client_key_file: 'tls.key' }, 'profiles[0].client_cert_file'],
    [{ ca_file: '' }, 'profiles[0].ca_file'],
    [{ ca_file: 'a\0b' }, 'profiles[0].ca_file']
  ])
})

t.test('providers 1: tls_policy_ref is private-ca exactly with ca_file', async t => {
  const together = 'The policy private-ca and ca_file belong together.'
  for (const [members, message] of [
    [{ tls_policy_ref: 'private-ca' }, together],
    [{ ca_file: 'ca.pem' }, together],
    [{ ca_file: 'ca.pem', tls_policy_ref: 'other' }, together],
    [{ tls_policy_ref: 'other' }, 'Provider profile references an unknown reviewed policy.']
  ] as const) {
    const result = inspectFile(v3(members))
    expectRefusal(t, result, 'invalid_policy_reference', message)
    t.same(result.warnings, ['The problem is in the profile file: profiles[0].tls_policy_ref'])
  }
})

t.test('providers 1: a proxy is none, environment, or an origin without credentials', async t => {
  expectAccepted(
    t,
    ['none', 'environment', 'http://proxy.corp:3128', 'https://127.0.0.1:8443', 'HTTP://Proxy.Corp/'].map(proxy => ({
      proxy
    }))
  )
  const wrong = ['', 'None', 'proxy.corp:3128', 'http://user:pass@proxy.corp', 'http://proxy.corp/path', 'http://p?a=b']
  expectRefusals(
    t,
    [...wrong, 'socks5://proxy.corp', 8080].map(proxy => [{ proxy }, 'profiles[0].proxy'] as const)
  )
  expectRefusals(t, [
    [{ proxy_credential_env: 'PROXY_USER' }, 'profiles[0].proxy_credential_env'],
    [{ proxy: 'none', proxy_credential_env: 'PROXY_USER' }, 'profiles[0].proxy_credential_env'],
    [{ proxy: 'environment', proxy_credential_env: 'user:pass' }, 'profiles[0].proxy_credential_env']
  ])
})

const oauth2 = { token_url: 'https://login.example/token', client_id_env: 'UP_KEY', client_secret_env: 'UP_KEY' }

t.test('providers 1: auth has exactly one form', async t => {
  expectAccepted(t, [
    { auth: { header: 'api-key' } },
    { auth: { header: 'Authorization', prefix: 'Token ' } },
    { auth: { query: 'key' } },
    { credential_env: null, auth: { oauth2 } },
    { credential_env: null, auth: { oauth2: { ...oauth2, scope: 'a b', audience: 'x', client_auth: 'post' } } }
  ])
  const refused: ReadonlyArray<readonly [unknown, string]> = [
    [{}, 'auth'],
    ['api-key', 'auth'],
    [{ header: 'a', query: 'b' }, 'auth'],
    [{ bearer: 'x' }, 'auth has an unknown member'],
    [{ header: 'a b' }, 'auth.header'],
    [{ header: 'Cookie' }, 'auth.header'],
    [{ query: 'key', prefix: 'Token ' }, 'auth.prefix'],
    [{ header: 'api-key', prefix: 'a\nb' }, 'auth.prefix'],
    [{ prefix: 'Token ' }, 'auth']
  ]
  expectRefusals(
    t,
    refused.map(([auth, place]) => [{ auth }, `profiles[0].${place}`] as const)
  )
  const keyless: ReadonlyArray<readonly [unknown, string]> = [
    [{ oauth2: { ...oauth2, token_url: 'login.example' } }, 'auth.oauth2.token_url'],
    [{ oauth2: { ...oauth2, token_url: 'https://login.example/token?tenant=a' } }, 'auth.oauth2.token_url'],
    [{ oauth2: { ...oauth2, client_id_env: 'id' } }, 'auth.oauth2.client_id_env'],
    [{ oauth2: { ...oauth2, client_secret_env: undefined } }, 'auth.oauth2.client_secret_env'],
    [{ oauth2: { ...oauth2, client_auth: 'jwt' } }, 'auth.oauth2.client_auth'],
    [{ oauth2: { ...oauth2, scope: '' } }, 'auth.oauth2.scope'],
    [{ oauth2: { ...oauth2, client_secret: 'x' } }, 'auth.oauth2 has an unknown member'],
    [{ google_service_account: {} }, 'auth.google_service_account'],
    [{ google_service_account: { file: 'a.json', env: 'KEY' } }, 'auth.google_service_account'],
    [{ google_service_account: { file: 'a.json', scopes: [] } }, 'auth.google_service_account.scopes'],
    [{ aws_sigv4: { region: 'eu-central-1' } }, 'auth.aws_sigv4.service'],
    [{ aws_sigv4: { region: 'EU', service: 'bedrock' } }, 'auth.aws_sigv4.region']
  ]
  expectRefusals(
    t,
    keyless.map(([auth, place]) => [{ credential_env: null, auth }, `profiles[0].${place}`] as const)
  )
})

t.test('providers 1: a header or a parameter carries credential_env, and the other forms have their own', async t => {
  expectRefusals(t, [
    [{ credential_env: null, auth: { header: 'api-key' } }, 'profiles[0].credential_env'],
    [{ credential_env: null, auth: { query: 'key' } }, 'profiles[0].credential_env'],
    [{ auth: { oauth2 } }, 'profiles[0].credential_env'],
    [{ auth: { google_service_account: { file: 'a.json' } } }, 'profiles[0].credential_env'],
    [{ auth: { aws_sigv4: { region: 'eu-central-1', service: 'bedrock' } } }, 'profiles[0].credential_env']
  ])
})

t.test('providers 1: static headers and parameters are at most 16 tokens with texts or variables', async t => {
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, 'a']))
  expectAccepted(t, [
    { headers: { 'x-team': 'research', 'X-Org': { env: 'UP_KEY' } }, query: { 'api-version': '2026-10-01' } },
    { headers: many(16), query: many(16) },
    { headers: {}, query: {} },
    // The credential stands elsewhere.
    { auth: { header: 'api-key' }, headers: { authorization: { env: 'UP_KEY' } } },
    { auth: { query: 'key' }, headers: { authorization: 'x', 'x-api-key': 'x' } }
  ])
  const own = [
    'Host',
    'content-type',
    'Content-Length',
    'transfer-encoding',
    'connection',
    'cookie',
    'te',
    'upgrade',
    'Accept-Encoding'
  ]
  expectRefusals(t, [
    ...[...own, 'proxy-authorization', 'a b', '', 'ключ', 'authorization'].map(
      name => [{ headers: { [name]: 'x' } }, 'profiles[0].headers'] as const
    ),
    [{ headers: { 'x-a': 'a', 'X-A': 'b' } }, 'profiles[0].headers'],
    [{ headers: { 'x-a': 'a\r\nb' } }, 'profiles[0].headers'],
    [{ headers: { 'x-a': 1 } }, 'profiles[0].headers'],
    [{ headers: { 'x-a': { env: 'lower' } } }, 'profiles[0].headers'],
    [{ headers: { 'x-a': { env: 'A', value: 'b' } } }, 'profiles[0].headers has an unknown member'],
    [{ headers: many(17) }, 'profiles[0].headers'],
    [{ headers: [] }, 'profiles[0].headers'],
    [{ auth: { header: 'Api-Key' }, headers: { 'api-key': 'x' } }, 'profiles[0].headers'],
    [{ query: { 'a b': 'x' } }, 'profiles[0].query'],
    [{ query: { a: 'x\n' } }, 'profiles[0].query'],
    [{ query: many(17) }, 'profiles[0].query'],
    [{ auth: { query: 'key' }, query: { key: 'x' } }, 'profiles[0].query']
  ])
  for (const [provider_kind, network_policy_ref, name] of [
    ['messages_compatible', 'public-anthropic', 'x-api-key'],
    ['content_compatible', 'public-gemini', 'X-Goog-Api-Key']
  ]) {
    expectRefusals(t, [[{ provider_kind, network_policy_ref, headers: { [name ?? '']: 'x' } }, 'profiles[0].headers']])
  }
  const aws = { credential_env: null, auth: { aws_sigv4: { region: 'eu-central-1', service: 'bedrock' } } }
  for (const name of ['Authorization', 'x-amz-date', 'x-amz-security-token']) {
    expectRefusals(t, [[{ ...aws, headers: { [name]: 'x' } }, 'profiles[0].headers']])
  }
  const text = JSON.stringify(v3({ headers: { 'x-a': 'b' } })).replace('"x-a"', '"__proto__"')
  expectRefusal(t, inspectFile(text), 'invalid_profile_schema')
})

t.test('providers 1: timeouts are seconds, and only the time to connect has to be one', async t => {
  expectAccepted(t, [
    { timeouts: { connect_seconds: 10, first_byte_seconds: 300, idle_seconds: 300, total_seconds: 0 } },
    { timeouts: { first_byte_seconds: 0, idle_seconds: 0 } },
    { timeouts: { connect_seconds: 0.5, total_seconds: 86_400 } },
    { timeouts: {} }
  ])
  expectRefusals(t, [
    [{ timeouts: { connect_seconds: 0 } }, 'profiles[0].timeouts.connect_seconds'],
    [{ timeouts: { idle_seconds: -1 } }, 'profiles[0].timeouts.idle_seconds'],
    [{ timeouts: { total_seconds: 86_401 } }, 'profiles[0].timeouts.total_seconds'],
    [{ timeouts: { first_byte_seconds: '300' } }, 'profiles[0].timeouts.first_byte_seconds'],
    [{ timeouts: { read_seconds: 1 } }, 'profiles[0].timeouts has an unknown member']
  ])
})

t.test('providers 1: a response has 1 MiB to 1 GiB, and connections and retries have bounds', async t => {
  expectAccepted(t, [
    { limits: { response_bytes: 1_048_576 } },
    { limits: { response_bytes: 1_073_741_824 } },
    { connections: 1, retries: 0 },
    { connections: 65_535, retries: 3 }
  ])
  expectRefusals(t, [
    [{ limits: { response_bytes: 1_048_575 } }, 'profiles[0].limits.response_bytes'],
    [{ limits: { response_bytes: 1_073_741_825 } }, 'profiles[0].limits.response_bytes'],
    [{ limits: { request_bytes: 1 } }, 'profiles[0].limits has an unknown member'],
    [{ connections: 0 }, 'profiles[0].connections'],
    [{ connections: 65_536 }, 'profiles[0].connections'],
    [{ retries: 4 }, 'profiles[0].retries'],
    [{ retries: 1.5 }, 'profiles[0].retries']
  ])
})

const dynamic = { model_inventory: 'dynamic', public_prefix: 'vllm/', default_capabilities: capabilities, models: [] }

t.test('providers 1: a dynamic inventory of an external kind has a prefix and capabilities', async t => {
  expectAccepted(t, [dynamic, { ...dynamic, public_prefix: 'vllm:' }, { ...dynamic, models: undefined }])
  const more = {
    ...dynamic,
    default_capabilities: { ...capabilities, limits: { context_window: 1, max_input_tokens: 2 } }
  }
  expectRefusals(t, [
    [{ ...dynamic, public_prefix: undefined }, 'profiles[0].public_prefix'],
    [{ ...dynamic, public_prefix: 'vllm' }, 'profiles[0].public_prefix'],
    [{ ...dynamic, public_prefix: 'a b/' }, 'profiles[0].public_prefix'],
    [{ ...dynamic, default_capabilities: undefined }, 'profiles[0].default_capabilities'],
    [{ ...dynamic, default_capabilities: { features: ['chat'] } }, 'profiles[0].default_capabilities.limits'],
    [more, 'profiles[0].default_capabilities'],
    [{ public_prefix: 'vllm/' }, 'profiles[0].public_prefix'],
    [{ default_capabilities: capabilities }, 'profiles[0].default_capabilities'],
    [{ ...nativeProfile, ...dynamic }, 'profiles[0].public_prefix']
  ])
})

t.test('providers 1: several external profiles of a file are dynamic, each with a prefix of its own', async t => {
  const native = { ...nativeProfile, model_inventory: 'dynamic', models: [] }
  const file = v3(dynamic)
  const [profile] = file.profiles
  const second = { ...profile, profile_id: 'p2', public_prefix: 'ollama/' }
  t.equal(inspectFile({ ...file, profiles: [native, profile, second] }).exitCode, 0)
  const repeated = inspectFile({ ...file, profiles: [native, profile, { ...second, public_prefix: 'vllm/' }] })
  expectRefusal(t, repeated, 'invalid_profile_schema', SCHEMA_MESSAGE)
  t.same(repeated.warnings, ['The problem is in the profile file: profiles[2].public_prefix'])
  expectRefusal(t, inspectFile(v3(dynamic), { environment: {} }), 'credential_unavailable')
})

t.test('providers 13: features are presets, names and -name behind a preset', async t => {
  const withFeatures = (...features: unknown[]) => ({ capabilities: { ...capabilities, features } })
  const featuresOf = (...features: unknown[]) =>
    inspectFile(v3({}, withFeatures(...features))).document.profiles?.[0].models[0].capabilities.features
  t.same(featuresOf('chat', '-tool_choice'), featuresOf('-tool_choice', 'chat', 'chat'))
  t.ok(featuresOf('chat_vision', 'logprobs').includes('logprobs'))
  t.notOk(featuresOf('chat', '-tool_choice').includes('tool_choice'))
  const place = (position: number) => `profiles[0].models[0].capabilities.features[${position}]`
  expectRefusals(t, [
    [{}, place(1), withFeatures('chat', 'vision')],
    [{}, place(1), withFeatures('chat', '-vision')],
    [{}, place(1), withFeatures('chat', '-roles')],
    [{}, place(1), withFeatures('chat', '-image_references')],
    [{}, place(0), withFeatures('-text')],
    [{}, place(2), withFeatures('chat', 'text', '-text')],
    [{}, place(0), withFeatures('Chat')]
  ])
})

t.test('features enter a revision as they are written, and nothing that is not written does', async t => {
  const revision = (members: Members, alias: Members = {}) => inspectFile(v3(members, alias)).document.config_revision
  const withFeatures = (...features: string[]) => ({ capabilities: { ...capabilities, features } })
  t.not(revision({}, withFeatures('embeddings')), revision({}, withFeatures('text')))
  t.equal(revision({}, withFeatures('chat', '-text')), revision({}, withFeatures('-text', 'chat')))
  const different = [
    {},
    { allow_private: false },
    { proxy: 'none' },
    { proxy: 'environment' },
    { auth: { header: 'api-key' } },
    { auth: { header: 'api-key', prefix: 'Token ' } },
    { headers: {} },
    { headers: { 'x-team': 'a' } },
    { headers: { 'x-team': { env: 'UP_KEY' } } },
    { query: { 'api-version': '1' } },
    { timeouts: { connect_seconds: 10 } },
    { timeouts: { idle_seconds: 10 } },
    { limits: { response_bytes: 67_108_864 } },
    { connections: 1024 },
    { retries: 0 },
    dynamic,
    { ...dynamic, public_prefix: 'other/' }
  ]
  t.equal(new Set(different.map(members => revision(members))).size, different.length)
  t.equal(revision({ headers: { 'X-Team': 'a' } }), revision({ headers: { 'x-team': 'a' } }))
})

t.test('keys 4: an alias of every kind may have prices per million tokens', async t => {
  const pricing = { input: 3, output: 15.5, cache_read: 0.3, cache_write: 0, reasoning: 1_000_000_000 }
  const priced = inspectFile(v3({}, { pricing }))
  const { profiles, config_revision } = JSON.parse(priced.output)
  t.same(profiles[0].models[0].pricing, pricing)
  t.not(config_revision, JSON.parse(inspectFile(v3({}, {})).output).config_revision)
  t.equal(
    inspectFile({ ...v3({}, {}), profiles: [{ ...nativeProfile, models: [{ ...baseAlias, pricing }] }] }).exitCode,
    0
  )
  const place = 'profiles[0].models[0].pricing'
  expectRefusals(t, [
    [{}, place, { pricing: null }],
    [{}, `${place}.output`, { pricing: { input: 1 } }],
    [{}, `${place}.input`, { pricing: { input: -1, output: 1 } }],
    [{}, `${place}.input`, { pricing: { input: '1', output: 1 } }],
    [{}, `${place}.reasoning`, { pricing: { ...pricing, reasoning: 1_000_000_001 } }],
    [{}, `${place} has an unknown member`, { pricing: { ...pricing, audio: 1 } }]
  ])
  const earlier = inspectFile(v2({}, { pricing }))
  t.equal(earlier.exitCode, 2)
})

t.test('an alias has targets or a model, and the targets are profiles of its kind and wire', async t => {
  const capable = { ...baseAlias, capabilities }
  const file = v3()
  const [profile] = file.profiles
  const other = { ...profile, profile_id: 'p2', models: [] }
  const wired = { ...other, profile_id: 'p3', wire: 'responses', models: [{ ...capable, public_alias: 'c' }] }
  const inspectTargets = (targets: unknown, alias: Members = {}, profiles: object[] = [other, wired]) =>
    inspectFile({
      ...file,
      profiles: [{ ...profile, models: [{ ...capable, upstream_model: undefined, targets, ...alias }] }, ...profiles]
    })
  const first = { profile_id: 'p1', upstream_model: 'model-a' }
  const second = { profile_id: 'p2', upstream_model: 'model-b', weight: 3, priority: 1 }
  const { exitCode, document } = inspectTargets([first, second])
  t.equal(exitCode, 0)
  t.same(document.profiles[0].models[0].targets, [{ ...first, weight: 1, priority: 0 }, second])
  t.notOk('upstream_model' in document.profiles[0].models[0])
  const expectPlace = (place: string, ...given: Parameters<typeof inspectTargets>) => {
    const result = inspectTargets(...given)
    expectRefusal(t, result, 'invalid_profile_schema', SCHEMA_MESSAGE)
    t.same(result.warnings, [`The problem is in the profile file: profiles[0].models[0].${place}`])
  }
  expectPlace('targets', [first])
  expectPlace(
    'targets',
    Array.from({ length: 17 }, (_, index) => ({ profile_id: 'p1', upstream_model: `m${index}` }))
  )
  expectPlace('targets', [first, second], { upstream_model: 'model-a' })
  expectPlace('upstream_model', undefined)
  expectPlace('targets[1].profile_id', [first, { ...second, profile_id: 'nowhere' }])
  expectPlace('targets[1].profile_id', [first, first])
  expectPlace('targets[1].profile_id', [first, { ...second, profile_id: 'p3' }])
  expectPlace('targets[1].weight', [first, { ...second, weight: 101 }])
  expectPlace('targets[1].weight', [first, { ...second, weight: 0 }])
  expectPlace('targets[1].priority', [first, { ...second, priority: -1 }])
  expectPlace('targets[1] has an unknown member', [first, { ...second, state: 'provider' }])
  // The ids of one deployment are unknown to the others (decisions.md 116).
  const wiredTo = (state: string | undefined, targetState: string | undefined) =>
    inspectFile({
      ...file,
      profiles: [
        {
          ...profile,
          wire: 'responses',
          state,
          models: [{ ...capable, upstream_model: undefined, targets: [first, second] }]
        },
        { ...other, wire: 'responses', state: targetState }
      ]
    })
  t.equal(wiredTo(undefined, undefined).exitCode, 0)
  t.equal(wiredTo('gateway', 'gateway').exitCode, 0)
  t.same(wiredTo('provider', undefined).warnings, ['The problem is in the profile file: profiles[0].models[0].targets'])
  t.same(wiredTo(undefined, 'provider').warnings, [
    'The problem is in the profile file: profiles[0].models[0].targets[1].profile_id'
  ])
  const nativeKind = { provider_kind: 'native', network_policy_ref: 'public-native' }
  const native = inspectFile(v3(nativeKind, { upstream_model: undefined, targets: [first, second] }))
  t.same(native.warnings, ['The problem is in the profile file: profiles[0].models[0].targets'])
  const unnamed = inspectFile({ ...file, profiles: [profile, other] })
  t.same(unnamed.warnings, ['The problem is in the profile file: profiles[1].models'])
})

t.test('a profile to which an enabled alias leads needs its credential', async t => {
  const targets = [
    { profile_id: 'p1', upstream_model: 'a' },
    { profile_id: 'p2', upstream_model: 'b' }
  ]
  const file = (enabled: boolean) => {
    const content = v3({}, { upstream_model: undefined, targets, enabled })
    const [profile] = content.profiles
    return { ...content, profiles: [profile, { ...profile, profile_id: 'p2', credential_env: 'P2_KEY', models: [] }] }
  }
  const missing = inspectFile(file(true))
  expectRefusal(t, missing, 'credential_unavailable')
  t.match(missing.warnings, [/profiles\[1\]\.credential_env/])
  t.equal(inspectFile(file(true), { environment: { UP_KEY: 'a', P2_KEY: 'b' } }).exitCode, 0)
  t.equal(inspectFile(file(false), { environment: {} }).exitCode, 0)
})
