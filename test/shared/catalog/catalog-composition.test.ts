import t from 'tap'
import {
  type CatalogModels,
  type CatalogSnapshot,
  createInventory,
  readCatalogModels
} from '../../../shared/catalog/catalog.ts'
import { createCatalogComposition } from '../../../shared/catalog/catalog-composition.ts'
import { createNativeProfileSet } from '../../../shared/profile/native-profile.ts'
import type { ProfileSet } from '../../../shared/profile/profile.ts'
import { computeConfigRevision } from '../../../shared/profile/profile-revision.ts'
import { revisionOf } from '../../../shared/revision.ts'
import { parseSettings } from '../../../shared/settings.ts'
import { entryOf, NOTHING_LEFT_OUT } from '../../support/catalog-snapshots.ts'
import {
  aliasOf,
  BASE_FEATURES,
  dynamicProfile,
  edgeProfile,
  fileOf,
  prefixedProfile
} from '../../support/profile-sets.ts'

const STARTED_AT_MS = Date.UTC(2026, 10, 21)
const NOW_MS = STARTED_AT_MS + 5_000
const models = readCatalogModels([
  { id: 'GigaChat-2-Max', owned_by: 'vendor', type: 'chat', context: 8 },
  { id: 'Embeddings', owned_by: 'vendor', type: 'embedder' },
  { id: 'taken', owned_by: 'vendor', type: 'chat' }
])

/** The composition of a file, with its catalog before any discovery, and after one of each profile that is given. */
function compose(profiles: ProfileSet) {
  const configRevision = computeConfigRevision(profiles)
  const composition = createCatalogComposition(profiles, { configRevision, startedAtMs: STARTED_AT_MS })
  function after(found: Record<string, CatalogModels>, stale: readonly string[] = []): CatalogSnapshot {
    const inventories = Object.entries(found).map(([id, list]) => {
      return [id, { ...createInventory(id, list, NOW_MS), stale: stale.includes(id) }] as const
    })
    const snapshot = composition.compose(new Map(inventories))
    if (snapshot === undefined) throw new Error('The catalog is not complete.')
    return snapshot
  }
  return { configRevision, initial: composition.compose(new Map()), discovered: composition.discovered, after }
}

const ids = (snapshot: { models: ReadonlyArray<{ id: string }> }) => snapshot.models.map(({ id }) => id)

t.test('a gateway without a file shows exactly what the upstream lists', async t => {
  const { initial, after } = compose(createNativeProfileSet(parseSettings({ UPSTREAM_MODEL: 'not-listed' })))
  t.equal(initial, undefined)
  const snapshot = after({ 'native-upstream': models })
  t.equal(snapshot.providerProfileId, 'native-upstream')
  t.same(ids(snapshot), ['GigaChat-2-Max', 'Embeddings', 'taken'])
  t.ok(snapshot.models.every(model => model.providerKind === 'native' && model.declared === undefined))
})

t.test('a file with a dynamic profile alone shows its inventory under its id', async t => {
  const snapshot = compose(fileOf([dynamicProfile('https://up.example')])).after({ 'native-main': models })
  t.equal(snapshot.providerProfileId, 'native-main')
  t.equal(snapshot.discoveredAt, '2026-11-21T00:00:05.000Z')
})

const edge = edgeProfile(
  [
    aliasOf('edge/z', 'mini', { features: BASE_FEATURES, limits: { contextWindow: 100, maxOutputTokens: 10 } }),
    aliasOf('edge/a', 'mini', {
      deprecated: true,
      features: BASE_FEATURES,
      limits: { contextWindow: 9, maxInputTokens: 8 }
    }),
    aliasOf('edge/off', 'mini', { enabled: false })
  ],
  { tokenCounting: 'off' }
)

t.test('a file without a dynamic profile has a complete catalog that is always fresh', async t => {
  const { initial, configRevision, discovered } = compose(fileOf([edge]))
  if (initial === undefined) throw new Error('The catalog is complete from the start.')
  t.same(initial, {
    schemaVersion: 'gateway.model-catalog.v1',
    providerProfileId: 'provider-registry',
    inventoryRevision: configRevision,
    discoveredAt: 'process-startup',
    expiresAt: 'process-restart',
    stale: false,
    source: 'profile_file',
    inventories: [],
    models: [
      {
        id: 'edge/a',
        ownedBy: 'chat_compatible',
        modelType: 'chat',
        available: true,
        deprecated: true,
        providerMetadata: {},
        providerKind: 'chat_compatible',
        providerProfileId: 'provider-registry',
        discoveredAt: '2026-11-21T00:00:00.000Z',
        stale: false,
        inventoryRevision: configRevision,
        declared: { inputTokenLimit: 8, canCountTokens: false }
      },
      {
        id: 'edge/z',
        ownedBy: 'chat_compatible',
        modelType: 'chat',
        available: true,
        deprecated: false,
        providerMetadata: {},
        providerKind: 'chat_compatible',
        providerProfileId: 'provider-registry',
        discoveredAt: '2026-11-21T00:00:00.000Z',
        stale: false,
        inventoryRevision: configRevision,
        declared: { inputTokenLimit: 100, outputTokenLimit: 10, canCountTokens: false }
      }
    ]
  })
  t.same(discovered, [])
})

t.test(
  'aliases of a static native profile stand beside the models of its credential (specification.md 2.3)',
  async t => {
    const { modelInventory: _, ...native } = dynamicProfile('https://up.example', [
      aliasOf('team/large', 'GigaChat-2-Max')
    ])
    for (const profiles of [[native], [edge, native]]) {
      const { discovered, after } = compose(fileOf(profiles))
      t.same(discovered, ['native-main'], 'its provider is asked')
      const shown = ids(after({ 'native-main': models }))
      for (const id of ['GigaChat-2-Max', 'Embeddings', 'team/large']) t.ok(shown.includes(id), id)
    }
    const second = { ...native, profileId: 'second', models: [aliasOf('team/second', 'other')] }
    t.ok(ids(compose(fileOf([native, second])).after({ 'native-main': models })).includes('team/second'))
  }
)

t.test('in a mixed file the aliases follow the discovered models, under one composed revision', async t => {
  const team = [aliasOf('team/large', 'GigaChat-2-Max', { deprecated: true }), aliasOf('team/gone', 'not-listed')]
  const set = fileOf([dynamicProfile('https://up.example', team), edge])
  const { configRevision, after } = compose(set)
  const snapshot = after({ 'native-main': models })
  t.same(ids(snapshot), ['GigaChat-2-Max', 'Embeddings', 'taken', 'edge/a', 'edge/z', 'team/gone', 'team/large'])
  const native = compose(fileOf([dynamicProfile('https://up.example')])).after({ 'native-main': models })
  const expected = revisionOf([native.inventoryRevision, configRevision], { keepNulls: true })
  t.equal(snapshot.inventoryRevision, expected)
  t.ok(snapshot.models.every(model => model.inventoryRevision === expected))
  t.equal(snapshot.providerProfileId, 'provider-registry')
  t.match(
    snapshot.models.map(({ id, providerProfileId, providerKind }) => [id, providerProfileId, providerKind]),
    [
      ['GigaChat-2-Max', 'native-main', 'native'],
      ['Embeddings', 'native-main', 'native'],
      ['taken', 'native-main', 'native'],
      ['edge/a', 'edge-chat', 'chat_compatible'],
      ['edge/z', 'edge-chat', 'chat_compatible'],
      ['team/gone', 'native-main', 'native'],
      ['team/large', 'native-main', 'native']
    ]
  )
  t.match(snapshot.models.at(-1), {
    ownedBy: 'vendor',
    modelType: 'chat',
    deprecated: true,
    providerMetadata: { context: 8 },
    declared: undefined
  })
  const stale = after({ 'native-main': models }, ['native-main'])
  t.match(stale, { stale: true, source: 'stale_cache', inventoryRevision: expected })
  t.same(
    stale.models.filter(model => !model.stale).map(({ id }) => id),
    ['edge/a', 'edge/z'],
    'the aliases of a static profile are what the file says'
  )
})

t.test(
  'an alias decides what its id shows: a discovered model of that id gives up its place, or is hidden',
  async t => {
    const taken = aliasOf('taken', 'mini', { features: BASE_FEATURES })
    const hidden = aliasOf('Embeddings', 'mini', { enabled: false })
    const set = fileOf([dynamicProfile('https://up.example'), edgeProfile([taken, hidden])])
    const snapshot = compose(set).after({ 'native-main': models })
    t.same(ids(snapshot), ['GigaChat-2-Max', 'taken'])
    t.match(snapshot.models[1], { providerKind: 'chat_compatible', providerProfileId: 'edge-chat' })
  }
)

t.test('a file waits for its native inventory only where it declares nothing of others', async t => {
  const team = aliasOf('team/large', 'GigaChat-2-Max')
  t.equal(compose(fileOf([dynamicProfile('https://up.example', [team])])).initial, undefined)
  const { initial } = compose(fileOf([dynamicProfile('https://up.example', [team]), edge]))
  if (initial === undefined) throw new Error('Others are served.')
  t.same(ids(initial), ['edge/a', 'edge/z', 'team/large'])
  t.match(initial, { stale: true, inventories: [{ profileId: 'native-main', state: 'absent', discoveredAt: null }] })
})

const vllm = prefixedProfile('vllm', 'vllm/')
const router = prefixedProfile('router', 'or:', { providerKind: 'messages_compatible' })
const vllmModels: CatalogModels = {
  ...NOTHING_LEFT_OUT,
  entries: [
    entryOf('coder', { ownedBy: 'qwen', facts: { contextWindow: 40_960, outputTokensMax: 50_000 } }),
    entryOf('org/embed', { modelType: 'embedder' })
  ]
}
const routerModels: CatalogModels = { ...NOTHING_LEFT_OUT, entries: [entryOf('coder')] }

t.test('each profile shows its models under its prefix, in the order of the file, before the aliases', async t => {
  const { discovered, after, configRevision } = compose(
    fileOf([vllm, dynamicProfile('https://up.example'), edge, router])
  )
  t.same(discovered, ['vllm', 'native-main', 'router'])
  const snapshot = after({ vllm: vllmModels, 'native-main': models, router: routerModels })
  t.same(ids(snapshot), [
    'vllm/coder',
    'vllm/org/embed',
    'GigaChat-2-Max',
    'Embeddings',
    'taken',
    'or:coder',
    'edge/a',
    'edge/z'
  ])
  const revisions = snapshot.inventories.map(({ inventoryRevision }) => inventoryRevision)
  t.equal(snapshot.inventoryRevision, revisionOf([...revisions, configRevision], { keepNulls: true }))
  t.match(snapshot.models[0], {
    ownedBy: 'qwen',
    modelType: null,
    providerKind: 'chat_compatible',
    providerProfileId: 'vllm',
    declared: { inputTokenLimit: 40_960, outputTokenLimit: 40_960, canCountTokens: true }
  })
  t.match(snapshot.models[1], { modelType: 'embedder', declared: { inputTokenLimit: 1000, outputTokenLimit: 100 } })
  t.match(snapshot.models[5], { ownedBy: 'messages_compatible', providerProfileId: 'router' })
})

t.test('an absent or a stale inventory of one profile changes nothing of the others', async t => {
  const { initial, after } = compose(fileOf([vllm, router]))
  t.match(initial, { stale: true, models: [], inventories: [{ state: 'absent' }, { state: 'absent' }] })
  const one = after({ router: routerModels })
  t.same(ids(one), ['or:coder'])
  t.match(one, { stale: true, models: [{ stale: false }], inventories: [{ state: 'absent' }, { state: 'fresh' }] })
  const both = after({ vllm: vllmModels, router: routerModels })
  t.match(both, { stale: false, source: 'provider_api', discoveredAt: '2026-11-21T00:00:05.000Z' })
  const stale = after({ vllm: vllmModels, router: routerModels }, ['vllm'])
  t.equal(stale.inventoryRevision, both.inventoryRevision, 'staleness is no content')
  t.same(
    stale.models.map(model => model.stale),
    [true, true, false]
  )
  const grown = after({ vllm: { ...vllmModels, entries: vllmModels.entries.slice(1) }, router: routerModels })
  t.not(grown.inventoryRevision, both.inventoryRevision)
  const restated = [
    entryOf('coder', { ownedBy: 'qwen', facts: { contextWindow: 8192 } }),
    ...vllmModels.entries.slice(1)
  ]
  t.not(
    after({ vllm: { ...vllmModels, entries: restated }, router: routerModels }).inventoryRevision,
    both.inventoryRevision
  )
})

t.test('a declared alias wins, a disabled one hides, and a name belongs to its longest prefix', async t => {
  const declared = aliasOf('vllm/coder', 'mini', { features: BASE_FEATURES, limits: { contextWindow: 7 } })
  const hidden = aliasOf('vllm/org/embed', 'mini', { enabled: false })
  const shown = compose(fileOf([vllm, edgeProfile([declared, hidden])])).after({ vllm: vllmModels })
  t.same(ids(shown), ['vllm/coder'])
  t.match(shown.models[0], { providerProfileId: 'edge-chat', declared: { inputTokenLimit: 7 } })

  const org = prefixedProfile('org', 'vllm/org/')
  const native = readCatalogModels([{ id: 'vllm/native' }, { id: 'plain' }])
  const collided = compose(fileOf([dynamicProfile('https://up.example'), vllm, org])).after({
    'native-main': native,
    vllm: vllmModels,
    org: { ...NOTHING_LEFT_OUT, entries: [entryOf('embed')] }
  })
  t.same(
    collided.models.map(({ id, providerProfileId }) => [id, providerProfileId]),
    [
      ['plain', 'native-main'],
      ['vllm/coder', 'vllm'],
      ['vllm/org/embed', 'org']
    ]
  )
})
