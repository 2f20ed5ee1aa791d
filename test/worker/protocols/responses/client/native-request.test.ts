import t from 'tap'
import { type JsonObject, type JsonValue, writeToolCallId } from '../../../../../worker/normalized/index.ts'
import { send } from './native-route.ts'
import { failure } from './support.ts'

const v1 = (body: JsonObject) => send('v1', body).upstream
const v2 = (body: JsonObject) => send('v2', body).upstream
const refused = (run: () => unknown) => {
  const { code, param } = failure(run)
  return `${code} ${param}`
}

t.test('a string input is one user message, on both contracts', async t => {
  t.strictSame(v1({}), { model: 'GigaChat-2', messages: [{ role: 'user', content: 'x' }] })
  t.strictSame(v2({}), { model: 'GigaChat-2', messages: [{ role: 'user', content: [{ text: 'x' }] }] })
})

t.test('responses 4, 5, 6: instructions and leading developer items are one system message', async t => {
  t.strictSame(v1({ instructions: 'be' }).messages, [
    { role: 'system', content: 'be' },
    { role: 'user', content: 'x' }
  ])
  t.strictSame(v1({ instructions: null }).messages, [{ role: 'user', content: 'x' }])
  const input = [
    { role: 'developer', content: 'also' },
    { role: 'user', content: 'x' }
  ]
  t.strictSame(v2({ instructions: 'be', input }).messages, [
    { role: 'system', content: [{ text: 'be\n\nalso' }] },
    { role: 'user', content: [{ text: 'x' }] }
  ])
})

t.test('responses 9, 10: the configured model is the default, and a request without a model is refused', async t => {
  const { upstream, whole } = send('v2', { model: null }, { defaultModel: 'A' })
  t.equal(upstream.model, 'A')
  t.equal(whole({ messages: [{ role: 'assistant', content: [{ text: 'a' }] }], finish_reason: 'stop' }).model, 'A')
  t.equal(
    refused(() => send('v2', { model: ' ' })),
    'model_required model'
  )
})

t.test('responses 11, 12: sampling is sent as model options', async t => {
  t.strictSame(v2({ max_output_tokens: 9, temperature: 0.3 }).model_options, { temperature: 0.3, max_tokens: 9 })
  t.strictSame(v2({ temperature: 0 }).model_options, { top_p: 0 })
})

t.test('responses 13, 14: the effort is sent unchanged, except none, and a summary is not sent', async t => {
  t.strictSame(v2({ reasoning: { effort: 'high', summary: 'auto' } }).model_options, { reasoning: { effort: 'high' } })
  t.equal(v1({ reasoning: { effort: 'xhigh' } }).reasoning_effort, 'xhigh')
  const none = { reasoning: { effort: 'none', summary: 'auto' }, reasoning_effort: 'high' }
  t.notMatch(JSON.stringify([v1(none), v2(none)]), 'reasoning')
})

t.test('responses 15, 17: a schema is sent unchanged, also with tools, and no format is sent without one', async t => {
  t.strictSame(Object.keys(v2({ text: { verbosity: 'low' } })), ['model', 'messages'])
  const schema = {
    type: 'object',
    properties: { a: { $ref: '#/$defs/A' }, c: true, d: { type: ['integer', 'null'] } },
    $defs: { A: { type: 'object', properties: { next: { $ref: '#/$defs/A' } } } }
  }
  const text = { format: { type: 'json_schema', name: 'n', schema, strict: true } }
  const format = { type: 'json_schema', schema, strict: true }
  t.strictSame(v1({ text }), { ...v1({}), response_format: format })
  const tools = [{ type: 'function', name: 'g' }]
  t.strictSame(v2({ text, tools }), {
    ...v2({}),
    model_options: { response_format: format },
    tools: [{ functions: { specifications: [{ name: 'g', parameters: { type: 'object', properties: {} } }] } }]
  })
})

t.test('responses 19: members that the response only repeats are not sent to the upstream', async t => {
  const body = {
    metadata: { k: 'v' },
    truncation: 'auto',
    user: 'u',
    background: true,
    include: [],
    service_tier: 'flex'
  }
  t.strictSame(v1(body), v1({}))
  t.strictSame(v2(body), v2({}))
})

t.test('unknown members are sent at the top level, on both contracts', async t => {
  t.equal(v1({ foo: 1 }).foo, 1)
  t.equal(v2({ foo: 1 }).foo, 1)
})

t.test(
  'responses 28, 29: a stored conversation is continued by its thread id, and the thread decides the model (F4)',
  async t => {
    t.strictSame(v2({ store: true }).storage, {})
    for (const store of [false, null]) t.notOk('storage' in v2({ store }))
    t.strictSame(v2({ previous_response_id: 'resp_th', store: true }), {
      messages: [{ role: 'user', content: [{ text: 'x' }] }],
      storage: { thread_id: 'th' }
    })
    t.strictSame(v2({ previous_response_id: 'th' }).storage, { thread_id: 'th' })
    const extra = v2({ previous_response_id: 'resp_th', extra_body: { storage: { limit: 5 } } })
    t.strictSame(extra.storage, { limit: 5, thread_id: 'th' })
  }
)

t.test('an id that cannot be a thread id is refused', async t => {
  for (const id of ['', 'resp_', 'resp_a b', `resp_${'x'.repeat(257)}`]) {
    t.equal(
      refused(() => v2({ previous_response_id: id })),
      'invalid_request previous_response_id'
    )
  }
})

t.test(
  'responses 30, 31, 32: v1 stores nothing, and refuses only requests that need a stored conversation (F4)',
  async t => {
    t.equal(
      refused(() => v1({ previous_response_id: 'resp_th' })),
      'unsupported_semantic previous_response_id'
    )
    t.equal(
      refused(() => v1({ store: true })),
      'unsupported_semantic store'
    )
    t.strictSame(v1({ previous_response_id: null, store: false }), v1({}))
  }
)

t.test('responses 36: images and files are uploaded, except files with an id', async t => {
  const content: JsonValue = [
    { type: 'input_text', text: 'see' },
    { type: 'input_image', image_url: 'data:image/png;base64,AAEC' },
    { type: 'input_file', filename: 'a.pdf', file_data: 'AAED' }
  ]
  const { upstream, written } = send('v2', { input: [{ role: 'user', content }] })
  t.match(written.attachments, [{ source: { mediaType: 'image/png' } }, { filename: 'a.pdf' }])
  const ids = written.attachments.map(({ placeholder }) => ({ id: placeholder }))
  t.strictSame(upstream.messages, [{ role: 'user', content: [{ text: 'see' }, { files: ids }] }])
  const byId = send('v2', { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f1' }] }] })
  t.strictSame(byId.upstream.messages, [{ role: 'user', content: [{ text: '' }, { files: [{ id: 'f1' }] }] }])
  t.strictSame(byId.written.attachments, [])
})

t.test('responses 37: ids of uploaded files are sent with the last user message', async t => {
  const input = [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: 'b' },
    { role: 'user', content: 'c' }
  ]
  const { upstream } = send('v2', { input }, { attachmentIds: 'f1, f2' })
  t.match(upstream.messages, [
    { content: [{ text: 'a' }] },
    {},
    { content: [{ text: 'c' }, { files: [{ id: 'f1' }, { id: 'f2' }] }] }
  ])
  t.match(send('v1', { input }, { attachmentIds: 'f1' }).upstream.messages, [{}, {}, { attachments: ['f1'] }])
  const alone = send('v2', { input: [], instructions: 'be' }, { attachmentIds: 'f1' }).upstream
  t.match(alone.messages, [{ role: 'system' }, { role: 'user', content: [{ text: '' }, { files: [{ id: 'f1' }] }] }])
})

const call = (id: string, more: JsonObject = {}): JsonObject => ({
  type: 'function_call',
  id: `fc_${id}`,
  call_id: id,
  name: 'weather',
  arguments: '{"city":"Omsk"}',
  ...more
})
const output = (id: string, text: JsonValue = 'cold'): JsonObject => ({
  type: 'function_call_output',
  call_id: id,
  output: text
})

t.test('responses 39: a call and its output are sent with the state id of the call', async t => {
  const own = writeToolCallId({ stateId: 'st1', name: undefined, callNumber: 0, nonce: 'n' })
  const input = [{ role: 'user', content: [{ type: 'input_text', text: 'weather?' }] }, call(own), output(own)]
  t.strictSame(v2({ input }).messages, [
    { role: 'user', content: [{ text: 'weather?' }] },
    {
      role: 'assistant',
      tools_state_id: 'st1',
      content: [{ function_call: { name: 'weather', arguments: { city: 'Omsk' } } }]
    },
    {
      role: 'tool',
      tools_state_id: 'st1',
      content: [{ function_result: { name: 'weather', result: { result: 'cold' } } }]
    }
  ])
  t.strictSame(v1({ input }).messages, [
    { role: 'user', content: 'weather?' },
    { role: 'assistant', content: '', function_call: { name: 'weather', arguments: { city: 'Omsk' } } },
    { role: 'function', name: 'weather', content: '{"result":"cold"}' }
  ])
  const foreign = [{ role: 'user', content: 'go' }, call('call_abc'), output('call_abc')]
  t.notMatch(
    JSON.stringify(v2({ input: foreign })),
    'state_id',
    'a foreign id is an id without state (decisions.md 85)'
  )
})

t.test('responses 40: two calls of one turn are two parts of one message, each with its result', async t => {
  const id = (callNumber: number) => writeToolCallId({ stateId: 'ts-1', name: 'weather', callNumber, nonce: 'n' })
  const second = call(id(1), { arguments: '{"city":"Oslo"}' })
  const input = [
    { role: 'user', content: 'weather?' },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'One moment.' }] },
    call(id(0)),
    second,
    output(id(1), 'mild'),
    output(id(0))
  ]
  const result = (text: string) => [{ function_result: { name: 'weather', result: { result: text } } }]
  t.strictSame((v2({ input }).messages as JsonObject[]).slice(1), [
    {
      role: 'assistant',
      tools_state_id: 'ts-1',
      content: [
        { text: 'One moment.' },
        { function_call: { name: 'weather', arguments: { city: 'Omsk' } } },
        { function_call: { name: 'weather', arguments: { city: 'Oslo' } } }
      ]
    },
    { role: 'tool', tools_state_id: 'ts-1', content: result('cold') },
    { role: 'tool', tools_state_id: 'ts-1', content: result('mild') }
  ])
  t.strictSame(
    (v1({ input }).messages as JsonObject[]).map(({ role }) => role),
    ['user', 'assistant', 'function', 'assistant', 'function']
  )
})

t.test('responses 42: the texts of an output are joined', async t => {
  const input = [call('st1'), output('st1', [{ type: 'input_text', text: 'T' }])]
  t.match(v2({ input }).messages, [{}, { content: [{ function_result: { result: { result: 'T' } } }] }])
})

t.test('a result without its call is placed by its id, its name or the only function', async t => {
  const own = writeToolCallId({ stateId: 'ts-1', name: 'weather', callNumber: 0, nonce: 'n' })
  const loop = (item: JsonObject, tools: JsonValue = []) =>
    v2({ previous_response_id: 'resp_th', input: [item], tools }).messages
  const placed = (stateId?: string) => [
    {
      role: 'tool',
      ...(stateId === undefined ? {} : { tools_state_id: stateId }),
      content: [{ function_result: { name: 'weather', result: { result: 'cold' } } }]
    }
  ]
  t.strictSame(loop(output(own)), placed('ts-1'))
  t.strictSame(loop({ ...output('call_ts-2'), name: 'weather' }), placed())
  t.strictSame(loop(output('ts-3#1'), [{ type: 'function', name: 'weather' }]), placed())
  t.equal(
    refused(() => loop(output('ts-3'))),
    'invalid_request input[0].call_id',
    '(B9)'
  )
})

t.test('responses 44, 46: reserved names and names in namespaces are mapped in tools and in the history', async t => {
  const tools = [
    { type: 'function', name: 'web_search' },
    { type: 'namespace', name: 'ns', tools: [{ type: 'function', name: 'f' }] }
  ]
  const input = [call('a', { name: 'f', namespace: 'ns' }), output('a'), { role: 'user', content: 'go on' }]
  const { tools: written, messages } = v2({ tools, input })
  t.match(written, [{ functions: { specifications: [{ name: '__gateway_user_search_web' }, { name: 'ns__f' }] } }])
  t.match(messages, [
    { content: [{ function_call: { name: 'ns__f' } }] },
    { content: [{ function_result: { name: 'ns__f' } }] },
    {}
  ])
})

t.test('responses 47: a chosen function is forced by name', async t => {
  const body = { tools: [{ type: 'function', name: 'g' }], tool_choice: { type: 'function', name: 'g' } }
  t.strictSame(v2(body).tool_config, { mode: 'forced', function_name: 'g' })
  t.strictSame(v1(body).function_call, { name: 'g' })
})

t.test('responses 48, 49: a built-in tool is sent with its configuration, on v2 only', async t => {
  const tools = [{ type: 'image_generation', size: '1024x1024' }]
  t.strictSame(v2({ tools }).tools, [{ image_generate: { size: '1024x1024' } }])
  t.strictSame(v1({ tools }), v1({}))
})

t.test('unsupported tools are not sent', async t => {
  const tools = [
    { type: 'mcp', server_label: 'm' },
    { type: 'file_search', vector_store_ids: ['v'] }
  ]
  t.strictSame(v2({ tools }), v2({}))
})

t.test('a custom tool is sent as the function of its input (decisions.md 77)', async t => {
  const body = { tools: [{ type: 'custom', name: 'c' }], tool_choice: { type: 'custom', name: 'c' } }
  t.match(v1(body), { functions: [{ name: 'c', parameters: { required: ['input'] } }], function_call: { name: 'c' } })
  t.match(v2(body), {
    tools: [{ functions: { specifications: [{ name: 'c', parameters: { required: ['input'] } }] } }],
    tool_config: { mode: 'forced', function_name: 'c' }
  })
})

t.test('responses 53: parallel calls are requested from the largest model only (B7)', async t => {
  const body = { parallel_tool_calls: true, tools: [{ type: 'function', name: 'g' }] }
  t.equal(v2({ ...body, model: 'GigaChat-2-Max' }).parallel_tool_calls, true)
  t.notOk('parallel_tool_calls' in v2(body))
  t.notOk('parallel_tool_calls' in v1({ ...body, model: 'GigaChat-2-Max' }))
})

t.test('reasoning of earlier turns is not sent as text (C1)', async t => {
  const input = [
    { role: 'user', content: 'a' },
    { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'secret' }] },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'b' }] },
    { role: 'user', content: 'c' }
  ]
  t.notMatch(JSON.stringify([v1({ input }), v2({ input })]), 'secret')
})
