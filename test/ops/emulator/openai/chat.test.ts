// The OpenAI chat-completions wire, through the official SDK where the SDK can send the request and shows the response.
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { createEmulator, type EmulatorOptions } from '../../../../ops/emulator/server.ts'
import { clock, readFrames, readPayloads, send, weather } from '../support.ts'

async function start(t: Test, options: EmulatorOptions = {}) {
  const emulator = await createEmulator(options)
  t.teardown(() => emulator.close())
  const client = new OpenAI({ apiKey: 'key', baseURL: emulator.chatBaseUrl, maxRetries: 0 })
  const post = (body: unknown) => send(`${emulator.chatBaseUrl}/chat/completions`, { body })
  return { emulator, client, post }
}

const tools = [weather, clock].map(definition => ({ type: 'function' as const, function: definition }))
const twoCalls = '[[tool:get_weather {"city":"Oslo"}]][[tool:get_time {}]]'

t.test('a plain response has the form that the SDK expects', async t => {
  const { client } = await start(t)
  const response = await client.chat.completions.create({
    model: 'any-model',
    messages: [{ role: 'user', content: [{ type: 'text', text: '[[text:Hello]]' }] }]
  })
  t.match(response, {
    object: 'chat.completion',
    model: 'any-model',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello', refusal: null }, finish_reason: 'stop' }],
    usage: { completion_tokens: 1, prompt_tokens_details: { cached_tokens: 0 } }
  })
})

t.test('the SDK helper reads a stream, which has usage only when the request asks for it', async t => {
  const { client, post } = await start(t)
  const stream = client.chat.completions.stream({
    model: 'm',
    messages: [{ role: 'user', content: '[[chunks:a|b|c]][[usage:3,2,1]]' }],
    stream_options: { include_usage: true }
  })
  const final = await stream.finalChatCompletion()
  t.equal(final.choices[0]?.message.content, 'abc')
  t.match(final.usage, {
    prompt_tokens: 3,
    completion_tokens: 2,
    total_tokens: 5,
    prompt_tokens_details: { cached_tokens: 1 }
  })
  const plain = await post({ model: 'm', stream: true, messages: [{ role: 'user', content: 'Hi' }] })
  t.notOk(plain.text.includes('usage'))
  t.equal(readFrames(plain.text).at(-1)?.data, '[DONE]')
})

t.test('several calls are in one response; in a stream their arguments are sent in fragments', async t => {
  const { client } = await start(t)
  const request = { model: 'm', messages: [{ role: 'user' as const, content: twoCalls }], tools }
  const plain = await client.chat.completions.create(request)
  t.equal(plain.choices[0]?.finish_reason, 'tool_calls')
  t.equal(plain.choices[0]?.message.content, null)
  t.match(plain.choices[0]?.message.tool_calls, [
    { id: /^call_/, type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } },
    { function: { name: 'get_time', arguments: '{}' } }
  ])
  const streamed = await client.chat.completions.stream(request).finalChatCompletion()
  t.match(streamed.choices[0]?.message.tool_calls, [
    { function: { arguments: '{"city":"Oslo"}' } },
    { function: { name: 'get_time' } }
  ])
  const one = await client.chat.completions.create({ ...request, parallel_tool_calls: false })
  t.equal(one.choices[0]?.message.tool_calls?.length, 1)
})

t.test('the tool choice forces, forbids and requires calls', async t => {
  const { client } = await start(t)
  const call = async (choice: OpenAI.ChatCompletionToolChoiceOption) => {
    const messages = [{ role: 'user' as const, content: 'Go' }]
    const response = await client.chat.completions.create({ model: 'm', messages, tools, tool_choice: choice })
    return response.choices[0]?.message.tool_calls?.map(entry => (entry.type === 'function' ? entry.function.name : ''))
  }
  t.same(await call('required'), ['get_weather'])
  t.same(await call({ type: 'function', function: { name: 'get_time' } }), ['get_time'])
  t.same(await call('none'), undefined)
  await t.rejects(call({ type: 'function', function: { name: 'other' } }), { message: /^400 / })
})

t.test('tool results are matched to their calls, and the response repeats them', async t => {
  const { client } = await start(t)
  const call = { id: 'c1', type: 'function' as const, function: { name: 'get_time', arguments: '{}' } }
  const ask = (id: string) =>
    client.chat.completions.create({
      model: 'm',
      messages: [
        { role: 'developer', content: 'x' },
        { role: 'user', content: 'Time?' },
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: id, content: 'noon' }
      ]
    })
  t.equal((await ask('c1')).choices[0]?.message.content, 'The function get_time returned noon.')
  await t.rejects(ask('c2'), { message: /^400 / })
})

t.test('output schemas, reasoning and finish reasons are supported', async t => {
  const { client, post } = await start(t)
  const format = {
    type: 'json_schema' as const,
    json_schema: { name: 'x', schema: { type: 'object', properties: { a: { const: 1 } } } }
  }
  const messages = [{ role: 'user' as const, content: 'Go' }]
  const response = await client.chat.completions.create({ model: 'm', messages, response_format: format })
  t.same(JSON.parse(response.choices[0]?.message.content ?? ''), { a: 1 })
  const object = await client.chat.completions.create({
    model: 'm',
    messages,
    response_format: { type: 'json_object' }
  })
  t.same(JSON.parse(object.choices[0]?.message.content ?? ''), { answer: 'example' })
  const blocked = JSON.parse(
    (await post({ model: 'm', messages: [{ role: 'user', content: '[[finish:blacklist]][[reason:r]]' }] })).text
  )
  t.match(blocked.choices[0], { finish_reason: 'content_filter', message: { reasoning_content: 'r' } })
})

t.test('errors have the envelope of this wire, inside a stream too', async t => {
  const { client, post } = await start(t)
  const ask = (content: string, model = 'm') =>
    client.chat.completions.create({ model, messages: [{ role: 'user', content }] })
  await t.rejects(ask('[[error:429 retry=1]]'), { status: 429, code: 'rate_limit_exceeded' })
  await t.rejects(ask('[[error:500 message=broken]]'), { status: 500, message: '500 broken', type: 'server_error' })
  await t.rejects(ask('Hi', 'NonExistentModel'), { status: 404, code: 'model_not_found' })
  const html = await post({ model: 'm', messages: [{ role: 'user', content: '[[error:502]]' }] })
  t.equal(html.headers['content-type'], 'text/html')
  const stream = await post({ model: 'm', stream: true, messages: [{ role: 'user', content: '[[errframe]]' }] })
  t.match(readPayloads(stream.text).at(-1), { error: { message: 'Internal Server Error', type: 'server_error' } })
})

t.test('malformed requests are refused', async t => {
  const { post } = await start(t)
  const user = { role: 'user', content: 'Hi' }
  const cases: Array<Record<string, unknown>> = [
    { model: '' },
    { messages: [] },
    { messages: [{ role: 'robot', content: 'x' }] },
    { messages: [{ role: 'user', content: null }] },
    { messages: [{ role: 'user', content: [{ text: 'no type' }] }] },
    { messages: [user, { role: 'assistant', tool_calls: [{ id: 'c', function: { name: 'f', arguments: {} } }] }] },
    { tools: [weather] },
    { tool_choice: 'required' },
    { response_format: { type: 'json_schema', json_schema: {} } }
  ]
  for (const change of cases) {
    const response = await post({ model: 'm', messages: [user], ...change })
    t.equal(response.status, 400, JSON.stringify(change))
    t.ok(JSON.parse(response.text).error.message)
  }
})

t.test('models and embeddings have endpoints', async t => {
  const { client } = await start(t)
  t.match((await client.models.list()).data, [{ id: 'emulator-small', object: 'model' }])
  t.equal((await client.models.retrieve('emulator-large')).id, 'emulator-large')
  await t.rejects(client.models.retrieve('other'), { message: /^404 / })
  const input = ['one', 'two']
  const packed = await client.embeddings.create({ model: 'e', input, dimensions: 8 })
  const plain = await client.embeddings.create({ model: 'e', input, dimensions: 8, encoding_format: 'float' })
  t.same(
    packed.data.map(item => [...item.embedding]),
    plain.data.map(item => item.embedding)
  )
  t.equal(plain.data[0]?.embedding.length, 8)
  t.not(plain.data[0]?.embedding[0], plain.data[1]?.embedding[0])
})

t.test('an API key is required only when the setting has one', async t => {
  const { client, emulator } = await start(t, { chatApiKey: 'other' })
  await t.rejects(client.models.list(), { status: 401, code: 'invalid_api_key' })
  emulator.configure({ chatApiKey: 'key' })
  await t.resolves(client.models.list())
})
