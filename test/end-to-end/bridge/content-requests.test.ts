// What a request of a client becomes on the wire of a content_compatible provider: where it goes, with which headers and body, and what
// comes back.

import Anthropic from '@anthropic-ai/sdk'
import t from 'tap'
import { get, post } from '../../support/client.ts'
import { createPicture } from '../../support/upstream.ts'
import { contentAliases as aliases, contentKey, startContentBridge } from './content-support.ts'
import { ask, families, type Loose, send } from './families.ts'

const { gateway, emulator, received } = await startContentBridge(t)
const { url } = gateway
const MODELS = '/google/keyed/v1beta/models'

function last(): { path: string; query: string; headers: Loose; body: Loose } {
  const found = received().at(-1)
  if (found === undefined) throw new Error('The provider received nothing.')
  return found
}

const textOf = (prompt: string) => [{ role: 'user', parts: [{ text: prompt }] }]

t.test('bridge 72: a text is exactly this request, from every family, whole and streamed', async t => {
  const bodies: Record<string, object> = {
    completions: { contents: textOf('Hello') },
    responses: { contents: textOf('Hello') },
    // The protocol demands a limit.
    messages: { contents: textOf('Hello'), generationConfig: { maxOutputTokens: 256 } },
    content: { contents: textOf('Hello') }
  }
  for (const family of families) {
    for (const isStream of [false, true]) {
      const outcome = await ask(url, family, { model: aliases.keyed, prompt: 'Hello', isStream })
      t.equal(outcome.model, aliases.keyed)
      t.match(outcome.text, /^You wrote: "Hello"/)
      const { path, query, body, headers } = last()
      t.equal(path, `${MODELS}/gemini-3-emulator:${isStream ? 'streamGenerateContent' : 'generateContent'}`)
      t.equal(query, isStream ? 'alt=sse' : '')
      t.strictSame(body, bodies[family.name], family.name)
      const { host, connection: _, 'content-length': length, 'user-agent': agent, ...rest } = headers
      t.equal(host, new URL(emulator.baseUrl).host)
      t.match(length, /^\d+$/)
      t.match(agent, /^llm-gateway/)
      delete rest['accept-encoding']
      t.strictSame(rest, {
        accept: 'text/event-stream, application/json',
        'content-type': 'application/json',
        'x-goog-api-key': contentKey
      })
    }
  }
})

t.test('bridge 73: no header of a client reaches a content provider', async t => {
  const headers = {
    authorization: 'Bearer client-secret-1',
    'x-api-key': 'client-secret-2',
    'x-goog-api-key': 'client-secret-3',
    cookie: 'session=client-secret-4',
    'x-goog-user-project': 'client-secret-5',
    'x-goog-api-client': 'client-secret-6',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    'x-foo': 'client-secret-7',
    'user-agent': 'client-secret-8'
  }
  for (const family of families) {
    for (const model of [aliases.keyed, aliases.keyless]) {
      for (const isStream of [false, true]) {
        const response = await send(url, family, { model, prompt: 'Hi', isStream, headers })
        t.equal(response.status, 200, response.text)
        t.notMatch(JSON.stringify(last().headers), /client-secret|0af7651916cd/)
      }
    }
  }
})

t.test('bridge 74: an alias without a key is asked without one, below a base URL that has a version', async t => {
  for (const family of families) {
    await ask(url, family, { model: aliases.keyless, prompt: 'Hi' })
    t.equal(last().path, '/google/keyless/v1beta/models/emulator-small:generateContent')
    t.notOk('x-goog-api-key' in last().headers || 'authorization' in last().headers)
  }
})

/** The request of each family that sends an image inside of it. */
function imageRequests(mediaType: string, data: string): Record<string, [path: string, body: object]> {
  const dataUrl = `data:${mediaType};base64,${data}`
  const text = 'What is this?'
  const message = (content: object[]) => ({ messages: [{ role: 'user', content }] })
  return {
    completions: [
      '/v1/chat/completions',
      message([
        { type: 'text', text },
        { type: 'image_url', image_url: { url: dataUrl } }
      ])
    ],
    responses: [
      '/v1/responses',
      {
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_text', text },
              { type: 'input_image', image_url: dataUrl, detail: 'auto' }
            ]
          }
        ]
      }
    ],
    messages: [
      '/v1/messages',
      {
        max_tokens: 100,
        ...message([
          { type: 'text', text },
          { type: 'image', source: { type: 'base64', media_type: mediaType, data } }
        ])
      }
    ]
  }
}

t.test('images reach the provider as inline data, from every family that sends them inside of the request', async t => {
  const data = createPicture()
  for (const [sent, mimeType] of [
    ['image/png', 'image/png'],
    // The provider refuses a media type that is not registered.
    ['image/jpg', 'image/jpeg']
  ] as const) {
    for (const [name, [path, body]] of Object.entries(imageRequests(sent, data))) {
      const response = await post(url + path, { model: aliases.keyed, ...body })
      t.equal(response.status, 200, `${name}: ${response.text}`)
      t.strictSame(
        last().body.contents,
        [{ role: 'user', parts: [{ text: 'What is this?' }, { inlineData: { mimeType, data } }] }],
        `${name}, ${sent}`
      )
    }
  }
})

t.test('structured output keeps its schema, and settings of generation their values', async t => {
  const schema = {
    type: 'object',
    properties: { name: { type: 'string' }, odd: { anyOf: [{ type: 'integer', minimum: 3 }, { type: 'null' }] } },
    required: ['name', 'odd'],
    additionalProperties: false
  }
  const sampling = { temperature: 0.5, top_p: 0.25 }
  const requests: Record<string, object> = {
    completions: {
      ...sampling,
      max_completion_tokens: 99,
      stop: ['END'],
      seed: 7,
      response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } }
    },
    responses: {
      ...sampling,
      max_output_tokens: 99,
      text: { format: { type: 'json_schema', name: 'answer', schema, strict: true } }
    },
    messages: {
      ...sampling,
      max_tokens: 99,
      top_k: 5,
      stop_sequences: ['END'],
      output_config: { format: { type: 'json_schema', schema } }
    }
  }
  const common = { temperature: 0.5, topP: 0.25, maxOutputTokens: 99 }
  const format = { responseMimeType: 'application/json', responseJsonSchema: schema }
  const expected: Record<string, object> = {
    completions: { ...common, ...format, stopSequences: ['END'], seed: 7 },
    responses: { ...common, ...format },
    messages: { ...common, ...format, stopSequences: ['END'], topK: 5 }
  }
  for (const family of families.filter(({ name }) => name !== 'content')) {
    for (const isStream of [false, true]) {
      const more = requests[family.name] ?? {}
      const { text } = await ask(url, family, { model: aliases.keyed, prompt: 'Hi', isStream, more })
      t.strictSame(Object.keys(JSON.parse(text)), ['name', 'odd'])
      t.strictSame(last().body.generationConfig, expected[family.name], family.name)
    }
  }
})

t.test('a wish for reasoning is a level, or a budget for older models, and the thoughts come back', async t => {
  const wishes: Record<string, object> = {
    completions: { reasoning_effort: 'high' },
    responses: { reasoning: { effort: 'high', summary: 'auto' } },
    messages: { max_tokens: 4000, thinking: { type: 'enabled', budget_tokens: 2000 } },
    content: { generationConfig: { thinkingConfig: { thinkingBudget: 5000, includeThoughts: true } } }
  }
  for (const family of families) {
    for (const model of [aliases.keyed, aliases.older]) {
      for (const isStream of [false, true]) {
        const more = wishes[family.name] ?? {}
        const { reasoning, usage } = await ask(url, family, { model, prompt: 'Hi', isStream, more })
        t.match(reasoning, /Repeating it is the right thing to do/, `${family.name}, ${model}`)
        t.ok((usage?.output ?? 0) > 10, 'the thoughts are among the counted tokens')
        t.match(last().body.generationConfig.thinkingConfig, { includeThoughts: true }, family.name)
      }
    }
  }
  for (const [effort, level, budget] of [
    ['low', 'low', Number],
    ['medium', 'medium', Number],
    ['high', 'high', Number]
  ] as const) {
    const body = { messages: [{ role: 'user', content: 'Hi' }], reasoning_effort: effort }
    t.equal((await post(`${url}/v1/chat/completions`, { ...body, model: aliases.keyed })).status, 200)
    t.match(last().body.generationConfig.thinkingConfig.thinkingLevel, new RegExp(`^${level}$`, 'i'))
    t.equal((await post(`${url}/v1/chat/completions`, { ...body, model: aliases.older })).status, 200)
    t.match(last().body.generationConfig.thinkingConfig, { thinkingBudget: budget })
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

t.test('usage and finish reasons are those of the provider, in the words of every family', async t => {
  const words: Record<string, Record<string, string>> = {
    completions: { STOP: 'stop', MAX_TOKENS: 'length', SAFETY: 'content_filter', RECITATION: 'content_filter' },
    responses: {
      STOP: 'completed',
      MAX_TOKENS: 'max_output_tokens',
      SAFETY: 'content_filter',
      RECITATION: 'content_filter'
    },
    messages: { STOP: 'end_turn', MAX_TOKENS: 'max_tokens', SAFETY: 'refusal', RECITATION: 'refusal' },
    content: { STOP: 'STOP', MAX_TOKENS: 'MAX_TOKENS', SAFETY: 'SAFETY', RECITATION: 'RECITATION' }
  }
  for (const family of families) {
    for (const isStream of [false, true]) {
      for (const [word, shown] of Object.entries(words[family.name] ?? {})) {
        const prompt = `[[text:Some words]][[finish:${word}]][[usage:11,5,3]]`
        const outcome = await ask(url, family, { model: aliases.keyless, prompt, isStream })
        t.equal(outcome.finish, shown, `${family.name}: ${word}`)
        t.same(outcome.usage, { input: 11, output: 5, cached: 3 }, family.name)
      }
      const blocked = await send(url, family, { model: aliases.keyless, prompt: '[[refusal:Not this]]', isStream })
      t.equal(blocked.status, 200, `${family.name}: a blocked prompt is an answer`)
      const { finish } = isStream ? family.readStream(blocked) : family.read(blocked)
      if (family.name !== 'content') t.equal(finish, words[family.name]?.SAFETY)
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
    t.equal(headers['x-goog-api-key'], contentKey)
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

t.test('what an alias does not declare is refused before the call, with the field of the client', async t => {
  const before = received().length
  for (const family of families) {
    for (const isStream of [false, true]) {
      const tools = await send(url, family, { model: aliases.plain, prompt: 'Hi', isStream, more: family.tools })
      t.equal(tools.status, 400)
      t.match(family.readFailure(tools), { code: 'unsupported_semantic' })
    }
  }
  const limits: Record<string, object> = {
    completions: { max_tokens: 41 },
    responses: { max_output_tokens: 41 },
    messages: { max_tokens: 41 },
    content: { generationConfig: { maxOutputTokens: 41 } }
  }
  for (const family of families) {
    const more = limits[family.name] ?? {}
    const response = await send(url, family, { model: aliases.small, prompt: 'Hi', more })
    t.equal(response.status, 400, `bridge 75: ${family.name}`)
  }
  t.equal(received().length, before)
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
    t.match(json, { model: aliases.keyed, provider_kind: 'content_compatible', provider_profile_id: 'keyed-content' })
    for (const name of ['text_input', 'streaming', 'function_tools', 'json_schema_output', 'image_input']) {
      t.equal(json.capabilities[name].state, 'supported', `${protocol}: ${name}`)
    }
    for (const name of ['hosted_web_search', 'conversation_state', 'file_input']) {
      t.equal(json.capabilities[name].state, 'unsupported', `${protocol}: ${name}`)
    }
    const plain = await get(`${url}/bridge/capabilities?model=${aliases.plain}&protocol=${protocol}`)
    t.match(plain.json.capabilities.function_tools, { state: 'unsupported', reason_id: 'profile_feature_absent' })
    const cell = matrix.json.cells.find(
      (one: Loose) => one.public_protocol === protocol && one.upstream_provider === 'content_compatible'
    )
    t.match(cell, {
      status: 'technical_preview',
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
