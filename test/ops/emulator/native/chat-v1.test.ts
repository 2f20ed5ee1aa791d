// The v1 chat wire: plain and streamed responses, calls, and refused requests.
import t from 'tap'
import { joinTextV1, readFrames, readPayloads, startClient, weather } from '../support.ts'

const state = /^[0-9a-f-]{36}$/

t.test('the default response repeats the prompt', async t => {
  const { chatV1 } = await startClient(t, { now: () => 1_767_225_600_000 })
  const response = await chatV1('Привет "мир"')
  t.equal(response.status, 200)
  t.match(response.headers, { 'x-request-id': state, 'x-session-id': state })
  const body = JSON.parse(response.text)
  t.match(body, {
    choices: [{ message: { role: 'assistant' }, index: 0, finish_reason: 'stop' }],
    created: 1_767_225_600,
    model: 'GigaChat-2-Max:2.0.28.2',
    object: 'chat.completion'
  })
  t.ok(body.choices[0].message.content.startsWith('You wrote: "Привет "мир"".'))
  t.equal(body.usage.total_tokens, body.usage.prompt_tokens + body.usage.completion_tokens)
  t.same(JSON.parse((await chatV1('Привет "мир"')).text), body, 'the same request gives the same response')
})

t.test(
  'a stream has the role in its first frame, finish reason and usage in the last one, and an end marker',
  async t => {
    const { chatV1 } = await startClient(t)
    const response = await chatV1('[[chunks:Four| degrees.]]', { stream: true })
    t.equal(response.headers['content-type'], 'text/event-stream')
    const frames = readFrames(response.text)
    t.ok(frames.every(frame => frame.event === null))
    t.equal(frames.at(-1)?.data, '[DONE]')
    const payloads = readPayloads(response.text)
    t.same(
      payloads.map(payload => payload.choices),
      [
        [{ delta: { content: 'Four', role: 'assistant' }, index: 0 }],
        [{ delta: { content: ' degrees.' }, index: 0 }],
        [{ delta: { content: '' }, index: 0, finish_reason: 'stop' }]
      ]
    )
    t.same(
      payloads.map(payload => 'usage' in payload),
      [false, false, true]
    )
  }
)

t.test('streamed and plain responses have the same text', async t => {
  const { chatV1 } = await startClient(t)
  const plain = JSON.parse((await chatV1('Count to three')).text).choices[0].message.content
  const streamed = await chatV1('Count to three', { stream: true })
  t.equal(joinTextV1(streamed.text), plain)
  t.ok(readPayloads(streamed.text).length > 3)
})

t.test('a forced function is called with an instance of its schema and the partial arguments', async t => {
  const { chatV1 } = await startClient(t)
  const call = (forced: Record<string, unknown>) => chatV1('Oslo?', { functions: [weather], function_call: forced })
  const { choices } = JSON.parse((await call({ name: 'get_weather' })).text)
  t.match(choices[0], {
    message: {
      content: '',
      function_call: { name: 'get_weather', arguments: { city: 'example' } },
      functions_state_id: state
    },
    finish_reason: 'function_call'
  })
  const partial = JSON.parse((await call({ name: 'get_weather', partial_arguments: { unit: 'C' } })).text)
  t.same(partial.choices[0].message.function_call.arguments, { city: 'example', unit: 'C' })
})

t.test('a streamed call is in the finish frame, or in a separate delta, or in text fragments', async t => {
  const { chatV1 } = await startClient(t)
  const stream = async (more: string) => {
    const prompt = `[[tool:get_weather {"city":"Oslo"}]]${more}`
    return readPayloads((await chatV1(prompt, { stream: true, functions: [weather] })).text).map(
      payload => payload.choices[0]
    )
  }
  const [finish, ...none] = await stream('')
  t.match(finish, {
    delta: {
      content: '',
      function_call: { name: 'get_weather', arguments: { city: 'Oslo' } },
      functions_state_id: state
    },
    finish_reason: 'function_call'
  })
  t.same(none, [])
  const split = await stream('[[callsplit]]')
  t.equal(split.length, 2)
  t.match(split[0].delta.function_call, { name: 'get_weather' })
  t.same(split[1], { delta: { content: '' }, index: 0, finish_reason: 'function_call' })
  const pieces = await stream('[[argfrag:3]]')
  t.equal(pieces.map(choice => choice.delta.function_call?.arguments ?? '').join(''), '{"city":"Oslo"}')
  const text = await stream('[[stringargs]]')
  t.equal(text[0].delta.function_call.arguments, '{"city":"Oslo"}')
})

t.test('several calls are made one per round, and the text response follows', async t => {
  const { call } = await startClient(t)
  const messages: Array<Record<string, unknown>> = [
    { role: 'user', content: '[[tool:get_weather {"city":"Oslo"}]][[tool:get_weather {"city":"Rome"}]]' }
  ]
  const turn = async () => {
    const response = await call('/api/v1/chat/completions', {
      body: { model: 'GigaChat', messages, functions: [weather] }
    })
    return JSON.parse(response.text).choices[0]
  }
  for (const city of ['Oslo', 'Rome']) {
    const choice = await turn()
    t.same(choice.message.function_call.arguments, { city })
    messages.push(choice.message, { role: 'function', name: 'get_weather', content: `{"city":"${city}","temp":4}` })
  }
  const last = await turn()
  t.equal(last.finish_reason, 'stop')
  t.equal(last.message.content, 'The function get_weather returned {"city":"Rome","temp":4}.')
})

t.test(
  'no function is called that is not declared, that function_call none excludes, or that nothing requests',
  async t => {
    const { chatV1 } = await startClient(t)
    const ask = async (prompt: string, more: Record<string, unknown>) =>
      JSON.parse((await chatV1(prompt, more)).text).choices[0].finish_reason
    t.equal(await ask('[[tool:get_weather {}]]', {}), 'stop')
    t.equal(await ask('[[tool:get_weather {}]]', { functions: [weather], function_call: 'none' }), 'stop')
    t.equal(await ask('Weather?', { functions: [weather] }), 'stop')
    t.equal(await ask('[[tool:get_weather {}]][[undeclared]]', {}), 'function_call')
  }
)

t.test('an effort or a directive adds reasoning, which has separate deltas in a stream', async t => {
  const { chatV1 } = await startClient(t)
  const read = async (prompt: string, more: Record<string, unknown>) =>
    JSON.parse((await chatV1(prompt, more)).text).choices[0].message.reasoning_content
  t.equal(await read('Hi', {}), undefined)
  t.match(await read('Hi', { reasoning_effort: 'low' }), /^The user says "Hi"/)
  t.equal(await read('[[reason:because]]', {}), 'because')
  const payloads = readPayloads((await chatV1('[[reason:because]][[text:yes]]', { stream: true })).text)
  t.same(payloads[0].choices[0].delta, { content: '', reasoning_content: 'because', role: 'assistant' })
  t.same(payloads[1].choices[0].delta, { content: 'yes' })
})

t.test('a schema gives an instance printed with four spaces', async t => {
  const { chatV1 } = await startClient(t)
  const schema = {
    type: 'object',
    properties: { a: { $ref: '#/$defs/A' } },
    required: ['a'],
    $defs: { A: { enum: ['x'] } }
  }
  const response = await chatV1('Go', { response_format: { type: 'json_schema', schema } })
  t.equal(JSON.parse(response.text).choices[0].message.content, '{\n    "a": "x"\n}')
})

t.test('directives set usage and finish reason, and max_tokens cuts generated text only', async t => {
  const { chatV1 } = await startClient(t)
  const read = async (prompt: string, more: Record<string, unknown> = {}) =>
    JSON.parse((await chatV1(prompt, more)).text)
  t.same((await read('[[usage:10,5,4]]')).usage, {
    prompt_tokens: 10,
    completion_tokens: 5,
    total_tokens: 15,
    precached_prompt_tokens: 4
  })
  t.notOk('usage' in (await read('[[nousage]]')))
  t.equal((await read('[[finish:blacklist]]')).choices[0].finish_reason, 'blacklist')
  const cut = await read('Hello', { max_tokens: 3 })
  t.match(cut, {
    choices: [{ message: { content: 'You wrote:' }, finish_reason: 'length' }],
    usage: { completion_tokens: 3 }
  })
  t.equal((await read('[[text:one two three]]', { max_tokens: 1 })).choices[0].finish_reason, 'stop')
})

t.test('directives omit members and add unknown members', async t => {
  const { chatV1 } = await startClient(t)
  const body = JSON.parse((await chatV1('[[omit:created,model,object,usage]][[extra]]')).text)
  t.same(Object.keys(body), ['choices', 'emulator_extra'])
  t.ok(body.choices[0].message.emulator_extra)
})

t.test('a stateful conversation is stored under its thread id', async t => {
  const { chatV1 } = await startClient(t)
  const first = JSON.parse((await chatV1('My name is Ann', { storage: { is_stateful: true } })).text)
  t.match(first, { thread_id: state, message_id: state })
  const next = JSON.parse(
    (await chatV1('[[recall]]', { storage: { is_stateful: true, thread_id: first.thread_id } })).text
  )
  t.equal(next.choices[0].message.content, 'Before this you wrote: "My name is Ann".')
  t.equal((await chatV1('Hi', { storage: { is_stateful: true, thread_id: 'other' } })).status, 404)
})

const user = { role: 'user', content: 'Hi' }

t.test('malformed requests are refused with the status of the upstream', async t => {
  const { call } = await startClient(t)
  const system = { role: 'system', content: 'Be brief.' }
  const result = (content: unknown) => ({ role: 'function', name: 'f', content })
  const cases: Array<[string, number, Record<string, unknown>]> = [
    ['unknown model', 404, { model: 'NonExistentModel' }],
    ['model of another type', 422, { model: 'Embeddings' }],
    ['no model', 422, { model: undefined }],
    ['no messages', 422, { messages: [] }],
    ['late system message', 422, { messages: [user, system] }],
    ['role of another protocol', 422, { messages: [{ role: 'developer', content: 'x' }] }],
    ['array content', 400, { messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }] }],
    ['null content', 400, { messages: [{ role: 'user', content: null }] }],
    ['null member', 400, { temperature: null }],
    ['function result that is not JSON', 422, { messages: [user, result('sunny')] }],
    ['function result without a name', 422, { messages: [user, { role: 'function', content: '{}' }] }],
    [
      'arguments as text',
      422,
      { messages: [user, { role: 'assistant', function_call: { name: 'f', arguments: '{}' } }] }
    ],
    ['tools of another protocol', 400, { tools: [] }],
    ['function of another protocol', 400, { functions: [{ type: 'function', function: weather }] }],
    ['function without parameters', 422, { functions: [{ name: 'f' }] }],
    ['function declared twice', 422, { functions: [weather, weather] }],
    ['reserved function name', 422, { functions: [{ ...weather, name: 'web_search' }] }],
    ['forced function that is not declared', 422, { functions: [weather], function_call: { name: 'other' } }],
    ['temperature zero', 422, { temperature: 0 }],
    ['top_p above one', 422, { top_p: 2 }],
    ['max_tokens zero', 422, { max_tokens: 0 }],
    ['schema missing', 422, { response_format: { type: 'json_schema' } }],
    ['attachments of a wrong type', 400, { messages: [{ ...user, attachments: [1] }] }]
  ]
  for (const [name, status, change] of cases) {
    const response = await call('/api/v1/chat/completions', {
      body: { model: 'GigaChat', messages: [user], ...change }
    })
    t.equal(response.status, status, name)
    t.match(JSON.parse(response.text), { status, message: String }, name)
  }
})

t.test('unusual requests that the upstream accepts are accepted', async t => {
  const { call } = await startClient(t)
  const accepted: Array<Record<string, unknown>> = [
    { unknown_member: { deep: 1 }, flags: ['a'], update_interval: 0, profanity_check: false, top_p: 0 },
    {
      functions: [
        {
          ...weather,
          parameters: { enum: [null], default: null },
          few_shot_examples: [{ request: 'r', params: { a: null } }]
        }
      ]
    },
    {
      messages: [
        user,
        { role: 'assistant', function_call: { name: 'f', arguments: { a: null } } },
        { role: 'function', name: 'f', content: 'null' }
      ]
    },
    { model: 'GigaChat:2.0.28.2', messages: [{ role: 'system', content: 'x' }, user, { role: 'assistant' }, user] }
  ]
  for (const change of accepted) {
    const response = await call('/api/v1/chat/completions', {
      body: { model: 'GigaChat', messages: [user], ...change }
    })
    t.equal(response.status, 200, response.text)
  }
})

t.test('attachments are counted, and unknown file ids are noted or refused', async t => {
  const { emulator, chatV1 } = await startClient(t)
  const messages = [{ role: 'user', content: 'See', attachments: ['f-1', 'f-2'] }]
  const response = JSON.parse((await chatV1('', { messages })).text)
  t.match(response.choices[0].message.content, /It came with 2 files/)
  t.same(emulator.requests.at(-1)?.notes, ['unknown file f-1', 'unknown file f-2'])
  emulator.configure({ strictFiles: true })
  t.equal((await chatV1('', { messages })).status, 404)
})

t.test('a body that is not JSON, a wrong method and a wrong path are refused', async t => {
  const { call } = await startClient(t)
  t.equal((await call('/api/v1/chat/completions', { body: '{' })).status, 400)
  t.equal((await call('/api/v1/chat/completions')).status, 405)
  t.equal((await call('/api/v3/chat/completions', { body: {} })).status, 404)
  t.equal((await call('/nowhere')).status, 404)
})

t.test('without a version in the path the type of content selects the contract', async t => {
  const { call } = await startClient(t)
  const ask = async (content: unknown) => {
    const body = { model: 'GigaChat', messages: [{ role: 'user', content }] }
    return JSON.parse((await call('/api/chat/completions', { body })).text)
  }
  t.ok('choices' in (await ask('Hi')))
  t.ok('messages' in (await ask([{ text: 'Hi' }])))
})
