import t from 'tap'
import { GatewayError, type JsonObject, type NormalizedRequest } from '../../../../../worker/normalized/index.ts'
import { messagesCompatibleFace } from '../../../../../worker/protocols/messages/provider/face.ts'
import { makeRequest } from '../../native/support.ts'
import { options, type Protocol, readRequest, write, writeMessages } from './support.ts'

const hi = { role: 'user', content: 'hi' }
const toolCall = (id: string, text = '{}', name = 'f') => ({
  id,
  type: 'function',
  function: { name, arguments: text }
})
const calls = (...list: JsonObject[]) => ({ role: 'assistant', content: null, tool_calls: list })
const result = (id: string, content = 'r') => ({ role: 'tool', tool_call_id: id, content })
const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }

function findError(run: () => unknown): GatewayError | undefined {
  try {
    run()
  } catch (thrown) {
    if (GatewayError.is(thrown)) return thrown
    throw thrown
  }
  return undefined
}

t.test('bridge 8.2: the call has exactly the path and the headers of the wire', async t => {
  const accept = ['accept', 'text/event-stream, application/json', 'content-type', 'application/json']
  const version = ['anthropic-version', '2023-06-01']
  const whole = write('completions', { model: 'a', messages: [hi] })
  t.match(whole, { method: 'POST', path: '/v1/messages', headers: [...accept, ...version] })
  t.same(whole.body, { model: 'exact-model', max_tokens: 32_000, messages: [hi] })
  const streamed = write('completions', { model: 'a', messages: [hi], stream: true }, true)
  t.same(streamed.headers, [...accept, 'accept-encoding', 'identity', ...version])
  t.equal(streamed.body.stream, true)
})

t.test('the output limit is the client’s, else the declared one, else the default', async t => {
  const limitOf = (maxOutputTokens: number | undefined, outputTokensMax: number | undefined) => {
    const sampling = maxOutputTokens === undefined ? {} : { maxOutputTokens }
    const request = makeRequest({ sampling, messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] })
    return messagesCompatibleFace.writeChat(request, { upstreamModel: 'm', outputTokensMax }, options).body.max_tokens
  }
  t.equal(limitOf(7, 4096), 7)
  t.equal(limitOf(undefined, 4096), 4096)
  t.equal(limitOf(undefined, 200_000), 32_000)
  t.equal(limitOf(undefined, Number.POSITIVE_INFINITY), 32_000)
  t.equal(limitOf(undefined, undefined), 32_000)
})

t.test('instructions are gathered, also later ones, and blank texts are left out', async t => {
  const one = writeMessages([{ role: 'system', content: 'Be brief.' }, hi])
  t.same([one.system, one.messages], ['Be brief.', [hi]])
  const several = writeMessages([
    { role: 'developer', content: 'a' },
    { role: 'system', content: ' \n' },
    hi,
    { role: 'assistant', content: '' },
    { role: 'system', content: 'b' },
    {
      role: 'user',
      content: [
        { type: 'text', text: '' },
        { type: 'text', text: 'more' }
      ]
    }
  ])
  t.same(several.system, [
    { type: 'text', text: 'a' },
    { type: 'text', text: 'b' }
  ])
  t.same(several.messages, [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'hi' },
        { type: 'text', text: 'more' }
      ]
    }
  ])
})

t.test('instructions alone are what the model is asked, and nothing at all is refused', async t => {
  const alone = writeMessages([{ role: 'system', content: 'Write a poem.' }])
  t.same([alone.system, alone.messages], [undefined, [{ role: 'user', content: 'Write a poem.' }]])
  t.match(
    findError(() => writeMessages([{ role: 'user', content: ' ' }])),
    { code: 'invalid_request', param: 'messages' }
  )
})

t.test(
  'consecutive messages of a role are one, and a last text of the assistant has no white space at its end',
  async t => {
    const { messages } = writeMessages([hi, hi, { role: 'assistant', content: 'The answer is ' }])
    const block = { type: 'text', text: 'hi' }
    t.same(messages, [
      { role: 'user', content: [block, block] },
      { role: 'assistant', content: 'The answer is' }
    ])
  }
)

t.test('pieces of one text are one text', async t => {
  const { body } = write('content', { contents: [{ parts: [{ text: 'one ' }, { text: 'te' }, { text: 'xt' }] }] })
  t.same(body.messages, [{ role: 'user', content: 'one text' }])
})

t.test('results follow their calls, before what the user says', async t => {
  const { messages } = writeMessages([
    hi,
    calls(toolCall('a', '{"n":1}'), toolCall('b')),
    { role: 'user', content: 'and?' },
    result('b', 'second'),
    result('a', 'first')
  ])
  t.same(messages, [
    hi,
    {
      role: 'assistant',
      content: [
        { type: 'tool_use', id: 'a', name: 'f', input: { n: 1 } },
        { type: 'tool_use', id: 'b', name: 'f', input: {} }
      ]
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'b', content: 'second' },
        { type: 'tool_result', tool_use_id: 'a', content: 'first' },
        { type: 'text', text: 'and?' }
      ]
    }
  ])
})

t.test('calls that are items of their own are one turn', async t => {
  const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' })
  const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: 'r' })
  const { body } = write('responses', { model: 'm', input: [hi, call('a'), call('b'), output('a'), output('b')] })
  t.match(body.messages, [
    {},
    { role: 'assistant', content: [{ id: 'a' }, { id: 'b' }] },
    { role: 'user', content: [{ tool_use_id: 'a' }, { tool_use_id: 'b' }] }
  ])
})

t.test('a call without a result is left out and counted (B8)', async t => {
  const { body, reading } = write('completions', {
    model: 'm',
    messages: [
      hi,
      calls(toolCall('a')),
      { role: 'user', content: 'stop' },
      calls(toolCall('b'), toolCall('c')),
      result('c')
    ]
  })
  t.equal(reading.droppedToolCalls, 2)
  t.match(body.messages, [
    { role: 'user', content: [{ text: 'hi' }, { text: 'stop' }] },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'c' }] },
    { role: 'user', content: [{ tool_use_id: 'c' }] }
  ])
  t.equal((body.messages as unknown[]).length, 3)
})

t.test('a result without a call is refused with its path (B9)', async t => {
  const error = findError(() => writeMessages([hi, result('x')]))
  t.match(error, { code: 'invalid_request', param: 'messages[1].tool_call_id' })
})

t.test('a result that comes twice is sent once', async t => {
  const { messages } = writeMessages([hi, calls(toolCall('a')), result('a', 'one'), result('a', 'two')])
  t.same((messages as JsonObject[])[2], {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'a', content: 'one' }]
  })
})

t.test('ids have the characters of the wire and are unique in the conversation', async t => {
  const { messages } = writeMessages([
    hi,
    calls(toolCall('functions.f:0')),
    result('functions.f:0', 'one'),
    calls(toolCall('functions.f:0')),
    result('functions.f:0', 'two')
  ])
  const [, first, firstResult, second, secondResult] = messages as Array<{ content: JsonObject[] }>
  const ids = [first, second].map(message => message?.content[0]?.id)
  for (const id of ids) t.match(id, /^[a-zA-Z0-9_-]{1,40}$/)
  t.not(ids[0], ids[1])
  t.match(
    [firstResult, secondResult],
    [{ content: [{ tool_use_id: ids[0], content: 'one' }] }, { content: [{ tool_use_id: ids[1], content: 'two' }] }]
  )
})

t.test('calls without ids get one that their results have too', async t => {
  const { body } = write('content', {
    contents: [
      { role: 'user', parts: [{ text: 'go' }] },
      {
        role: 'model',
        parts: [{ functionCall: { name: 'f', args: { a: 1 } } }, { functionCall: { name: 'g', args: {} } }]
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { name: 'g', response: { b: 2 } } },
          { functionResponse: { name: 'f', response: {} } }
        ]
      }
    ]
  })
  const [, turn, results] = body.messages as Array<{ content: JsonObject[] }>
  t.match(turn?.content, [
    { name: 'f', id: 'call_0' },
    { name: 'g', id: 'call_1' }
  ])
  t.match(results?.content, [{ tool_use_id: 'call_1', content: '{"b":2}' }, { tool_use_id: 'call_0' }])
})

t.test('a failed result keeps its mark, and a result of several blocks keeps them', async t => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
  const { body } = write('messages', {
    model: 'm',
    max_tokens: 5,
    messages: [
      hi,
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'see' },
          { type: 'tool_result', tool_use_id: 'a', is_error: true, content: [{ type: 'text', text: 'boom' }, image] }
        ]
      }
    ]
  })
  t.same((body.messages as JsonObject[])[2], {
    role: 'user',
    content: [
      {
        type: 'tool_result',
        tool_use_id: 'a',
        content: [{ type: 'text', text: 'boom' }, image],
        is_error: true
      },
      { type: 'text', text: 'see' }
    ]
  })
})

t.test('arguments keep the digits of large integers', async t => {
  const text = '{"id":12345678901234567890,"list":[-98765432109876543210]}'
  const { messages } = writeMessages([hi, calls(toolCall('a', text)), result('a')])
  t.match(JSON.stringify(messages), `"input":${text}`)
})

t.test('tools have a schema of an object, a name of the wire, and strict where it is asked for', async t => {
  const schema = {
    $defs: { a: { type: ['string', 'null'] } },
    type: 'object',
    properties: { a: { $ref: '#/$defs/a' } }
  }
  const { body, reading } = write('completions', {
    model: 'm',
    messages: [hi],
    tools: [
      { type: 'function', function: { name: 'f', description: 'd', parameters: schema, strict: true } },
      { type: 'function', function: { name: 'a.b', parameters: { properties: {} }, strict: false } },
      { type: 'function', function: { name: 'g' } }
    ]
  })
  t.same(body.tools, [
    { name: 'f', description: 'd', input_schema: schema, strict: true },
    { name: 'a_b', input_schema: { type: 'object', properties: {} } },
    { name: 'g', input_schema: { type: 'object', properties: {} } }
  ])
  t.same([...reading.toolNames], [['a_b', { name: 'a.b' }]])
  t.notOk('tool_choice' in body)
})

t.test('every tool choice (B6, B7)', async t => {
  const choose = (tool_choice: unknown, more: JsonObject = {}) =>
    writeMessages([hi], { tools: [tool], tool_choice: tool_choice as string, ...more }).tool_choice
  t.same(choose('auto'), { type: 'auto' })
  t.same(choose('none'), { type: 'none' })
  t.same(choose('required'), { type: 'any' })
  t.same(choose({ type: 'function', function: { name: 'f' } }), { type: 'tool', name: 'f' })
  t.same(choose('required', { parallel_tool_calls: false }), { type: 'any', disable_parallel_tool_use: true })
  t.same(choose('none', { parallel_tool_calls: false }), { type: 'none' })
  t.same(choose('auto', { parallel_tool_calls: true }), { type: 'auto' })
  t.same(choose(null, { parallel_tool_calls: false }), { type: 'auto', disable_parallel_tool_use: true })
  t.equal(choose(null, { parallel_tool_calls: true }), undefined)
  t.match(
    findError(() => choose({ type: 'function', function: { name: 'x' } })),
    { code: 'invalid_request' }
  )
})

t.test('a history with calls declares their functions where the client offers none', async t => {
  const body = writeMessages([hi, calls(toolCall('a', '{}', 'a.b')), result('a')])
  t.same(body.tools, [{ name: 'a_b', input_schema: { type: 'object' } }])
  t.same(body.tool_choice, { type: 'none' })
})

t.test('images and documents have a block of their own', async t => {
  const image = (url: string) => ({ type: 'image_url', image_url: { url, detail: 'high' } })
  const file = (file_data: string, filename?: string) => ({
    type: 'file',
    file: { file_data, ...(filename === undefined ? {} : { filename }) }
  })
  const { messages } = writeMessages([
    {
      role: 'user',
      content: [
        { type: 'text', text: 'see' },
        image('https://a.test/1.png'),
        image('data:image/jpg;base64,AAAA'),
        file('data:application/pdf;base64,BBBB', 'a.pdf'),
        file('Y2FmZQ==', 'a.txt')
      ]
    }
  ])
  t.same((messages as JsonObject[])[0]?.content, [
    { type: 'text', text: 'see' },
    { type: 'image', source: { type: 'url', url: 'https://a.test/1.png' } },
    { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: 'AAAA' } },
    { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'BBBB' }, title: 'a.pdf' },
    { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'cafe' }, title: 'a.txt' }
  ])
})

t.test('media that the wire has no block for are refused with their path', async t => {
  const send = (part: JsonObject) => findError(() => writeMessages([{ role: 'user', content: [part] }]))
  const refused: JsonObject[] = [
    { type: 'image_url', image_url: { url: 'data:image/tiff;base64,AAAA' } },
    { type: 'image_url', image_url: { url: 'ftp://a.test/1.png' } },
    { type: 'file', file: { file_data: 'data:audio/wav;base64,AAAA' } },
    { type: 'file', file: { file_id: 'file-1' } }
  ]
  for (const part of refused) {
    t.match(send(part), { code: 'unsupported_semantic', param: /^messages\[0\]\.content\[0\]/ }, JSON.stringify(part))
  }
})

t.test('controls, schema and effort are those of the wire', async t => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } }
  const { body } = write('completions', {
    model: 'm',
    messages: [hi],
    max_completion_tokens: 99,
    temperature: 0.3,
    top_p: 0.9,
    stop: ['END', '\n\n'],
    user: 'u-1',
    metadata: { team: 'a' },
    reasoning_effort: 'xhigh',
    response_format: { type: 'json_schema', json_schema: { name: 'n', strict: true, schema } }
  })
  t.same(body, {
    model: 'exact-model',
    max_tokens: 99,
    messages: [hi],
    output_config: { effort: 'xhigh', format: { type: 'json_schema', schema } },
    temperature: 0.3,
    top_p: 0.9,
    stop_sequences: ['END'],
    metadata: { user_id: 'u-1' }
  })
  t.notOk('output_config' in writeMessages([hi], { reasoning_effort: 'none' }))
  const { body: content } = write('content', { contents: [{ parts: [{ text: 'hi' }] }], generationConfig: { topK: 7 } })
  t.equal(content.top_k, 7)
})

t.test('JSON without a schema is refused', async t => {
  t.match(
    findError(() => {
      const request = makeRequest({
        messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
        output: { type: 'json-object', path: 'response_format.type' }
      })
      messagesCompatibleFace.writeChat(request, { upstreamModel: 'm' }, options)
    }),
    { code: 'unsupported_response_format', param: 'response_format.type' }
  )
})

t.test('thinking goes back with its own signature only, and never ends a turn (C1, C3)', async t => {
  const thinking = (signature: string) => ({ type: 'thinking', thinking: 'why', signature })
  const send = (...content: JsonObject[]) => {
    const { body } = write('messages', {
      model: 'm',
      max_tokens: 5,
      messages: [hi, { role: 'assistant', content: content as never }, hi]
    })
    return (body.messages as JsonObject[]).map(message => message.content)
  }
  const text = { type: 'text', text: 'ok' }
  const redacted = { type: 'redacted_thinking', data: 'x' }
  t.same(send(thinking('s'), redacted, text)[1], [thinking('s'), redacted, text])
  t.equal(send(thinking(''), text)[1], 'ok')
  t.equal(send(text, thinking('s'))[1], 'ok')
  t.same(send(thinking('s')), [
    [
      { type: 'text', text: 'hi' },
      { type: 'text', text: 'hi' }
    ]
  ])
})

t.test('a budget is sent as thinking, below the output limit, and not as an effort', async t => {
  const send = (thinkingConfig: JsonObject, more: JsonObject = {}) => {
    const generationConfig = { thinkingConfig, ...more }
    const { body } = write('content', { contents: [{ parts: [{ text: 'hi' }] }], generationConfig })
    return { thinking: body.thinking, max_tokens: body.max_tokens, output_config: body.output_config }
  }
  const omitted = { display: 'omitted' }
  const enabled = (budget_tokens: number, more: object = omitted) => ({ type: 'enabled', budget_tokens, ...more })
  const none = { output_config: undefined }
  t.same(send({ thinkingBudget: 4000 }), { thinking: enabled(4000), max_tokens: 36_000, ...none })
  t.same(send({ thinkingBudget: 5 }, { maxOutputTokens: 5000 }), { thinking: enabled(1024), max_tokens: 5000, ...none })
  t.same(send({ thinkingBudget: 9000 }, { maxOutputTokens: 5000 }), {
    thinking: enabled(4999),
    max_tokens: 5000,
    ...none
  })
  t.same(send({ thinkingBudget: 9000 }, { maxOutputTokens: 900 }), { thinking: undefined, max_tokens: 900, ...none })
  t.same(send({ thinkingBudget: -1, includeThoughts: true }), {
    thinking: { type: 'adaptive', display: 'summarized' },
    max_tokens: 32_000,
    ...none
  })
  t.same(send({ thinkingBudget: 0 }), { thinking: { type: 'disabled' }, max_tokens: 32_000, ...none })
  t.same(send({ thinkingLevel: 'LOW' }), { thinking: undefined, max_tokens: 32_000, output_config: { effort: 'low' } })
})

t.test('thinking is left out where the service refuses it', async t => {
  const generationConfig = { thinkingConfig: { thinkingBudget: 2000 } }
  const tools = [{ functionDeclarations: [{ name: 'f', description: 'd' }] }]
  const prompt = { role: 'user', parts: [{ text: 'hi' }] }
  const send = (contents: JsonObject[], more: JsonObject = {}) =>
    write('content', { contents: contents as never, generationConfig, tools: tools as never, ...more }).body.thinking
  const force = { toolConfig: { functionCallingConfig: { mode: 'ANY' } } }
  t.match(send([prompt]), { type: 'enabled' })
  t.equal(send([prompt], force), undefined)
  t.equal(send([prompt, { role: 'model', parts: [{ text: 'The answer is' }] }]), undefined)
  const signature = Buffer.from('gateway-state:{"messages_compatible":{"signature":"s"}}').toString('base64')
  const functionCall = { functionCall: { id: 'a', name: 'f', args: {} } }
  const results = { role: 'user', parts: [{ functionResponse: { id: 'a', name: 'f', response: {} } }] }
  t.equal(send([prompt, { role: 'model', parts: [functionCall] }, results]), undefined)
  const thought = { text: 'why', thought: true, thoughtSignature: signature }
  t.match(send([prompt, { role: 'model', parts: [thought, functionCall] }, results]), { type: 'enabled' })
  const unsent = { role: 'model', parts: [thought] }
  t.equal(
    send([prompt, { role: 'model', parts: [functionCall] }, results, unsent]),
    undefined,
    'thinking that ends it is not sent'
  )
})

t.test('thinking that a client got in pieces is one block again', async t => {
  const signature = Buffer.from('gateway-state:{"messages_compatible":{"signature":"s"}}').toString('base64')
  const parts = [
    { text: 'Let me ', thought: true },
    { text: 'look.', thought: true },
    { text: '', thought: true, thoughtSignature: signature },
    { text: 'ok' }
  ]
  const prompt = { role: 'user', parts: [{ text: 'hi' }] }
  const { body } = write('content', { contents: [prompt, { role: 'model', parts }, prompt] })
  t.same((body.messages as JsonObject[])[1]?.content, [
    { type: 'thinking', thinking: 'Let me look.', signature: 's' },
    { type: 'text', text: 'ok' }
  ])
})

t.test('functions of two namespaces with one name are refused', async t => {
  const request = makeRequest({
    messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
    tools: [
      { type: 'function', name: 'b', namespace: 'a', parameters: {} },
      { type: 'function', name: 'a__b', parameters: {} }
    ]
  })
  t.match(
    findError(() => messagesCompatibleFace.writeChat(request, { upstreamModel: 'm' }, options)),
    { code: 'invalid_request', param: 'tools' }
  )
})

t.test('bridge 81: one call counts all texts', async t => {
  const { countTokens } = messagesCompatibleFace
  const written = countTokens?.write({ model: 'exact-model', input: ['sys', 'hello', ' '] }, options)
  t.match(written, { method: 'POST', path: '/v1/messages/count_tokens' })
  t.match(written?.headers, ['accept', /./, 'content-type', 'application/json', 'anthropic-version', '2023-06-01'])
  t.same(written?.body, {
    model: 'exact-model',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'sys' },
          { type: 'text', text: 'hello' }
        ]
      }
    ]
  })
  t.same(countTokens?.read({ input_tokens: 9 }, { count: 3 }), [9, 0, 0])
  for (const body of [{}, { input_tokens: -1 }, { input_tokens: 1.5 }, null, [1]]) {
    t.throws(() => countTokens?.read(body, { count: 1 }), { code: 'provider_protocol_error' })
  }
  const limited = { type: 'error', error: { type: 'rate_limit_error', message: 'Slow down' } }
  t.throws(() => countTokens?.read(limited, { count: 1 }), { code: 'rate_limited', status: 429, message: 'Slow down' })
})

t.test('the model list is read page by page', async t => {
  const { models } = messagesCompatibleFace
  t.match(models?.write(options), { method: 'GET', path: '/v1/models?limit=1000' })
  const list = models?.read({ data: [{ type: 'model', id: 'claude-a', display_name: 'A' }], has_more: false })
  t.same(list, {
    models: [
      { id: 'claude-a', ownedBy: null, modelType: null, available: true, deprecated: false, providerMetadata: {} }
    ]
  })
  t.match(models?.read({ data: [], has_more: true, last_id: 'claude-a' }), { cursor: 'claude-a' })
  t.equal(models?.write(options, 'claude-a').path, '/v1/models?limit=1000&after_id=claude-a')
  t.throws(() => models?.read({}), { code: 'provider_protocol_error' })
})

t.test('what the wire has no place for is declared', async t => {
  const { features } = messagesCompatibleFace.accepts
  const refused = Object.entries(features).flatMap(([name, fate]) => (fate === 'refused' ? [name] : []))
  t.same(refused.sort(), ['storedConversation', 'uploadedFiles'])
  for (const name of ['additionalFields', 'frequencyPenalty', 'hostedTools', 'presencePenalty', 'seed'] as const) {
    t.equal(features[name], 'ignored', `${name} is left out (decisions.md 69)`)
  }
  t.equal(features.metadata, 'ignored')
})

const bodies: Record<Protocol, JsonObject> = {
  completions: { model: 'm', messages: [hi] },
  responses: { model: 'm', input: 'hi' },
  messages: { model: 'm', max_tokens: 5, messages: [hi] },
  content: { contents: [{ parts: [{ text: 'hi' }] }] }
}

for (const [protocol, body] of Object.entries(bodies)) {
  t.test(`a request of the ${protocol} protocol is written on the wire`, async t => {
    t.same(write(protocol as Protocol, body).body.messages, [hi])
  })
}

t.test('a budget is left out beside sampling that the service refuses with thinking', async t => {
  const thinkingOf = (sampling: NormalizedRequest['sampling']) => {
    const messages: NormalizedRequest['messages'] = [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }]
    const request = makeRequest({ sampling, reasoning: { budgetTokens: 2000 }, messages })
    return messagesCompatibleFace.writeChat(request, { upstreamModel: 'm', outputTokensMax: undefined }, options).body
      .thinking
  }
  for (const sampling of [{}, { temperature: 1, topP: 0.95 }, { topK: 64 }]) {
    t.match(thinkingOf(sampling), { budget_tokens: 2000 })
  }
  for (const sampling of [{ temperature: 0.2 }, { topP: 0.5 }]) t.equal(thinkingOf(sampling), undefined)
})

t.test('what the service refuses beside other members is left out, and named (decisions.md 78)', async t => {
  const agent = { temperature: 1, topP: 0.95, topK: 64 }
  const send = (generationConfig: JsonObject) => {
    const { body, leftOut } = write('content', { contents: [{ parts: [{ text: 'hi' }] }], generationConfig })
    const { temperature, top_p, top_k, thinking } = body as Record<string, JsonObject>
    return { temperature, top_p, top_k, thinking: thinking?.type, leftOut }
  }
  t.match(send({ ...agent }), {
    temperature: undefined,
    top_p: 0.95,
    top_k: 64,
    leftOut: ['generationConfig.temperature']
  })
  t.match(send({ ...agent, thinkingConfig: { thinkingBudget: 2000 } }), {
    top_k: undefined,
    thinking: 'enabled',
    leftOut: ['generationConfig.temperature', 'generationConfig.topK']
  })
  t.match(send({ ...agent, thinkingConfig: { thinkingBudget: 0 } }), { top_k: 64, thinking: 'disabled' })
  t.match(send({ temperature: 0.5, topP: 0.95 }), { temperature: 0.5, top_p: 0.95, leftOut: undefined })
  t.match(send({ temperature: 1 }), { temperature: 1, leftOut: undefined })
  t.match(send({ temperature: 0.5, thinkingConfig: { thinkingBudget: 2000 } }), {
    thinking: undefined,
    leftOut: ['generationConfig.thinkingConfig']
  })
})

t.test(
  'the effort none is the off switch of the wire, where the alias declares an effort (decisions.md 81)',
  async t => {
    const bodies: Partial<Record<Protocol, JsonObject>> = {
      completions: { messages: [hi], reasoning_effort: 'none' },
      responses: { input: 'hi', reasoning: { effort: 'none' } },
      messages: { max_tokens: 5, messages: [hi], thinking: { type: 'disabled' } }
    }
    const send = (protocol: Protocol, body: JsonObject, features?: readonly string[]) =>
      messagesCompatibleFace.writeChat(readRequest(protocol, body), { upstreamModel: 'm', features }, options)
    for (const [protocol, body] of Object.entries(bodies) as Array<[Protocol, JsonObject]>) {
      for (const features of [undefined, ['reasoning_effort']]) {
        t.same(send(protocol, body, features).body.thinking, { type: 'disabled' }, protocol)
      }
      t.notOk('thinking' in send(protocol, body, ['text']).body, `${protocol}, undeclared`)
    }
    const low = send('completions', { messages: [hi], reasoning_effort: 'low' }, ['text'])
    t.notOk('output_config' in low.body)
    t.same(low.leftOut, ['reasoning_effort'])
  }
)
