import t from 'tap'
import { failure, read, refusedAt } from './support.ts'

t.test('a plain request has only the members that the client sent', async t => {
  const { fieldPaths, ...request } = read({ model: 'GigaChat-2' })
  t.match(fieldPaths, { model: 'model', toolChoice: 'tool_choice' })
  t.ok(Object.isFrozen(fieldPaths), 'one constant for all requests')
  t.strictSame(request, {
    version: 'gateway.normalized.v1',
    requestId: '6f3f0f0e-9d5e-4c1b-8a53-1f2b7f6c0d11',
    isStream: false,
    wantsStreamUsage: false,
    carriesFileBytes: true,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }], form: 'text' }],
    tools: [],
    usesLegacyFunctions: false,
    sampling: {},
    ignored: {},
    chatWire: {},
    model: 'GigaChat-2'
  })
})

t.test('a model that is blank, null or missing counts as absent', async t => {
  for (const body of [{}, { model: null }, { model: '' }, { model: ' ' }]) t.notOk('model' in read(body))
  t.equal(read({ model: ' m ' }).model, ' m ', 'any other model is kept as it was written')
  t.equal(refusedAt({ model: 3 }), 'model')
})

t.test('stream is a boolean or null', async t => {
  t.equal(read({ stream: true }).isStream, true)
  t.equal(read({ stream: null }).isStream, false)
  t.equal(refusedAt({ stream: 'yes' }), 'stream')
  t.equal(refusedAt({ stream: 1 }), 'stream')
})

t.test('include_usage is the only stream option that is read', async t => {
  t.equal(read({ stream_options: { include_usage: true, include_obfuscation: false } }).wantsStreamUsage, true)
  t.equal(read({ stream_options: {} }).wantsStreamUsage, false)
  t.equal(read({ stream_options: null }).wantsStreamUsage, false)
  t.equal(refusedAt({ stream_options: true }), 'stream_options')
  t.equal(refusedAt({ stream_options: { include_usage: 'yes' } }), 'stream_options.include_usage')
})

t.test('sampling is read as sent, zero and negative numbers too', async t => {
  const { sampling } = read({
    temperature: 0,
    top_p: 0.5,
    seed: 7,
    presence_penalty: -1,
    frequency_penalty: 0.2,
    stop: 'END'
  })
  t.strictSame(sampling, {
    temperature: 0,
    topP: 0.5,
    stop: ['END'],
    seed: 7,
    presencePenalty: -1,
    frequencyPenalty: 0.2
  })
  t.strictSame(read({ temperature: -1, top_p: null }).sampling, { temperature: -1 })
})

t.test('completions 16: a temperature that is not a number is refused', async t => {
  t.strictSame(
    failure(() => read({ temperature: 'hot' })),
    {
      code: 'invalid_request',
      param: 'temperature',
      status: 400
    }
  )
  t.equal(refusedAt({ top_p: '1' }), 'top_p')
})

t.test('of the three token limits max_output_tokens has priority, then max_tokens', async t => {
  const limit = (body: Parameters<typeof read>[0]) => read(body).sampling.maxOutputTokens
  t.equal(limit({ max_completion_tokens: 9 }), 9)
  t.equal(limit({ max_tokens: 7, max_completion_tokens: 9 }), 7)
  t.equal(limit({ max_tokens: 7, max_output_tokens: 5, max_completion_tokens: 9 }), 5)
  t.equal(limit({ max_tokens: null, max_completion_tokens: 9 }), 9)
})

t.test('a token limit is a positive integer', async t => {
  for (const name of ['max_tokens', 'max_output_tokens', 'max_completion_tokens']) {
    for (const value of [0, -1, 1.5, '5', true]) t.equal(refusedAt({ [name]: value }), name)
  }
})

t.test('up to four stop strings are read and empty ones are omitted', async t => {
  t.strictSame(read({ stop: ['a', '', 'b'] }).sampling.stop, ['a', 'b'])
  for (const stop of [null, '', [], ['']]) t.notOk('stop' in read({ stop }).sampling)
  t.equal(refusedAt({ stop: ['a', 'b', 'c', 'd', 'e'] }), 'stop')
  t.equal(refusedAt({ stop: ['a', 1] }), 'stop[1]')
  t.equal(refusedAt({ stop: 1 }), 'stop')
})

t.test('known parameters without effect are kept for diagnostics only (E1)', async t => {
  const ignored = {
    n: 2,
    logprobs: true,
    store: true,
    service_tier: 'auto',
    verbosity: 'low',
    prediction: {}
  }
  const request = read({ ...ignored, user: 'u', metadata: { a: 'b' } })
  t.strictSame(request.ignored, ignored)
  t.strictSame(read({ seed: 'x' }).sampling, {}, 'a wrong type refuses nothing')
  t.equal(request.user, 'u')
  t.strictSame(request.metadata, { a: 'b' })
  t.notOk('additionalFields' in request)
  t.notOk('conversation' in request)
})

t.test('SDK options in the body are not forwarded, and their values are not kept', async t => {
  const request = read({ api_key: 'k', base_url: 'https://example.test', timeout: 3 })
  t.strictSame(request.ignored, { api_key: null, base_url: null, timeout: null })
  t.notOk('additionalFields' in request)
})

t.test('unknown members and vendor members become additional fields', async t => {
  const request = read({
    temperature: 0,
    profanity_check: false,
    repetition_penalty: 1.1,
    tenant_hint: 'a',
    seed: 7,
    extra_body: { flags: ['x'], model: 'other' },
    additional_fields: { flags: ['y'] }
  })
  t.strictSame(request.additionalFields, {
    profanity_check: false,
    repetition_penalty: 1.1,
    tenant_hint: 'a',
    flags: ['y'],
    model: 'other'
  })
})

t.test('additional fields cannot make a request a streaming one', async t => {
  const request = read({ extra_body: { stream: true, zz: 1 } })
  t.equal(request.isStream, false)
  t.strictSame(request.additionalFields, { zz: 1 })
})

t.test('completions 23: an extra_body that is not an object is refused', async t => {
  const error = { code: 'unsupported_parameter', param: 'extra_body', status: 400 }
  for (const value of ['x', [], 1])
    t.strictSame(
      failure(() => read({ extra_body: value })),
      error
    )
})

t.test('the reasoning effort is kept as the client wrote it, and the nested one has priority', async t => {
  t.notOk('reasoning' in read({ reasoning_effort: null, reasoning: {} }))
  t.strictSame(read({ reasoning_effort: 'xhigh' }).reasoning, { effort: 'xhigh' })
  t.strictSame(read({ reasoning_effort: 'low', reasoning: { effort: 'high', summary: 'auto' } }).reasoning, {
    effort: 'high',
    summary: 'auto'
  })
  t.strictSame(read({ reasoning_effort: 'low', reasoning: { effort: null } }).reasoning, { effort: 'low' })
  t.equal(refusedAt({ reasoning_effort: 3 }), 'reasoning_effort')
  t.equal(refusedAt({ reasoning: 'low' }), 'reasoning')
  t.equal(refusedAt({ reasoning: { effort: {} } }), 'reasoning.effort')
})

t.test('the effort none removes reasoning from the additional fields too (C5)', async t => {
  const extra = { reasoning_effort: 'high', model_options: { reasoning: { effort: 'low' }, preset: 'p' } }
  const none = read({ reasoning: { effort: 'none' }, reasoning_effort: 'high', extra_body: extra })
  t.strictSame(none.reasoning, { effort: 'none' })
  t.strictSame(none.additionalFields, { model_options: { preset: 'p' } })
  t.strictSame(read({ extra_body: extra }).additionalFields, extra, 'absent adds and removes nothing')
})

t.test('extra_headers is an object', async t => {
  t.strictSame(read({ extra_headers: { 'x-a': '1' } }).extraHeaders, { 'x-a': '1' })
  t.equal(refusedAt({ extra_headers: 'x' }), 'extra_headers')
  t.strictSame(read({ extra_query: { a: 1 } }).ignored, { extra_query: { a: 1 } })
})

t.test('an output schema is read from both forms and never rewritten', async t => {
  const schema = { type: 'object', properties: { a: { $ref: '#/$defs/A' }, c: true }, $defs: { A: { type: ['null'] } } }
  const nested = { type: 'json_schema', json_schema: { name: 'n', description: 'd', schema, strict: true } }
  const flat = { type: 'json_schema', name: 'n', description: 'd', schema, strict: true }
  for (const format of [nested, flat]) {
    const { output } = read({ response_format: format })
    t.strictSame(output, { type: 'json-schema', schema, name: 'n', description: 'd', strict: true })
    t.equal(output?.type === 'json-schema' && output.schema, schema)
  }
  const bare = read({ response_format: { type: 'json_schema', json_schema: { schema: {}, strict: null } } })
  t.strictSame(bare.output, { type: 'json-schema', schema: {} })
})

t.test('plain text output differs from an absent output format', async t => {
  t.strictSame(read({ response_format: { type: 'text' } }).output, { type: 'text' })
  t.notOk('output' in read({ response_format: null }))
})

t.test('completions 58: unknown formats are refused', async t => {
  const error = { code: 'unsupported_response_format', param: 'response_format.type', status: 400 }
  t.strictSame(
    failure(() => read({ response_format: { type: 'grammar' } })),
    error
  )
})

t.test('a JSON object has a schema, or the path that a provider without that mode refuses', async t => {
  const path = 'response_format.type'
  t.strictSame(read({ response_format: { type: 'json_object' } }).output, { type: 'json-object', path })
  t.strictSame(read({ response_format: { type: 'json_object', schema: null } }).output, { type: 'json-object', path })
  const schema = { type: 'object', properties: { a: true } }
  t.strictSame(read({ response_format: { type: 'json_object', schema } }).output, { type: 'json-schema', schema })
  t.equal(refusedAt({ response_format: { type: 'json_object', schema: 'x' } }), 'response_format.schema')
})

t.test('a malformed output format is refused with the path of the invalid member', async t => {
  const at = (format: unknown) => refusedAt({ response_format: format as never })
  t.equal(at('json'), 'response_format')
  t.equal(at({}), 'response_format.type')
  t.equal(at({ type: 3 }), 'response_format.type')
  t.equal(at({ type: 'json_schema' }), 'response_format.json_schema.schema')
  t.equal(at({ type: 'json_schema', json_schema: [] }), 'response_format.json_schema')
  t.equal(at({ type: 'json_schema', json_schema: { schema: true } }), 'response_format.json_schema.schema')
  t.equal(at({ type: 'json_schema', json_schema: { schema: {}, strict: 'yes' } }), 'response_format.json_schema.strict')
  t.equal(at({ type: 'json_schema', name: 'n', schema: 'x' }), 'response_format.schema')
})
