import t from 'tap'
import { isFresh, markStale, readCatalogModels } from '../../shared/catalog.ts'
import { createCatalogComposition } from '../../shared/catalog-composition.ts'
import { createNativeProfileSet } from '../../shared/native-profile.ts'
import type { ProfileSet } from '../../shared/profile.ts'
import { computeConfigRevision } from '../../shared/profile-revision.ts'
import { revisionOf } from '../../shared/revision.ts'
import { parseSettings } from '../../shared/settings.ts'
import { aliasOf, BASE_FEATURES, dynamicProfile, edgeProfile, fileOf } from '../support/profile-sets.ts'

const STARTED_AT_MS = Date.UTC(2026, 10, 21)
const NOW_MS = STARTED_AT_MS + 5_000
const models = readCatalogModels([
  { id: 'GigaChat-2-Max', owned_by: 'vendor', type: 'chat', context: 8 },
  { id: 'Embeddings', owned_by: 'vendor', type: 'embedder' },
  { id: 'taken', owned_by: 'vendor', type: 'chat' }
])

function compose(profiles: ProfileSet) {
  const configRevision = computeConfigRevision(profiles)
  return { configRevision, ...createCatalogComposition(profiles, { configRevision, startedAtMs: STARTED_AT_MS }) }
}

const ids = (snapshot: { models: ReadonlyArray<{ id: string }> }) => snapshot.models.map(({ id }) => id)

t.test('a gateway without a file shows exactly what the upstream lists', async t => {
  const { initial, compose: create } = compose(createNativeProfileSet(parseSettings({ UPSTREAM_MODEL: 'not-listed' })))
  t.equal(initial, undefined)
  const snapshot = create(models, NOW_MS)
  t.equal(snapshot.providerProfileId, 'native-upstream')
  t.same(ids(snapshot), ['GigaChat-2-Max', 'Embeddings', 'taken'])
  t.ok(snapshot.models.every(model => model.providerKind === 'native' && model.declared === undefined))
})

t.test('a file with a dynamic profile alone shows its inventory under its id', async t => {
  const snapshot = compose(fileOf([dynamicProfile('https://up.example')])).compose(models, NOW_MS)
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
  const { initial, configRevision, compose: create } = compose(fileOf([edge]))
  if (initial === undefined) throw new Error('The catalog is complete from the start.')
  t.same(initial, {
    schemaVersion: 'gateway.model-catalog.v1',
    providerProfileId: 'provider-registry',
    inventoryRevision: configRevision,
    discoveredAt: 'process-startup',
    expiresAt: 'process-restart',
    stale: false,
    source: 'profile_file',
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
  t.equal(isFresh(initial, Number.MAX_SAFE_INTEGER), true)
  t.throws(() => create(models, NOW_MS))
})

t.test(
  'aliases of a static native profile stand beside the models of its credential (specification.md 2.3)',
  async t => {
    const { modelInventory: _, ...native } = dynamicProfile('https://up.example', [
      aliasOf('team/large', 'GigaChat-2-Max')
    ])
    for (const profiles of [[native], [edge, native]]) {
      const { initial, compose: create } = compose(fileOf(profiles))
      t.equal(initial, undefined, 'its provider has to be asked first')
      const shown = ids(create(models, NOW_MS))
      for (const id of ['GigaChat-2-Max', 'Embeddings', 'team/large']) t.ok(shown.includes(id), id)
    }
    const second = { ...native, profileId: 'second', models: [aliasOf('team/second', 'other')] }
    t.ok(ids(compose(fileOf([native, second])).compose(models, NOW_MS)).includes('team/second'))
  }
)

t.test('in a mixed file the aliases follow the discovered models, under one composed revision', async t => {
  const team = [aliasOf('team/large', 'GigaChat-2-Max', { deprecated: true }), aliasOf('team/gone', 'not-listed')]
  const set = fileOf([dynamicProfile('https://up.example', team), edge])
  const { initial, configRevision, compose: create } = compose(set)
  t.equal(initial, undefined, 'the dynamic profile has to be asked first')
  const snapshot = create(models, NOW_MS)
  t.same(ids(snapshot), ['GigaChat-2-Max', 'Embeddings', 'taken', 'edge/a', 'edge/z', 'team/gone', 'team/large'])
  const native = compose(fileOf([dynamicProfile('https://up.example')])).compose(models, NOW_MS)
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
  t.ok(markStale(snapshot).models.every(model => model.stale))
})

t.test(
  'an alias decides what its id shows: a discovered model of that id gives up its place, or is hidden',
  async t => {
    const taken = aliasOf('taken', 'mini', { features: BASE_FEATURES })
    const hidden = aliasOf('Embeddings', 'mini', { enabled: false })
    const set = fileOf([dynamicProfile('https://up.example'), edgeProfile([taken, hidden])])
    const snapshot = compose(set).compose(models, NOW_MS)
    t.same(ids(snapshot), ['GigaChat-2-Max', 'taken'])
    t.match(snapshot.models[1], { providerKind: 'chat_compatible', providerProfileId: 'edge-chat' })
  }
)
