// What a request of each client protocol becomes on the Anthropic Messages wire: where it goes, with which headers and body, and what comes
// back. The embedded upstream refuses what the service refuses.

import t from 'tap'
import { signThinking } from '../../../ops/emulator/anthropic-signature.ts'
import { post } from '../../support/client.ts'
import { createPicture } from '../../support/upstream.ts'
import { ask, type Family, families, type Loose, send } from './families.ts'
import { messagesAliases as aliases, providerKey, providerModels, startMessagesBridge } from './messages-support.ts'

const { gateway, emulator, received } = await startMessagesBridge(t)
const { url } = gateway

function last(provider: 'keyed' | 'keyless', pathEnd = '/v1/messages'): { headers: Loose; body: Loose } {
  const found = received(provider).findLast(({ path }) => path.endsWith(pathEnd))
  if (found === undefined) throw new Error(`The provider ${provider} received nothing on ${pathEnd}.`)
  return found
}

const prompt = '[[text:Hello]][[usage:10,5,4]]'

t.test('a text of each protocol is exactly this request, with these headers', async t => {
  const messages = [{ role: 'user', content: prompt }]
  for (const family of families) {
    for (const isStream of [false, true]) {
      const outcome = await ask(url, family, { model: aliases.keyed, prompt, isStream })
      t.equal(outcome.text, 'Hello', family.name)
      t.equal(outcome.model, aliases.keyed, family.name)
      t.match(outcome.finish, /^(stop|completed|end_turn|STOP)$/)
      // A client of this protocol reads counts without the cached tokens, as the provider sends them.
      const input = family.name === 'messages' ? 6 : 10
      t.same(outcome.usage, { input, output: 5, cached: 4 }, family.name)
      const { headers, body } = last('keyed')
      const limit = family.name === 'messages' ? 256 : 32_000
      const stream = isStream ? { stream: true } : {}
      t.strictSame(body, { model: providerModels.keyed, max_tokens: limit, messages, ...stream }, family.name)
      const { host, connection: _, 'content-length': length, 'user-agent': agent, ...rest } = headers
      t.equal(host, new URL(emulator.baseUrl).host)
      t.match(length, /^\d+$/)
      t.match(agent, /^llm-gateway/)
      delete rest['accept-encoding']
      t.strictSame(rest, {
        accept: 'text/event-stream, application/json',
        'content-type': 'application/json',
        'anthropic-version': '2023-06-01',
        'x-api-key': providerKey
      })
    }
  }
})

t.test('bridge 73: no header of a client reaches the provider, but the betas of its own protocol', async t => {
  const secrets = {
    authorization: 'Bearer client-secret-1',
    'x-api-key': 'client-secret-2',
    'x-goog-api-key': 'client-secret-3',
    cookie: 'session=client-secret-4',
    'anthropic-version': 'client-secret-5',
    'x-session-id': 'client-secret-6',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    'x-foo': 'client-secret-7',
    'anthropic-dangerous-direct-browser-access': 'client-secret-8',
    'user-agent': 'client-secret-9',
    'anthropic-beta': 'a-beta-2025-01-01'
  }
  for (const family of families) {
    for (const provider of ['keyed', 'keyless'] as const) {
      for (const isStream of [false, true]) {
        const response = await send(url, family, { model: aliases[provider], prompt, isStream, headers: secrets })
        t.equal(response.status, 200, response.text)
        const { headers } = last(provider)
        t.notMatch(JSON.stringify(headers), /client-secret|0af7651916cd/)
        t.equal(headers['anthropic-beta'], family.name === 'messages' ? 'a-beta-2025-01-01' : undefined, family.name)
        t.equal(headers['anthropic-version'], '2023-06-01')
      }
    }
  }
})

t.test('bridge 74: a keyless provider gets no credential', async t => {
  for (const family of families) {
    await ask(url, family, { model: aliases.keyless, prompt })
    const { headers, body } = last('keyless')
    t.notOk('x-api-key' in headers || 'authorization' in headers)
    t.equal(body.model, providerModels.keyless)
  }
})

t.test('bridge 81: tokens are counted by the provider, with one call for a whole request', async t => {
  const tools = [{ name: 'weather', description: 'The weather', input_schema: { type: 'object' } }]
  const messages = [
    { role: 'user', content: 'one two three' },
    { role: 'assistant', content: 'four' },
    { role: 'user', content: [{ type: 'text', text: 'five' }] }
  ]
  const counts: Array<[string, object]> = [
    ['/v1/messages/count_tokens', { model: aliases.keyed, system: 'Be brief.', messages, tools }],
    [
      `/v1beta/models/${aliases.keyed}:countTokens`,
      {
        contents: [
          { role: 'user', parts: [{ text: 'one two' }, { text: 'three' }] },
          { role: 'model', parts: [{ text: 'four' }] }
        ]
      }
    ]
  ]
  for (const [path, body] of counts) {
    const before = received('keyed').length
    const response = await post(url + path, body)
    t.equal(response.status, 200, response.text)
    t.equal(response.headers.get('x-gateway-token-count'), null, 'it is no estimate')
    t.equal(received('keyed').length - before, 1, path)
    const { headers, body: sent } = last('keyed', '/count_tokens')
    t.equal(headers['x-api-key'], providerKey)
    t.equal(sent.model, providerModels.keyed)
    const asked = await fetch(`${emulator.anthropicBaseUrl}/v1/messages/count_tokens`, {
      method: 'POST',
      headers: { 'anthropic-version': '2023-06-01' },
      body: JSON.stringify(sent)
    })
    const { input_tokens: expected } = (await asked.json()) as { input_tokens: number }
    t.equal(response.json.input_tokens ?? response.json.totalTokens, expected, path)
  }
  t.match(last('keyed', '/count_tokens').body.messages, [{ content: [{ text: 'one two' }, { text: 'three' }, {}] }])
  const refused = await post(`${url}/v1/messages/count_tokens`, { model: aliases.keyed, messages: [] })
  t.equal(refused.status, 400)
  for (const [path, body] of counts) {
    const error = { type: 'rate_limit_error', message: 'Slow down' }
    emulator.respondNext({ path: '/count_tokens', body: { type: 'error', error } })
    t.equal((await post(url + path, body)).status, 429, `${path}: an error with status 200`)
  }
})

t.test('the provider has no embeddings: requests for them are refused before any call', async t => {
  const before = emulator.requests.length
  const embed = [
    post(`${url}/v1/embeddings`, { model: aliases.keyed, input: ['a'] }),
    post(`${url}/v1beta/models/${aliases.keyed}:embedContent`, { content: { parts: [{ text: 'a' }] } })
  ]
  for (const response of await Promise.all(embed)) {
    t.equal(response.status, 400, response.text)
    t.match(response.text, /unsupported_semantic/)
  }
  t.equal(emulator.requests.length, before)
})

t.test('images reach the provider as its own blocks, from every protocol', async t => {
  const data = createPicture()
  const text = 'What is this?'
  const dataUrl = `data:image/png;base64,${data}`
  const webUrl = 'https://images.example/a.png'
  const source = { type: 'base64', media_type: 'image/png', data }
  const contents: Record<Family['name'], (isWeb: boolean) => object | undefined> = {
    completions: isWeb => ({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text },
            { type: 'image_url', image_url: { url: isWeb ? webUrl : dataUrl } }
          ]
        }
      ]
    }),
    responses: isWeb => ({
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text },
            { type: 'input_image', image_url: isWeb ? webUrl : dataUrl, detail: 'auto' }
          ]
        }
      ]
    }),
    messages: isWeb => ({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text },
            { type: 'image', source: isWeb ? { type: 'url', url: webUrl } : source }
          ]
        }
      ]
    }),
    content: isWeb =>
      isWeb
        ? undefined
        : { contents: [{ role: 'user', parts: [{ text }, { inlineData: { mimeType: 'image/png', data } }] }] }
  }
  for (const family of families) {
    for (const isWeb of [false, true]) {
      const more = contents[family.name](isWeb)
      if (more === undefined) continue
      const response = await send(url, family, { model: aliases.keyed, prompt, more })
      t.equal(response.status, 200, `${family.name}: ${response.text}`)
      t.match(last('keyed').body.messages, [
        {
          content: [
            { type: 'text', text },
            { type: 'image', source: isWeb ? { type: 'url', url: webUrl } : source }
          ]
        }
      ])
    }
    const more = contents[family.name](false)
    const plain = await send(url, family, { model: aliases.plain, prompt, more: more ?? {} })
    t.equal(plain.status, 400, 'images need a declared feature')
  }
})

t.test('structured output keeps its schema, in every protocol', async t => {
  const schema = {
    type: 'object',
    properties: { name: { type: 'string' }, odd: { anyOf: [{ type: 'integer', minimum: 3 }, { type: 'null' }] } },
    required: ['name', 'odd'],
    additionalProperties: false
  }
  const formats: Record<Family['name'], object> = {
    completions: { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } } },
    responses: { text: { format: { type: 'json_schema', name: 'answer', schema, strict: true } } },
    messages: { output_config: { format: { type: 'json_schema', schema } } },
    content: { generationConfig: { responseMimeType: 'application/json', responseJsonSchema: schema } }
  }
  for (const family of families) {
    for (const isStream of [false, true]) {
      const { text } = await ask(url, family, {
        model: aliases.keyed,
        prompt: 'Hi',
        isStream,
        more: formats[family.name]
      })
      t.strictSame(Object.keys(JSON.parse(text)), ['name', 'odd'])
      t.strictSame(last('keyed').body.output_config, { format: { type: 'json_schema', schema } }, family.name)
    }
  }
})

t.test('a wish for reasoning reaches the provider, and its thinking and the count of its tokens come back', async t => {
  const wishes: Record<Family['name'], object> = {
    completions: { reasoning_effort: 'high' },
    responses: { reasoning: { effort: 'high' } },
    messages: { max_tokens: 4000, thinking: { type: 'enabled', budget_tokens: 2000 } },
    content: { generationConfig: { thinkingConfig: { thinkingBudget: 5000, includeThoughts: true } } }
  }
  const tokenCounts: Record<Family['name'], RegExp> = {
    completions: /"reasoning_tokens":[1-9]/,
    responses: /"reasoning_tokens":[1-9]/,
    messages: /"thinking_tokens":[1-9]/,
    content: /"thoughtsTokenCount":[1-9]/
  }
  for (const family of families) {
    for (const isStream of [false, true]) {
      const question = { model: aliases.keyed, prompt: 'Hi', isStream, more: wishes[family.name] }
      const response = await send(url, family, question)
      t.equal(response.status, 200, response.text)
      const { reasoning } = isStream ? family.readStream(response) : family.read(response)
      t.match(reasoning, /Repeating it is the right thing to do/, family.name)
      t.match(response.text, tokenCounts[family.name])
      const { output_config: config, thinking } = last('keyed').body
      if (family.name === 'completions' || family.name === 'responses') t.strictSame(config, { effort: 'high' })
      else t.match(thinking, { type: 'enabled', budget_tokens: family.name === 'messages' ? 2000 : 5000 })
    }
  }
})

t.test('a budget for thinking is left out beside sampling that the service refuses with it', async t => {
  const content = families.find(({ name }) => name === 'content')
  if (content === undefined) throw new Error('There is a content family.')
  const thinkingConfig = { thinkingBudget: 2000, includeThoughts: true }
  for (const isStream of [false, true]) {
    for (const [sampling, thinks] of [
      [{ topK: 5 }, false],
      [{ temperature: 0.5 }, false],
      [{ topP: 0.5 }, false],
      [{ temperature: 1 }, true],
      [{ topP: 0.95 }, true]
    ] as const) {
      const more = { generationConfig: { ...sampling, thinkingConfig } }
      const outcome = await ask(url, content, { model: aliases.keyed, prompt: 'Hi', isStream, more })
      const { thinking, temperature, top_p: topP, top_k: topK } = last('keyed').body
      const name = JSON.stringify(sampling)
      t.equal(outcome.reasoning !== '', thinks, name)
      t.strictSame(thinking?.type, thinks ? 'enabled' : undefined, name)
      const sent = JSON.parse(JSON.stringify({ temperature, topP, topK }))
      t.strictSame(sent, sampling, `the sampling stays: ${name}`)
    }
  }
})

t.test(
  'a budget is left out for a turn without thinking, also where thinking alone stands behind its results',
  async t => {
    const content = families.find(({ name }) => name === 'content')
    if (content === undefined) throw new Error('There is a content family.')
    const generationConfig = { thinkingConfig: { thinkingBudget: 2000, includeThoughts: true } }
    const user = {
      role: 'user',
      parts: [{ text: '[[reasonform:encrypted]][[reason:because]][[tool:get_weather {}]]' }]
    }
    const first = await send(url, content, {
      model: aliases.keyed,
      prompt: '',
      more: { ...content.tools, contents: [user], generationConfig }
    })
    const parts: Loose[] = first.json.candidates[0].content.parts
    const thought = parts.filter(({ thoughtSignature }) => thoughtSignature !== undefined)
    const call = parts.find(({ functionCall }) => functionCall !== undefined)?.functionCall
    t.equal(thought.length, 1)
    const functionResponse = { id: call.id, name: call.name, response: { output: 'sun' } }
    for (const [turn, thinks] of [
      [parts, true],
      [[{ functionCall: call }], false]
    ] as const) {
      for (const behind of [[], [{ role: 'model', parts: thought }]]) {
        for (const isStream of [false, true]) {
          const contents = [
            user,
            { role: 'model', parts: turn },
            { role: 'user', parts: [{ functionResponse }] },
            ...behind
          ]
          const more = { ...content.tools, contents, generationConfig }
          const outcome = await ask(url, content, { model: aliases.keyed, prompt: '', isStream, more })
          t.match(outcome.text, /The function get_weather returned/)
          const { thinking, messages } = last('keyed').body
          t.equal(messages.length, 3, 'thinking that nothing follows is not sent')
          t.strictSame(thinking?.type, thinks ? 'enabled' : undefined)
        }
      }
    }
  }
)

t.test('stop sequences reach the provider, and the text ends in front of them', async t => {
  const stops: Record<Family['name'], object> = {
    completions: { stop: ['two'] },
    responses: {},
    messages: { stop_sequences: ['two'] },
    content: { generationConfig: { stopSequences: ['two'] } }
  }
  for (const family of families) {
    if (family.name === 'responses') continue
    for (const isStream of [false, true]) {
      const question = { model: aliases.keyed, prompt: '[[chunks:one t|wo three]]', isStream, more: stops[family.name] }
      const outcome = await ask(url, family, question)
      t.equal(outcome.text, 'one ', family.name)
      t.match(outcome.finish, /^(stop|stop_sequence|STOP)$/)
      t.strictSame(last('keyed').body.stop_sequences, ['two'])
    }
  }
})

t.test('instructions, sampling and the user have their own members', async t => {
  const more = {
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
      { role: 'developer', content: 'Be kind.' }
    ],
    temperature: 0.5,
    top_p: 0.9,
    max_completion_tokens: 50,
    user: 'u-1'
  }
  const [completions] = families
  if (completions === undefined) throw new Error('No family.')
  await ask(url, completions, { model: aliases.keyed, prompt, more })
  t.match(last('keyed').body, {
    system: [
      { type: 'text', text: 'Be brief.' },
      { type: 'text', text: 'Be kind.' }
    ],
    messages: [{ role: 'user', content: 'Hi' }],
    temperature: 0.5,
    top_p: 0.9,
    max_tokens: 50,
    metadata: { user_id: 'u-1' }
  })
  for (const refused of [{ presence_penalty: 1 }, { frequency_penalty: 1 }, { seed: 1 }]) {
    const response = await send(url, completions, { model: aliases.keyed, prompt, more: refused })
    t.equal(response.status, 400, Object.keys(refused).join())
    t.match(completions.readFailure(response), { code: 'unsupported_semantic', param: Object.keys(refused)[0] })
  }
  const limited = await send(url, completions, { model: aliases.small, prompt, more: { max_tokens: 41 } })
  t.equal(limited.status, 400)
  await ask(url, completions, { model: aliases.small, prompt })
  t.equal(last('keyed').body.max_tokens, 40, 'a limit that the wire demands is within the declared one')
})

t.test('the tool choices of every protocol reach the provider', async t => {
  const required: Record<Family['name'], object> = {
    completions: { tool_choice: 'required' },
    responses: { tool_choice: 'required' },
    messages: { tool_choice: { type: 'any' } },
    content: { toolConfig: { functionCallingConfig: { mode: 'ANY' } } }
  }
  const named: Record<Family['name'], object> = {
    completions: { tool_choice: { type: 'function', function: { name: 'clock' } } },
    responses: { tool_choice: { type: 'function', name: 'clock' } },
    messages: { tool_choice: { type: 'tool', name: 'clock' } },
    content: { toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['clock'] } } }
  }
  for (const family of families) {
    for (const isStream of [false, true]) {
      const question = { model: aliases.keyed, prompt: 'go', isStream }
      const any = await ask(url, family, { ...question, more: { ...family.tools, ...required[family.name] } })
      t.equal(any.calls[0]?.name, 'weather', family.name)
      t.strictSame(last('keyed').body.tool_choice, { type: 'any' })
      const one = await ask(url, family, { ...question, more: { ...family.tools, ...named[family.name] } })
      t.equal(one.calls[0]?.name, 'clock', family.name)
      t.strictSame(last('keyed').body.tool_choice, { type: 'tool', name: 'clock' })
    }
  }
})

t.test('a messages client loses nothing: its own tools, cache marks and citations pass', async t => {
  const messages = families.find(({ name }) => name === 'messages')
  if (messages === undefined) throw new Error('No family.')
  const body = {
    system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } }],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'One', cache_control: { type: 'ephemeral' } }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm', signature: signThinking('Hm') },
          { type: 'text', text: 'Two' }
        ]
      },
      { role: 'user', content: 'Find it [[builtin:web_search]]' }
    ],
    tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }],
    context_management: { edits: [] }
  }
  const headers = { 'anthropic-beta': 'context-management-2025-06-27' }
  const question = { model: aliases.keyed, prompt: '', more: body, headers }
  const whole = await send(url, messages, question)
  t.equal(whole.status, 200, whole.text)
  t.match(whole.json, {
    model: aliases.keyed,
    content: [
      { type: 'server_tool_use', name: 'web_search' },
      { type: 'web_search_tool_result', content: [{ url: 'https://example.test/first' }] },
      { type: 'text', citations: [{ type: 'web_search_result_location' }] }
    ],
    usage: { server_tool_use: { web_search_requests: 1 } }
  })
  t.strictSame(last('keyed').body, { model: providerModels.keyed, max_tokens: 256, ...body })
  const streamed = await send(url, messages, { ...question, isStream: true })
  t.match(streamed.text, /citations_delta/)
  t.match(streamed.text, /web_search_tool_result/)
})
