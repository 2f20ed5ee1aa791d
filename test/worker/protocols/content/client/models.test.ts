import t from 'tap'
import { type CatalogModel, readCatalogModels } from '../../../../../shared/catalog/catalog.ts'
import {
  writeContentModel,
  writeContentModelList,
  writeTunedModelList
} from '../../../../../worker/protocols/content/client/models.ts'
import { snapshotOf } from '../../../../support/catalog-snapshots.ts'
import { listedAlias } from '../../../../support/listed-alias.ts'
import { createSdk } from './sdk.ts'
import { failure } from './support.ts'

function catalog(list: unknown) {
  return snapshotOf(readCatalogModels(list), {
    providerProfileId: 'native-upstream',
    providerKind: 'native',
    nowMs: 0
  })
}

const { models, inventoryRevision } = catalog([
  { id: 'GigaChat-2-Max', owned_by: 'vendor', type: 'chat' },
  { id: 'EmbeddingsGigaR', type: 'embedder' },
  { id: 'GigaFilter', type: 'filter' },
  { id: 'GigaCheckDetection', type: 'aicheck' },
  { id: 'chat-of-unknown-type' },
  { id: 'Embeddings' },
  { id: 'GigaCheckClassification' }
])

const alias: CatalogModel = { ...listedAlias, declared: { inputTokenLimit: 200_000, canCountTokens: false } }

function list(query: Record<string, string | string[] | undefined>, of: readonly CatalogModel[] = models) {
  return writeContentModelList(of, { inventoryRevision, query })
}

t.test('a model has the names of the protocol and no undeclared limits', async t => {
  t.strictSame(writeContentModel(models[0]!), {
    name: 'models/GigaChat-2-Max',
    baseModelId: 'GigaChat-2-Max',
    version: '',
    displayName: 'GigaChat-2-Max',
    description: 'Model served by the gateway.',
    supportedGenerationMethods: ['generateContent', 'streamGenerateContent', 'countTokens']
  })
})

t.test('an alias has its declared limits, and no counting when the profile switches it off', async t => {
  const written = writeContentModel(alias)
  t.equal(written.name, 'models/team/large')
  t.equal(written.inputTokenLimit, 200_000)
  t.notOk('outputTokenLimit' in written)
  t.strictSame(written.supportedGenerationMethods, ['generateContent', 'streamGenerateContent'])
  t.strictSame(
    writeContentModel({ ...alias, declared: { outputTokenLimit: 8, canCountTokens: true } }).supportedGenerationMethods,
    ['generateContent', 'streamGenerateContent', 'countTokens']
  )
})

t.test("methods follow the upstream's type, or the name when the type is absent", async t => {
  const chat = ['generateContent', 'streamGenerateContent', 'countTokens']
  const embedder = ['embedContent', 'batchEmbedContents']
  t.strictSame(
    list({}).models.map(model => model.supportedGenerationMethods),
    [chat, embedder, ['countTokens'], ['countTokens'], chat, embedder, ['countTokens']]
  )
})

t.test('a short list is one page without a next page', async t => {
  t.equal(list({}).models.length, models.length)
  t.notOk('nextPageToken' in list({}))
  t.strictSame(list({}, []), { models: [] })
  const many = catalog(Array.from({ length: 120 }, (_, index) => ({ id: `m-${index}` })))
  t.equal(list({}, many.models).models.length, 50)
  t.equal(list({ pageSize: '100000' }, many.models).models.length, 120)
})

t.test('each page has the token of the next one, except the last page', async t => {
  const seen: string[] = []
  let pageToken: string | undefined
  for (let page = 0; page < models.length; page++) {
    const response = list({ pageSize: '1', pageToken })
    seen.push(...response.models.map(model => model.baseModelId))
    pageToken = response.nextPageToken
  }
  t.equal(pageToken, undefined)
  t.strictSame(
    seen,
    models.map(model => model.id)
  )
  t.equal(list({ page_size: '3', page_token: '' }).models.length, 3)
  t.equal(list({ pageSize: ['2', '5'] }).models.length, 2)
})

t.test('a token of another list and an invalid token are refused', async t => {
  const { nextPageToken } = list({ pageSize: '2' })
  const other = writeContentModelList(models, { inventoryRevision: 'sha256:other', query: { pageSize: '2' } })
  const end = Buffer.from(`${models.length}:${inventoryRevision}`).toString('base64url')
  for (const pageToken of [other.nextPageToken, 'x', `${nextPageToken}=`, `${nextPageToken}AA`, '2', end]) {
    t.strictSame(
      failure(() => list({ pageSize: '2', pageToken })),
      { code: 'invalid_request', param: 'pageToken', status: 400 },
      String(pageToken)
    )
  }
})

t.test('a size that is no number is refused, and zero means the default', async t => {
  for (const pageSize of ['-1', 'many', '1.5']) t.equal(failure(() => list({ pageSize })).param, 'pageSize')
  t.equal(list({ pageSize: '0' }).models.length, models.length)
})

t.test("content 74: the SDK's iteration ends and shows each model once", async t => {
  for (const pageSize of [undefined, 1, 3]) {
    let calls = 0
    const sdk = createSdk(({ url }) => {
      calls += 1
      return Response.json(list(Object.fromEntries(url.searchParams)))
    })
    const seen: Array<string | undefined> = []
    const pager = await sdk.models.list(pageSize === undefined ? {} : { config: { pageSize } })
    for await (const model of pager) seen.push(model.name)
    t.strictSame(
      seen,
      models.map(model => `models/${model.id}`)
    )
    t.equal(calls, pageSize === undefined ? 1 : Math.ceil(models.length / pageSize))
  }
})

t.test('content 75: a small page has a token until the last page', async t => {
  const first = list({ pageSize: '6' })
  t.type(first.nextPageToken, 'string')
  const last = list({ pageSize: '6', pageToken: first.nextPageToken })
  t.equal(last.models.length, 1)
  t.notOk('nextPageToken' in last)
})

t.test('the list of tuned models is empty', async t => {
  const sdk = createSdk(() => Response.json(writeTunedModelList()))
  const pager = await sdk.models.list({ config: { queryBase: false } })
  t.strictSame(pager.page, [])
})
