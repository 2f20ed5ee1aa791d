import t from 'tap'
import { EXTERNAL_MODELS_MAX } from '../../../../shared/catalog/catalog.ts'
import { messagesCompatibleModels } from '../../../../worker/protocols/messages/provider/models.ts'
import { fetchModelList } from '../../../../worker/providers/http/model-list.ts'
import type { CallContext } from '../../../../worker/providers/types.ts'

const options = { messagesPath: '/v1/messages', countTokensPath: '/v1/c', modelsPath: '/v1/models' }
const context: CallContext = { requestId: 'r', headers: [], signal: new AbortController().signal }

/** Answers each call with the page for its path. */
async function fetchFrom(answer: (path: string, call: number) => unknown) {
  const called: string[] = []
  const client = {
    async fetchJson<Result>({ path }: { path: string }, _context: CallContext, read: (body: unknown) => Result) {
      called.push(path)
      return read(answer(path, called.length))
    }
  }
  const models = await fetchModelList(client, messagesCompatibleModels, options, context)
  return { models, called }
}

t.test('pages are followed to the last one, and an id counts once', async t => {
  const { models, called } = await fetchFrom((_path, call) =>
    call === 1
      ? { data: [{ id: 'a' }, { id: 'b' }, { id: '' }], has_more: true, last_id: 'b' }
      : { data: [{ id: 'b' }, { id: 'c' }], has_more: false, last_id: 'c' }
  )
  t.same(called, ['/v1/models?limit=1000', '/v1/models?limit=1000&after_id=b'])
  t.same(
    models.entries.map(({ id }) => id),
    ['a', 'b', 'c']
  )
  t.match(models, { skippedCount: 1, duplicateCount: 1 })
})

t.test('a list without an end, or beyond its bound, is no list', async t => {
  const item = (index: number) => ({ id: `m-${index}` })
  const same = fetchFrom(() => ({ data: [], has_more: true, last_id: 'a' }))
  await t.rejects(same, { code: 'provider_protocol_error', cause: { reason: 'endless_pages' } })
  const empty = fetchFrom((_path, call) => ({ data: [], has_more: true, last_id: `a-${call}` }))
  await t.rejects(empty, { code: 'provider_protocol_error', cause: { reason: 'endless_pages' } })
  const many = Array.from({ length: EXTERNAL_MODELS_MAX + 1 }, (_, index) => item(index))
  await t.rejects(
    fetchFrom(() => ({ data: many })),
    { cause: { reason: 'too_many_models' } }
  )
  t.equal((await fetchFrom(() => ({ data: many.slice(1) }))).models.entries.length, EXTERNAL_MODELS_MAX)
  const repeated = Array.from({ length: EXTERNAL_MODELS_MAX + 1 }, () => item(1))
  await t.rejects(
    fetchFrom(() => ({ data: repeated })),
    { cause: { reason: 'too_many_models' } }
  )
  const wrong = fetchFrom(() => ({ data: [{ name: 'a' }, 7] }))
  await t.rejects(wrong, { code: 'provider_protocol_error', cause: { reason: 'no_valid_entry' } })
  t.same((await fetchFrom(() => ({ data: [] }))).models.entries, [])
})
