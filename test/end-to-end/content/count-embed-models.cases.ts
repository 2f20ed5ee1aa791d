import { GoogleGenAI } from '@google/genai'
import t from 'tap'
import { get, post } from '../../support/client.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'
import { lastReceived, received } from '../../support/upstream.ts'
import { call, emulatorOptions, model, say, user, versions } from './support.ts'

const { emulator, gateway } = await startSharedGateway(emulatorOptions)
const client = new GoogleGenAI({ apiKey: 'unused', httpOptions: { baseUrl: gateway.url } })
const googleClient = { 'x-goog-api-client': 'google-genai-sdk/3.1.0 gl-node/v24' }

t.test('content 68, 69: counting covers instruction, contents and functions in one upstream call', async t => {
  const request = {
    systemInstruction: { parts: [{ text: 'sys' }] },
    contents: [user({ text: 'hello' }, { inlineData: { mimeType: 'image/png', data: 'AAEC' } })],
    tools: [{ functionDeclarations: [{ name: 'f', description: 'dd', parameters: { type: 'OBJECT' } }] }]
  }
  for (const version of versions) {
    for (const body of [request, { generateContentRequest: { model: `models/${model}`, ...request } }]) {
      const before = received(emulator, '/tokens/count').length
      const response = await call(gateway, version, 'countTokens', body)
      t.equal(response.status, 200)
      t.equal(received(emulator, '/tokens/count').length, before + 1)
      const { path, headers, body: sent } = lastReceived(emulator, '/tokens/count')
      t.equal(path, '/api/v1/tokens/count')
      t.strictSame(sent, { model, input: ['sys', 'hello', 'f', 'dd'] })
      const authorization = headers.authorization ?? ''
      const upstream = await post(`${emulator.baseUrl}/tokens/count`, sent as object, { authorization })
      const sum = upstream.json.reduce((total: number, { tokens }: { tokens: number }) => total + tokens, 0)
      t.strictSame(response.json, { totalTokens: sum })
    }
  }
  t.ok(((await client.models.countTokens({ model, contents: 'hello world' })).totalTokens ?? 0) > 0)
})

t.test('content 70: counting nothing is zero without an upstream call', async t => {
  const before = received(emulator, '/tokens/count').length
  for (const body of [{}, '', { contents: [] }, { contents: [user({ text: '' })] }, { generateContentRequest: {} }]) {
    const response = await call(gateway, 'v1', 'countTokens', body)
    t.equal(response.status, 200)
    t.strictSame(response.json, { totalTokens: 0 })
  }
  t.equal(received(emulator, '/tokens/count').length, before)
})

t.test('content 71: the SDK’s embedding call becomes one upstream call with the order kept', async t => {
  const before = received(emulator, '/embeddings').length
  const response = await client.models.embedContent({
    model: 'Embeddings',
    contents: ['a', 'b'],
    config: { outputDimensionality: 3, taskType: 'RETRIEVAL_QUERY', title: 't' }
  })
  t.equal(received(emulator, '/embeddings').length, before + 1)
  t.strictSame(lastReceived(emulator, '/embeddings').body, { model: 'Embeddings', input: ['a', 'b'] })
  const alone = await client.models.embedContent({ model: 'Embeddings', contents: ['b'] })
  t.equal(response.embeddings?.length, 2)
  t.strictSame(response.embeddings?.[1]?.values, alone.embeddings?.[0]?.values)

  t.comment('vectors are placed by the upstream’s index, not by where they stand')
  const vector = (index: number) => ({ object: 'embedding', index, embedding: [index, index] })
  emulator.respondNext({ path: '/embeddings', body: { object: 'list', model: 'm', data: [vector(1), vector(0)] } })
  const placed = await client.models.embedContent({ model: 'Embeddings', contents: ['c', 'd'] })
  t.strictSame(
    placed.embeddings?.map(({ values }) => values),
    [
      [0, 0],
      [1, 1]
    ]
  )
})

t.test('content 72: the text parts of one content are embedded as one text', async t => {
  for (const version of versions) {
    const content = { parts: [{ text: 'a' }, { text: 'b' }] }
    const response = await call(gateway, version, 'embedContent', { content }, { model: 'Embeddings' })
    t.equal(response.status, 200)
    const { path, body } = lastReceived(emulator, '/embeddings')
    t.equal(path, '/api/v1/embeddings')
    t.strictSame(body, { model: 'Embeddings', input: ['ab'] })
    t.equal(response.json.embedding.values.length, 1024)
    t.match(response.json.usageMetadata, { promptTokenCount: Number, totalTokenCount: Number })
  }
})

t.test('content 73: an embedding of anything except text, or of nothing, is refused with the path', async t => {
  const before = received(emulator, '/embeddings').length
  const picture = { parts: [{ inlineData: { mimeType: 'image/png', data: 'AAEC' } }] }
  const cases: Array<[string, object, string]> = [
    ['embedContent', {}, 'content'],
    ['embedContent', { content: picture }, 'content.parts[0].text'],
    ['embedContent', { content: { parts: [{ text: '' }] } }, 'content.parts'],
    ['batchEmbedContents', {}, 'requests'],
    ['batchEmbedContents', { requests: [] }, 'requests'],
    [
      'batchEmbedContents',
      { requests: [{ content: { parts: [{ text: 'a' }] } }, { content: picture }] },
      'requests[1].content.parts[0].text'
    ]
  ]
  for (const [operation, body, field] of cases) {
    const response = await call(gateway, 'v1', operation, body, { model: 'Embeddings' })
    t.equal(response.status, 400, field)
    t.match(response.json.error, { status: 'INVALID_ARGUMENT', details: [{ fieldViolations: [{ field }] }] })
  }
  t.equal(received(emulator, '/embeddings').length, before)
})

t.test('content 74: the SDK’s model iteration ends and returns each model once, from one discovery', async t => {
  emulator.reset()
  const names: string[] = []
  for await (const one of await client.models.list()) names.push(one.name ?? '')
  t.ok(names.length > 10)
  t.equal(new Set(names).size, names.length)
  t.ok(received(emulator, '/models').length <= 1)
  const { json } = await get(`${gateway.url}/v1beta/models`)
  t.notOk('nextPageToken' in json)
  const find = (id: string) => json.models.find((one: { name: string }) => one.name === `models/${id}`)
  t.match(find('GigaChat-2'), {
    name: 'models/GigaChat-2',
    baseModelId: 'GigaChat-2',
    displayName: 'GigaChat-2',
    supportedGenerationMethods: ['generateContent', 'streamGenerateContent', 'countTokens']
  })
  t.strictSame(find('Embeddings').supportedGenerationMethods, ['embedContent', 'batchEmbedContents'])
  t.strictSame(find('GigaFilter').supportedGenerationMethods, ['countTokens'])
  t.notOk('inputTokenLimit' in find('GigaChat-2'))
})

t.test('content 75: every page except the last has a token for the next page', async t => {
  const names: string[] = []
  let query = '?pageSize=1'
  let pages = 0
  for (;;) {
    const { status, json } = await get(`${gateway.url}/v1beta/models${query}`)
    t.equal(status, 200)
    t.equal(json.models.length, 1)
    names.push(json.models[0].name)
    pages++
    if (!('nextPageToken' in json)) break
    query = `?pageSize=1&pageToken=${encodeURIComponent(json.nextPageToken)}`
  }
  const all = (await get(`${gateway.url}/v1beta/models?pageSize=1000&pageToken=`)).json.models
  t.equal(pages, all.length)
  t.strictSame(
    names,
    all.map(({ name }: { name: string }) => name)
  )
  const unknown = await get(`${gateway.url}/v1beta/models?pageToken=nope`)
  t.equal(unknown.status, 400)
  t.match(unknown.json.error, { status: 'INVALID_ARGUMENT' })
  for (const prefix of ['', '/v1', '/v2', '/v2/v1', '/v1beta', '/v1/v1beta', '/v2/v1beta']) {
    const tuned = await get(`${gateway.url}${prefix}/tunedModels`)
    t.strictSame(tuned.json, { tunedModels: [] }, prefix)
  }
  const { status, json: error } = await post(`${gateway.url}/v1/tunedModels`, {})
  t.match({ status, error }, { status: 405, error: { error: { code: 405, status: 'UNIMPLEMENTED' } } })
})

t.test('content 76: the model list has the family’s form for the family’s SDK', async t => {
  for (const headers of [
    googleClient,
    { 'x-goog-api-key': 'k' },
    { 'x-goog-user-project': 'p' },
    { 'user-agent': 'google-genai-sdk/3.1.0 gl-node/v24' }
  ]) {
    for (const path of ['/models', '/v1/models', '/v2/models']) {
      t.match((await get(gateway.url + path, headers)).json, { models: [{ name: /^models\// }] })
    }
  }
  t.match((await get(`${gateway.url}/v1/models?key=k`)).json, { models: [{ name: /^models\// }] })
})

t.test('content 77: the headers of the messages family have priority on the model list', async t => {
  for (const path of ['/models', '/v1/models', '/v2/models']) {
    const { json } = await get(gateway.url + path, { ...googleClient, 'anthropic-version': '2023-06-01' })
    t.match(json, { data: [{ type: 'model' }], has_more: Boolean })
    t.notOk('models' in json)
  }
})

t.test('content 78: an unknown model is a 404, a known one is found under both names', async t => {
  for (const path of ['/v1beta/models/nope', '/v2/v1beta/models/team/large', '/v1beta/models/models%2Fnope']) {
    const response = await get(gateway.url + path)
    t.equal(response.status, 404, path)
    t.match(response.json, { error: { code: 404, status: 'NOT_FOUND' } })
  }
  for (const id of ['GigaChat-2', 'models%2FGigaChat-2', 'google%2Fgemini-x', 'google/gemini-x']) {
    const { status, json } = await get(`${gateway.url}/v1beta/models/${id}`)
    t.equal(status, 200, id)
    t.equal(json.name, `models/${decodeURIComponent(id).replace(/^models\//, '')}`)
  }
  t.equal((await client.models.get({ model: 'GigaChat-2' })).name, 'models/GigaChat-2')
  t.equal((await call(gateway, 'v1', 'generateContent', say('hi'), { model: 'nope' })).status, 404)
})
