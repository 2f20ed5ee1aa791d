import t from 'tap'
import type { JsonObject, JsonValue } from '../../../../../worker/normalized/index.ts'
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
    model: 'GigaChat-2',
    echo: { members: {} }
  })
})

t.test('sampling is read unchanged, and a token limit of null or 0 counts as absent', async t => {
  t.strictSame(read({ temperature: 0, top_p: 0.5, stop: ['END', ''], seed: 7 }).sampling, {
    temperature: 0,
    topP: 0.5,
    stop: ['END'],
    seed: 7
  })
  const limit = (body: Parameters<typeof read>[0]) => read(body).sampling.maxOutputTokens
  t.equal(limit({ max_output_tokens: 9, max_tokens: 7 }), 9)
  t.equal(limit({ max_output_tokens: 0, max_tokens: 7 }), 7)
  t.equal(limit({ max_output_tokens: null }), undefined)
  t.equal(refusedAt({ max_output_tokens: -1 }), 'max_output_tokens')
  t.equal(refusedAt({ max_tokens: 1.5 }), 'max_tokens')
  t.equal(refusedAt({ temperature: 'hot' }), 'temperature')
  t.equal(refusedAt({ stop: ['a', 'b', 'c', 'd', 'e'] }), 'stop')
})

t.test('stream must be a boolean, null or absent', async t => {
  t.equal(read({ stream: true }).isStream, true)
  t.equal(read({ stream: null }).isStream, false)
  t.equal(refusedAt({ stream: 'yes' }), 'stream')
})

t.test('reasoning.effort wins over reasoning_effort, and the effort none is not the same as absent (C5)', async t => {
  t.strictSame(read({ reasoning: { effort: 'high', summary: 'auto' }, reasoning_effort: 'low' }).reasoning, {
    effort: 'high',
    summary: 'auto'
  })
  t.strictSame(read({ reasoning_effort: 'xhigh' }).reasoning, { effort: 'xhigh' })
  t.strictSame(read({ reasoning: { effort: 'none' } }).reasoning, { effort: 'none' })
  t.notOk('reasoning' in read({ reasoning: {} }))
  t.equal(refusedAt({ reasoning: { effort: 3 } }), 'reasoning.effort')
})

t.test('the effort none removes reasoning from the additional fields', async t => {
  const extra_body = { reasoning_effort: 'high', model_options: { reasoning: {}, preset: 'p' } }
  t.strictSame(read({ reasoning: { effort: 'none' }, extra_body }).additionalFields, {
    model_options: { preset: 'p' }
  })
})

t.test('text.format is read in its flat form, and its schema is not changed', async t => {
  const schema = { type: 'object', properties: { a: { $ref: '#/$defs/A' } }, $defs: { A: true } }
  t.strictSame(read({ text: { format: { type: 'json_schema', name: 'n', schema, strict: true } } }).output, {
    type: 'json-schema',
    schema,
    name: 'n',
    strict: true
  })
  t.strictSame(read({ text: { format: { type: 'text' } } }).output, { type: 'text' })
  for (const text of [undefined, null, {}, { verbosity: 'low' }, { format: null }]) {
    t.notOk('output' in read({ text: text as JsonValue }))
  }
})

t.test('response_format of chat completions is read when text.format is absent', async t => {
  const nested = { type: 'json_schema', json_schema: { name: 'n', schema: {} } }
  t.strictSame(read({ response_format: nested }).output, { type: 'json-schema', schema: {}, name: 'n' })
  t.strictSame(read({ response_format: { type: 'json_schema', schema: {} } }).output, {
    type: 'json-schema',
    schema: {}
  })
  const both = read({ text: { format: { type: 'text' } }, response_format: nested })
  t.strictSame(both.output, { type: 'text' })
  t.strictSame(both.ignored, { response_format: nested })
  t.equal(refusedAt({ response_format: { type: 'grammar' } }), 'response_format.type')
})

t.test('responses 18: unknown formats are refused', async t => {
  const error = { code: 'unsupported_response_format', param: 'text.format.type', status: 400 }
  t.strictSame(
    failure(() => read({ text: { format: { type: 'grammar' } } })),
    error
  )
})

t.test('a JSON object has a schema, or the path that a provider without that mode refuses', async t => {
  const format = { type: 'json_object' }
  t.strictSame(read({ text: { format } }).output, { type: 'json-object', path: 'text.format.type' })
  t.strictSame(read({ response_format: format }).output, { type: 'json-object', path: 'response_format.type' })
  const schema = { type: 'object' }
  t.strictSame(read({ text: { format: { ...format, schema } } }).output, { type: 'json-schema', schema })
})

t.test('a malformed output format is refused with the path of the wrong member', async t => {
  const at = (format: JsonValue) => refusedAt({ text: { format } })
  t.equal(refusedAt({ text: 'json' }), 'text')
  t.equal(at('json'), 'text.format')
  t.equal(at({}), 'text.format.type')
  t.equal(at({ type: 'json_schema', name: 'n' }), 'text.format.schema')
  t.equal(at({ type: 'json_schema' }), 'text.format.schema')
  t.equal(at({ type: 'json_schema', schema: true }), 'text.format.schema')
  t.equal(at({ type: 'json_schema', schema: {}, strict: 'yes' }), 'text.format.strict')
})

t.test(
  'members about stored conversations are read, and a response id gives the id of its conversation (F4)',
  async t => {
    t.strictSame(
      read({
        previous_response_id: 'resp_th',
        store: true,
        background: false,
        include: ['reasoning.encrypted_content', 3]
      }).conversation,
      {
        previousResponseId: 'resp_th',
        storedConversationId: 'th',
        store: true,
        background: false,
        include: ['reasoning.encrypted_content']
      }
    )
    for (const conversation of ['conv_1', { id: 'conv_1' }]) {
      t.strictSame(read({ conversation }).conversation, { conversationId: 'conv_1' })
    }
    t.equal(refusedAt({ conversation: 3 }), 'conversation')
    t.equal(refusedAt({ conversation: {} }), 'conversation.id')
    t.match(read({ conversation: 'conv_1', previous_response_id: 'resp_th' }).conversation, {
      previousResponseId: 'resp_th'
    })
    t.notOk('conversation' in read({ conversation: null }))
    t.notOk('conversation' in read({ previous_response_id: null, store: null }))
    t.equal(refusedAt({ previous_response_id: 3 }), 'previous_response_id')
  }
)

t.test("the operator's default for store is read where the client did not send it", async t => {
  const conversation = (body: JsonObject) => read(body, { storesByDefault: true }).conversation
  t.strictSame(conversation({}), { storesByDefault: true })
  t.strictSame(conversation({ store: null }), { storesByDefault: true })
  t.strictSame(conversation({ store: false }), { store: false })
  t.strictSame(conversation({ store: true }), { store: true })
})

t.test('tools of the input are declared after those of tools, and can be chosen', async t => {
  const item = {
    type: 'additional_tools',
    role: 'developer',
    tools: [
      { type: 'function', name: 'f' },
      {
        type: 'namespace',
        name: 'ns',
        tools: [
          { type: 'custom', name: 'exec' },
          { type: 'function', name: 'g' }
        ]
      },
      { type: 'custom', name: 'patch' }
    ]
  }
  const input = [item, { role: 'user', content: 'hi' }, { ...item, tools: [{ type: 'function', name: 'late' }] }]
  const request = read({
    input,
    tools: [{ type: 'function', name: 'top' }],
    tool_choice: { type: 'function', name: 'late' }
  })
  t.match(request.tools, [
    { type: 'function', name: 'top' },
    { type: 'function', name: 'f' },
    { type: 'function', name: 'exec', namespace: 'ns', freeForm: {} },
    { type: 'function', name: 'g', namespace: 'ns' },
    { type: 'function', name: 'patch', freeForm: {} },
    { type: 'function', name: 'late' }
  ])
  t.equal(request.tools.length, 6)
  t.equal(request.messages.length, 1)
  t.strictSame(request.ignored, {})
  t.equal(refusedAt({ input: [{ ...item, tools: {} }] }), 'input[0].tools')
  t.equal(refusedAt({ input: [{ ...item, tools: [{ type: 3 }] }] }), 'input[0].tools[0].type')
})

t.test('a store that is not a boolean is ignored', async t => {
  const request = read({ store: 'yes' })
  t.notOk('conversation' in request)
  t.strictSame(request.ignored, { store: 'yes' })
})

t.test('responses 20, 21: known parameters without effect are ignored and do not become additional fields', async t => {
  const body = {
    background: true,
    include: ['reasoning.encrypted_content'],
    truncation: 'auto',
    service_tier: 'flex',
    prompt_cache_options: {},
    context_management: [],
    client_metadata: { a: 'b' },
    stream_options: { include_obfuscation: false },
    moderation: { model: 'm' },
    top_logprobs: 2
  }
  const request = read(body)
  t.strictSame(request.ignored, body)
  t.notOk('additionalFields' in request)
})

t.test('responses 22: unknown and vendor members become additional fields (E5)', async t => {
  const request = read({ foo: 1, profanity_check: false, extra_body: { zz: 2 }, additional_fields: { zz: 3 } })
  t.strictSame(request.additionalFields, { foo: 1, profanity_check: false, zz: 3 })
})

t.test('responses 23: an extra_body that is not an object is refused', async t => {
  t.strictSame(
    failure(() => read({ extra_body: 'x' })),
    { code: 'unsupported_parameter', param: 'extra_body', status: 400 }
  )
})

t.test('responses 24: a prompt that another service stores is refused', async t => {
  t.strictSame(
    failure(() => read({ prompt: { id: 'p' } })),
    { code: 'unsupported_semantic', param: 'prompt', status: 400 }
  )
  t.notOk('prompt' in read({ prompt: null }).ignored, 'null counts as absent')
})

t.test('tools are read in flat, nested and namespace form, and built-in and unknown tools too', async t => {
  const { tools } = read({
    tools: [
      { type: 'function', name: 'g', parameters: { type: 'object' }, strict: true },
      { type: 'function', function: { name: 'h' } },
      { type: 'namespace', name: 'ns', description: 'd', tools: [{ type: 'function', name: 'f' }] },
      { type: 'web_search_preview', indexes: ['w'] },
      { type: 'custom', name: 'c' }
    ]
  })
  t.match(tools, [
    { type: 'function', name: 'g', strict: true },
    { type: 'function', name: 'h', parameters: { type: 'object', properties: {} } },
    { type: 'function', name: 'f', namespace: 'ns' },
    { type: 'hosted', kind: 'web_search', config: { indexes: ['w'] } },
    { type: 'function', name: 'c', parameters: { required: ['input'] }, freeForm: {} }
  ])
})

t.test('a tool choice is read in its flat form, with or without a namespace', async t => {
  const tools = [
    { type: 'function', name: 'g' },
    { type: 'namespace', name: 'ns', tools: [{ type: 'function', name: 'f' }] }
  ]
  const choice = (tool_choice: JsonValue) => read({ tools, tool_choice }).toolChoice
  t.strictSame(choice({ type: 'function', name: 'g' }), { type: 'function', name: 'g' })
  t.strictSame(choice({ type: 'function', name: 'f', namespace: 'ns' }), { type: 'function', name: 'ns__f' })
  t.strictSame(choice('required'), { type: 'required' })
  t.strictSame(choice({ type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'g' }] }), {
    type: 'allowed',
    mode: 'required',
    names: ['g'],
    kinds: []
  })
  t.equal(failure(() => choice({ type: 'function', name: 'x' })).param, 'tool_choice')
})

t.test('ids of uploaded files are read from a header', async t => {
  const ids = (attachmentIds: string | undefined) => read({}, { attachmentIds }).uploadedFileIds
  t.equal(ids(undefined), undefined)
  t.strictSame(ids('f1, f2'), ['f1', 'f2'])
  t.equal(ids(Array.from({ length: 10 }, (_, index) => `f${index}`).join(','))?.length, 10)
})

t.test('responses 38: a header that is not a list of different ids is refused', async t => {
  const error = { code: 'invalid_attachment_ids', param: 'x-gateway-attachment-ids', status: 400 }
  const eleven = Array.from({ length: 11 }, (_, index) => `f${index}`).join(',')
  for (const attachmentIds of ['f1,f1', '', ' ', 'f1,', 'a b', 'ü', eleven, 'x'.repeat(201)]) {
    t.strictSame(
      failure(() => read({}, { attachmentIds })),
      error,
      attachmentIds
    )
  }
})
