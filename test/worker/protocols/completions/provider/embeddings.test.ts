import t from 'tap'
import { chatCompatibleEmbeddings } from '../../../../../worker/protocols/completions/provider/embeddings.ts'
import { options } from './support.ts'

const head = { status: 200, headers: {} }
const read = (body: unknown, count: number) => chatCompatibleEmbeddings.read(body, { count, head })

t.test('the call of the contract is written', async t => {
  t.same(chatCompatibleEmbeddings.write({ model: 'm', input: ['a', 'b'] }, options), {
    method: 'POST',
    path: '/v1/embeddings',
    headers: ['accept', 'text/event-stream, application/json', 'content-type', 'application/json'],
    body: { model: 'm', input: ['a', 'b'], encoding_format: 'float' }
  })
  t.match(chatCompatibleEmbeddings.write({ model: 'm', input: ['a'], dimensions: 3 }, options).body, { dimensions: 3 })
})

t.test('vectors are read in the order of their index, as numbers or base64', async t => {
  const packed = Buffer.alloc(8)
  packed.writeFloatLE(0.5, 0)
  packed.writeFloatLE(-2, 4)
  const body = {
    data: [
      { index: 1, embedding: [3, 4] },
      { index: 0, embedding: packed.toString('base64') }
    ],
    usage: { prompt_tokens: 6, total_tokens: 6 }
  }
  t.same(read(body, 2), {
    vectors: [
      [0.5, -2],
      [3, 4]
    ],
    promptTokens: 6,
    metadata: {}
  })
  t.same(read({ data: [{ embedding: [1] }, { embedding: [2] }] }, 2), {
    vectors: [[1], [2]],
    promptTokens: null,
    metadata: {}
  })
})

t.test('a response that cannot be used is refused', async t => {
  const item = (members: object) => ({ data: [{ index: 0, embedding: [1], ...members }] })
  const table: Array<[string, unknown]> = [
    ['invalid_embeddings', null],
    ['invalid_embeddings', {}],
    ['invalid_embeddings', { data: [] }],
    ['invalid_embeddings', { data: [7] }],
    ['invalid_embeddings', item({ index: 1 })],
    ['invalid_embeddings', item({ index: -1 })],
    ['invalid_embeddings', item({ embedding: ['1'] })],
    ['invalid_embeddings', item({ embedding: 'AAA' })],
    ['invalid_embeddings', item({ embedding: '' })],
    ['invalid_embeddings', item({ embedding: 'AADAfw==' })],
    ['invalid_usage', { ...item({}), usage: { prompt_tokens: -1 } }]
  ]
  for (const [cause, body] of table) {
    t.throws(() => read(body, 1), { code: 'provider_protocol_error', cause }, JSON.stringify(body))
  }
  const twice = {
    data: [
      { index: 0, embedding: [1] },
      { index: 0, embedding: [1] }
    ]
  }
  t.throws(() => read(twice, 2), { code: 'provider_protocol_error' })
  t.throws(() => read({ error: { message: 'm', code: 429 } }, 1), { code: 'rate_limited' })
})
