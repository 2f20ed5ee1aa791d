import OpenAI from 'openai'
import t from 'tap'
import { get, post } from '../../support/client.ts'
import { emulatorVariables, startGateway } from '../../support/in-process-gateway.ts'
import { assertRefusedUnsent, assertSdkError } from '../../support/sdk-refusal.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'

const { emulator, gateway } = await startSharedGateway()
const url = `${gateway.url}/v1/embeddings`

function lastUpstreamEmbeddings() {
  return emulator.requests.findLast(({ path }) => path === '/api/v1/embeddings')
}

t.test('completions 77: embeddings are returned as base64 and as numbers (E4)', async t => {
  const body = { input: ['a', 'b'], model: 'Embeddings' }
  for (const prefix of ['', '/v1', '/v2']) {
    const numbers = await post(`${gateway.url}${prefix}/embeddings`, body)
    t.equal(numbers.status, 200)
    t.strictSame(lastUpstreamEmbeddings()?.body, body)
    t.equal(numbers.json.model, 'Embeddings')
    t.match(numbers.json.usage, { prompt_tokens: Number, total_tokens: Number })
    const packed = await post(`${gateway.url}${prefix}/embeddings`, { ...body, encoding_format: 'base64' })
    for (const [index, item] of packed.json.data.entries()) {
      const bytes = Buffer.from(item.embedding, 'base64')
      const floats = [...new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)]
      t.strictSame(floats, numbers.json.data[index].embedding.map(Math.fround))
      t.equal(item.index, index)
    }
    const client = new OpenAI({ baseURL: gateway.url + prefix, apiKey: 'unused', maxRetries: 0 })
    const byDefault = await client.embeddings.create(body)
    t.strictSame(
      byDefault.data.map(({ embedding }) => embedding),
      numbers.json.data.map(({ embedding }: { embedding: number[] }) => embedding.map(Math.fround))
    )
    t.equal(byDefault.model, 'Embeddings')
  }
})

t.test('the default embeddings model is used when the client names none', async t => {
  const response = await post(url, { input: 'a' })
  t.equal(response.status, 200)
  t.strictSame(lastUpstreamEmbeddings()?.body, { input: ['a'], model: 'EmbeddingsGigaR' })
  t.equal(response.json.model, 'EmbeddingsGigaR')
})

t.test('decisions.md 43: token ids of a model without a known tokenizer are decoded with cl100k_base', async t => {
  // The last two are the highest id of the vocabulary and an ordinary one below the gaps before it.
  const response = await post(url, { input: [[15339, 1917], [100276], [100255]], model: 'Embeddings' })
  t.equal(response.status, 200)
  t.strictSame(lastUpstreamEmbeddings()?.body, {
    input: ['hello world', '<|endofprompt|>', ' Conveyor'],
    model: 'Embeddings'
  })
  const before = emulator.requests.length
  for (const id of [100256, 100261, 100277, 2 ** 40]) {
    const refused = await post(url, { input: [[15339], [id]], model: 'Embeddings' })
    t.equal(refused.status, 400, String(id))
    t.match(refused.json.error, { param: 'input', type: 'invalid_request_error', code: 'invalid_request' })
  }
  t.equal(emulator.requests.length, before)
})

t.test('token ids of a model with a known tokenizer are decoded with it', async t => {
  const known = await startGateway(t, { env: { ...emulatorVariables(emulator), GATEWAY_PASS_MODEL: 'false' } })
  for (const [model, hello] of [
    ['text-embedding-3-small', 15339],
    ['o200k_base', 24912]
  ] as const) {
    const response = await post(`${known.url}/v1/embeddings`, { input: [hello], model })
    t.equal(response.status, 200)
    t.strictSame(lastUpstreamEmbeddings()?.body, { input: ['hello'], model: 'EmbeddingsGigaR' }, model)
    t.equal(response.json.model, model)
  }
})

t.test('decisions.md 46; completions 78: embedding inputs of the wrong form are refused with a code', async t => {
  const inputs = [
    [],
    '',
    undefined,
    ['a', 1],
    [''],
    [[]],
    [[-1]],
    [1.5],
    null,
    {},
    Array.from({ length: 2049 }, () => 'a')
  ]
  for (const input of inputs) {
    const refusal = { status: 400, code: 'invalid_request', param: 'input' }
    await assertRefusedUnsent(t, emulator, { url, body: { input, model: 'Embeddings' } }, refusal)
  }
  for (const model of [' ', 5]) {
    const refusal = { status: 400, code: 'invalid_request', param: 'model' }
    await assertRefusedUnsent(t, emulator, { url, body: { input: 'a', model } }, refusal)
  }
})

t.test('completions 79: embedding options without effect are not sent', async t => {
  const more = { extra_body: 's', dimensions: 3, user: 'u', anything: 1 }
  t.equal((await post(url, { input: 'a', model: 'Embeddings', ...more })).status, 200)
  t.strictSame(lastUpstreamEmbeddings()?.body, { input: ['a'], model: 'Embeddings' })
})

t.test('completions 80: models are listed from one discovery and an unknown one is not found', async t => {
  emulator.reset()
  const responses = await Promise.all(
    ['/v1/models', '/models', '/v2/models', '/v1/models'].map(path => get(gateway.url + path))
  )
  for (const response of responses) {
    t.equal(response.status, 200)
    t.equal(response.json.object, 'list')
    const chat = response.json.data.find((model: { id: string }) => model.id === 'GigaChat-2-Max')
    t.match(chat, { object: 'model', created: Number, owned_by: String, metadata: { type: 'chat' } })
    t.equal(response.json.data.find((model: { id: string }) => model.id === 'Embeddings').metadata.type, 'embedder')
  }
  t.ok(emulator.requests.filter(({ path }) => path === '/api/v1/models').length <= 1)
  t.equal((await get(`${gateway.url}/v1/models/GigaChat-2-Max`)).json.id, 'GigaChat-2-Max')
  for (const id of ['NOPE', 'team/large', 'team%2Flarge']) {
    const refusal = { status: 404, type: 'not_found_error', param: 'model', code: 'model_not_found' }
    await assertSdkError(t, { url: `${gateway.url}/models/${id}` }, refusal)
  }
})

t.test('completions 81: model info is served in both shapes', async t => {
  for (const prefix of ['', '/v1', '/v2']) {
    const list = await get(`${gateway.url}${prefix}/model/info`)
    t.match(list.json.data[0], { model_name: String, litellm_params: { model: String }, model_info: { id: String } })
    const one = await get(`${gateway.url}${prefix}/model/info?model=GigaChat-2`)
    t.strictSame(one.json, {
      model_name: 'GigaChat-2',
      litellm_params: { model: 'GigaChat-2' },
      model_info: { id: 'GigaChat-2' }
    })
    t.strictSame(
      list.json.data.map((one: { model_name: string }) => one.model_name),
      (await get(`${gateway.url}${prefix}/models`)).json.data.map((one: { id: string }) => one.id)
    )
    const refusal = { status: 404, type: 'not_found_error', param: 'model', code: 'model_not_found' }
    await assertSdkError(t, { url: `${gateway.url}${prefix}/model/info?model=nope` }, refusal)
  }
})
