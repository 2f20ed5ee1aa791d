// What is particular to requests on the wire of Google GenAI.

import Anthropic from '@anthropic-ai/sdk'
import t from 'tap'
import { get, post } from '../../support/client.ts'
import { createPicture } from '../../support/upstream.ts'
import { families, type Loose, send } from './families.ts'
import { content, startBridge } from './providers/index.ts'

const { gateway, received: receivedBy } = await startBridge(t)
const { url } = gateway
const aliases = { ...content.aliases, older: 'content/older', embeddings: 'content/embeddings' }
const MODELS = '/google/content-keyed/v1beta/models'
const received = () => receivedBy(content)

function last(): { path: string; query: string; headers: Loose; body: Loose } {
  const found = received().at(-1)
  if (found === undefined) throw new Error('The provider received nothing.')
  return found
}

const textOf = (prompt: string) => [{ role: 'user', parts: [{ text: prompt }] }]

t.test('an image has the registered name of its media type: the provider refuses others', async t => {
  const data = createPicture()
  const parts = [
    { type: 'text', text: 'What is this?' },
    { type: 'image_url', image_url: { url: `data:image/jpg;base64,${data}` } }
  ]
  const body = { model: aliases.keyed, messages: [{ role: 'user', content: parts }] }
  const response = await post(`${url}/v1/chat/completions`, body)
  t.equal(response.status, 200, response.text)
  t.strictSame(last().body.contents[0].parts, [
    { text: 'What is this?' },
    { inlineData: { mimeType: 'image/jpeg', data } }
  ])
})

t.test('a wish for reasoning is a level, or a budget for older models', async t => {
  for (const level of ['low', 'medium', 'high']) {
    const body = { messages: [{ role: 'user', content: 'Hi' }], reasoning_effort: level }
    t.equal((await post(`${url}/v1/chat/completions`, { ...body, model: aliases.keyed })).status, 200)
    t.match(last().body.generationConfig.thinkingConfig.thinkingLevel, new RegExp(`^${level}$`, 'i'))
    const older = await post(`${url}/v1/chat/completions`, { ...body, model: aliases.older })
    t.match(older.json.choices[0].message.reasoning_content, /Repeating it is the right thing to do/)
    t.ok(older.json.usage.completion_tokens > 10, 'the thoughts are among the counted tokens')
    t.match(last().body.generationConfig.thinkingConfig, { thinkingBudget: Number, includeThoughts: true })
  }
})

t.test('an empty answer with a signature is one empty text for a messages client, whole and streamed', async t => {
  const client = new Anthropic({ baseURL: url, apiKey: 'unused', maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: '[[text:""]]' }]
  const request = { model: aliases.keyed, max_tokens: 100, messages }
  for (const message of [await client.messages.create(request), await client.messages.stream(request).finalMessage()]) {
    t.strictSame(message.content, [{ type: 'text', text: '' }])
  }
})

t.test('a blocked prompt is a response with the end of a refusal, in every family', async t => {
  for (const family of families) {
    for (const isStream of [false, true]) {
      const blocked = await send(url, family, { model: aliases.keyless, prompt: '[[refusal:Not this]]', isStream })
      t.equal(blocked.status, 200, family.name)
      const { finish } = isStream ? family.readStream(blocked) : family.read(blocked)
      if (family.name !== 'content') t.equal(finish, content.finishes.SAFETY?.[family.name])
      else t.match(blocked.text, /"blockReason": ?"PROHIBITED_CONTENT"/)
    }
  }
})

t.test('bridge 81: tokens are counted by the provider, with one call', async t => {
  const before = received().length
  const counted = [
    await post(`${url}/v1/messages/count_tokens`, {
      model: aliases.keyed,
      messages: [{ role: 'user', content: 'one two three' }]
    }),
    await post(`${url}/v1beta/models/${aliases.keyed}:countTokens`, { contents: textOf('one two three') })
  ]
  t.equal(received().length, before + counted.length)
  t.equal(counted[0]?.json.input_tokens, 3)
  t.equal(counted[1]?.json.totalTokens, 3)
  for (const response of counted) {
    t.equal(response.status, 200)
    t.equal(response.headers.get('x-gateway-token-count'), null, 'no estimate')
  }
  for (const { path, headers } of received().slice(before)) {
    t.equal(path, `${MODELS}/gemini-3-emulator:countTokens`)
    t.equal(headers['x-goog-api-key'], content.key)
  }
  const system = await post(`${url}/v1/messages/count_tokens`, {
    model: aliases.keyed,
    system: 'four five',
    messages: [{ role: 'user', content: 'one two three' }],
    tools: [{ name: 'six', description: 'seven', input_schema: { type: 'object' } }]
  })
  t.ok(system.json.input_tokens >= 7, system.text)
})

t.test('texts of every embeddings operation are embedded with one call', async t => {
  const path = `${MODELS}/gemini-embedding-2-emulator:batchEmbedContents`
  const model = aliases.embeddings
  const run = async (request: () => Promise<Loose>, texts: string[]) => {
    const before = received().length
    const response = await request()
    t.equal(response.status, 200, response.text)
    const calls = received().slice(before)
    t.strictSame(
      calls.map(call => call.path),
      [path]
    )
    const { requests } = (calls[0]?.body ?? {}) as Loose
    t.strictSame(
      requests.map((one: Loose) => [one.model, one.content.parts[0].text]),
      texts.map(text => ['models/gemini-embedding-2-emulator', text])
    )
    return response.json
  }
  const openAi = await run(() => post(`${url}/v1/embeddings`, { model, input: ['a', 'b'], dimensions: 8 }), ['a', 'b'])
  t.equal(openAi.model, model)
  t.strictSame(
    openAi.data.map(({ embedding }: Loose) => embedding.length),
    [8, 8]
  )
  t.ok(openAi.usage.prompt_tokens > 0)
  const tokens = await run(() => post(`${url}/v1/embeddings`, { model, input: [[9906]] }), ['Hello'])
  t.equal(tokens.data.length, 1)
  const one = await run(
    () => post(`${url}/v1beta/models/${model}:embedContent`, { content: { parts: [{ text: 'a' }] } }),
    ['a']
  )
  t.equal(one.embedding.values.length, 3072)
  t.strictSame(one.embedding.values.slice(0, 8).map(Math.fround), openAi.data[0].embedding.map(Math.fround))
  const many = await run(
    () =>
      post(`${url}/v1beta/models/${model}:batchEmbedContents`, {
        requests: ['a', 'b'].map(text => ({ content: { parts: [{ text }] }, outputDimensionality: 8 }))
      }),
    ['a', 'b']
  )
  t.strictSame(
    many.embeddings.map(({ values }: Loose) => values),
    openAi.data.map(({ embedding }: Loose) => embedding)
  )
  const missing = await post(`${url}/v1/embeddings`, { model, input: 'a', dimensions: 5000 })
  t.equal(missing.status, 400, 'the provider refuses the length')
})

t.test('a tool that this wire alone has is for its own clients', async t => {
  const before = received().length
  const hosted = await post(`${url}/v1/responses`, {
    model: aliases.keyed,
    input: 'Hi',
    tools: [{ type: 'web_search' }]
  })
  t.match(hosted, { status: 400, json: { error: { code: 'unsupported_semantic', param: 'tools[0].type' } } })
  t.equal(received().length, before)
  const own = await post(`${url}/v1beta/models/${aliases.keyed}:generateContent`, {
    contents: textOf('Hi'),
    tools: [{ googleSearch: {} }],
    safetySettings: []
  })
  t.equal(own.status, 200, 'a content client may use what only this wire has')
  t.strictSame(last().body.tools, [{ googleSearch: {} }])
})

t.test('the documents describe a content alias: what it declares, and what its wire has for each protocol', async t => {
  const protocols = ['openai_chat_completions', 'openai_responses', 'anthropic_messages', 'gemini_generate_content']
  const matrix = await get(`${url}/bridge/capabilities`)
  for (const protocol of protocols) {
    const { status, json } = await get(`${url}/bridge/capabilities?model=${aliases.keyed}&protocol=${protocol}`)
    t.equal(status, 200)
    t.match(json, { model: aliases.keyed, provider_kind: 'content_compatible', provider_profile_id: 'content-keyed' })
    const declared = ['text_input', 'streaming', 'function_tools', 'json_schema_output', 'image_input', 'file_input']
    for (const name of [...declared, 'reasoning_controls']) {
      t.equal(json.capabilities[name].state, 'supported', `${protocol}: ${name}`)
    }
    for (const name of ['hosted_web_search', 'conversation_state']) {
      t.equal(json.capabilities[name].state, 'unsupported', `${protocol}: ${name}`)
    }
    const plain = await get(`${url}/bridge/capabilities?model=${aliases.plain}&protocol=${protocol}`)
    t.match(plain.json.capabilities.function_tools, { state: 'unsupported', reason_id: 'profile_feature_absent' })
    const cell = matrix.json.cells.find(
      (one: Loose) => one.public_protocol === protocol && one.upstream_provider === 'content_compatible'
    )
    t.match(cell, {
      // Only on its own wire a client has the provider's tools too (decisions.md 72).
      status: protocol === 'gemini_generate_content' ? 'stable' : 'technical_preview',
      reason_ids: ['content_facade'],
      provider_version_window: /google-genai/
    })
  }
  const models = await get(`${url}/bridge/models`)
  t.match(
    models.json.models.find((one: Loose) => one.id === aliases.keyed),
    { provider_kind: 'content_compatible' }
  )
})
