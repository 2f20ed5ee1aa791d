import t from 'tap'
import type { JsonValue } from '../../../../../worker/normalized/index.ts'
import {
  readEmbeddingsRequest,
  writeEmbeddingsResponse
} from '../../../../../worker/protocols/completions/client/embeddings.ts'
import { failure } from './support.ts'

const readInput = (input: JsonValue) => readEmbeddingsRequest({ input }).input

t.test('texts and token ids are read in all four forms', async t => {
  t.strictSame(readInput('a'), { type: 'texts', texts: ['a'] })
  t.strictSame(readInput(['a', 'b']), { type: 'texts', texts: ['a', 'b'] })
  t.strictSame(readInput([1, 2]), { type: 'tokens', tokens: [[1, 2]] })
  t.strictSame(readInput([[1, 2], [0]]), { type: 'tokens', tokens: [[1, 2], [0]] })
  t.strictSame(readInput(Array(2048).fill('x')), { type: 'texts', texts: Array(2048).fill('x') })
})

t.test('completions 78: inputs of the wrong form are refused', async t => {
  const inputs: Array<JsonValue | undefined> = [
    undefined,
    null,
    3,
    {},
    '',
    [],
    ['a', ''],
    ['a', 1],
    [1, 'a'],
    [1, [2]],
    [[1], 2],
    [[1], 'a'],
    [['a']],
    [[]],
    [1, -1],
    [1.5],
    [[1], [2, -1]],
    [null],
    Array(2049).fill('x'),
    [Array(2049).fill(1)]
  ]
  for (const input of inputs) {
    const error = failure(() => readEmbeddingsRequest({ input }))
    t.strictSame(error, { code: 'invalid_request', param: 'input', status: 400 }, JSON.stringify(input)?.slice(0, 40))
  }
})

t.test('the model is read as sent and without the blanks around it', async t => {
  t.match(readEmbeddingsRequest({ input: 'a', model: ' e ' }), { requestedModel: ' e ', model: 'e' })
  t.notOk('model' in readEmbeddingsRequest({ input: 'a', model: null }))
  for (const model of ['', ' ', 3]) t.equal(failure(() => readEmbeddingsRequest({ input: 'a', model })).param, 'model')
})

t.test('the encoding is base64 only when the client requests it', async t => {
  t.equal(readEmbeddingsRequest({ input: 'a', encoding_format: 'base64' }).encoding, 'base64')
  for (const format of ['float', 'hex', null, 3]) {
    t.equal(readEmbeddingsRequest({ input: 'a', encoding_format: format }).encoding, 'float')
  }
})

t.test('every other parameter of any type is accepted and has no effect (E1)', async t => {
  const extras = { user: 'u', extra_body: 's', extra_query: 1, tenant_hint: 'a', flags: [] }
  const request = readEmbeddingsRequest({ input: 'a', ...extras, extra_headers: { 'x-a': '1' }, api_key: 'k' })
  t.strictSame(request.ignored, { ...extras, api_key: null })
  t.strictSame(request.extraHeaders, { 'x-a': '1' })
})

const result = { vectors: [[0.5, -1, 2.25], [3]], promptTokens: 6, metadata: {} }

t.test('vectors are written as numbers in the order of the input', async t => {
  t.strictSame(writeEmbeddingsResponse(result, { model: 'e', encoding: 'float' }), {
    object: 'list',
    data: [
      { object: 'embedding', embedding: [0.5, -1, 2.25], index: 0 },
      { object: 'embedding', embedding: [3], index: 1 }
    ],
    model: 'e',
    usage: { prompt_tokens: 6, total_tokens: 6 }
  })
})

t.test('base64 vectors are little-endian 32-bit floats (E4)', async t => {
  const { data } = writeEmbeddingsResponse(result, { model: 'e', encoding: 'base64' })
  for (const [index, item] of data.entries()) {
    const bytes = Buffer.from(String(item.embedding), 'base64')
    t.equal(bytes.length, 4 * (result.vectors[index]?.length ?? 0))
    const values = Array.from({ length: bytes.length / 4 }, (_, position) => bytes.readFloatLE(4 * position))
    t.strictSame(values, result.vectors[index])
  }
})

t.test('unknown usage is written as zero, and metadata is written when there is some', async t => {
  const written = writeEmbeddingsResponse(
    { vectors: [], promptTokens: null, metadata: { upstream_x_request_id: 'x' } },
    { model: 'e', encoding: 'float' }
  )
  t.strictSame(written.usage, { prompt_tokens: 0, total_tokens: 0 })
  t.strictSame(written.metadata, { upstream_x_request_id: 'x' })
})
