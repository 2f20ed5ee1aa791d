// What is particular to requests on the wire of Anthropic Messages. The embedded upstream refuses
// what the service refuses.

import t from 'tap'
import { signThinking } from '../../../ops/emulator/anthropic/signature.ts'
import { post } from '../../support/client.ts'
import { ask, families, type Loose, send } from './families.ts'
import { messages as provider, startBridge } from './providers/index.ts'

const { gateway, emulator, received } = await startBridge(t)
const { url } = gateway
const { aliases, models, key } = provider
const prompt = '[[text:Hello]][[usage:10,5,4]]'

function last(pathEnd = '/v1/messages'): { headers: Loose; body: Loose } {
  const found = received(provider, 'keyed').findLast(({ path }) => path.endsWith(pathEnd))
  if (found === undefined) throw new Error(`The provider received nothing on ${pathEnd}.`)
  return found
}

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
    const before = received(provider, 'keyed').length
    const response = await post(url + path, body)
    t.equal(response.status, 200, response.text)
    t.equal(response.headers.get('x-gateway-token-count'), null, 'it is no estimate')
    t.equal(received(provider, 'keyed').length - before, 1, path)
    const { headers, body: sent } = last('/count_tokens')
    t.equal(headers['x-api-key'], key)
    t.equal(sent.model, models.keyed)
    const asked = await fetch(`${emulator.anthropicBaseUrl}/v1/messages/count_tokens`, {
      method: 'POST',
      headers: { 'anthropic-version': '2023-06-01' },
      body: JSON.stringify(sent)
    })
    const { input_tokens: expected } = (await asked.json()) as { input_tokens: number }
    t.equal(response.json.input_tokens ?? response.json.totalTokens, expected, path)
  }
  t.match(last('/count_tokens').body.messages, [{ content: [{ text: 'one two' }, { text: 'three' }, {}] }])
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

t.test('an image at an address reaches the provider as a block with the address', async t => {
  const text = 'What is this?'
  const address = 'https://images.example/a.png'
  const requests: Array<[name: string, more: object]> = [
    [
      'completions',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text },
              { type: 'image_url', image_url: { url: address } }
            ]
          }
        ]
      }
    ],
    [
      'responses',
      {
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_text', text },
              { type: 'input_image', image_url: address, detail: 'auto' }
            ]
          }
        ]
      }
    ],
    [
      'messages',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text },
              { type: 'image', source: { type: 'url', url: address } }
            ]
          }
        ]
      }
    ]
  ]
  for (const [name, more] of requests) {
    const family = families.find(one => one.name === name)
    if (family === undefined) throw new Error(`No family ${name}.`)
    await ask(url, family, { model: aliases.keyed, prompt, more })
    t.match(last().body.messages[0].content, [
      { type: 'text', text },
      { type: 'image', source: { type: 'url', url: address } }
    ])
  }
})

t.test('a budget for thinking is left out beside sampling that the service refuses with it', async t => {
  const content = families.find(({ name }) => name === 'content')
  if (content === undefined) throw new Error('There is a content family.')
  const thinkingConfig = { thinkingBudget: 2000, includeThoughts: true }
  for (const isStream of [false, true]) {
    for (const [sampling, thinks, expected = sampling] of [
      // A top_k is left out before the thinking is (decisions.md 78).
      [{ topK: 5 }, true, {}],
      [{ temperature: 1, topP: 0.95, topK: 5 }, true, { topP: 0.95 }],
      [{ temperature: 0.5 }, false],
      [{ topP: 0.5 }, false],
      [{ temperature: 1 }, true],
      [{ topP: 0.95 }, true]
    ] as ReadonlyArray<readonly [sampling: object, thinks: boolean, expected?: object]>) {
      const more = { generationConfig: { ...sampling, thinkingConfig } }
      const outcome = await ask(url, content, { model: aliases.keyed, prompt: 'Hi', isStream, more })
      const { thinking, temperature, top_p: topP, top_k: topK } = last().body
      const name = JSON.stringify(sampling)
      t.equal(outcome.reasoning !== '', thinks, name)
      t.strictSame(thinking?.type, thinks ? 'enabled' : undefined, name)
      const sent = JSON.parse(JSON.stringify({ temperature, topP, topK }))
      t.strictSame(sent, expected, `the sampling: ${name}`)
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
          const { thinking, messages } = last().body
          t.equal(messages.length, 3, 'thinking that nothing follows is not sent')
          t.strictSame(thinking?.type, thinks ? 'enabled' : undefined)
        }
      }
    }
  }
)

t.test('instructions and the user have their own members, and penalties are left out', async t => {
  const more = {
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
      { role: 'developer', content: 'Be kind.' }
    ],
    user: 'u-1'
  }
  const [completions] = families
  if (completions === undefined) throw new Error('No family.')
  await ask(url, completions, { model: aliases.keyed, prompt, more })
  t.match(last().body, {
    system: [
      { type: 'text', text: 'Be brief.' },
      { type: 'text', text: 'Be kind.' }
    ],
    messages: [{ role: 'user', content: 'Hi' }],
    metadata: { user_id: 'u-1' }
  })
  for (const refused of [{ presence_penalty: 1 }, { frequency_penalty: 1 }]) {
    const response = await send(url, completions, { model: aliases.keyed, prompt, more: refused })
    t.equal(response.status, 200, Object.keys(refused).join())
    t.equal(response.headers.get('x-gateway-ignored'), Object.keys(refused)[0])
  }
  await ask(url, completions, { model: aliases.small, prompt })
  t.equal(last().body.max_tokens, 40, 'a limit that the wire demands is within the declared one')
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
  t.strictSame(last().body, { model: models.keyed, max_tokens: 256, ...body })
  const streamed = await send(url, messages, { ...question, isStream: true })
  t.match(streamed.text, /citations_delta/)
  t.match(streamed.text, /web_search_tool_result/)
})
