// The Anthropic Messages wire, through the official SDK where the SDK can send the request and shows the response.
import Anthropic from '@anthropic-ai/sdk'
import t, { type Test } from 'tap'
import { signThinking } from '../../../../ops/emulator/anthropic/signature.ts'
import { createEmulator, type EmulatorOptions } from '../../../../ops/emulator/server.ts'
import { readFrames, send } from '../support.ts'

async function start(t: Test, options: EmulatorOptions = {}) {
  const emulator = await createEmulator(options)
  t.teardown(() => emulator.close())
  const key = options.chatApiKey ?? 'key'
  const client = new Anthropic({ apiKey: key, baseURL: emulator.anthropicBaseUrl, maxRetries: 0, authToken: null })
  const headers = { 'x-api-key': key, 'anthropic-version': '2023-06-01' }
  const post = (body: unknown, more: Record<string, string> = {}) =>
    send(`${emulator.anthropicBaseUrl}/v1/messages`, { body, headers: { ...headers, ...more } })
  return { emulator, client, post, headers }
}

const weather = {
  name: 'get_weather',
  input_schema: { type: 'object' as const, properties: { city: { const: 'Oslo' } } }
}
const clock = { name: 'get_time', description: 'The time.', input_schema: { type: 'object' as const } }
const twoCalls = '[[tool:get_weather {"city":"Oslo"}]][[tool:get_time {}]]'

function ask(content: string): Anthropic.MessageCreateParamsNonStreaming {
  return { model: 'any-model', max_tokens: 100, messages: [{ role: 'user', content }] }
}

t.test('a plain response has the form that the SDK expects', async t => {
  const { client } = await start(t)
  const response = await client.messages.create(ask('[[text:Hello]][[usage:19,8,5]]'))
  t.match(response, {
    id: /^msg_01/,
    type: 'message',
    role: 'assistant',
    model: 'any-model',
    content: [{ type: 'text', text: 'Hello' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 14, cache_read_input_tokens: 5, output_tokens: 8 }
  })
})

t.test('a stream has the events of the service in order, each with its name', async t => {
  const { client, post } = await start(t)
  const final = await client.messages.stream(ask('[[chunks:a|b]][[reason:Hm]]')).finalMessage()
  t.match(final.content, [
    { type: 'thinking', thinking: 'Hm', signature: signThinking('Hm') },
    { type: 'text', text: 'ab' }
  ])
  const raw = await post({ ...ask('[[chunks:a|b]]'), stream: true })
  const frames = readFrames(raw.text)
  t.same(
    frames.map(frame => frame.event),
    [
      'message_start',
      'content_block_start',
      'ping',
      'content_block_delta',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop'
    ]
  )
  t.ok(frames.every(({ event, data }) => JSON.parse(data).type === event))
})

t.test('calls are blocks; in a stream their arguments are sent in fragments', async t => {
  const { client } = await start(t)
  const request = { ...ask(twoCalls), tools: [weather, clock] }
  const plain = await client.messages.create(request)
  const calls = [
    { type: 'tool_use', id: /^toolu_01/, name: 'get_weather', input: { city: 'Oslo' } },
    { type: 'tool_use', id: /^toolu_01/, name: 'get_time', input: {} }
  ]
  t.equal(plain.stop_reason, 'tool_use')
  t.match(plain.content, calls)
  t.match((await client.messages.stream(request).finalMessage()).content, calls)
  const single = { type: 'auto' as const, disable_parallel_tool_use: true }
  t.equal((await client.messages.create({ ...request, tool_choice: single })).content.length, 1)
})

t.test('the tool choice forces, forbids and requires calls', async t => {
  const { client } = await start(t)
  const call = async (choice: Anthropic.ToolChoice) => {
    const response = await client.messages.create({ ...ask('Go'), tools: [weather, clock], tool_choice: choice })
    return response.content.map(block => (block.type === 'tool_use' ? block.name : block.type))
  }
  t.same(await call({ type: 'any' }), ['get_weather'])
  t.same(await call({ type: 'tool', name: 'get_time' }), ['get_time'])
  t.same(await call({ type: 'none' }), ['text'])
  await t.rejects(call({ type: 'tool', name: 'other' }), { message: /^400 / })
})

t.test('tool results are matched to their calls, and the response repeats them', async t => {
  const { client } = await start(t)
  const response = await client.messages.create({
    ...ask('Time?'),
    tools: [clock],
    messages: [
      { role: 'user', content: 'Time?' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'get_time', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: [{ type: 'text', text: 'noon' }] }] }
    ]
  })
  t.match(response.content, [{ text: 'The function get_time returned noon.' }])
})

t.test('output schemas, thinking, stop sequences and stop reasons are supported', async t => {
  const { client } = await start(t)
  const schema = { type: 'object', properties: { a: { const: 1 } } }
  const formatted = await client.messages.create({
    ...ask('Go'),
    output_config: { effort: 'low', format: { type: 'json_schema', schema } }
  })
  const [thought, answer] = formatted.content
  t.equal(thought?.type, 'thinking', 'an effort brings thinking')
  t.same(JSON.parse(answer?.type === 'text' ? answer.text : ''), { a: 1 })
  const adaptive = await client.messages.create({ ...ask('Go'), thinking: { type: 'adaptive' } })
  t.match(adaptive.content, [{ type: 'thinking' }, { type: 'text' }])
  t.ok((adaptive.usage.output_tokens_details?.thinking_tokens ?? 0) > 0)
  const omitted = await client.messages.create({
    ...ask('[[reason:Hm]]'),
    thinking: { type: 'adaptive', display: 'omitted' }
  })
  t.match(omitted.content, [{ type: 'thinking', thinking: '', signature: signThinking('Hm') }, {}])
  const stopped = { ...ask('[[chunks:one t|wo three]]'), stop_sequences: ['three', 'two'] }
  const expected = { content: [{ text: 'one ' }], stop_reason: 'stop_sequence', stop_sequence: 'two' }
  t.match(await client.messages.create(stopped), expected)
  t.match(await client.messages.stream(stopped).finalMessage(), expected)
  t.match(await client.messages.create({ ...ask('a b c d e f'), max_tokens: 2 }), { stop_reason: 'max_tokens' })
  const refused = await client.messages.create(ask('[[refusal:No.]]'))
  t.match(refused, { content: [{ text: 'No.' }], stop_reason: 'refusal', stop_details: { type: 'refusal' } })
})

t.test('a directive runs a search of the service, with its sources as citations', async t => {
  const { client } = await start(t)
  const request = {
    ...ask('Find it [[builtin:web_search]]'),
    tools: [{ type: 'web_search_20250305' as const, name: 'web_search' as const }]
  }
  const expected = [
    { type: 'server_tool_use', name: 'web_search' },
    { type: 'web_search_tool_result', content: [{ url: 'https://example.test/first' }, {}] },
    { type: 'text', citations: [{ type: 'web_search_result_location', url: 'https://example.test/first' }, {}] }
  ]
  t.match((await client.messages.create(request)).content, expected)
  t.match((await client.messages.stream(request).finalMessage()).content, expected)
})

t.test('the history may hold what this upstream issued', async t => {
  const { client } = await start(t)
  const request = { ...ask(`[[reason:Hm]][[reasonform:encrypted]]${twoCalls}`), tools: [weather, clock] }
  for (const form of ['encrypted', 'content']) {
    const messages: Anthropic.MessageParam[] = [
      { role: 'user', content: `[[reason:Hm]][[reasonform:${form}]]${twoCalls}` }
    ]
    const first = await client.messages.create({ ...request, messages })
    const results = first.content
      .filter(block => block.type === 'tool_use')
      .map(block => ({ type: 'tool_result' as const, tool_use_id: block.id, content: '{"ok":true}' }))
    const second = await client.messages.create({
      ...request,
      thinking: { type: 'enabled', budget_tokens: 1024 },
      max_tokens: 2000,
      messages: [...messages, { role: 'assistant', content: first.content }, { role: 'user', content: results }]
    })
    t.equal(second.stop_reason, 'end_turn', form)
  }
})

t.test('errors have the envelope of this wire, inside a stream too', async t => {
  const { client, post } = await start(t)
  await t.rejects(client.messages.create(ask('[[error:429 retry=1]]')), { message: /^429 .*rate_limit_error/ })
  await t.rejects(client.messages.create(ask('[[error:529 message=busy]]')), { message: /^529 .*overloaded_error/ })
  await t.rejects(client.messages.create({ ...ask('Hi'), model: 'NonExistentModel' }), { message: /^404 / })
  await t.rejects(client.messages.stream(ask('[[errframe]]')).finalMessage(), /Internal Server Error/)
  const html = await post(ask('[[error:502]]'))
  t.equal(html.headers['content-type'], 'text/html')
  const broken = await post(ask('[[malformed:invalid_usage]]'))
  t.match(JSON.parse(broken.text), { usage: { input_tokens: -1 } })
})

t.test('models are listed and found, and prompts are counted', async t => {
  const { client } = await start(t)
  const ids: string[] = []
  for await (const model of client.models.list({ limit: 1 })) ids.push(model.id)
  t.same(ids, ['emulator-large', 'emulator-small'])
  t.match(await client.models.retrieve('emulator-small'), { id: 'emulator-small', type: 'model' })
  await t.rejects(client.models.retrieve('other'), { message: /^404 / })
  const { model, messages } = ask('one two three')
  const counted = await client.messages.countTokens({ model, messages, tools: [clock] })
  const { usage } = await client.messages.create({ ...ask('one two three'), tools: [clock] })
  t.equal(counted.input_tokens, usage.input_tokens)
  await t.rejects(client.messages.countTokens({ model, messages: [] }), { message: /^400 / })
})

t.test('the key and the version are checked; a provider with a name has a key of its own', async t => {
  const { emulator, headers } = await start(t, { chatApiKey: 'k1', chatApiKeys: { other: 'k2', keyless: null } })
  const call = (path: string, more: Record<string, string>) =>
    send(`${emulator.anthropicBaseUrl}${path}`, { body: ask('Hi'), headers: { ...headers, ...more } })
  t.equal((await call('/v1/messages', {})).status, 200)
  const wrong = await call('/v1/messages', { 'x-api-key': 'k2' })
  t.equal(wrong.status, 401)
  t.match(JSON.parse(wrong.text), { type: 'error', error: { type: 'authentication_error' }, request_id: /^req_/ })
  t.equal((await call('/other/v1/messages', { 'x-api-key': 'k2' })).status, 200)
  t.equal((await call('/keyless/v1/messages', {})).status, 401)
  const unversioned = { body: ask('Hi'), headers: { 'x-api-key': 'k1' } }
  t.match(await send(`${emulator.anthropicBaseUrl}/v1/messages`, unversioned), {
    status: 400,
    text: /anthropic-version/
  })
  t.equal(emulator.stats.unauthorized, 2)
})

const user = { role: 'user', content: 'Hi' }
const toolCall = (id: string) => ({
  role: 'assistant',
  content: [{ type: 'tool_use', id, name: 'get_time', input: {} }]
})
const toolResult = (...ids: string[]) => ({
  role: 'user',
  content: ids.map(id => ({ type: 'tool_result', tool_use_id: id, content: 'x' }))
})
const thought = (signature: string) => ({
  role: 'assistant',
  content: [
    { type: 'thinking', thinking: 'Hm', signature },
    { type: 'text', text: 'x' }
  ]
})

t.test('requests that the service refuses are refused', async t => {
  const { post } = await start(t)
  const refused: Array<[string, Record<string, unknown>]> = [
    ['no model', { model: '' }],
    ['no limit', { max_tokens: undefined }],
    ['no messages', { messages: [] }],
    ['an unknown member', { presence_penalty: 1 }],
    ['a member without its beta', { context_management: {} }],
    ['a wrong temperature', { temperature: 1.5 }],
    ['an unknown role', { messages: [{ role: 'tool', content: 'x' }] }],
    ['an empty text', { messages: [{ role: 'user', content: '' }] }],
    ['an empty text block', { messages: [{ role: 'user', content: [{ type: 'text', text: '' }] }] }],
    ['a blank text block', { messages: [{ role: 'user', content: [{ type: 'text', text: ' \n' }] }] }],
    ['an unknown block', { messages: [{ role: 'user', content: [{ type: 'input_text', text: 'x' }] }] }],
    ['an unknown member of a block', { messages: [{ role: 'user', content: [{ type: 'text', text: 'x', id: '1' }] }] }],
    [
      'an image of another type',
      {
        messages: [
          {
            role: 'user',
            content: [{ type: 'image', source: { type: 'base64', media_type: 'image/bmp', data: 'AAAA' } }]
          }
        ]
      }
    ],
    ['a blank at the end of the answer to continue', { messages: [user, { role: 'assistant', content: 'So ' }] }],
    ['a call without a result', { messages: [user, toolCall('a')], tools: [clock] }],
    [
      'a call whose result is not behind it',
      { messages: [user, toolCall('a'), user, toolCall('b'), toolResult('a', 'b')], tools: [clock] }
    ],
    ['a result without a call', { messages: [user, toolResult('a')], tools: [clock] }],
    [
      'a result behind a text',
      {
        messages: [
          user,
          toolCall('a'),
          { role: 'user', content: [{ type: 'text', text: 'x' }, ...toolResult('a').content] }
        ],
        tools: [clock]
      }
    ],
    ['an id with other letters', { messages: [user, toolCall('a#1'), toolResult('a#1')], tools: [clock] }],
    [
      'an id twice',
      {
        messages: [user, toolCall('a'), toolResult('a'), toolCall('a'), toolResult('a')],
        tools: [clock]
      }
    ],
    ['calls without tools', { messages: [user, toolCall('a'), toolResult('a')] }],
    ['a foreign signature', { messages: [user, thought('other'), user] }],
    ['the signature of another text', { messages: [user, thought(signThinking('Ha')), user] }],
    [
      'redacted thinking of another upstream',
      {
        messages: [
          user,
          {
            role: 'assistant',
            content: [
              { type: 'redacted_thinking', data: 'x' },
              { type: 'text', text: 'x' }
            ]
          },
          user
        ]
      }
    ],
    [
      'thinking at the end of a turn',
      {
        messages: [
          user,
          { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm', signature: signThinking('Hm') }] },
          user
        ]
      }
    ],
    [
      'a turn without its thinking',
      {
        messages: [user, toolCall('a'), toolResult('a')],
        tools: [clock],
        max_tokens: 2000,
        thinking: { type: 'enabled', budget_tokens: 1024 }
      }
    ],
    ['a budget above the limit', { thinking: { type: 'enabled', budget_tokens: 1024 } }],
    ['a choice without tools', { tool_choice: { type: 'auto' } }],
    ['a tool name with other letters', { tools: [{ ...clock, name: 'get.time' }] }],
    ['two tools of a name', { tools: [clock, clock] }],
    ['a schema without a type', { tools: [{ name: 'f', input_schema: {} }] }],
    ['an unknown effort', { output_config: { effort: 'minimal' } }],
    ['a format without a schema', { output_config: { format: { type: 'json_schema' } } }],
    ['a blank stop sequence', { stop_sequences: ['\n'] }],
    ['unknown metadata', { metadata: { trace: 'x' } }],
    [
      'five marks of the cache',
      {
        messages: [
          {
            role: 'user',
            content: Array.from({ length: 5 }, () => ({
              type: 'text',
              text: 'x',
              cache_control: { type: 'ephemeral' }
            }))
          }
        ]
      }
    ]
  ]
  for (const [name, change] of refused) {
    const response = await post({ ...ask('Hi'), ...change })
    t.equal(response.status, 400, name)
    t.match(JSON.parse(response.text), { type: 'error', error: { type: 'invalid_request_error', message: /./ } }, name)
  }
})

t.test('requests that the service accepts are accepted', async t => {
  const { post } = await start(t)
  const accepted: Array<[string, Record<string, unknown>]> = [
    ['two messages of a role', { messages: [user, user, { role: 'assistant', content: 'x' }, user] }],
    ['instructions between messages', { messages: [user, { role: 'system', content: 'x' }, user] }],
    ['an answer to continue', { messages: [user, { role: 'assistant', content: 'So' }] }],
    [
      'results over two messages',
      {
        messages: [
          user,
          { role: 'assistant', content: [...toolCall('a').content, ...toolCall('b').content] },
          toolResult('b'),
          toolResult('a')
        ],
        tools: [clock]
      }
    ],
    [
      'a signature without the text',
      {
        messages: [
          user,
          {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: '', signature: signThinking('Hm') },
              { type: 'text', text: 'x' }
            ]
          },
          user
        ]
      }
    ],
    ['marks of the cache', { system: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1h' } }] }],
    [
      'an image at a URL',
      {
        messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'url', url: 'https://e.test/a.png' } }] }]
      }
    ]
  ]
  for (const [name, change] of accepted) {
    t.equal((await post({ ...ask('Hi'), ...change })).status, 200, name)
  }
  const beta = await post(
    { ...ask('Hi'), context_management: {} },
    { 'anthropic-beta': 'context-management-2025-06-27' }
  )
  t.equal(beta.status, 200, 'a member with its beta')
})

t.test('newer models refuse a temperature beside top_p', async t => {
  const { post } = await start(t)
  const both = { temperature: 1, top_p: 0.9 }
  t.equal((await post({ ...ask('hi'), ...both })).status, 200)
  for (const body of [{ ...ask('hi'), model: 'claude-sonnet-4-5' }, ask('[[strict:temperature]]')]) {
    const refused = await post({ ...body, ...both })
    t.equal(refused.status, 400)
    t.match(refused.text, 'cannot both be specified')
    t.equal((await post({ ...body, temperature: 1 })).status, 200)
  }
  const effort = await post({ ...ask('[[strict:noeffort]]'), output_config: { effort: 'low' } })
  t.equal(effort.status, 400)
})

t.test('a local server ends its blocks at the end of the stream', async t => {
  const { client, post } = await start(t)
  for (const [model, prompt] of [
    ['llama-4', '[[reason:Hm]][[text:ab]]'],
    ['any-model', '[[shape:llama.cpp]][[reason:Hm]][[text:ab]]']
  ] as const) {
    const raw = await post({ ...ask(prompt), model, stream: true })
    const types = readFrames(raw.text).map(({ event, data }) => `${event} ${JSON.parse(data).index ?? ''}`.trim())
    t.same(types.slice(-6), [
      'content_block_delta 1',
      'content_block_delta 0',
      'content_block_stop 0',
      'content_block_stop 1',
      'message_delta',
      'message_stop'
    ])
    const final = await client.messages.stream({ ...ask(prompt), model }).finalMessage()
    t.match(final.content, [{ thinking: 'Hm', signature: '' }, { text: 'ab' }])
  }
})

t.test('services that do not sign their thinking want it back', async t => {
  const { post } = await start(t)
  for (const model of ['deepseek-reasoner', 'kimi-k2']) {
    const body = { ...ask(`[[reason:Hm]]${twoCalls}`), model, tools: [weather, clock] }
    const first = JSON.parse((await post(body)).text)
    t.match(first.content, [{ type: 'thinking', thinking: 'Hm', signature: '' }, { type: 'tool_use' }])
    const results = (content: Array<{ type: string; id?: string }>) =>
      content.flatMap(({ type, id }) => (type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: id }] : []))
    const next = (content: Array<{ type: string; id?: string }>, more: object = {}) =>
      post({
        ...body,
        ...more,
        messages: [...body.messages, { role: 'assistant', content }, { role: 'user', content: results(content) }]
      })
    t.equal((await next(first.content)).status, 200)
    const lost = await next(first.content.slice(1))
    t.equal(lost.status, 400)
    t.match(lost.text, 'must be passed back')
    t.equal((await next(first.content.slice(1), { thinking: { type: 'disabled' } })).status, 200)
    t.equal(
      (await next([{ ...first.content[0], signature: signThinking('Hm') }, ...first.content.slice(1)])).status,
      400
    )
  }
})
