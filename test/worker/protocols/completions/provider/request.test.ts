import t from 'tap'
import { GatewayError, type JsonObject } from '../../../../../worker/normalized/index.ts'
import { chatCompatibleFace } from '../../../../../worker/protocols/completions/provider/face.ts'
import { answer, openReader, options, type Protocol, readRequest, write } from './support.ts'

const lookup = { name: 'lookup', description: 'Look up.', parameters: { type: 'object' } }

/** The body as it goes out, so that the order of the members is compared too. */
function writeText(protocol: Protocol, body: JsonObject): string {
  return JSON.stringify(write(protocol, body).body)
}

function catchError(act: () => unknown): GatewayError | undefined {
  try {
    act()
    return undefined
  } catch (thrown) {
    if (GatewayError.is(thrown)) return thrown
    throw thrown
  }
}

t.test('the body of the contract is written byte for byte', async t => {
  const body = {
    model: 'alias',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Find it.' },
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ id: 'call_7', type: 'function', function: { name: 'lookup', arguments: '{"q":"x"}' } }]
      },
      { role: 'tool', tool_call_id: 'call_7', content: 'found' }
    ],
    stream: true,
    tools: [{ type: 'function', function: lookup }],
    max_tokens: 512
  }
  t.equal(
    writeText('completions', body),
    '{"model":"exact-model","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Find it."},' +
      '{"role":"assistant","content":null,"tool_calls":[{"id":"call_7","type":"function","function":{"name":"lookup",' +
      '"arguments":"{\\"q\\":\\"x\\"}"}}]},{"role":"tool","content":"found","tool_call_id":"call_7"}],"stream":true,' +
      '"stream_options":{"include_usage":true},"tools":[{"type":"function","function":{"name":"lookup",' +
      '"description":"Look up.","parameters":{"type":"object"}}}],"max_tokens":512}'
  )
})

t.test('members stand in the order of the contract, and only those that are set', async t => {
  const body = {
    seed: 7,
    stop: 'END',
    frequency_penalty: 0.5,
    presence_penalty: 0.25,
    max_completion_tokens: 9,
    top_p: 0.5,
    temperature: 0,
    reasoning_effort: 'xhigh',
    response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' }, strict: true } },
    parallel_tool_calls: false,
    tool_choice: 'auto',
    tools: [{ type: 'function', function: lookup }],
    metadata: { a: 'b' },
    user: 'u',
    messages: [{ role: 'developer', content: 'd' }],
    model: 'alias'
  }
  const { body: written, path, headers } = write('completions', body)
  t.same(Object.keys(written), [
    'model',
    'messages',
    'stream',
    'metadata',
    'tools',
    'tool_choice',
    'parallel_tool_calls',
    'response_format',
    'reasoning_effort',
    'temperature',
    'top_p',
    'max_completion_tokens',
    'presence_penalty',
    'frequency_penalty',
    'stop',
    'seed',
    'user'
  ])
  t.match(written, {
    model: 'exact-model',
    messages: [{ role: 'system', content: 'd' }],
    stream: false,
    reasoning_effort: 'xhigh',
    max_completion_tokens: 9,
    stop: ['END'],
    response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' }, strict: true } }
  })
  t.equal(path, '/v1/chat/completions')
  t.same(headers, ['accept', 'text/event-stream, application/json', 'content-type', 'application/json'])
  t.same(
    write('completions', { ...body, stream: true }).headers.slice(4),
    ['accept-encoding', 'identity'],
    'streams only'
  )
  t.same(Object.keys(write('completions', { model: 'a', messages: [{ role: 'user', content: 'hi' }] }).body), [
    'model',
    'messages',
    'stream'
  ])
})

t.test('the mode NONE of content keeps the functions, which the history may call', async t => {
  const { body } = write('content', {
    contents: [
      { role: 'user', parts: [{ text: 'u' }] },
      { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'f', response: {} } }] }
    ],
    tools: [{ functionDeclarations: [{ name: 'f' }] }],
    toolConfig: { functionCallingConfig: { mode: 'NONE' } }
  })
  t.match(body, { tools: [{ function: { name: 'f' } }], tool_choice: 'none' })
})

t.test('metadata is sent for clients of this wire only (decisions.md 78)', async t => {
  const metadata = { user_id: 'u' }
  const bodies: Partial<Record<Protocol, JsonObject>> = {
    messages: { max_tokens: 1, messages: [{ role: 'user', content: 'hi' }], metadata },
    responses: { input: 'hi', metadata },
    content: { contents: [{ parts: [{ text: 'hi' }] }], labels: metadata }
  }
  for (const [protocol, body] of Object.entries(bodies)) {
    const written = write(protocol as Protocol, body)
    t.notOk('metadata' in written.body, protocol)
    t.notOk('user' in written.body, protocol)
  }
  const own = { messages: [{ role: 'user', content: 'hi' }] }
  t.same(write('completions', { ...own, metadata }).body.metadata, metadata)
  t.notOk('metadata' in write('completions', { ...own, metadata: {} }).body)
})

t.test('the output limit has the name of the alias, else that of the client (decisions.md 74)', async t => {
  const limitsOf = ({ body }: ReturnType<typeof write>) => {
    const { max_tokens, max_completion_tokens } = body
    return { max_tokens, max_completion_tokens }
  }
  const own = { messages: [{ role: 'user', content: 'hi' }] }
  const older = { max_tokens: 9, max_completion_tokens: undefined }
  const newer = { max_tokens: undefined, max_completion_tokens: 9 }
  const bodies: Array<[protocol: Protocol, body: JsonObject, expected: object]> = [
    ['completions', { ...own, max_tokens: 9 }, older],
    ['completions', { ...own, max_completion_tokens: 9 }, newer],
    ['completions', { ...own, max_tokens: 9, max_completion_tokens: 7 }, older],
    ['completions', { ...own, max_tokens: null, max_completion_tokens: 9 }, newer],
    ['completions', { ...own, max_output_tokens: 9, max_completion_tokens: 7 }, older],
    ['responses', { input: 'hi', max_output_tokens: 9 }, older],
    ['messages', { ...own, max_tokens: 9 }, older],
    ['content', { contents: [{ parts: [{ text: 'hi' }] }], generationConfig: { maxOutputTokens: 9 } }, older]
  ]
  for (const [protocol, body, expected] of bodies) {
    t.same(limitsOf(write(protocol, body)), expected, `${protocol} ${JSON.stringify(body)}`)
    for (const [outputLimitField, named] of [
      ['max_tokens', older],
      ['max_completion_tokens', newer]
    ] as const) {
      t.same(limitsOf(write(protocol, body, { outputLimitField })), named, `${outputLimitField} for ${protocol}`)
    }
  }
})

t.test(
  'an effort is sent where the alias declares it, none as the off switch of the wire (decisions.md 74, 81)',
  async t => {
    const own = { messages: [{ role: 'user', content: 'hi' }] }
    const bodies: Array<[protocol: Protocol, body: JsonObject, effort: string]> = [
      ['completions', { ...own, reasoning_effort: 'high' }, 'high'],
      ['completions', { ...own, reasoning_effort: 'none' }, 'none'],
      ['responses', { input: 'hi', reasoning: { effort: 'none' } }, 'none'],
      ['messages', { ...own, max_tokens: 9, thinking: { type: 'disabled' } }, 'none'],
      ['messages', { ...own, max_tokens: 9000, thinking: { type: 'enabled', budget_tokens: 8000 } }, 'high'],
      [
        'content',
        { contents: [{ parts: [{ text: 'hi' }] }], generationConfig: { thinkingConfig: { thinkingBudget: 0 } } },
        'none'
      ]
    ]
    for (const [protocol, body, effort] of bodies) {
      t.equal(write(protocol, body, { features: ['reasoning_effort'] }).body.reasoning_effort, effort, protocol)
      t.notOk('reasoning_effort' in write(protocol, body, { features: ['text'] }).body, protocol)
    }
  }
)

t.test('a schema always has a name, and it is sent unchanged', async t => {
  const schema = { $defs: { a: { type: ['string', 'null'] } }, anyOf: [{ $ref: '#/$defs/a' }, true] }
  const { body } = write('responses', { input: 'hi', text: { format: { type: 'json_schema', schema } } })
  t.same(body.response_format, { type: 'json_schema', json_schema: { name: 'response', schema } })
  const tool = { type: 'function', name: 'f', parameters: schema }
  t.same(write('responses', { input: 'hi', tools: [tool] }).body.tools, [
    { type: 'function', function: { name: 'f', parameters: schema } }
  ])
  const loose = { messages: [{ role: 'user', content: 'hi' }], response_format: { type: 'json_object' } }
  const refused = catchError(() => write('completions', loose, { features: ['json_schema_output'] }))
  t.match(refused, { code: 'unsupported_response_format', param: 'response_format.type' })
  const declared = write('completions', loose, { features: ['json_object_output'] })
  t.same(declared.body.response_format, { type: 'json_object' }, 'decisions.md 69')
})

t.test('images of every client become image URLs', async t => {
  const url = 'data:image/png;base64,iVBORw=='
  t.same(
    write('completions', {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'see' },
            { type: 'image_url', image_url: { url: 'https://e.test/a.png', detail: 'low' } }
          ]
        }
      ]
    }).body.messages,
    [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'see' },
          { type: 'image_url', image_url: { url: 'https://e.test/a.png', detail: 'low' } }
        ]
      }
    ]
  )
  t.same(
    write('messages', {
      model: 'a',
      max_tokens: 1,
      messages: [
        {
          role: 'user',
          content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw==' } }]
        }
      ]
    }).body.messages,
    [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }]
  )
  t.same(
    write('content', { contents: [{ parts: [{ inlineData: { mimeType: 'image/png', data: 'iVBORw==' } }] }] }).body
      .messages,
    [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }]
  )
})

t.test(
  'a tool round trip of messages sends arguments and results as text under the same id (decisions.md 76)',
  async t => {
    const { body } = write('messages', {
      model: 'a',
      max_tokens: 5,
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      messages: [
        { role: 'user', content: 'go' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'secret thought', signature: 's' },
            { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } },
            { type: 'tool_use', id: 'toolu_2', name: 'g', input: {} }
          ]
        },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'and then' },
            { type: 'tool_result', tool_use_id: 'toolu_2', content: 'no', is_error: true },
            {
              type: 'tool_result',
              tool_use_id: 'toolu_1',
              content: [
                { type: 'text', text: 'a' },
                { type: 'text', text: 'b' }
              ]
            }
          ]
        }
      ]
    })
    t.same(body.messages, [
      { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] },
      { role: 'user', content: 'go' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'toolu_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
          { id: 'toolu_2', type: 'function', function: { name: 'g', arguments: '{}' } }
        ]
      },
      { role: 'tool', content: 'Error: no', tool_call_id: 'toolu_2', name: 'g' },
      { role: 'tool', content: 'a\nb', tool_call_id: 'toolu_1', name: 'f' },
      { role: 'user', content: [{ type: 'text', text: 'and then' }] }
    ])
    t.notMatch(JSON.stringify(body), 'secret thought')
  }
)

t.test('calls of content without ids get one that their results use too', async t => {
  const { body } = write('content', {
    contents: [
      { role: 'user', parts: [{ text: 'a' }, { text: 'b' }] },
      {
        role: 'model',
        parts: [
          { text: 'I ' },
          { text: 'look' },
          { functionCall: { name: 'f', args: { x: 1 } } },
          { functionCall: { name: 'f', args: { x: 2 } } }
        ]
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { name: 'f', response: { r: 1 } } },
          { functionResponse: { name: 'f', response: { r: 2 } } }
        ]
      }
    ]
  })
  t.same(body.messages, [
    { role: 'user', content: 'ab' },
    {
      role: 'assistant',
      content: 'I look',
      tool_calls: [
        { id: 'call_0', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
        { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"x":2}' } }
      ]
    },
    { role: 'tool', content: '{"r":1}', tool_call_id: 'call_0', name: 'f' },
    { role: 'tool', content: '{"r":2}', tool_call_id: 'call_1', name: 'f' }
  ])
})

t.test('adjacent calls of Responses are one message of the assistant, and their results follow', async t => {
  const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' })
  const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: id })
  const { body } = write('responses', {
    input: [{ role: 'user', content: 'go' }, call('a'), call('b'), output('a'), output('b'), call('c'), output('c')]
  })
  const written = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })
  t.same(body.messages, [
    { role: 'user', content: 'go' },
    { role: 'assistant', content: null, tool_calls: [written('a'), written('b')] },
    { role: 'tool', content: 'a', tool_call_id: 'a' },
    { role: 'tool', content: 'b', tool_call_id: 'b' },
    { role: 'assistant', content: null, tool_calls: [written('c')] },
    { role: 'tool', content: 'c', tool_call_id: 'c' }
  ])
})

t.test('a result moves behind its call, and a call without a result is left out (B8)', async t => {
  const call = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })
  const { body, reading } = write('completions', {
    messages: [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] },
      { role: 'user', content: 'wait' },
      { role: 'tool', tool_call_id: 'a', content: 'x' },
      { role: 'assistant', content: 'hm', tool_calls: [call('c')] },
      { role: 'user', content: 'again' },
      { role: 'assistant', tool_calls: [call('d')] },
      { role: 'user', content: 'last' }
    ]
  })
  t.same(body.messages, [
    { role: 'user', content: 'go' },
    { role: 'assistant', content: null, tool_calls: [call('a')] },
    { role: 'tool', content: 'x', tool_call_id: 'a' },
    { role: 'user', content: 'wait' },
    { role: 'assistant', content: 'hm' },
    { role: 'user', content: 'again' },
    { role: 'user', content: 'last' }
  ])
  t.equal(reading.droppedToolCalls, 3)
})

t.test('a result without a call is refused with its path (B9)', async t => {
  const error = catchError(() =>
    write('completions', {
      messages: [
        { role: 'user', content: 'go' },
        { role: 'tool', tool_call_id: 'nope', content: 'x' }
      ]
    })
  )
  t.match(error, { code: 'invalid_request', param: 'messages[1].tool_call_id' })
})

t.test('text beside the results of content follows them as a message of the user (B13)', async t => {
  const response = (id: string, value: number) => ({ functionResponse: { id, name: 'f', response: { value } } })
  for (const role of ['function', 'tool', 'user']) {
    const { messages } = write('content', {
      contents: [
        { role: 'user', parts: [{ text: 'u' }] },
        { role: 'model', parts: ['a', 'b'].map(id => ({ functionCall: { id, name: 'f', args: {} } })) },
        { role, parts: [response('a', 1), { text: 'IMPORTANT ' }, response('b', 2), { text: 'NOTE' }] },
        { role: 'model', parts: [{ text: 'done' }] }
      ]
    }).body as Record<string, JsonObject[]>
    t.match(
      messages?.slice(2),
      [
        { role: 'tool', tool_call_id: 'a', content: '{"value":1}' },
        { role: 'tool', tool_call_id: 'b', content: '{"value":2}' },
        { role: 'user', content: 'IMPORTANT NOTE' },
        { role: 'assistant', content: [{ type: 'text', text: 'done' }] }
      ],
      role
    )
  }
  const alone = write('content', { contents: [{ role: 'function', parts: [{ text: 'x' }] }] })
  t.strictSame(alone.body.messages, [{ role: 'user', content: [{ type: 'text', text: 'x' }] }])
})

t.test('a message beside results that has nothing to send is left out', async t => {
  const { messages } = write('content', {
    contents: [
      { role: 'user', parts: [{ text: 'u' }] },
      { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] },
      {
        role: 'tool',
        parts: [{ functionResponse: { name: 'f', response: {} } }, { text: 'hidden', thought: true }]
      }
    ]
  }).body as Record<string, JsonObject[]>
  t.same(
    messages?.map(({ role }) => role),
    ['user', 'assistant', 'tool']
  )
})

t.test('a conversation without anything to send is refused under the name of its family', async t => {
  const refused: Array<[protocol: Protocol, body: JsonObject, param: string]> = [
    ['content', { contents: [{ role: 'user', parts: [{ text: 'x', thought: true }] }] }, 'contents'],
    [
      'messages',
      {
        max_tokens: 1,
        messages: [{ role: 'assistant', content: [{ type: 'thinking', thinking: 'x', signature: 's' }] }]
      },
      'messages'
    ]
  ]
  for (const [protocol, body, param] of refused) {
    t.match(
      catchError(() => write(protocol, body)),
      { code: 'invalid_request', status: 400, param },
      protocol
    )
  }
})

t.test('ids of another form are mapped to the same short id at the call and at its result', async t => {
  for (const id of ['functions.f:0', 'x'.repeat(41), 'ä b']) {
    const { body } = write('completions', {
      messages: [
        { role: 'assistant', tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: '{}' } }] },
        { role: 'tool', tool_call_id: id, content: 'x' }
      ]
    })
    const [message, result] = body.messages as [{ tool_calls: Array<{ id: string }> }, { tool_call_id: string }]
    t.match(message.tool_calls[0]?.id, /^call_[a-zA-Z0-9_-]{32}$/)
    t.equal(message.tool_calls[0]?.id, result.tool_call_id)
  }
})

t.test('arguments text of the client is sent as it is', async t => {
  const text = '{ "a" : 1.0 }'
  const { body } = write('completions', {
    messages: [{ role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'f', arguments: text } }] }]
  })
  t.match(body.messages, [{ tool_calls: [{ function: { arguments: text } }] }])
})

t.test('names of functions are flattened, mapped to the wire and restored in the response', async t => {
  const { body, reading } = write('responses', {
    input: 'hi',
    tools: [
      { type: 'namespace', name: 'ns', tools: [{ type: 'function', name: 'fn' }] },
      { type: 'function', name: 'with.dot' }
    ],
    tool_choice: { type: 'function', name: 'ns__fn' }
  })
  t.match(body, {
    tools: [{ function: { name: 'ns__fn' } }, { function: { name: 'with_dot' } }],
    tool_choice: { type: 'function', function: { name: 'ns__fn' } }
  })
  const calls = ['ns__fn', 'with_dot', 'other'].map((name, index) => ({
    id: `c${index}`,
    type: 'function',
    function: { name, arguments: '{}' }
  }))
  const events = openReader({ reading }).readBody(answer({ content: null, tool_calls: calls }, 'tool_calls'))
  t.match(
    events.filter(event => event.type === 'tool-call-start'),
    [{ name: 'fn', namespace: 'ns' }, { name: 'with.dot' }, { name: 'other' }]
  )
})

t.test('two functions that have one name without their namespaces are refused', async t => {
  const error = catchError(() =>
    write('responses', {
      input: 'hi',
      tools: [
        { type: 'namespace', name: 'a', tools: [{ type: 'function', name: 'b' }] },
        { type: 'function', name: 'a__b' }
      ]
    })
  )
  t.match(error, { code: 'invalid_request', param: 'tools' })
})

t.test('tool choices of every client', async t => {
  const tools = [{ name: 'f', input_schema: { type: 'object' } }]
  const ask = { model: 'a', max_tokens: 1, messages: [{ role: 'user', content: 'hi' }], tools }
  const choose = (choice: JsonObject) => write('messages', { ...ask, tool_choice: choice }).body
  t.equal(choose({ type: 'any' }).tool_choice, 'required')
  t.equal(choose({ type: 'auto', disable_parallel_tool_use: true }).parallel_tool_calls, false)
  const none = choose({ type: 'none' })
  t.equal(none.tool_choice, 'none')
  t.match(none.tools, [{ function: { name: 'f' } }], 'the tools stay declared')
  t.same(choose({ type: 'tool', name: 'f' }).tool_choice, { type: 'function', function: { name: 'f' } })
  const functionDeclarations = [{ name: 'f' }, { name: 'g' }, { name: 'h' }]
  const allow = (allowedFunctionNames: string[]) =>
    write('content', {
      contents: [{ parts: [{ text: 'hi' }] }],
      tools: [{ functionDeclarations }],
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames } }
    }).body
  t.match(allow(['f', 'g']), {
    tool_choice: 'required',
    tools: [{ function: { name: 'f' } }, { function: { name: 'g' } }]
  })
  t.equal((allow(['f', 'g']).tools as unknown[]).length, 2)
  t.same(allow(['g']).tool_choice, { type: 'function', function: { name: 'g' } })
  t.equal(
    write('completions', { messages: [{ role: 'user', content: 'hi' }], tool_choice: 'auto' }).body.tool_choice,
    undefined
  )
  const required = catchError(() =>
    write('completions', { messages: [{ role: 'user', content: 'hi' }], tool_choice: 'required' })
  )
  t.match(required, { code: 'invalid_request', param: 'tool_choice' })
})

t.test('state of this kind is sent back, and state of other kinds is dropped', async t => {
  const request = readRequest('completions', { messages: [{ role: 'user', content: 'hi' }] })
  const details = [{ type: 'reasoning.encrypted', data: 'x', index: 0 }]
  request.messages = [
    {
      role: 'assistant',
      content: [
        {
          type: 'reasoning',
          text: 'thought',
          state: {
            chat_compatible: { reasoningDetails: JSON.stringify(details) },
            messages_compatible: { signature: 'foreign' }
          }
        },
        { type: 'text', text: 'yes', state: { content_compatible: { thoughtSignature: 'foreign' } } },
        {
          type: 'tool-call',
          id: 'a',
          name: 'f',
          arguments: {},
          state: {
            chat_compatible: { extraContent: '{"google":{"thought_signature":"s"}}' },
            native: { toolStateId: 'n' }
          }
        }
      ]
    },
    {
      role: 'tool',
      content: [{ type: 'tool-result', callId: 'a', content: [{ type: 'text', text: 'r' }], isError: false, path: '' }]
    },
    {
      role: 'assistant',
      content: [{ type: 'text', text: 'x' }],
      form: 'text',
      state: { chat_compatible: { reasoningDetails: '{"cut' } }
    }
  ]
  const { body } = chatCompatibleFace.writeChat(request, { upstreamModel: 'm' }, options)
  t.same(body.messages, [
    {
      role: 'assistant',
      content: [{ type: 'text', text: 'yes' }],
      reasoning_details: details,
      tool_calls: [
        {
          id: 'a',
          type: 'function',
          function: { name: 'f', arguments: '{}' },
          extra_content: { google: { thought_signature: 's' } }
        }
      ]
    },
    { role: 'tool', content: 'r', tool_call_id: 'a' },
    { role: 'assistant', content: 'x' }
  ])
})

t.test('at most four stop strings are sent; the gateway applies all of them', async t => {
  const { body } = write('messages', {
    model: 'a',
    max_tokens: 1,
    messages: [{ role: 'user', content: 'hi' }],
    stop_sequences: ['a', 'b', 'c', 'd', 'e']
  })
  t.same(body.stop, ['a', 'b', 'c', 'd'])
})
