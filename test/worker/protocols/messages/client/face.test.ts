import t from 'tap'
import { writeMessagesError } from '../../../../../worker/protocols/messages/client/errors.ts'
import { catchError, failure, read, refusedAt, requestId } from './support.ts'

t.test('a plain request has only the members that the client sent', async t => {
  const { fieldPaths, ...request } = read({ model: 'claude-sonnet-4-5', max_tokens: 50 })
  t.match(fieldPaths, { model: 'model', toolChoice: 'tool_choice' })
  t.ok(Object.isFrozen(fieldPaths), 'one constant for all requests')
  t.strictSame(request, {
    version: 'gateway.normalized.v1',
    requestId,
    isStream: false,
    wantsStreamUsage: false,
    carriesFileBytes: false,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }], form: 'text' }],
    tools: [],
    usesLegacyFunctions: false,
    sampling: { maxOutputTokens: 50 },
    ignored: {},
    model: 'claude-sonnet-4-5'
  })
})

t.test('a model that is blank, null or missing counts as absent', async t => {
  for (const body of [{}, { model: null }, { model: '' }, { model: ' ' }]) t.notOk('model' in read(body))
  t.equal(read({ model: ' m ' }).model, ' m ', 'any other text is kept unchanged')
  t.equal(refusedAt({ model: 3 }), 'model')
})

t.test('stream must be a boolean, null or absent', async t => {
  t.equal(read({ stream: true }).isStream, true)
  t.equal(read({ stream: null }).isStream, false)
  t.equal(refusedAt({ stream: 'yes' }), 'stream')
})

t.test('sampling is read unchanged, including zero and negative numbers', async t => {
  t.strictSame(read({ temperature: 0, top_p: 0.5, top_k: 3, max_tokens: 7, stop_sequences: ['END', ' '] }).sampling, {
    temperature: 0,
    topP: 0.5,
    topK: 3,
    maxOutputTokens: 7,
    stop: ['END', ' ']
  })
  t.strictSame(read({ temperature: -1, top_p: null, max_tokens: null }).sampling, { temperature: -1 })
  t.equal(refusedAt({ temperature: 'hot' }), 'temperature')
  t.equal(refusedAt({ top_p: '1' }), 'top_p')
  for (const value of [0, -1, 1.5, '5', true]) t.equal(refusedAt({ max_tokens: value }), 'max_tokens')
})

t.test('any number of stop strings is read, and an empty string is refused', async t => {
  const stops = ['a', 'b', 'c', 'd', 'e', 'f']
  t.strictSame(read({ stop_sequences: stops }).sampling.stop, stops)
  for (const value of [null, []]) t.notOk('stop' in read({ stop_sequences: value }).sampling)
  t.equal(refusedAt({ stop_sequences: ['a', ''] }), 'stop_sequences[1]')
  t.equal(refusedAt({ stop_sequences: [1] }), 'stop_sequences[0]')
  t.equal(refusedAt({ stop_sequences: 'a' }), 'stop_sequences')
})

t.test('known parameters without effect are kept for diagnostics only (E1)', async t => {
  const ignored = {
    service_tier: 'auto',
    container: 'c',
    mcp_servers: [],
    context_management: {},
    betas: ['b'],
    'anthropic-beta': 'b',
    conversation: {},
    inference_geo: 'eu',
    speed: 'fast',
    cache_control: { type: 'ephemeral' },
    diagnostics: {},
    user_profile_id: 'p',
    workspace_id: 'w',
    extra_query: { a: 1 }
  }
  const request = read({ ...ignored, top_k: 3, metadata: { user_id: 'u' } })
  t.strictSame(request.ignored, ignored)
  t.equal(request.sampling.topK, 3)
  t.equal(request.user, 'u')
  t.notOk('additionalFields' in request)
  t.strictSame(request.metadata, { user_id: 'u' })
  t.strictSame(read({ top_k: 'x' }).sampling, {}, 'a wrong type is ignored')
})

t.test('SDK options in the body are not passed on, and their values are not kept', async t => {
  const request = read({ api_key: 'k', auth_token: 'k', base_url: 'https://example.test', timeout: 3 })
  t.strictSame(request.ignored, { api_key: null, auth_token: null, base_url: null, timeout: null })
  t.notOk('additionalFields' in request)
})

t.test('unknown members become additional fields, and extra_body wins over them', async t => {
  const request = read({
    repetition_penalty: 1.1,
    tenant_hint: 'a',
    flags: ['x'],
    extra_body: { flags: ['y'], top_k: 3, stream: true }
  })
  t.equal(request.isStream, false)
  t.strictSame(request.additionalFields, {
    repetition_penalty: 1.1,
    tenant_hint: 'a',
    flags: ['y'],
    top_k: 3
  })
})

t.test('messages 17: an extra_body that is not an object is refused, and the message names it', async t => {
  for (const value of ['x', [], 1]) {
    const error = catchError(() => read({ extra_body: value }))
    t.match(writeMessagesError(error, { requestId }), {
      status: 400,
      body: { error: { type: 'invalid_request_error', message: 'extra_body: must be an object.' } }
    })
  }
})

t.test('member names that change prototypes are refused', async t => {
  t.equal(refusedAt(JSON.parse('{"__proto__": {}}')), '__proto__')
  t.equal(refusedAt({ extra_body: JSON.parse('{"__proto__": {}}') }), 'extra_body.__proto__')
})

t.test('extra_headers must be an object', async t => {
  t.strictSame(read({ extra_headers: { 'x-a': '1' } }).extraHeaders, { 'x-a': '1' })
  t.equal(refusedAt({ extra_headers: 'x' }), 'extra_headers')
})

t.test("a thread is refused with the reason that makes the SDK's tool runner send the whole conversation", async t => {
  const error = catchError(() => read({ thread: { type: 'create' } }))
  t.match(writeMessagesError(error, { requestId }), {
    status: 400,
    body: { error: { type: 'invalid_request_error', details: { error_code: 'thread_unsupported_request' } } }
  })
  t.strictSame(read({ thread: null }).ignored, {}, 'null counts as absent')
})

t.test('the thinking budget becomes an effort', async t => {
  const effort = (thinking: object) => read({ thinking: { type: 'enabled', ...thinking } }).reasoning?.effort
  const cases: Array<[budget: number | null | undefined, effort: string]> = [
    [undefined, 'high'],
    [null, 'high'],
    [8000, 'high'],
    [7999, 'medium'],
    [3000, 'medium'],
    [2999, 'low'],
    [1, 'low']
  ]
  for (const [budget, expected] of cases) t.equal(effort({ budget_tokens: budget }), expected, String(budget))
  for (const budget of ['4000', 1.5, 0, true]) {
    t.equal(refusedAt({ thinking: { type: 'enabled', budget_tokens: budget } }), 'thinking.budget_tokens')
  }
})

t.test('a named effort wins over a budget, and is kept unchanged (C5)', async t => {
  const effort = (body: Parameters<typeof read>[0]) => read(body).reasoning?.effort
  t.equal(effort({ output_config: { effort: 'xhigh' } }), 'xhigh')
  t.equal(effort({ output_config: { effort: 'max' }, thinking: { type: 'enabled', budget_tokens: 1024 } }), 'max')
  t.equal(effort({ output_config: { effort: 'low' }, thinking: { type: 'adaptive' } }), 'low')
  t.equal(effort({ output_config: { effort: null }, thinking: { type: 'enabled' } }), 'high')
  t.equal(effort({ output_config: { effort: 'none' }, thinking: { type: 'enabled' } }), 'none')
  t.equal(
    effort({ output_config: { effort: 'high' }, thinking: { type: 'disabled' } }),
    'none',
    'disabled thinking wins'
  )
  t.equal(refusedAt({ output_config: { effort: 3 } }), 'output_config.effort')
  t.equal(refusedAt({ output_config: { effort: '' } }), 'output_config.effort')
  t.equal(refusedAt({ output_config: 'low' }), 'output_config')
})

t.test('thinking without a fixed effort asks for nothing but to see it', async t => {
  for (const type of ['adaptive', 'between_tools']) {
    t.strictSame(read({ thinking: { type } }).reasoning, { isVisible: true })
  }
  t.notOk('reasoning' in read({ thinking: null, output_config: {} }))
  t.equal(refusedAt({ thinking: {} }), 'thinking.type')
  t.equal(refusedAt({ thinking: { type: 'deep' } }), 'thinking.type')
  t.equal(refusedAt({ thinking: true }), 'thinking')
})

t.test('disabled thinking also removes reasoning from the additional fields (C5)', async t => {
  const extra = { reasoning_effort: 'high', model_options: { reasoning: { effort: 'low' }, preset: 'p' } }
  const off = read({ thinking: { type: 'disabled' }, extra_body: extra })
  t.strictSame(off.additionalFields, { model_options: { preset: 'p' } })
  t.strictSame(read({ thinking: { type: 'adaptive' }, extra_body: extra }).additionalFields, extra)
})

t.test('a client can hide the reasoning', async t => {
  t.strictSame(read({ thinking: { type: 'adaptive', display: 'omitted' } }).reasoning, { isVisible: false })
  t.strictSame(read({ thinking: { type: 'adaptive', display: 'summarized' } }).reasoning, { isVisible: true })
  t.equal(refusedAt({ thinking: { type: 'adaptive', display: 1 } }), 'thinking.display')
})

t.test('an output schema is read from both members and not changed', async t => {
  const schema = { type: 'object', properties: { a: { $ref: '#/$defs/A' }, c: true }, $defs: { A: { type: ['null'] } } }
  const format = { type: 'json_schema', schema }
  for (const body of [{ output_config: { format } }, { output_format: format }]) {
    const { output } = read(body)
    t.strictSame(output, { type: 'json-schema', schema })
    t.equal(output?.type === 'json-schema' && output.schema, schema)
  }
  const both = read({
    output_config: { format: { ...format, name: 'n', strict: true } },
    output_format: { type: 'json_schema', schema: {} }
  })
  t.strictSame(both.output, { type: 'json-schema', schema, name: 'n', strict: true })
  for (const body of [{}, { output_config: { format: null }, output_format: null }]) t.notOk('output' in read(body))
})

t.test('a malformed output format is refused with the path of the wrong member', async t => {
  const error = { code: 'unsupported_response_format', param: 'output_config.format.type', status: 400 }
  t.strictSame(
    failure(() => read({ output_config: { format: { type: 'text' } } })),
    error
  )
  t.equal(refusedAt({ output_format: { type: 'json_object' } }), 'output_format.type')
  t.equal(refusedAt({ output_format: {} }), 'output_format.type')
  t.equal(refusedAt({ output_format: 'json' }), 'output_format')
  t.equal(refusedAt({ output_format: { type: 'json_schema', schema: true } }), 'output_format.schema')
  t.equal(refusedAt({ output_format: { type: 'json_schema', schema: {}, strict: 1 } }), 'output_format.strict')
})
