import t from 'tap'
import type { CatalogModels } from '../../../shared/catalog/catalog.ts'
import { createNativeProfileSet } from '../../../shared/profile/native-profile.ts'
import type { ProfileSet } from '../../../shared/profile/profile.ts'
import { parseSettings } from '../../../shared/settings.ts'
import { learnFacts, packFacts, unpackFacts } from '../../../worker/bridge/model-facts.ts'
import { resolveEmbeddingsRoute, resolveRoute } from '../../../worker/bridge/resolve-route.ts'
import { createRouteTable } from '../../../worker/bridge/route-table.ts'
import type { ModelRequest } from '../../../worker/protocols/client-face.ts'
import { providerFaces } from '../../../worker/protocols/registry.ts'
import { entryOf, NOTHING_LEFT_OUT, snapshotOf } from '../../support/catalog-snapshots.ts'
import { LINEAR_GROWTH_MAX, measureGrowth } from '../../support/growth.ts'
import { makeAlias, makeNativeProfile, makeProfile, makeProfileSet } from '../../support/profiles.ts'

const revision = `sha256:${'c'.repeat(64)}`

function createResolver(profiles: ProfileSet, environment: Record<string, string> = {}) {
  const routes = createRouteTable(profiles, parseSettings(environment), revision)
  return {
    routes,
    chat: (model?: string) =>
      resolveRoute({ ...(model !== undefined && { model }) }, 'v1', { routes, faces: providerFaces }),
    embeddings: (model?: string, requestedModel = model) =>
      resolveEmbeddingsRoute({ model, requestedModel }, 'v1', { routes })
  }
}

function chatError(run: () => unknown): Error {
  try {
    run()
  } catch (error) {
    return error as Error
  }
  throw new Error('Nothing was raised.')
}

/** Both operations with one model. */
function each(resolver: ReturnType<typeof createResolver>, model?: string) {
  return [() => resolver.chat(model), () => resolver.embeddings(model)]
}

const external = makeProfile('p1', [
  makeAlias('bridge/a'),
  makeAlias('bridge/off', { enabled: false }),
  makeAlias('bridge/blocked', { supportStatus: 'blocked' }),
  makeAlias('bridge/window', { limits: { contextWindow: 100 } })
])
const nativeStatic = makeNativeProfile('n1', [makeAlias('max', { upstreamModel: 'GigaChat-2-Max', features: null })])
const nativeOther = makeNativeProfile('n2', [makeAlias('lite', { upstreamModel: 'GigaChat-2', features: null })])
const dynamic = makeNativeProfile('n3', [], { modelInventory: 'dynamic' })

t.test('an alias leads to its profile and its upstream model, in every operation', async t => {
  const resolver = createResolver(makeProfileSet([external, nativeStatic, nativeOther]))
  for (const resolve of each(resolver, 'bridge/a')) {
    t.match(resolve(), {
      profileId: 'p1',
      providerKind: 'chat_compatible',
      upstreamModel: 'mini-7b',
      publicModel: 'bridge/a',
      capabilities: { outputTokensMax: 4096 }
    })
  }
  t.match(resolver.chat('max'), { profileId: 'n1', providerKind: 'native', upstreamModel: 'GigaChat-2-Max' })
  t.equal(resolver.chat('max').capabilities, undefined, 'a native route looks nothing up')
  t.match(resolver.embeddings('lite'), { profileId: 'n2', upstreamModel: 'GigaChat-2', publicModel: 'lite' })
})

t.test('without a limit of its own an alias has that of its context window', async t => {
  t.match(createResolver(makeProfileSet([external])).chat('bridge/window'), {
    capabilities: { outputTokensMax: 25, contextWindow: 100 }
  })
})

t.test('aliases are exact: another case, blanks and prefixes are unknown', async t => {
  const resolver = createResolver(makeProfileSet([external]))
  for (const model of ['Bridge/A', ' bridge/a', 'bridge/a ', 'models/bridge/a', 'bridge', '__proto__', 'toString']) {
    for (const resolve of each(resolver, model)) {
      t.throws(resolve, { code: 'unknown_model_alias', status: 404, param: 'model' }, model)
    }
  }
  t.throws(() => resolver.embeddings('bridge/a', ' bridge/a'), { code: 'unknown_model_alias' })
})

t.test('a disabled alias is unknown, also next to a dynamic profile', async t => {
  for (const profiles of [[external], [external, dynamic]]) {
    for (const resolve of each(createResolver(makeProfileSet(profiles)), 'bridge/off')) {
      t.throws(resolve, { code: 'unknown_model_alias', status: 404, param: 'model' })
    }
  }
})

t.test('a blocked alias, and an external alias of an older schema, are refused', async t => {
  const expected = { code: 'unsupported_semantic', status: 400, param: 'model' }
  for (const resolve of each(createResolver(makeProfileSet([external])), 'bridge/blocked')) {
    t.throws(resolve, { ...expected, cause: 'alias_blocked' })
  }
  const blockedNative = makeNativeProfile('n', [makeAlias('max', { supportStatus: 'blocked', features: null })])
  t.throws(() => createResolver(makeProfileSet([blockedNative])).chat('max'), { ...expected, cause: 'alias_blocked' })
  for (const version of ['gateway.provider-profiles.v1', 'gateway.provider-profiles.v2'] as const) {
    const old = makeProfile('p1', [makeAlias('bridge/a', { features: null })])
    const resolver = createResolver(makeProfileSet([old, nativeStatic], version))
    for (const resolve of each(resolver, 'bridge/a')) {
      t.throws(resolve, { ...expected, cause: 'alias_requires_profile_v3' })
    }
    t.equal(resolver.chat('max').upstreamModel, 'GigaChat-2-Max', 'native aliases need no newer schema')
  }
})

t.test('without a native profile an undeclared model is unknown and a missing one is invalid', async t => {
  const resolver = createResolver(makeProfileSet([external]))
  for (const resolve of each(resolver, 'GigaChat-2-Max'))
    t.throws(resolve, { code: 'unknown_model_alias', status: 404 })
  for (const resolve of each(resolver)) t.throws(resolve, { code: 'invalid_request', status: 400, param: 'model' })
})

t.test('a static native profile gets every other model as well (specification.md 2.3)', async t => {
  for (const version of ['v1', 'v2', 'v3'] as const) {
    const second = makeNativeProfile('second', [makeAlias('other', { features: null })])
    const set = makeProfileSet([nativeStatic, second], `gateway.provider-profiles.${version}`)
    for (const resolve of each(createResolver(set), 'GigaChat-2-Pro')) {
      t.match(resolve(), { profileId: nativeStatic.profileId, upstreamModel: 'GigaChat-2-Pro', isUndeclared: true })
    }
    t.match(createResolver(set).chat('other'), { profileId: 'second' })
  }
})

t.test('a dynamic profile of a file gets every other model as it is, to be compared with its inventory', async t => {
  const resolver = createResolver(makeProfileSet([external, dynamic]))
  for (const resolve of each(resolver, 'GigaChat-2-Pro')) {
    t.match(resolve(), { profileId: 'n3', upstreamModel: 'GigaChat-2-Pro', isUndeclared: true })
  }
  t.throws(() => resolver.chat(), { code: 'model_required', param: 'model' })
  t.notOk('isUndeclared' in resolver.embeddings(), 'the default of the settings is not compared')
})

t.test('UPSTREAM_MODEL and GATEWAY_PASS_MODEL decide for the dynamic profile alone', async t => {
  const set = makeProfileSet([nativeStatic, dynamic])
  const named = createResolver(set, { UPSTREAM_MODEL: 'GigaChat-2' })
  t.match(named.chat(), { upstreamModel: 'GigaChat-2', publicModel: 'GigaChat-2' })
  t.equal(named.chat('other').upstreamModel, 'other')
  const fixed = createResolver(set, { UPSTREAM_MODEL: 'GigaChat-2', GATEWAY_PASS_MODEL: 'false' })
  t.match(fixed.chat('other'), { upstreamModel: 'GigaChat-2', publicModel: 'other' })
  t.notOk('isUndeclared' in fixed.chat('other'), 'the model of the client is not sent')
  t.equal(fixed.chat('max').upstreamModel, 'GigaChat-2-Max', 'an alias is what the file says')
})

t.test('an alias of a dynamic profile may have the name of its model', async t => {
  const blocked = makeAlias('GigaChat-2', { upstreamModel: 'GigaChat-2', supportStatus: 'blocked', features: null })
  const resolver = createResolver(makeProfileSet([{ ...dynamic, models: [blocked] }]))
  t.throws(() => resolver.chat('GigaChat-2'), { code: 'unsupported_semantic' })
})

t.test('native mode sends every model and asks no inventory', async t => {
  const settings = parseSettings({ UPSTREAM_MODEL: 'GigaChat-2', GATEWAY_PASS_MODEL: 'false' })
  const routes = createRouteTable(createNativeProfileSet(settings), settings, revision)
  t.equal(routes.aliases.size, 0)
  const plan = resolveRoute({ model: 'x' }, 'v2', { routes, faces: providerFaces })
  t.strictSame(plan, {
    profileId: 'native-upstream',
    providerKind: 'native',
    apiMode: 'v2',
    publicModel: 'x',
    slotKey: plan.slotKey,
    upstreamModel: 'GigaChat-2'
  })
})

t.test(
  'keys 3, 4: a model out of scope is unknown, before anything else that its alias or its route refuses',
  async t => {
    const settings = parseSettings({ UPSTREAM_MODEL: 'GigaChat-2' })
    const routes = createRouteTable(makeProfileSet([external, dynamic]), settings, revision)
    const scopeOf = (...lists: string[][]) => ({ routes, faces: providerFaces, scope: lists })
    const chat = (model: string | undefined, ...lists: string[][]) =>
      resolveRoute({ ...(model !== undefined && { model }) }, 'v1', scopeOf(...lists)).publicModel
    const unknown = {
      code: 'unknown_model_alias',
      param: 'model',
      message: chatError(() => chat('nowhere/x', ['a'])).message
    }
    t.equal(chat('bridge/a', ['bridge/a']), 'bridge/a')
    t.equal(chat('bridge/a', ['bridge/*'], ['x', 'bridge/a']), 'bridge/a')
    for (const lists of [[['bridge/']], [['bridge/a/*']], [['*'], ['other']], [[]]]) {
      t.throws(() => chat('bridge/a', ...lists), unknown, JSON.stringify(lists))
    }
    t.throws(() => chat('bridge/blocked', ['bridge/a']), unknown)
    t.throws(() => chat('bridge/off', ['bridge/*']), unknown)
    t.equal(chat('GigaChat-2-Max', ['GigaChat-2*']), 'GigaChat-2-Max')
    t.throws(() => chat('GigaChat-2-Max', ['GigaChat-2']), unknown)
  }
)

t.test('keys 3: a default model is in scope like any other, and an implied one is in none', async t => {
  const route = (environment: Record<string, string>) => {
    const settings = parseSettings(environment)
    return createRouteTable(createNativeProfileSet(settings), settings, revision)
  }
  const unknown = { code: 'unknown_model_alias', param: 'model' }
  const routes = route({ UPSTREAM_MODEL: 'GigaChat-2', GATEWAY_EMBEDDINGS: 'Embeddings' })
  const chat = (request: ModelRequest, scope: string[], of = routes) =>
    resolveRoute(request, 'v1', { routes: of, faces: providerFaces, scope: [scope] }).upstreamModel
  t.equal(chat({}, ['GigaChat-2']), 'GigaChat-2')
  t.throws(() => chat({}, ['GigaChat-2-Max']), unknown)
  const embeddings = (scope: string[]) => resolveEmbeddingsRoute({}, 'v1', { routes, scope: [scope] }).upstreamModel
  t.equal(embeddings(['Embed*']), 'Embeddings')
  t.throws(() => embeddings(['GigaChat-2']), unknown)
  // Whatever the client names, the default model is sent.
  const fixed = route({ UPSTREAM_MODEL: 'GigaChat-2', GATEWAY_PASS_MODEL: 'false' })
  t.equal(chat({ model: 'any' }, ['GigaChat-2'], fixed), 'GigaChat-2')
  t.throws(() => chat({ model: 'any' }, ['any'], fixed), unknown)
  t.throws(() => chat({ conversation: { previousResponseId: 'thread-1' } } as ModelRequest, ['*'], route({})), unknown)
})

t.test('the table of a profile with many aliases takes time for each alias once', async t => {
  const growth = measureGrowth(100, count => {
    const aliases = Array.from({ length: count }, (_, index) => makeAlias(`bridge/${index}`))
    const profiles = makeProfileSet([makeProfile('p1', aliases)])
    const settings = parseSettings({})
    return () => createRouteTable(profiles, settings, revision)
  })
  t.ok(growth < LINEAR_GROWTH_MAX, `${growth.toFixed(1)} times as long`)
})

t.test('the evidence of an alias names the configuration and nothing secret', async t => {
  const profile = makeProfile('p1', [makeAlias('bridge/a')], { credentialEnv: 'SECRET_NAME' })
  const { evidence } = createResolver(makeProfileSet([profile])).chat('bridge/a')
  t.match(evidence, {
    schemaVersion: 'gateway.execution-context.v1',
    configRevision: revision,
    profileId: 'p1',
    publicAlias: 'bridge/a',
    providerKind: 'chat_compatible',
    upstreamModel: 'mini-7b',
    capabilityProfile: 'reviewed-v1'
  })
  t.notMatch(JSON.stringify(evidence), /SECRET_NAME|up\.example/)
})

t.test('a profile may refuse token counts', async t => {
  const off = makeProfile('p1', [makeAlias('bridge/a')], { tokenCounting: 'off' })
  t.equal(createResolver(makeProfileSet([off])).chat('bridge/a').isTokenCountOff, true)
})

const defaults = { features: ['chat'], limits: { contextWindow: 8000, maxInputTokens: 7000, maxOutputTokens: 1000 } }
const vllm = makeProfile('vllm', [], {
  modelInventory: 'dynamic',
  publicPrefix: 'vllm/',
  defaultCapabilities: defaults,
  wire: 'responses',
  tokenCounting: 'off',
  unsupported: 'refuse'
})
const org = makeProfile('org', [], {
  modelInventory: 'dynamic',
  publicPrefix: 'vllm/org/',
  providerKind: 'messages_compatible',
  defaultCapabilities: { features: ['chat_vision'], limits: { contextWindow: 400 } }
})

t.test('a name with a prefix leads to the profile of the longest one, in every operation', async t => {
  const resolver = createResolver(makeProfileSet([vllm, dynamic, org]))
  for (const resolve of each(resolver, 'vllm/Qwen/Coder 7B')) {
    t.match(resolve(), {
      profileId: 'vllm',
      providerKind: 'chat_compatible',
      wire: 'responses',
      upstreamModel: 'Qwen/Coder 7B',
      publicModel: 'vllm/Qwen/Coder 7B',
      isUndeclared: true,
      isTokenCountOff: true,
      capabilities: { outputTokensMax: 1000, contextWindow: 8000, refusesUnsupported: true },
      evidence: { publicAlias: 'vllm/Qwen/Coder 7B', capabilityProfile: 'default_capabilities', profileId: 'vllm' }
    })
  }
  const { capabilities } = resolver.chat('vllm/a')
  t.ok(capabilities?.features.includes('function_tools') && capabilities.features.includes('roles'), 'presets')
  t.match(resolver.chat('vllm/org/a'), {
    profileId: 'org',
    upstreamModel: 'a',
    capabilities: { contextWindow: 400, outputTokensMax: 100 }
  })
  t.match(resolver.chat('GigaChat-2'), { profileId: 'n3' }, 'every other model is the native one')
})

t.test('a prefix alone, and an id that no provider lists, are unknown', async t => {
  for (const profiles of [[vllm], [vllm, dynamic]]) {
    const resolver = createResolver(makeProfileSet(profiles))
    for (const model of ['vllm/', 'vllm/a\n', 'vllm/ a', 'vllm/a\u0000b', 'vllm/a\u200b', `vllm/${'x'.repeat(257)}`]) {
      for (const resolve of each(resolver, model)) {
        t.throws(resolve, { code: 'unknown_model_alias', status: 404, param: 'model' }, JSON.stringify(model))
      }
    }
  }
  t.throws(() => createResolver(makeProfileSet([vllm])).chat('VLLM/a'), { code: 'unknown_model_alias' })
})

t.test('a declared alias wins over a prefix, and a disabled one hides the model', async t => {
  const aliases = makeProfile('p2', [makeAlias('vllm/coder'), makeAlias('vllm/off', { enabled: false })])
  const resolver = createResolver(makeProfileSet([vllm, aliases]))
  t.match(resolver.chat('vllm/coder'), { profileId: 'p2', upstreamModel: 'mini-7b', isUndeclared: undefined })
  t.throws(() => resolver.chat('vllm/off'), { code: 'unknown_model_alias', cause: 'alias_disabled' })
})

t.test('what a provider states about a model wins over the default, in each thread too', async t => {
  const { routes, chat } = createResolver(makeProfileSet([vllm]))
  const { facts } = routes
  if (facts === undefined) throw new Error('The routes have a place for facts.')
  t.equal(packFacts(facts), undefined)
  const stated = { contextWindow: 500, outputTokensMax: 900, readsImages: true, readsFiles: false }
  const models: CatalogModels = {
    ...NOTHING_LEFT_OUT,
    entries: [
      entryOf('vllm/a', { facts: stated }),
      entryOf('vllm/b', { facts: { readsImages: false } }),
      entryOf('vllm/c')
    ]
  }
  const snapshot = snapshotOf(models, { providerProfileId: 'vllm', providerKind: 'chat_compatible', nowMs: 0 })
  learnFacts(facts, snapshot)
  const packed = packFacts(facts)
  t.equal(packFacts(facts), packed, 'packed once')
  const inThread = createResolver(makeProfileSet([vllm]))
  if (packed === undefined || inThread.routes.facts === undefined) throw new Error('no facts')
  unpackFacts(inThread.routes.facts, structuredClone(packed))
  for (const resolve of [chat, inThread.chat]) {
    t.match(resolve('vllm/a').capabilities, { contextWindow: 500, outputTokensMax: 500 })
    t.ok(resolve('vllm/a').capabilities?.features.includes('image_references'))
    t.notOk(resolve('vllm/b').capabilities?.features.includes('image_references'))
    t.match(resolve('vllm/b').capabilities, { contextWindow: 8000, outputTokensMax: 1000 })
    t.same(resolve('vllm/c').capabilities, resolve('vllm/unlisted').capabilities)
  }
})

t.test('an alias is local when one of its providers may reach what its clients cannot (decisions.md 105)', async t => {
  const privately = { allowLoopback: false, allowPrivate: true, networkPolicyRef: 'private-network' }
  const targetsOf = (...ids: string[]) =>
    ids.map(profileId => ({ profileId, upstreamModel: 'm', weight: 1, priority: 1 }))
  const { routes } = createResolver(
    makeProfileSet([
      makeProfile('public', [
        makeAlias('of-public'),
        makeAlias('of-public-targets', { targets: targetsOf('public', 'public') }),
        makeAlias('of-private-target', { targets: targetsOf('public', 'private') }),
        makeAlias('of-loopback-target', { targets: targetsOf('public', 'loopback') })
      ]),
      makeProfile('private', [makeAlias('of-private')], privately),
      makeProfile('loopback', [makeAlias('of-loopback')], { baseUrl: 'http://127.0.0.1:9/v1' })
    ])
  )
  const local = [...routes.aliases].filter(([, route]) => route.capabilities?.isLocal === true).map(([name]) => name)
  t.same(local.sort(), ['of-loopback', 'of-loopback-target', 'of-private', 'of-private-target'])
})

t.test(
  'the gateway keeps the state of a Responses wire where the profile says so, or the alias has several targets',
  async t => {
    const wire = 'responses' as const
    const targets = ['p3', 'p4'].map(profileId => ({ profileId, upstreamModel: 'm', weight: 1, priority: 0 }))
    const resolver = createResolver(
      makeProfileSet([
        makeProfile('p1', [makeAlias('default')], { wire }),
        makeProfile('p2', [makeAlias('ours')], { wire, state: 'gateway' }),
        makeProfile('p3', [makeAlias('theirs'), makeAlias('several', { targets })], { wire }),
        makeProfile('p4', [], { wire }),
        makeProfile('p5', [makeAlias('chat')]),
        { ...vllm, state: 'gateway' }
      ])
    )
    for (const model of ['default', 'theirs', 'chat']) t.equal(resolver.chat(model).isStateOurs, undefined, model)
    for (const model of ['ours', 'several', 'vllm/a']) t.equal(resolver.chat(model).isStateOurs, true, model)
  }
)
