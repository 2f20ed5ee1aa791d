import t from 'tap'
import { type CatalogModel, readCatalogModels } from '../../../../../shared/catalog/catalog.ts'
import {
  readModelPageQuery,
  writeModel,
  writeModelPage
} from '../../../../../worker/protocols/messages/client/models.ts'
import { snapshotOf } from '../../../../support/catalog-snapshots.ts'
import { listedAlias } from '../../../../support/listed-alias.ts'
import { failure } from './support.ts'

function listOf(...models: Array<{ id: string; deprecated?: boolean; type?: string }>): CatalogModel[] {
  const catalog = readCatalogModels(models)
  return [...snapshotOf(catalog, { providerProfileId: 'native-upstream', providerKind: 'native', nowMs: 5 }).models]
}

const models = listOf({ id: 'a', type: 'chat' }, { id: 'b', type: 'embedder' }, { id: 'c' }, { id: 'd' }, { id: 'e' })
const page = (query: Record<string, unknown>, from = models) => {
  const { data, ...rest } = writeModelPage(from, readModelPageQuery(query))
  return { ids: data.map(model => model.id).join(''), ...rest }
}

t.test('a model has every member of the protocol and a constant time', async t => {
  t.strictSame(
    models.slice(0, 1).map(model => writeModel(model)),
    [
      {
        id: 'a',
        type: 'model',
        display_name: 'a',
        created_at: '1970-01-01T00:00:00Z',
        capabilities: null,
        lifecycle: 'active',
        deprecated_at: null,
        retires_at: null,
        line: null,
        max_input_tokens: null,
        max_tokens: null
      }
    ]
  )
})

t.test('an alias has its declared limits', async t => {
  const alias: CatalogModel = {
    ...listedAlias,
    deprecated: true,
    declared: { inputTokenLimit: 32_000, outputTokenLimit: 4096, canCountTokens: true }
  }
  t.match(writeModel(alias), { max_input_tokens: 32_000, max_tokens: 4096, lifecycle: 'deprecated' })
})

t.test('a page has twenty models without a limit, and at most a thousand', async t => {
  t.equal(readModelPageQuery({}).limit, 20)
  for (const limit of ['0', '-1', '1.5', 'x', '', ['x']]) t.equal(readModelPageQuery({ limit }).limit, 20)
  t.equal(readModelPageQuery({ limit: '7' }).limit, 7)
  t.equal(readModelPageQuery({ limit: ['7', '8'] }).limit, 7)
  t.equal(readModelPageQuery({ limit: '5000' }).limit, 1000)
})

t.test('paging forward lists every model once', async t => {
  t.strictSame(page({ limit: '2' }), { ids: 'ab', has_more: true, first_id: 'a', last_id: 'b' })
  t.strictSame(page({ limit: '2', after_id: 'b' }), { ids: 'cd', has_more: true, first_id: 'c', last_id: 'd' })
  t.strictSame(page({ limit: '2', after_id: 'd' }), { ids: 'e', has_more: false, first_id: 'e', last_id: 'e' })
  t.strictSame(page({ limit: '2', after_id: 'e' }), { ids: '', has_more: false, first_id: null, last_id: null })
})

t.test('a page backward has the last models before the cursor', async t => {
  t.strictSame(page({ limit: '2', before_id: 'e' }), { ids: 'cd', has_more: true, first_id: 'c', last_id: 'd' })
  t.strictSame(page({ limit: '2', before_id: 'c' }), { ids: 'ab', has_more: false, first_id: 'a', last_id: 'b' })
  t.strictSame(page({ before_id: 'a' }), { ids: '', has_more: false, first_id: null, last_id: null })
  t.equal(page({ after_id: 'a', before_id: 'd' }).ids, 'bc')
  t.equal(page({ after_id: 'd', before_id: 'a' }).ids, '')
})

t.test('a cursor that is not in the list is refused', async t => {
  const error = (param: string) => ({ code: 'invalid_request', param, status: 400 })
  t.strictSame(
    failure(() => page({ after_id: 'x' })),
    error('after_id')
  )
  t.strictSame(
    failure(() => page({ before_id: 'x' })),
    error('before_id')
  )
  t.equal(page({ after_id: '', before_id: '' }).ids, 'abcde', 'an empty cursor counts as absent')
})

t.test('a client can select models by lifecycle', async t => {
  const mixed = listOf({ id: 'a' }, { id: 'b', deprecated: true }, { id: 'c' })
  t.equal(page({}, mixed).ids, 'abc')
  t.equal(page({ 'lifecycle[]': 'active' }, mixed).ids, 'ac')
  t.equal(page({ 'lifecycle[]': ['active', 'deprecated'] }, mixed).ids, 'abc')
  t.equal(page({ lifecycle: 'retired' }, mixed).ids, '')
})
