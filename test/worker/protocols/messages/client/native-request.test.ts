import t from 'tap'
import { type JsonObject, type JsonValue, writeToolCallId } from '../../../../../worker/normalized/index.ts'
import { writeMessagesError } from '../../../../../worker/protocols/messages/client/errors.ts'
import { send } from './native-route.ts'
import { catchError, failure, requestId } from './support.ts'

const schema = { type: 'object', properties: { city: { type: 'string' } } }
const weather: JsonObject = { name: 'get_weather', description: 'Weather', input_schema: schema }
const time: JsonObject = { name: 'get_time', input_schema: schema }
const search: JsonObject = { type: 'web_search_20250305', name: 'web_search', max_uses: 3 }
const png = (data = 'AAEC'): JsonObject => ({
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data }
})
const user = (...content: JsonValue[]): JsonObject => ({ role: 'user', content })
const assistant = (...content: JsonValue[]): JsonObject => ({ role: 'assistant', content })
const text = (text: string): JsonObject => ({ type: 'text', text })
const toolUse = (id: string, name: string, input: JsonObject = {}): JsonObject => ({
  type: 'tool_use',
  id,
  name,
  input
})
const toolResult = (id: string, content: JsonValue, more: JsonObject = {}): JsonObject => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  ...more
})

const v1 = (body: JsonObject) => send('v1', body).upstream
const v2 = (body: JsonObject) => send('v2', body).upstream
const messagesV1 = (...messages: JsonObject[]) => v1({ messages }).messages
const messagesV2 = (...messages: JsonObject[]) => v2({ messages }).messages

t.test('a plain request has the same text on both contracts', async t => {
  t.strictSame(v1({ max_tokens: 50 }), {
    model: 'GigaChat-2-Max',
    messages: [{ role: 'user', content: 'hi' }],
    max_tokens: 50
  })
  t.strictSame(v2({ max_tokens: 50, stream: true }), {
    model: 'GigaChat-2-Max',
    messages: [{ role: 'user', content: [{ text: 'hi' }] }],
    model_options: { max_tokens: 50 },
    stream: true
  })
})

t.test('messages 10: the texts of a system array become one system message at the start', async t => {
  const system = [
    { ...text('s1'), cache_control: { type: 'ephemeral' } },
    { ...text('s2'), cache_control: { type: 'ephemeral' } }
  ]
  t.match(v1({ system }).messages, [{ role: 'system', content: 's1\ns2' }, { role: 'user' }])
  t.match(v2({ system }).messages, [{ role: 'system', content: [{ text: 's1\ns2' }] }, { role: 'user' }])
})

t.test('a system message among the messages moves to the start, when there is no other', async t => {
  const system = { role: 'system', content: [text('a'), text('b')] }
  t.strictSame(messagesV1(user(text('hi')), system), [
    { role: 'system', content: 'a\nb' },
    { role: 'user', content: 'hi' }
  ])
  t.strictSame(v1({ system: 's', messages: [user(text('hi')), system] }).messages, [
    { role: 'system', content: 's' },
    { role: 'user', content: 'hi\na\nb' }
  ])
})

t.test('messages 11: a temperature of zero becomes a top_p of zero and replaces the top_p of the client', async t => {
  const { temperature, top_p } = v1({ temperature: 0, top_p: 0.9 })
  t.strictSame({ temperature, top_p }, { temperature: undefined, top_p: 0 })
  t.strictSame(v2({ temperature: 0, top_p: 0.9 }).model_options, { top_p: 0 })
})

t.test('messages 12: any other temperature is sent, except a negative one', async t => {
  t.equal(v1({ temperature: 0.3 }).temperature, 0.3)
  t.strictSame(v2({ temperature: 0.3, top_p: 0.9 }).model_options, { temperature: 0.3, top_p: 0.9 })
  t.notOk('temperature' in v1({ temperature: -1 }))
})

t.test('messages 13, 14: parameters of the original service are not sent to the upstream', async t => {
  const ignored = {
    top_k: 3,
    metadata: { user_id: 'u' },
    service_tier: 'auto',
    container: 'c',
    mcp_servers: [{ url: 'https://example.test' }],
    inference_geo: 'eu',
    speed: 'fast',
    cache_control: { type: 'ephemeral' },
    stop_sequences: ['END']
  }
  t.strictSame(Object.keys(v1(ignored)), ['model', 'messages'])
  t.strictSame(Object.keys(v2(ignored)), ['model', 'messages'])
})

t.test('messages 15: on v2 model options move into model_options, and all other fields stay at the root', async t => {
  const extra_body = { top_k: 3, repetition_penalty: 1.1, storage: { limit: 2 }, unk: 1 }
  t.strictSame(v2({ max_tokens: 50, extra_body }), {
    model: 'GigaChat-2-Max',
    messages: [{ role: 'user', content: [{ text: 'hi' }] }],
    model_options: { max_tokens: 50, repetition_penalty: 1.1 },
    storage: { limit: 2 },
    top_k: 3,
    unk: 1
  })
  t.match(v1({ extra_body: { repetition_penalty: 1.1, max_tokens: 9 }, max_tokens: 50 }), {
    repetition_penalty: 1.1,
    max_tokens: 50
  })
})

t.test('messages 16: a field in extra_body wins over the same field at the top level', async t => {
  t.match(v1({ update_interval: 1, extra_body: { update_interval: 2 } }), { update_interval: 2 })
})

t.test('messages 18: the profanity check is the opposite of the v2 filter switch', async t => {
  t.match(v2({ profanity_check: false }), { disable_filter: true, profanity_check: undefined })
  t.match(v1({ profanity_check: false }), { profanity_check: false })
  t.equal(v2({ profanity_check: false, disable_filter: false }).disable_filter, false)
})

t.test('messages 21, 22: a budget becomes an effort in the member of each contract', async t => {
  t.strictSame(v2({ thinking: { type: 'enabled', budget_tokens: 4000 } }).model_options, {
    reasoning: { effort: 'medium' }
  })
  t.equal(v1({ thinking: { type: 'enabled', budget_tokens: 9000 } }).reasoning_effort, 'high')
})

t.test('messages 23: disabled and adaptive thinking send no reasoning member', async t => {
  const extra_body = { reasoning_effort: 'high', reasoning: { effort: 'high' } }
  for (const body of [v1, v2].flatMap(write => [
    write({ thinking: { type: 'disabled' }, extra_body }),
    write({ thinking: { type: 'adaptive' } })
  ])) {
    t.notMatch(JSON.stringify(body), /reasoning/)
  }
})

t.test('messages 24: a named effort is sent unchanged', async t => {
  t.strictSame(v2({ output_config: { effort: 'low' } }).model_options, { reasoning: { effort: 'low' } })
  t.equal(v1({ output_config: { effort: 'max' } }).reasoning_effort, 'max')
})

t.test('messages 25, 26: functions are declared in the form of each contract', async t => {
  const tools = [weather, time]
  const functions = [
    { name: 'get_weather', description: 'Weather', parameters: schema },
    { name: 'get_time', parameters: schema }
  ]
  t.match(v1({ tools, tool_choice: { type: 'auto' } }), { functions, function_call: undefined })
  t.match(v2({ tools }), { tools: [{ functions: { specifications: functions } }], tool_config: undefined })
})

t.test('messages 27, 28: a chosen function is forced', async t => {
  const body = { tools: [weather, time], tool_choice: { type: 'tool', name: 'get_weather' } }
  t.strictSame(v1(body).function_call, { name: 'get_weather' })
  t.strictSame(v2(body).tool_config, { mode: 'forced', function_name: 'get_weather' })
})

t.test('messages 29: the tool choice none removes the tools', async t => {
  const body = { tools: [weather, search], tool_choice: { type: 'none' } }
  t.notMatch(JSON.stringify([v1(body), v2(body)]), /functions|tools|get_weather/)
})

t.test('messages 30: the tool choice any with one function forces that function', async t => {
  const body = { tools: [weather], tool_choice: { type: 'any' } }
  t.strictSame(v1(body).function_call, { name: 'get_weather' })
  t.strictSame(v2(body).tool_config, { mode: 'forced', function_name: 'get_weather' })
})

t.test(
  'messages 31: the tool choice any with several functions is refused on v1 and forced without a name on v2',
  async t => {
    const body = { tools: [weather, time], tool_choice: { type: 'any' } }
    const error = catchError(() => v1(body))
    t.match(writeMessagesError(error, { requestId }), {
      status: 400,
      body: { error: { type: 'invalid_request_error', details: { error_code: 'unsupported_semantic' } } }
    })
    t.strictSame(v2(body).tool_config, { mode: 'forced' })
  }
)

t.test('the tool choice any with only built-in tools, and without tools', async t => {
  const any = { type: 'any' }
  t.strictSame(v2({ tools: [search], tool_choice: any }).tool_config, { mode: 'forced', tool_name: 'web_search' })
  const several = [search, { type: 'code_execution_20250522', name: 'code_execution' }]
  t.strictSame(v2({ tools: several, tool_choice: any }).tool_config, { mode: 'forced' })
  for (const refused of [
    () => v1({ tools: [search], tool_choice: any }),
    () => v1({ tool_choice: any }),
    () => v2({ tool_choice: any }),
    () => v1({ tools: [search], tool_choice: { type: 'tool', name: 'web_search' } })
  ]) {
    t.match(failure(refused), { status: 400, code: 'unsupported_semantic' })
  }
  t.strictSame(v2({ tools: [search], tool_choice: { type: 'tool', name: 'web_search' } }).tool_config, {
    mode: 'forced',
    tool_name: 'web_search'
  })
})

t.test(
  'messages 32, 33: a search is declared on v2 without members unknown to the upstream, and is not sent on v1',
  async t => {
    t.strictSame(v2({ tools: [search] }).tools, [{ web_search: {} }])
    t.strictSame(v2({ tools: [weather, search, { type: 'web_search' }] }).tools, [
      { web_search: {} },
      { functions: { specifications: [{ name: 'get_weather', description: 'Weather', parameters: schema }] } }
    ])
    t.strictSame(Object.keys(v1({ tools: [search] })), ['model', 'messages'])
  }
)

t.test('messages 35: client tools of another service are not sent', async t => {
  const tools = [
    { type: 'bash_20250124', name: 'bash' },
    { type: 'memory_20250818', name: 'memory' }
  ]
  t.strictSame(Object.keys(v1({ tools })), ['model', 'messages'])
  t.strictSame(Object.keys(v2({ tools })), ['model', 'messages'])
})

t.test(
  'messages 36: on v1 the arguments of a call are an object, and its result is the JSON text of an object',
  async t => {
    t.strictSame(
      messagesV1(
        user(text('weather?')),
        assistant(text('let me'), toolUse('toolu_1', 'get_weather', { city: 'P' })),
        user(toolResult('toolu_1', 'ok'))
      ),
      [
        { role: 'user', content: 'weather?' },
        {
          role: 'assistant',
          content: 'let me',
          function_call: { name: 'get_weather', arguments: { city: 'P' } }
        },
        { role: 'function', name: 'get_weather', content: '{"result":"ok"}' }
      ]
    )
  }
)

t.test('messages 37: on v2 a call and its result have the same state id (C3)', async t => {
  const calls = (id: string) =>
    messagesV2(assistant(text('let me'), toolUse(id, 'get_weather', { city: 'P' })), user(toolResult(id, 'ok')))
  const own = writeToolCallId({ stateId: 'ts-1', name: 'get_weather', callNumber: 0, nonce: 'n' })
  t.strictSame(calls(own), [
    {
      role: 'assistant',
      content: [{ text: 'let me' }, { function_call: { name: 'get_weather', arguments: { city: 'P' } } }],
      tools_state_id: 'ts-1'
    },
    {
      role: 'tool',
      content: [{ function_result: { name: 'get_weather', result: { result: 'ok' } } }],
      tools_state_id: 'ts-1'
    }
  ])
  for (const id of ['toolu_01A', 'ts-1', 'call_ts-1', 'call_abc']) {
    t.notMatch(JSON.stringify(calls(id)), /state_id/, 'a foreign id is an id without state (decisions.md 85)')
  }
})

const ownId = (callNumber: number) => writeToolCallId({ stateId: 'ts-1', name: undefined, callNumber, nonce: 'n' })
const twoCalls = [
  assistant(toolUse(ownId(0), 'get_weather', { city: 'P' }), toolUse(ownId(1), 'get_time', { tz: 'T' })),
  user(toolResult(ownId(1), '12:00'), text('and now?'), toolResult(ownId(0), '{"t": 4}'))
]

t.test('messages 38: on v2 several calls keep their names, results and order (B13)', async t => {
  t.strictSame(messagesV2(...twoCalls), [
    {
      role: 'assistant',
      content: [
        { function_call: { name: 'get_weather', arguments: { city: 'P' } } },
        { function_call: { name: 'get_time', arguments: { tz: 'T' } } }
      ],
      tools_state_id: 'ts-1'
    },
    {
      role: 'tool',
      content: [{ function_result: { name: 'get_weather', result: { t: 4 } } }],
      tools_state_id: 'ts-1'
    },
    {
      role: 'tool',
      content: [{ function_result: { name: 'get_time', result: { result: '12:00' } } }],
      tools_state_id: 'ts-1'
    },
    { role: 'user', content: [{ text: 'and now?' }] }
  ])
})

t.test('messages 39: on v1 several calls become pairs of a call and its result', async t => {
  t.strictSame(messagesV1(...twoCalls), [
    { role: 'assistant', content: '', function_call: { name: 'get_weather', arguments: { city: 'P' } } },
    { role: 'function', name: 'get_weather', content: '{"t": 4}' },
    { role: 'assistant', content: '', function_call: { name: 'get_time', arguments: { tz: 'T' } } },
    { role: 'function', name: 'get_time', content: '{"result":"12:00"}' },
    { role: 'user', content: 'and now?' }
  ])
})

t.test('messages 40: the result of a failed tool is marked as an error', async t => {
  const messages = [
    assistant(toolUse('ts-1', 'f'), toolUse('ts-1__1', 'f')),
    user(toolResult('ts-1', 'boom', { is_error: true }), toolResult('ts-1__1', '{"code": 7}', { is_error: true }))
  ]
  t.match(messagesV2(...messages), [
    {},
    { content: [{ function_result: { result: { error: 'boom', is_error: true } } }] },
    { content: [{ function_result: { result: { error: { code: 7 }, is_error: true } } }] }
  ])
})

t.test('messages 41: the texts of a result are joined', async t => {
  const result = toolResult('toolu_1', [text('a'), { type: 'document', source: {} }, text('b')])
  t.match(messagesV1(assistant(toolUse('toolu_1', 'f')), user(result)), [{}, { content: '{"result":"a\\nb"}' }])
})

t.test('images in a tool result are attached to the next user message', async t => {
  const messages = [
    assistant(toolUse('toolu_1', 'f')),
    user(toolResult('toolu_1', [text('see'), png()]), text('what?'))
  ]
  const { upstream, written } = send('v1', { messages })
  t.equal(written.attachments.length, 1)
  t.match(upstream.messages, [
    {},
    { role: 'function', content: '{"result":"see"}' },
    { role: 'user', content: 'what?', attachments: [written.attachments[0]?.placeholder] }
  ])
})

t.test('a result without a call is refused with its path (B9)', async t => {
  t.match(
    failure(() => messagesV1(user(toolResult('toolu_1', 'ok')))),
    { status: 400, code: 'invalid_request', param: 'messages[0].content[0].tool_use_id' }
  )
})

t.test('an image is uploaded first, and its id is sent in the member of each contract', async t => {
  const body = { messages: [user(png(), text('what is this?'))] }
  const first = send('v1', body)
  const placeholder = first.written.attachments[0]?.placeholder
  t.match(first.written.attachments, [{ source: { kind: 'bytes', mediaType: 'image/png', base64: 'AAEC' } }])
  t.strictSame(first.upstream.messages, [{ role: 'user', content: 'what is this?', attachments: [placeholder] }])
  t.strictSame(send('v2', body).upstream.messages, [
    { role: 'user', content: [{ text: 'what is this?' }, { files: [{ id: placeholder }] }] }
  ])
  const known = { type: 'image', source: { type: 'file', file_id: 'f1' } }
  t.match(messagesV1(user(known)), [{ attachments: ['f1'] }], 'a file id of the upstream is sent without an upload')
  t.strictSame(send('v1', body, { isImageInputEnabled: false }).upstream.messages, [
    { role: 'user', content: 'what is this?' }
  ])
})

t.test('messages 46: an image of an unsupported media type is refused, and the message names the type', async t => {
  for (const media_type of ['image/webp', 'image/gif']) {
    const image = { type: 'image', source: { type: 'base64', media_type, data: 'AAEC' } }
    const error = catchError(() => messagesV1(user(text('see'), image)))
    const { status, body } = writeMessagesError(error, { requestId })
    t.match({ status, body }, { status: 400, body: { error: { type: 'invalid_request_error' } } })
    t.match(JSON.stringify(body), /messages\.0\.content\.1/)
  }
})

t.test(
  'messages 47: documents of text and search results are text, and others without a source are dropped',
  async t => {
    const document = { type: 'document', source: { type: 'text', data: 'd' } }
    const found = { type: 'search_result', source: 's', title: 't', content: [text('secret')] }
    t.strictSame(messagesV1(user(document, text('a')), user(text('b'), found)), [
      { role: 'user', content: 'd\na\nb\nt\ns\nsecret' }
    ])
    t.strictSame(messagesV1(user({ type: 'document', source: {} }, text('a'))), [{ role: 'user', content: 'a' }])
  }
)

t.test('messages 48: reasoning of earlier turns is not sent (C1)', async t => {
  const messages = [
    user(text('hi')),
    assistant(
      { type: 'thinking', thinking: 'secret', signature: 's' },
      { type: 'redacted_thinking', data: 'secret' },
      text('hello')
    ),
    user(text('and?'))
  ]
  t.notMatch(JSON.stringify([v1({ messages }), v2({ messages })]), /secret/)
  t.match(messagesV1(...messages), [{}, { role: 'assistant', content: 'hello' }, {}])
})

const outputSchema = {
  type: 'object',
  properties: { a: { $ref: '#/$defs/A' }, b: { type: ['string', 'null'] }, c: { enum: [1, 2] }, d: true },
  $defs: { A: { type: 'string', format: 'email' } },
  anyOf: [{ required: ['a'] }, { type: 'null' }]
}

t.test('the output schema is sent in the member of each contract, and not as a function', async t => {
  const output_config = { format: { type: 'json_schema', schema: outputSchema } }
  t.strictSame(v1({ output_config }), {
    model: 'GigaChat-2-Max',
    messages: [{ role: 'user', content: 'hi' }],
    response_format: { type: 'json_schema', schema: outputSchema }
  })
  t.strictSame(v2({ output_config }).model_options, {
    response_format: { type: 'json_schema', schema: outputSchema }
  })
  t.match(
    v1({ output_config, response_format: { type: 'other' } }).response_format,
    { schema: outputSchema },
    'a member of the same name does not change it'
  )
})

t.test('a tool and a strict schema are both sent, and the tool is not forced', async t => {
  const format = { type: 'json_schema', schema: outputSchema, name: 'n', strict: true }
  const body = v2({ output_config: { format }, tools: [weather] })
  t.strictSame(body.model_options, {
    response_format: { type: 'json_schema', schema: outputSchema, strict: true }
  })
  t.match(body.tools, [{ functions: { specifications: [{ name: 'get_weather' }] } }])
  t.notOk('tool_config' in body)
})

t.test('messages 52: schemas are sent unchanged', async t => {
  const tools = [{ name: 'f', input_schema: outputSchema }]
  const output_config = { format: { type: 'json_schema', schema: outputSchema } }
  t.strictSame(v1({ tools, output_config }).functions, [{ name: 'f', parameters: outputSchema }])
  t.strictSame(v2({ tools, output_config }).tools, [
    { functions: { specifications: [{ name: 'f', parameters: outputSchema }] } }
  ])
  const keys = JSON.stringify(v1({ tools }).functions)
  t.ok(keys.includes(JSON.stringify(outputSchema)), 'with the members in the same order')
})

t.test('parallel calls are requested only from the largest v2 model (B7)', async t => {
  const tool_choice = { type: 'auto', disable_parallel_tool_use: false }
  const body = { tools: [weather], tool_choice }
  t.equal(v2(body).parallel_tool_calls, true)
  t.notOk('parallel_tool_calls' in v2({ ...body, model: 'GigaChat-2-Pro' }))
  t.notOk('parallel_tool_calls' in v1(body))
  t.notOk('parallel_tool_calls' in v2({ tools: [weather] }))
  t.notOk('parallel_tool_calls' in v2({ ...body, tool_choice: { ...tool_choice, disable_parallel_tool_use: true } }))
})

t.test('adjacent messages of one role are joined, but not across a call', async t => {
  t.strictSame(
    messagesV1(
      user(text('a'), text('b')),
      { role: 'user', content: 'c' },
      assistant(text('d')),
      assistant(text('e'), toolUse('toolu_1', 'f')),
      user(toolResult('toolu_1', null)),
      assistant(text('g'))
    ),
    [
      { role: 'user', content: 'a\nb\nc' },
      { role: 'assistant', content: 'd' },
      { role: 'assistant', content: 'e', function_call: { name: 'f', arguments: {} } },
      { role: 'function', name: 'f', content: '{}' },
      { role: 'assistant', content: 'g' }
    ]
  )
})

t.test(
  'messages 76: without model passing the configured model is sent, and the response has the model of the client',
  async t => {
    const exchange = send('v1', { model: 'claude-x' }, { passModel: false, defaultModel: 'GigaChat-2' })
    t.equal(exchange.upstream.model, 'GigaChat-2')
    t.equal(exchange.whole({ choices: [{ message: { content: 'a' }, finish_reason: 'stop' }] }).model, 'claude-x')
  }
)

t.test('a request without a model is refused, unless a stored thread has one', async t => {
  const error = catchError(() => v1({ model: null }))
  t.match(writeMessagesError(error, { requestId }).body, {
    error: { type: 'invalid_request_error', details: { error_code: 'model_required' } }
  })
  const threaded = v2({ model: null, storage: { thread_id: 't' } })
  t.notOk('model' in threaded)
  t.strictSame(threaded.storage, { thread_id: 't' })
})
