// Embeddings, token counts and the model inventory.
import t from 'tap'
import { startClient } from './support.ts'

t.test('equal texts have equal vectors, different texts different vectors', async t => {
  const { call } = await startClient(t)
  const embed = async (input: unknown, model = 'Embeddings') => {
    const response = await call('/api/v1/embeddings', { body: { model, input } })
    return JSON.parse(response.text)
  }
  const first = await embed(['First text', 'Second text'])
  t.match(first, {
    object: 'list',
    model: 'Embeddings',
    data: [{ object: 'embedding', index: 0, usage: { prompt_tokens: 7 } }, { index: 1 }]
  })
  t.equal(first.data[0].embedding.length, 1024)
  t.same(await embed(['First text', 'Second text']), first)
  t.not(first.data[0].embedding[0], first.data[1].embedding[0])
  t.ok(first.data[0].embedding.every((value: number) => value >= -2 && value <= 2))
  t.equal((await embed(['x'], 'EmbeddingsGigaR')).data[0].embedding.length, 2560)
})

t.test('invalid embedding and token-count requests are refused', async t => {
  const { call } = await startClient(t)
  const cases: Array<[string, unknown, number]> = [
    ['/embeddings', { model: 'Unknown', input: ['x'] }, 404],
    ['/embeddings', { model: 'GigaChat', input: ['x'] }, 404],
    ['/embeddings', { model: 'Embeddings', input: 'x' }, 422],
    ['/embeddings', { model: 'Embeddings', input: [1, 2] }, 422],
    ['/embeddings', { model: 'Embeddings', input: [] }, 422],
    ['/embeddings', { input: ['x'] }, 422],
    ['/embeddings', [], 400],
    ['/tokens/count', { model: 'Unknown', input: ['x'] }, 404],
    ['/tokens/count', { model: 'GigaChat', input: 'x' }, 422]
  ]
  for (const [path, body, status] of cases) {
    const response = await call(`/api/v1${path}`, { body })
    t.equal(response.status, status, JSON.stringify(body))
    t.match(JSON.parse(response.text), { status, message: String })
  }
})

t.test('token counts are an array in the order of the input', async t => {
  const { call } = await startClient(t)
  const response = await call('/api/v1/tokens/count', { body: { model: 'GigaChat', input: ['First text', '😀'] } })
  t.same(JSON.parse(response.text), [
    { object: 'tokens', tokens: 2, characters: 10 },
    { object: 'tokens', tokens: 1, characters: 1 }
  ])
})

t.test('the inventory lists the recorded models and the extra models of the options', async t => {
  const { call, chatV1 } = await startClient(t, { extraModels: ['Custom-2-Max'] })
  const { object, data } = JSON.parse((await call('/api/v1/models')).text)
  t.equal(object, 'list')
  t.equal(data.length, 22)
  t.match(
    data.find((model: { id: string }) => model.id === 'GigaFilter'),
    { type: 'filter', owned_by: 'salutedevices' }
  )
  t.equal((await call('/api/v1/models/GigaChat-3-Ultra')).status, 200)
  t.equal((await call('/api/v1/models/Custom%2D2-Max')).status, 200)
  t.equal((await call('/api/v1/models/NonExistentModel')).status, 404)
  t.equal((await call('/api/v1/models/%E0')).status, 404)
  t.equal((await call('/api/v2/models')).status, 404)
  t.equal((await call('/api/v1/models', { body: {} })).status, 405)
  t.equal((await chatV1('Hi', { model: 'Custom-2-Max' })).status, 200)
})
