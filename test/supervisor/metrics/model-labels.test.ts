// The `model` label of the concurrency figures (operations.md 7.4; field-lessons.md K5).

import t from 'tap'
import { createSlotKey } from '../../../shared/model-slots.ts'
import { NATIVE_PROFILE_ID, NATIVE_PROVIDER_KIND } from '../../../shared/profile/native-profile.ts'
import { createModelNaming } from '../../../supervisor/metrics/model-labels.ts'
import { snapshotOf } from '../../support/catalog-snapshots.ts'
import { aliasOf, edgeProfile, fileOf } from '../../support/profile-sets.ts'

const catalog = snapshotOf(
  {
    entries: ['GigaChat-2', 'GigaChat-2-Max'].map(id => ({
      id,
      ownedBy: null,
      modelType: null,
      available: true,
      deprecated: false,
      providerMetadata: {}
    })),
    skippedCount: 0,
    duplicateCount: 0
  },
  { providerProfileId: NATIVE_PROFILE_ID, providerKind: NATIVE_PROVIDER_KIND, nowMs: 0 }
)
const keyOf = (model: string) => createSlotKey(NATIVE_PROFILE_ID, model)

t.test(
  'every spelling of a model has the id of the catalog as its label, and an invented model is `other`',
  async t => {
    const naming = createModelNaming({ profiles: { profiles: [] }, configured: {}, namesMax: 10 })
    const names = naming.namesFor(catalog)
    t.equal(names.ofKey(keyOf('GigaChat-2')), 'GigaChat-2')
    t.equal(names.ofKey(keyOf('models/GIGACHAT-2:latest')), 'GigaChat-2')
    t.equal(names.ofKey(keyOf('invented')), 'other')
    t.equal(names.ofKey('assistant-1'), 'other')
    t.equal(naming.namesFor(undefined).ofKey(keyOf('GigaChat-2')), 'other')
  }
)

t.test('a configured name is a label also without a catalog, and its limit is known', async t => {
  const naming = createModelNaming({
    profiles: { profiles: [] },
    configured: { 'models/GigaChat-2': 3, 'GigaChat-2:2.0': 2, 'Asst-1': 1 },
    namesMax: 10
  })
  const names = naming.namesFor(catalog)
  t.strictSame(
    [...names.limits],
    [
      ['GigaChat-2', 2],
      ['Asst-1', 1]
    ]
  )
  t.equal(names.ofKey('Asst-1'), 'Asst-1')
  t.equal(naming.namesFor(undefined).ofKey(keyOf('gigachat-2')), 'models/GigaChat-2')
})

t.test('the label of an external model is its alias', async t => {
  const profiles = fileOf([edgeProfile([aliasOf('fast', 'vendor/fast-1'), aliasOf('second', 'vendor/fast-1')])])
  const names = createModelNaming({ profiles, configured: { fast: 2 }, namesMax: 10 }).namesFor(undefined)
  t.equal(names.ofKey(createSlotKey('edge-chat', 'vendor/fast-1')), 'fast')
  t.equal(names.ofKey(createSlotKey('another', 'vendor/fast-1')), 'other')
  t.strictSame([...names.limits], [['fast', 2]])
})

t.test('no more names than allowed are labels', async t => {
  const names = createModelNaming({ profiles: { profiles: [] }, configured: {}, namesMax: 1 }).namesFor(catalog)
  t.equal(names.ofKey(keyOf('GigaChat-2-Max')), 'GigaChat-2-Max')
  t.equal(names.ofKey(keyOf('GigaChat-2')), 'other')
})
