// The v2 chat wire: messages of parts, named events, built-in tools, threads, state ids, parallel calls.
import t from 'tap'
import { clock, joinTextV2, readFrames, readPayloads, startClient, weather } from '../support.ts'

const functions = [{ functions: { specifications: [weather, clock] } }]
const user = { role: 'user', content: [{ text: 'Hi' }] }
const stateForm = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/

t.test('a plain response is one assistant message with a text part', async t => {
  const { chatV2 } = await startClient(t, { now: () => 1_767_225_600_000 })
  const body = JSON.parse((await chatV2('[[text:Packed.]]')).text)
  t.same(body, {
    model: 'GigaChat-2-Max:2.0.28.2',
    created_at: 1_767_225_600,
    messages: [{ role: 'assistant', content: [{ text: 'Packed.' }] }],
    finish_reason: 'stop',
    usage: {
      input_tokens: body.usage.input_tokens,
      input_tokens_details: { prompt_tokens: body.usage.input_tokens, cached_tokens: 0 },
      output_tokens: 2,
      total_tokens: body.usage.input_tokens + 2
    }
  })
})

t.test('a stream has named events and no end marker', async t => {
  const { chatV2 } = await startClient(t)
  const response = await chatV2('[[chunks:Pack|ed]]', { stream: true })
  t.equal(response.headers['content-type'], 'text/event-stream')
  const frames = readFrames(response.text)
  t.same(
    frames.map(frame => frame.event),
    ['response.message.delta', 'response.message.delta', 'response.message.done']
  )
  const payloads = readPayloads(response.text)
  t.same(payloads[1].messages, [{ role: 'assistant', content: [{ text: 'ed' }] }])
  t.notOk('messages' in payloads[2])
  t.match(payloads[2], { finish_reason: 'stop', usage: { output_tokens: 1 } })
})

t.test('directives are found in every text part of a message', async t => {
  const { chatV2 } = await startClient(t)
  const messages = [
    { role: 'user', content: [{ text: 'Hello' }, { files: [{ id: 'f' }] }, { text: '[[text:found]]' }] }
  ]
  t.equal(JSON.parse((await chatV2('', { messages })).text).messages[0].content[0].text, 'found')
})

t.test('a forced function is called; without a name it is the first declared function', async t => {
  const { chatV2 } = await startClient(t)
  const call = async (config: Record<string, unknown>) =>
    JSON.parse((await chatV2('Go', { tools: functions, tool_config: config })).text)
  const named = await call({ mode: 'forced', function_name: 'get_time' })
  t.match(named, {
    messages: [
      {
        role: 'assistant',
        tool_state_id: stateForm,
        content: [{ function_call: { name: 'get_time', arguments: { zone: 'example' } } }]
      }
    ],
    finish_reason: 'function_call'
  })
  t.equal((await call({ mode: 'forced' })).messages[0].content[0].function_call.name, 'get_weather')
  t.equal((await call({ mode: 'auto' })).finish_reason, 'stop')
  t.equal((await call({ mode: 'none' })).finish_reason, 'stop')
})

t.test('a streamed call is in the done event, or with callsplit in a delta before it', async t => {
  const { chatV2 } = await startClient(t)
  const stream = async (more: string) =>
    readPayloads((await chatV2(`[[tool:get_weather {"city":"Oslo"}]]${more}`, { stream: true, tools: functions })).text)
  const call = { function_call: { name: 'get_weather', arguments: { city: 'Oslo' } } }
  const late = await stream('')
  t.equal(late.length, 1)
  t.match(late[0], { messages: [{ tool_state_id: stateForm, content: [call] }], finish_reason: 'function_call' })
  const early = await stream('[[callsplit]]')
  t.same(early[0].messages, [{ role: 'assistant', content: [call] }])
  t.same(Object.keys(early[1].messages[0]), ['role', 'tool_state_id'])
})

t.test('several calls are in one response only when the request allows it', async t => {
  const { chatV2 } = await startClient(t)
  const prompt = '[[tool:get_weather {"city":"Oslo"}]][[tool:get_time {}]]'
  const count = async (more: Record<string, unknown>, extra = '') => {
    const { messages } = JSON.parse((await chatV2(prompt + extra, { tools: functions, ...more })).text)
    return messages.flatMap((message: { content: unknown[] }) => message.content).length
  }
  t.equal(await count({}), 1)
  t.equal(await count({ parallel_tool_calls: true }), 2)
  t.equal(await count({ parallel_tool_calls: true, model: 'GigaChat-2-Max-preview' }), 2)
  t.equal(await count({ parallel_tool_calls: true, model: 'GigaChat-2-Pro' }), 1)
  t.equal(await count({ parallel_tool_calls: false }), 1)
  t.equal(await count({}, '[[parallel]]'), 2)
})

t.test('parallel results in several messages count as one round', async t => {
  const { chatV2 } = await startClient(t)
  const result = (name: string) => ({ role: 'tool', content: [{ function_result: { name, result: { ok: name } } }] })
  const messages = [
    { role: 'user', content: [{ text: '[[tool:get_weather {}]][[tool:get_time {}]]' }] },
    {
      role: 'assistant',
      content: [
        { function_call: { name: 'get_weather', arguments: {} } },
        { function_call: { name: 'get_time', arguments: {} } }
      ]
    },
    result('get_weather'),
    result('get_time')
  ]
  const body = JSON.parse((await chatV2('', { messages, tools: functions, parallel_tool_calls: true })).text)
  t.match(body.messages[0], {
    tool_state_id: stateForm,
    content: [
      {
        text: 'The function get_weather returned {"ok":"get_weather"}. The function get_time returned {"ok":"get_time"}.'
      }
    ]
  })
})

t.test('directives write calls in the forms that clients should tolerate', async t => {
  const { chatV2 } = await startClient(t)
  const read = async (more: string) => {
    const prompt = `[[tool:get_weather {"city":"Oslo"}]][[tool:get_time {}]][[parallel]]${more}`
    return JSON.parse((await chatV2(prompt, { tools: functions })).text).messages
  }
  const onMessage = await read('[[msgcall]][[stringargs]]')
  t.match(onMessage, [
    { content: [], function_call: { name: 'get_weather', arguments: '{"city":"Oslo"}' } },
    { function_call: { name: 'get_time' } }
  ])
  const { messages } = JSON.parse((await chatV2('[[msgcall]][[text:no call]]')).text)
  t.strictSame(messages, [{ role: 'assistant', content: [{ text: 'no call' }] }], 'a text is not lost')
  const several = await read('[[multimsg]][[statekey:tools_state_id]]')
  t.equal(several.length, 2)
  t.match(several[1], { tools_state_id: stateForm, content: [{ function_call: { name: 'get_time' } }] })
  const withIds = await read('[[partids]][[nostate]]')
  t.notOk('tool_state_id' in withIds[0])
  t.ok(withIds[0].content.every((part: { id: unknown }) => typeof part.id === 'string'))
})

t.test('an unknown state id is refused only with the setting strictStateIds', async t => {
  const { emulator, chatV2 } = await startClient(t)
  const conversation = (id: string) => ({
    tools: functions,
    messages: [
      { role: 'user', content: [{ text: 'Go' }] },
      { role: 'assistant', tools_state_id: id, content: [{ function_call: { name: 'get_time', arguments: {} } }] },
      { role: 'tool', tools_state_id: id, content: [{ function_result: { name: 'get_time', result: { t: 1 } } }] }
    ]
  })
  const first = JSON.parse((await chatV2('Go', { tools: functions, tool_config: { mode: 'forced' } })).text)
  const issued: string = first.messages[0].tool_state_id
  t.equal((await chatV2('', conversation('made-up'))).status, 200)
  t.same(emulator.requests.at(-1)?.notes, ['unknown state id made-up', 'unknown state id made-up'])
  t.equal(emulator.stats.unknownStateIds, 2)
  emulator.configure({ strictStateIds: true })
  const refused = await chatV2('', conversation('made-up'))
  t.equal(refused.status, 422)
  t.match(JSON.parse(refused.text).message, /made-up/)
  t.equal((await chatV2('', conversation(issued))).status, 200)
})

t.test('reasoning is a separate message', async t => {
  const { chatV2 } = await startClient(t)
  const options = { model_options: { reasoning: { effort: 'medium' } } }
  const body = JSON.parse((await chatV2('[[text:yes]]', options)).text)
  t.match(body.messages, [
    { role: 'reasoning', content: [{ text: /^The user says/ }] },
    { role: 'assistant', content: [{ text: 'yes' }] }
  ])
  const payloads = readPayloads((await chatV2('[[reason:so]][[text:yes]]', { stream: true })).text)
  t.same(payloads[0].messages, [{ role: 'reasoning', content: [{ text: 'so' }] }])
})

t.test('responses to a regex or a schema are text parts', async t => {
  const { chatV2 } = await startClient(t)
  const read = async (format: Record<string, unknown>) =>
    JSON.parse((await chatV2('Go', { model_options: { response_format: format } })).text).messages[0].content[0].text
  t.match(await read({ type: 'regex', regex: '[A-Z]{3}-\\d{4}' }), /^[A-Z]{3}-\d{4}$/)
  const schema = { type: 'object', properties: { n: { type: 'integer' } } }
  t.equal(await read({ type: 'json_schema', schema }), '{\n    "n": 1\n}')
  t.equal(await read({ type: 'json_schema', schema: JSON.stringify(schema) }), '{\n    "n": 1\n}')
  t.match(await read({ type: 'text' }), /^You wrote/)
})

t.test('web search returns its sources in the text part, and in a stream before the text', async t => {
  const { chatV2 } = await startClient(t)
  const forced = { tools: [{ web_search: {} }], tool_config: { mode: 'forced', tool_name: 'web_search' } }
  const { messages } = JSON.parse((await chatV2('News?', forced)).text)
  t.match(messages[0], {
    tool_state_id: stateForm,
    content: [
      { text: /\[sources=\[1, 2\]\]/, inline_data: { images: [], sources: { 1: { url: String, title: String } } } }
    ]
  })
  const frames = readFrames((await chatV2('News?', { ...forced, stream: true })).text)
  t.same(
    frames.slice(0, 3).map(frame => frame.event),
    ['response.tool.in_progress', 'response.tool.completed', 'response.message.delta']
  )
  const payloads = frames.map(frame => JSON.parse(frame.data))
  t.same(payloads[0].messages[0].content, [{ tool_execution: { name: 'web_search' } }])
  t.same(payloads[1].messages[0].content, [{ tool_execution: { name: 'web_search', status: 'success' } }])
  t.ok(payloads[2].messages[0].content[0].inline_data)
  t.match(payloads.at(-1).messages, [{ tool_state_id: stateForm }])
})

t.test('generated files can be fetched, with and without a stream', async t => {
  const { chatV2, call } = await startClient(t)
  for (const [name, target, start] of [
    ['image_generate', 'image', 'ffd8ff'],
    ['model_3d_generate', 'model', '676c5446']
  ] as const) {
    const forced = { tools: [{ [name]: {} }], tool_config: { mode: 'forced', tool_name: name } }
    const plain = JSON.parse((await chatV2('Go', forced)).text).messages[0].content
    t.match(plain, [{ files: [{ id: String, mime: String, target }] }, { text: String }])
    const streamed = readPayloads((await chatV2('Go', { ...forced, stream: true })).text)
    const parts = streamed.flatMap(payload => payload.messages ?? []).flatMap(message => message.content ?? [])
    t.ok(parts.some(part => part.tool_execution?.seconds_left > 0))
    for (const files of [plain[0].files, parts.find(part => part.files).files]) {
      const content = await call(`/api/v1/files/${files[0].id}/content`)
      t.equal(content.status, 200)
      t.equal(content.headers['content-type'], files[0].mime)
      t.ok(Buffer.concat(content.reads).toString('hex').startsWith(start))
    }
  }
})

t.test('a declared built-in tool that is not forced runs only when the prompt asks for it', async t => {
  const { chatV2 } = await startClient(t)
  const tools = [{ code_interpreter: {} }, { url_content_extraction: {} }, { image_generate: {} }, { web_search: {} }]
  const text = async (prompt: string) => {
    const { content } = JSON.parse((await chatV2(prompt, { tools })).text).messages[0]
    return content.at(-1).text
  }
  t.match(await text('Sum the primes. Use code.'), /^I ran/)
  t.match(await text('Read https://example.test/page.'), /^I read https:\/\/example\.test\/page\. /)
  t.match(await text('Draw a cat'), /^The picture/)
  t.match(await text('Search the web for cats'), /^I searched/)
  t.match(await text('Hello'), /^You wrote/)
})

t.test('the builtin directive runs a tool with the given status', async t => {
  const { chatV2 } = await startClient(t)
  const payloads = readPayloads((await chatV2('[[builtin:web_search fail censored]]', { stream: true })).text)
  t.match(payloads[1].messages[0].content[0].tool_execution, { name: 'web_search', status: 'fail', censored: true })
  t.notOk(payloads.some(payload => JSON.stringify(payload).includes('inline_data')))
})

t.test('a response has logprobs when the request asks for them', async t => {
  const { chatV2 } = await startClient(t)
  const options = { model_options: { top_logprobs: 2 } }
  const plain = JSON.parse((await chatV2('Hi', options)).text).messages[0].content[0]
  t.equal(plain.logprobs[0].top.length, 2)
  const streamed = readPayloads((await chatV2('Hi', { ...options, stream: true })).text)
  t.ok(streamed.some(payload => payload.messages?.[0].content?.[0].logprobs))
})

t.test('a thread is started, continued and limited, and other accounts cannot use it', async t => {
  const { chatV2, call, emulator } = await startClient(t)
  const first = JSON.parse((await chatV2('I am Ann', { storage: {} })).text)
  t.match(first, { thread_id: String, message_id: String })
  const again = (prompt: string, more = {}) =>
    chatV2(prompt, { model: undefined, storage: { thread_id: first.thread_id, ...more } })
  const second = JSON.parse((await again('I live in Oslo')).text)
  t.equal(second.thread_id, first.thread_id)
  t.equal(second.model, first.model)
  t.not(second.message_id, first.message_id)
  const recalled = JSON.parse((await again('[[recall]]', { limit: 2 })).text)
  t.equal(recalled.messages[0].content[0].text, 'Before this you wrote: "I live in Oslo".')
  const done = readPayloads((await chatV2('x', { stream: true, storage: { thread_id: first.thread_id } })).text).at(-1)
  t.equal(done.thread_id, first.thread_id)
  t.equal((await chatV2('x', { storage: { thread_id: 'unknown' } })).status, 404)
  emulator.registerToken('stranger')
  const stranger = await call('/api/v2/chat/completions', {
    headers: { authorization: 'Bearer stranger' },
    body: { messages: [user], storage: { thread_id: first.thread_id } }
  })
  t.equal(stranger.status, 404)
})

t.test('a request with only a function result continues the calls of its thread', async t => {
  const { chatV2 } = await startClient(t)
  const start = JSON.parse((await chatV2('[[tool:get_time {}]]', { storage: {}, tools: functions })).text)
  t.equal(start.finish_reason, 'function_call')
  const messages = [{ role: 'tool', content: [{ function_result: { name: 'get_time', result: { t: 5 } } }] }]
  const next = JSON.parse(
    (await chatV2('', { messages, storage: { thread_id: start.thread_id }, tools: functions })).text
  )
  t.equal(next.messages[0].content[0].text, 'The function get_time returned {"t":5}.')
})

t.test('directives write the time in the forms that clients should tolerate', async t => {
  const { chatV2 } = await startClient(t)
  t.type(JSON.parse((await chatV2('[[created:string]]')).text).created_at, 'string')
  const alias = JSON.parse((await chatV2('[[created:alias]]')).text)
  t.type(alias.created, 'number')
  t.notOk('created_at' in alias)
})

t.test('a directive removes the role after the first delta', async t => {
  const { chatV2 } = await startClient(t)
  const payloads = readPayloads((await chatV2('[[norole]][[chunks:a|b]]', { stream: true })).text)
  t.equal(payloads[0].messages[0].role, 'assistant')
  t.notOk('role' in payloads[1].messages[0])
  t.equal(joinTextV2((await chatV2('[[norole]][[chunks:a|b]]', { stream: true })).text), 'ab')
})

t.test('malformed requests are refused with the status of the upstream', async t => {
  const { call } = await startClient(t)
  const message = (change: Record<string, unknown>) => ({ messages: [{ ...user, ...change }] })
  const tool = (result: unknown) => ({ messages: [user, { role: 'tool', content: [{ function_result: result }] }] })
  const cases: Array<[string, number, Record<string, unknown>]> = [
    ['unknown model', 404, { model: 'NonExistentModel' }],
    ['model of another type', 422, { model: 'Embeddings' }],
    ['no model and no thread', 422, { model: undefined }],
    ['no messages', 422, { messages: [] }],
    ['string content', 400, message({ content: 'Hi' })],
    ['part with a type', 400, message({ content: [{ type: 'text', text: 'Hi' }] })],
    ['null in a part', 400, message({ content: [{ text: null }] })],
    ['null member', 400, { storage: null }],
    ['empty part', 422, message({ content: [{}] })],
    ['unknown role', 422, message({ role: 'developer' })],
    ['role of v1', 422, message({ role: 'function' })],
    ['late system message', 422, { messages: [user, { role: 'system', content: [{ text: 'x' }] }] }],
    [
      'arguments as text',
      422,
      message({ role: 'assistant', content: [{ function_call: { name: 'f', arguments: '{}' } }] })
    ],
    ['call by the user', 422, message({ content: [{ function_call: { name: 'f', arguments: {} } }] })],
    ['result without a name', 422, tool({ result: {} })],
    ['result without a value', 422, tool({ name: 'f' })],
    ['tool message without a result', 422, message({ role: 'tool' })],
    ['files of a wrong form', 400, message({ content: [{ files: ['id'] }] })],
    ['state id of a wrong type', 400, message({ tools_state_id: 5 })],
    ['tool of another protocol', 400, { tools: [{ type: 'function', function: weather }] }],
    ['unknown tool', 422, { tools: [{ telepathy: {} }] }],
    ['two keys in one tool', 422, { tools: [{ web_search: {}, code_interpreter: {} }] }],
    ['a built-in twice', 422, { tools: [{ web_search: {} }, { web_search: {} }] }],
    ['specifications missing', 400, { tools: [{ functions: {} }] }],
    ['unknown mode', 422, { tools: functions, tool_config: { mode: 'function' } }],
    [
      'forced function that is not declared',
      422,
      { tools: functions, tool_config: { mode: 'forced', function_name: 'f' } }
    ],
    [
      'forced tool that is not declared',
      422,
      { tools: functions, tool_config: { mode: 'forced', tool_name: 'web_search' } }
    ],
    ['forced without any tool', 422, { tool_config: { mode: 'forced' } }],
    ['options of v1', 400, { temperature: 0.5 }],
    ['temperature zero', 422, { model_options: { temperature: 0 } }],
    ['too many logprobs', 422, { model_options: { top_logprobs: 6 } }],
    ['unknown format', 422, { model_options: { response_format: { type: 'json_object' } } }],
    ['regex missing', 422, { model_options: { response_format: { type: 'regex' } } }],
    ['schema that is no JSON', 422, { model_options: { response_format: { type: 'json_schema', schema: '{' } } }],
    ['parallel as text', 400, { parallel_tool_calls: 'yes' }]
  ]
  for (const [name, status, change] of cases) {
    const response = await call('/api/v2/chat/completions', {
      body: { model: 'GigaChat', messages: [user], ...change }
    })
    t.equal(response.status, status, `${name}: ${response.text}`)
  }
})

t.test('the example request of the contract is accepted', async t => {
  const { chatV2 } = await startClient(t)
  const state = '019e8373-aaaa-7883-af60-000000000001'
  const response = await chatV2('', {
    model: 'GigaChat-3-Ultra',
    messages: [
      { role: 'system', content: [{ text: 'Be brief.' }] },
      { role: 'user', content: [{ text: 'Where?' }, { files: [{ id: 'f' }] }] },
      {
        role: 'assistant',
        tools_state_id: state,
        content: [{ function_call: { name: 'get_time', arguments: { zone: null } } }]
      },
      {
        role: 'tool',
        tools_state_id: state,
        content: [{ function_result: { name: 'get_time', result: { status: null } } }]
      }
    ],
    model_options: { temperature: 0.2, top_p: 0.9, max_tokens: 400, reasoning: { effort: 'medium' } },
    tools: [{ functions: { specifications: [weather, clock] } }, { web_search: { type: 'actual_info_web_search' } }],
    tool_config: { mode: 'forced', function_name: 'get_time' },
    storage: {},
    user_info: { timezone: 'Europe/Oslo' },
    disable_filter: true
  })
  t.equal(response.status, 200)
  t.equal(JSON.parse(response.text).finish_reason, 'function_call')
})
