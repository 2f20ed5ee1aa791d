import { GoogleGenAI } from '@google/genai'
import t, { type Test } from 'tap'
import { type HttpResponse, lastUpstreamChat, post, upstreamChats } from '../../support/client.ts'
import { emulatorVariables, startGateway } from '../../support/in-process-gateway.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'
import { lastReceived } from '../../support/upstream.ts'
import { emulatorOptions, generate, model, readChunks, say } from './support.ts'

/** A key whose letters no upstream token has, so that it can be searched in all upstream headers. */
const key = 'key.of.this.gateway'
const { emulator, gateway } = await startSharedGateway(emulatorOptions)
const configured = await startGateway(t, {
  env: {
    ...emulatorVariables(emulator),
    GATEWAY_UPSTREAM_API_MODE: 'v2',
    GATEWAY_PASS_MODEL: 'false',
    UPSTREAM_MODEL: 'GigaChat-2-Pro',
    GATEWAY_EMBEDDINGS: 'Embeddings-2',
    GATEWAY_ENABLE_API_KEY_AUTH: 'true',
    GATEWAY_API_KEY: key
  }
})

function send(path: string, body: object = say('hi')) {
  return post(gateway.url + path, body)
}

t.test('content 1: a call under v1beta uses the v1 contract and returns text, STOP and usage', async t => {
  const response = await send(`/v1beta/models/${model}:generateContent`, say('[[text:Hello]][[usage:19,8,5]]'))
  t.equal(response.status, 200)
  const upstream = lastUpstreamChat(emulator)
  t.equal(upstream.path, '/api/v1/chat/completions')
  t.strictSame(upstream.body, { model, messages: [{ role: 'user', content: '[[text:Hello]][[usage:19,8,5]]' }] })
  t.strictSame(response.json, {
    candidates: [
      {
        index: 0,
        content: { role: 'model', parts: [{ text: 'Hello' }] },
        finishReason: 'STOP',
        safetyRatings: []
      }
    ],
    modelVersion: model,
    responseId: response.headers.get('x-request-id'),
    usageMetadata: {
      promptTokenCount: 19,
      candidatesTokenCount: 8,
      totalTokenCount: 27,
      cachedContentTokenCount: 5
    }
  })
})

const prompt = '[[text:Hello]][[usage:19,8,5]]'

/** Checks that a response to `prompt` has its text, the reason and the counts. */
function checkAnswer(t: Test, { status, json }: HttpResponse, note: string) {
  t.equal(status, 200, note)
  t.match(json, {
    candidates: [{ content: { role: 'model', parts: [{ text: 'Hello' }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 19, candidatesTokenCount: 8, totalTokenCount: 27 }
  })
}

t.test('content 2, 3: the prefix decides the contract', async t => {
  for (const prefix of ['', '/v1', '/v1/v1beta', '/api/v1beta', '/v1/v1']) {
    checkAnswer(t, await send(`${prefix}/models/${model}:generateContent`, say(prompt)), prefix)
    t.equal(lastUpstreamChat(emulator).path, '/api/v1/chat/completions', prefix)
    t.strictSame(lastUpstreamChat(emulator).body.messages, [{ role: 'user', content: prompt }])
  }
  for (const prefix of ['/v2', '/v2/v1beta']) {
    checkAnswer(t, await send(`${prefix}/models/${model}:generateContent`, say(prompt)), prefix)
    t.equal(lastUpstreamChat(emulator).path, '/api/v2/chat/completions', prefix)
    t.strictSame(lastUpstreamChat(emulator).body.messages, [{ role: 'user', content: [{ text: prompt }] }])
  }
})

t.test('content 4: an unversioned prefix follows the configured API mode', async t => {
  for (const prefix of ['', '/v1beta']) {
    const url = `${configured.url}${prefix}/models/${model}:generateContent?key=${key}`
    checkAnswer(t, await post(url, say(prompt)), prefix)
    t.equal(lastUpstreamChat(emulator).path, '/api/v2/chat/completions')
    t.strictSame(lastUpstreamChat(emulator).body.messages, [{ role: 'user', content: [{ text: prompt }] }])
  }
})

t.test('content 5, 6, 8: an id may contain slashes and colons, and one leading models/ is removed', async t => {
  for (const [path, expected] of [
    ['models/google/gemini-x:generateContent', 'google/gemini-x'],
    ['models/google%2Fgemini-x:generateContent', 'google/gemini-x'],
    ['models/models%2Fgemini-x:generateContent', 'gemini-x'],
    ['models/models/gemini-x:generateContent', 'gemini-x'],
    ['models/X:2.0:generateContent', 'X:2.0']
  ] as const) {
    for (const prefix of ['/v1beta', '/v2/v1beta', '/v1']) {
      const response = await send(`${prefix}/${path}`)
      t.equal(response.status, 200, path)
      t.equal(lastUpstreamChat(emulator).body.model, expected)
      t.equal(response.json.modelVersion, expected)
    }
  }
})

t.test('content 7: embedding operations accept ids with slashes too', async t => {
  const content = { parts: [{ text: 'hi' }] }
  for (const [operation, body, member] of [
    ['embedContent', { content }, 'embedding'],
    ['batchEmbedContents', { requests: [{ content }] }, 'embeddings']
  ] as const) {
    for (const path of ['a/b', 'a%2Fb']) {
      await send(`/v1beta/models/${path}:${operation}`, body)
      t.strictSame(lastReceived(emulator, '/embeddings').body, { model: 'a/b', input: ['hi'] })
    }
    // The emulator knows this model: the part after a colon names its build.
    const response = await send(`/v1beta/models/Embeddings:a/b:${operation}`, body)
    t.equal(response.status, 200)
    t.match([response.json[member]].flat()[0].values, [Number, Number])
    t.strictSame(lastReceived(emulator, '/embeddings').body, { model: 'Embeddings:a/b', input: ['hi'] })
  }
})

t.test('content 9: an unknown operation is a 404 in the family’s form', async t => {
  const before = emulator.requests.length
  for (const prefix of ['', '/v1', '/v2', '/v1beta', '/v1/v1beta', '/v2/v1beta']) {
    for (const operation of ['predict', 'batchGenerateContent', 'asyncBatchEmbedContent', 'generatecontent']) {
      const response = await send(`${prefix}/models/${model}:${operation}`)
      t.equal(response.status, 404, prefix + operation)
      t.match(response.json, { error: { code: 404, status: 'NOT_FOUND', message: String } })
    }
  }
  t.equal((await send('/v1beta/tunedModels/x:generateContent')).status, 404)
  t.equal(emulator.requests.length, before)
})

t.test(
  'content 10: the gateway key is read from the header, the query or a bearer token and is not forwarded',
  async t => {
    const path = `/v1beta/models/${model}:generateContent`
    for (const [query, headers] of [
      ['', { 'x-goog-api-key': key }],
      [`?key=${key}`, {}],
      ['', { authorization: `Bearer ${key}` }],
      ['', { 'x-api-key': key }],
      ['?key=', { 'x-goog-api-key': key }]
    ] as const) {
      const response = await post(configured.url + path + query, say('hi'), headers)
      t.equal(response.status, 200)
      t.notOk(JSON.stringify(lastUpstreamChat(emulator).headers).includes(key))
      t.equal(emulator.requests.at(-1)?.query, '')
    }
  }
)

t.test('content 11: without a key the response is a 401 in the family’s form', async t => {
  const before = upstreamChats(emulator).length
  const path = `/v1beta/models/${model}:generateContent`
  for (const [query, headers] of [
    ['', {}],
    ['?key=wrong', { 'x-goog-api-key': key }],
    ['', { authorization: 'Bearer wrong', 'x-goog-api-key': key }]
  ] as const) {
    const response = await post(configured.url + path + query, say('hi'), headers)
    t.equal(response.status, 401)
    t.strictSame(Object.keys(response.json), ['error'])
    t.match(response.json.error, {
      code: 401,
      status: 'UNAUTHENTICATED',
      details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID', domain: 'gateway' }]
    })
  }
  t.equal(upstreamChats(emulator).length, before)
})

t.test('content 12: headers that the SDK adds are not forwarded', async t => {
  const client = new GoogleGenAI({ apiKey: 'secret-key', httpOptions: { baseUrl: gateway.url, timeout: 30_000 } })
  const response = await client.models.generateContent({ model, contents: '[[text:Hello]]' })
  t.equal(response.text, 'Hello')
  const { headers } = lastUpstreamChat(emulator)
  for (const name of Object.keys(headers)) t.notMatch(name, /^(?:x-goog-|x-server-timeout|sec-|accept-language)/)
  t.notMatch(JSON.stringify(headers), /secret-key|google-genai/)
})

t.test('x-server-timeout of a client is the deadline of its request', async t => {
  const response = await generate(gateway, 'v1', '[[hang]]', {}, { headers: { 'x-server-timeout': '0.2' } })
  t.equal(response.status, 504)
  t.match(response.json.error, { code: 504, status: 'DEADLINE_EXCEEDED' })
})

t.test(
  'content 81: with model passing off the configured models are used and the response names the path’s model',
  async t => {
    const base = `${configured.url}/v1/models/${model}`
    const response = await post(`${base}:generateContent?key=${key}`, say('hi'))
    t.equal(response.status, 200)
    t.equal(lastUpstreamChat(emulator).body.model, 'GigaChat-2-Pro')
    t.equal(response.json.modelVersion, model)
    const streamed = await post(`${base}:streamGenerateContent?alt=sse&key=${key}`, say('hi'))
    t.equal(lastUpstreamChat(emulator).body.model, 'GigaChat-2-Pro')
    for (const chunk of readChunks(streamed.text)) t.equal(chunk.modelVersion, model)
    const content = { parts: [{ text: 'a' }] }
    for (const [operation, body] of [
      ['embedContent', { content }],
      ['batchEmbedContents', { requests: [{ content }] }]
    ] as const) {
      t.equal((await post(`${base}:${operation}?key=${key}`, body)).status, 200)
      t.strictSame(lastReceived(emulator, '/embeddings').body, { model: 'Embeddings-2', input: ['a'] })
    }
    t.equal((await post(`${base}:countTokens?key=${key}`, say('hi'))).status, 200)
    t.match(lastReceived(emulator, '/tokens/count').body, { model: 'GigaChat-2-Pro' })
  }
)
