import t from 'tap'
import { type CatalogModel, readCatalogModels } from '../../../../../shared/catalog/catalog.ts'
import {
  writeModel,
  writeModelInfo,
  writeModelInfoList,
  writeModelList
} from '../../../../../worker/protocols/completions/client/models.ts'
import { snapshotOf } from '../../../../support/catalog-snapshots.ts'
import { listedAlias } from '../../../../support/listed-alias.ts'

const list = [
  { id: 'GigaChat-2', object: 'model', owned_by: 'vendor', type: 'chat' },
  { id: 'Embeddings', object: 'model' },
  { id: 'GigaFilter', object: 'model', type: 'filter', available: false, deprecated: true },
  { id: 'odd', created: 1, metadata: 'x', shutdown_date: null, context: 8192 }
]
const { models } = snapshotOf(readCatalogModels(list), {
  providerProfileId: 'native-upstream',
  providerKind: 'native',
  nowMs: 1_795_187_166_900
})
const created = 1_795_187_166

t.test('the list keeps the order of the catalog and the time of its discovery', async t => {
  t.strictSame(writeModelList(models), {
    object: 'list',
    data: [
      { id: 'GigaChat-2', object: 'model', created, owned_by: 'vendor', metadata: { type: 'chat' } },
      { id: 'Embeddings', object: 'model', created, owned_by: 'native', metadata: { type: 'embedder' } },
      {
        id: 'GigaFilter',
        object: 'model',
        created,
        owned_by: 'native',
        available: false,
        deprecated: true,
        metadata: { type: 'filter' }
      },
      { id: 'odd', object: 'model', created, owned_by: 'native', context: 8192, metadata: { type: 'chat' } }
    ]
  })
})

t.test('an announced shutdown date of a model is shown', async t => {
  const { models: announced } = snapshotOf(readCatalogModels([{ id: 'm', shutdown_date: '2027-01-01' }]), {
    providerProfileId: 'native-upstream',
    providerKind: 'native',
    nowMs: 0
  })
  t.match(announced[0] === undefined ? {} : writeModel(announced[0]), { shutdown_date: '2027-01-01', created: 0 })
})

const alias: CatalogModel = { ...listedAlias, discoveredAt: '2026-11-20T15:06:06.000Z' }

t.test('an alias is listed with the members that its profile declares', async t => {
  const plain = {
    id: 'team/large',
    object: 'model',
    created: 1_795_187_166,
    owned_by: 'chat_compatible',
    type: 'model',
    display_name: 'team/large',
    description: 'Model served by the gateway.',
    supportedGenerationMethods: ['generateContent', 'streamGenerateContent', 'countTokens'],
    metadata: { type: 'chat' }
  }
  t.same(writeModel(alias), plain)
  const limited = writeModel({
    ...alias,
    deprecated: true,
    declared: { inputTokenLimit: 100, outputTokenLimit: 10, canCountTokens: false }
  })
  t.same(limited, {
    ...plain,
    deprecated: true,
    input_token_limit: 100,
    output_token_limit: 10,
    supportedGenerationMethods: ['generateContent', 'streamGenerateContent']
  })
})

t.test('model info is written as a list and for a single model', async t => {
  const info = { model_name: 'team/large', litellm_params: { model: 'team/large' }, model_info: { id: 'team/large' } }
  t.strictSame(writeModelInfo(alias), info)
  t.strictSame(writeModelInfoList([alias]), { data: [info] })
})
