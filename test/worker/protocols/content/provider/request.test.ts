import t from 'tap'
import { admitFeatures } from '../../../../../worker/bridge/admit-features.ts'
import { LeftOut } from '../../../../../worker/bridge/left-out.ts'
import {
  GatewayError,
  type JsonObject,
  type JsonValue,
  type ProviderAcceptance
} from '../../../../../worker/normalized/index.ts'
import { chatCompatibleAcceptance } from '../../../../../worker/protocols/completions/provider/acceptance.ts'
import { contentCompatibleFace } from '../../../../../worker/protocols/content/provider/face.ts'
import { makeRequest, say } from '../../native/support.ts'
import { options, type Protocol, readRequest, type Target, write } from './support.ts'

const hi = { role: 'user', content: 'hi' }

/** The error that a body is refused with. */
function refuse(protocol: Protocol, body: JsonObject, target: Target = {}): GatewayError {
  try {
    write(protocol, body, target)
  } catch (thrown) {
    if (GatewayError.is(thrown)) return thrown
    throw thrown
  }
  throw new Error('The body was accepted.')
}

function contentsOf(protocol: Protocol, body: JsonObject, target?: Target): JsonValue | undefined {
  return write(protocol, body, target).body.contents
}

function configOf(protocol: Protocol, body: JsonObject, target?: Target): JsonValue | undefined {
  return write(protocol, body, target).body.generationConfig
}

t.test('a plain request has its contents and nothing else; the path names model and method', async t => {
  const written = write('completions', { messages: [hi] })
  t.equal(written.method, 'POST')
  t.equal(written.path, '/v1beta/models/gemini-2.5-pro:generateContent')
  t.strictSame(written.body, { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] })
  t.strictSame(written.headers, ['accept', 'text/event-stream, application/json', 'content-type', 'application/json'])
  t.strictSame(written.attachments, [])
})

t.test('a stream has its own method and asks for server-sent events', async t => {
  const streamed = write('completions', { messages: [hi], stream: true })
  t.equal(streamed.path, '/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse')
  t.strictSame(streamed.body, { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] })
  t.strictSame(streamed.headers.slice(-2), ['accept-encoding', 'identity'])
})

t.test('the name of a model is escaped, and may have its collection in front', async t => {
  const pathOf = (upstreamModel: string) => write('completions', { messages: [hi] }, { upstreamModel }).path
  t.equal(pathOf('models/gemini-x'), '/v1beta/models/gemini-x:generateContent')
  t.equal(pathOf('tunedModels/mine-1'), '/v1beta/tunedModels/mine-1:generateContent')
  t.equal(pathOf('google/gemini-x'), '/v1beta/models/google/gemini-x:generateContent')
  t.equal(pathOf('x:2.0'), '/v1beta/models/x:2.0:generateContent')
  t.equal(pathOf('a b?c#d%/ü'), '/v1beta/models/a%20b%3Fc%23d%25/%C3%BC:generateContent')
  t.equal(pathOf('a/../b'), '/v1beta/models/a%2F..%2Fb:generateContent')
  const { code } = await Promise.resolve()
    .then(() => contentCompatibleFace.writeChat(makeRequest(), { upstreamModel: undefined }, options))
    .catch(error => error)
  t.equal(code, 'model_required')
})

t.test('instructions are gathered, turns of one side are joined, and empty texts are left out', async t => {
  const { body } = write('completions', {
    messages: [
      { role: 'system', content: 'Be brief.' },
      hi,
      {
        role: 'user',
        content: [
          { type: 'text', text: '' },
          { type: 'text', text: 'there' }
        ]
      },
      {
        role: 'developer',
        content: [
          { type: 'text', text: 'In' },
          { type: 'text', text: 'Latin.' }
        ]
      },
      { role: 'assistant', content: 'Salve.' },
      { role: 'assistant', content: '' },
      { role: 'user', content: 'And?' }
    ]
  })
  t.strictSame(body, {
    contents: [
      { role: 'user', parts: [{ text: 'hi' }, { text: 'there' }] },
      { role: 'model', parts: [{ text: 'Salve.' }] },
      { role: 'user', parts: [{ text: 'And?' }] }
    ],
    systemInstruction: { parts: [{ text: 'Be brief.\n\nIn\nLatin.' }] }
  })
})

t.test('instructions alone are what the model is asked, and a conversation without anything is refused', async t => {
  const asked = [{ role: 'user', parts: [{ text: 'Say hi' }] }]
  t.strictSame(contentsOf('completions', { messages: [{ role: 'system', content: 'Say hi' }] }), asked)
  t.strictSame(contentsOf('responses', { instructions: 'Say hi', input: '' }), asked)
  t.match(refuse('responses', { input: '' }), { code: 'invalid_request', param: 'input' })
  t.match(refuse('completions', { messages: [{ role: 'system', content: '' }] }), { param: 'messages' })
})

const call = (id: string, name: string, text: string) => ({ id, type: 'function', function: { name, arguments: text } })

t.test('results follow their turn in a content of their own, in the order of its calls (decisions.md 83)', async t => {
  const contents = contentsOf('completions', {
    messages: [
      hi,
      { role: 'assistant', content: 'I look.', tool_calls: [call('a', 'f', '{"n":1}'), call('b', 'g', '')] },
      { role: 'tool', tool_call_id: 'b', content: 'plain' },
      { role: 'tool', tool_call_id: 'a', content: '{"x":[1]}' },
      { role: 'user', content: 'So?' }
    ]
  })
  t.strictSame(contents, [
    { role: 'user', parts: [{ text: 'hi' }] },
    {
      role: 'model',
      parts: [
        { text: 'I look.' },
        { functionCall: { id: 'a', name: 'f', args: { n: 1 } } },
        { functionCall: { id: 'b', name: 'g', args: {} } }
      ]
    },
    {
      role: 'user',
      parts: [
        { functionResponse: { id: 'a', name: 'f', response: { x: [1] } } },
        { functionResponse: { id: 'b', name: 'g', response: { result: 'plain' } } }
      ]
    },
    { role: 'user', parts: [{ text: 'So?' }] }
  ])
})

t.test('calls that are items of their own are one turn (Responses)', async t => {
  const contents = contentsOf('responses', {
    input: [
      { role: 'user', content: 'hi' },
      { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
      { type: 'function_call', call_id: 'b', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'a', output: '1' },
      { type: 'function_call_output', call_id: 'b', output: '2' },
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: '3' }
    ]
  })
  const made = (id: string) => ({ functionCall: { id, name: 'f', args: {} } })
  const given = (id: string, result: number) => ({ functionResponse: { id, name: 'f', response: { result } } })
  t.strictSame(contents, [
    { role: 'user', parts: [{ text: 'hi' }] },
    { role: 'model', parts: [made('a'), made('b')] },
    { role: 'user', parts: [given('a', 1), given('b', 2)] },
    { role: 'model', parts: [made('c')] },
    { role: 'user', parts: [given('c', 3)] }
  ])
})

t.test('a failed result says so, and large integers keep their digits', async t => {
  const { body } = write('messages', {
    max_tokens: 5,
    messages: [
      hi,
      { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'No file.', is_error: true }] }
    ]
  })
  t.match(
    JSON.stringify(body),
    '"functionResponse":{"id":"t1","name":"f","response":{"error":"No file.","is_error":true}}'
  )
  const exact = write('completions', {
    messages: [
      hi,
      { role: 'assistant', tool_calls: [call('a', 'f', '{"n":9007199254740993}')] },
      { role: 'tool', tool_call_id: 'a', content: '{"m":12345678901234567890}' }
    ]
  })
  t.match(JSON.stringify(exact.body), '"args":{"n":9007199254740993}')
  t.match(JSON.stringify(exact.body), '"response":{"m":12345678901234567890}')
})

t.test('calls without a result are left out, except in the last turn (B8)', async t => {
  const messages = [hi, { role: 'assistant', content: null, tool_calls: [call('a', 'f', '{}'), call('b', 'f', '{}')] }]
  const open = write('completions', { messages })
  t.equal(open.reading.droppedToolCalls, 0)
  t.equal((open.body.contents as JsonValue[]).length, 2)
  const half = write('completions', { messages: [...messages, { role: 'tool', tool_call_id: 'b', content: 'r' }] })
  t.equal(half.reading.droppedToolCalls, 1)
  t.match(half.body.contents, [
    {},
    { parts: [{ functionCall: { id: 'b' } }] },
    { parts: [{ functionResponse: { id: 'b' } }] }
  ])
  const abandoned = write('completions', { messages: [...messages, { role: 'user', content: 'Stop.' }] })
  t.equal(abandoned.reading.droppedToolCalls, 2)
  t.strictSame(abandoned.body.contents, [{ role: 'user', parts: [{ text: 'hi' }, { text: 'Stop.' }] }])
})

t.test('a result without a call is refused (B9), and one that comes twice is sent once', async t => {
  const result = { role: 'tool', tool_call_id: 'a', content: 'r' }
  const error = refuse('completions', { messages: [hi, result] })
  t.match(error, { code: 'invalid_request', param: 'messages[1].tool_call_id' })
  const turn = { role: 'assistant', tool_calls: [call('a', 'f', '{}')] }
  const contents = contentsOf('completions', { messages: [hi, turn, result, result] }) as JsonObject[]
  t.match(contents[2]?.parts, { length: 1 })
})

t.test('an id that the gateway made stands for none, and two calls of a turn have different ids', async t => {
  const own = 'call_gw_AwEHbm9uY2UtMITC'
  const contents = contentsOf('completions', {
    messages: [
      hi,
      { role: 'assistant', tool_calls: [call(own, 'f', '{}'), call('a', 'f', '{}'), call('a', 'f', '{}')] },
      { role: 'tool', tool_call_id: own, content: '1' },
      { role: 'tool', tool_call_id: 'a', content: '2' },
      { role: 'tool', tool_call_id: 'a', content: '3' }
    ]
  }) as Array<{ parts: Array<Record<string, JsonObject>> }>
  const ids = contents[1]?.parts.map(part => part.functionCall?.id)
  t.equal(ids?.[0], undefined)
  t.equal(ids?.[1], 'a')
  t.not(ids?.[2], 'a')
  t.strictSame(
    contents[2]?.parts.map(part => part.functionResponse?.id),
    ids
  )
})

t.test('tools have their schema unchanged, and names that the wire accepts', async t => {
  const schema = { type: 'object', properties: { a: { anyOf: [{ $ref: '#/$defs/x' }, true] } }, $defs: { x: {} } }
  const { body, reading } = write('completions', {
    messages: [hi],
    tools: [
      { type: 'function', function: { name: 'get.time-2', description: 'Tells.', parameters: schema, strict: true } },
      { type: 'function', function: { name: '1 é' } }
    ]
  })
  t.strictSame(body.tools, [
    {
      functionDeclarations: [
        { name: 'get.time-2', description: 'Tells.', parametersJsonSchema: schema },
        { name: '_1__', parametersJsonSchema: { type: 'object', properties: {} } }
      ]
    }
  ])
  t.equal(body.toolConfig, undefined)
  t.strictSame(reading.toolNames.get('_1__'), { name: '1 é' })
})

t.test('bridge 80: a function in a namespace has one name on the wire', async t => {
  const { body, reading } = write('responses', {
    input: 'hi',
    tools: [{ type: 'namespace', name: 'ns', tools: [{ type: 'function', name: 'fn', parameters: {} }] }]
  })
  t.match(body.tools, [{ functionDeclarations: [{ name: 'ns__fn' }] }])
  t.strictSame(reading.toolNames.get('ns__fn'), { name: 'fn', namespace: 'ns' })
})

t.test('a tool choice has its mode (B6)', async t => {
  const tools = ['f', 'g'].map(name => ({ type: 'function', function: { name } }))
  const written = (choice: JsonValue) => write('completions', { messages: [hi], tools, tool_choice: choice }).body
  const config = (choice: JsonValue) => written(choice).toolConfig
  const declared = (choice: JsonValue) =>
    (written(choice).tools as Array<{ functionDeclarations: JsonObject[] }>)[0]?.functionDeclarations.map(
      ({ name }) => name
    )
  t.strictSame(config('auto'), { functionCallingConfig: { mode: 'AUTO' } })
  t.strictSame(config('none'), { functionCallingConfig: { mode: 'NONE' } })
  t.strictSame(declared('none'), ['f', 'g'], 'a cache keeps the declarations')
  t.strictSame(config('required'), { functionCallingConfig: { mode: 'ANY' } })
  const named = { type: 'function', function: { name: 'g' } }
  t.strictSame(config(named), { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['g'] } })
  const allow = (mode: string) => ({ type: 'allowed_tools', allowed_tools: { mode, tools: [named] } })
  t.strictSame(config(allow('required')), {
    functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['g'] }
  })
  t.strictSame(declared(allow('required')), ['f', 'g'])
  t.strictSame(config(allow('auto')), { functionCallingConfig: { mode: 'AUTO' } })
  t.strictSame(declared(allow('auto')), ['g'])
})

t.test('a tool choice that no function can fulfil is refused with its field', async t => {
  const refusal = (choice: Parameters<typeof makeRequest>[0]) => {
    try {
      contentCompatibleFace.writeChat(makeRequest(choice), { upstreamModel: 'm' }, options)
    } catch (error) {
      return error
    }
    return undefined
  }
  const tools = [{ type: 'function' as const, name: 'f', parameters: {} }]
  t.match(refusal({ toolChoice: { type: 'required' } }), { code: 'invalid_request', param: 'tool_choice' })
  t.match(refusal({ tools, toolChoice: { type: 'function', name: 'g' } }), { param: 'tool_choice' })
  t.match(refusal({ tools, toolChoice: { type: 'allowed', mode: 'required', names: [] } }), { param: 'tool_choice' })
  t.match(refusal({ tools, toolChoice: { type: 'hosted', kind: 'web_search' } }), { code: 'unsupported_semantic' })
  t.match(refusal({ tools: [...tools, { type: 'function', name: 'f', namespace: '', parameters: {} }] }), undefined)
  const twice = [
    { type: 'function' as const, name: 'b', namespace: 'a', parameters: {} },
    { type: 'function' as const, name: 'a__b', parameters: {} }
  ]
  t.match(refusal({ tools: twice }), { code: 'invalid_request', param: 'tools' })
})

t.test('sampling has the names of the wire', async t => {
  t.strictSame(
    configOf('content', {
      contents: [{ parts: [{ text: 'hi' }] }],
      generationConfig: {
        temperature: 0,
        topP: 0.5,
        topK: 7,
        maxOutputTokens: 33,
        stopSequences: ['a', 'b'],
        seed: 4,
        presencePenalty: 1,
        frequencyPenalty: -1
      }
    }),
    {
      temperature: 0,
      topP: 0.5,
      topK: 7,
      maxOutputTokens: 33,
      seed: 4,
      presencePenalty: 1,
      frequencyPenalty: -1,
      stopSequences: ['a', 'b']
    }
  )
  const stops = Array.from({ length: 7 }, (_, index) => `s${index}`)
  const many = contentCompatibleFace.writeChat(
    makeRequest({ sampling: { stop: ['', ...stops] } }),
    { upstreamModel: 'm' },
    options
  )
  t.strictSame(many.body.generationConfig, { stopSequences: stops.slice(0, 5) }, 'the gateway applies all of them')
})

t.test('labels of a request and its user have no place and are no reason to refuse it', async t => {
  const { body } = write('completions', { messages: [hi], user: 'u', metadata: { team: 'a' } })
  t.strictSame(Object.keys(body), ['contents'])
  const { features } = contentCompatibleFace.accepts
  t.equal(features.user, 'ignored')
  t.equal(features.metadata, 'ignored')
})

t.test('bridge 79: an output schema goes as it came, in the member for JSON Schema', async t => {
  const schema = { $defs: { x: { type: ['string', 'null'] } }, type: 'array', items: { $ref: '#/$defs/x' } }
  const format = { type: 'json_schema', json_schema: { name: 'n', strict: true, schema } }
  t.strictSame(configOf('completions', { messages: [hi], response_format: format }), {
    responseMimeType: 'application/json',
    responseJsonSchema: schema
  })
  const choice = { responseMimeType: 'text/x.enum', responseSchema: { type: 'STRING', enum: ['a', 'b'] } }
  const contents = [{ parts: [{ text: 'hi' }] }]
  t.strictSame(configOf('content', { contents, generationConfig: choice }), {
    responseMimeType: 'application/json',
    responseJsonSchema: { type: 'string', enum: ['a', 'b'] }
  })
  const bare = refuse('content', { contents, generationConfig: { responseMimeType: 'application/json' } })
  t.match(bare, { code: 'unsupported_response_format', param: 'generationConfig.responseMimeType' })
})

t.test('an effort becomes a level, or a budget for models that take no level', async t => {
  const thinking = (effort: string, upstreamModel: string) =>
    (configOf('completions', { messages: [hi], reasoning_effort: effort }, { upstreamModel }) as JsonObject | undefined)
      ?.thinkingConfig
  for (const [effort, level] of [
    ['minimal', 'MINIMAL'],
    ['low', 'LOW'],
    ['medium', 'MEDIUM'],
    ['high', 'HIGH']
  ] as const) {
    t.strictSame(thinking(effort, 'gemini-3-pro-preview'), { includeThoughts: true, thinkingLevel: level })
  }
  t.strictSame(thinking('xhigh', 'gemini-3-pro'), { includeThoughts: true, thinkingLevel: 'XHIGH' }, 'decisions.md 37')
  t.strictSame(thinking('low', 'other'), { includeThoughts: true, thinkingLevel: 'LOW' })
  t.strictSame(thinking('medium', 'gemini-2.5-flash'), { includeThoughts: true, thinkingBudget: 8192 })
  t.strictSame(thinking('none', 'gemini-3-pro'), { thinkingBudget: 0 }, 'absent means thinking (decisions.md 81)')
  const undeclared = (body: JsonObject) =>
    write('completions', { messages: [hi], ...body }, { upstreamModel: 'gemini-3-pro', features: ['text'] })
  t.match(undeclared({ reasoning_effort: 'low' }), {
    body: { generationConfig: undefined },
    leftOut: ['reasoning_effort']
  })
  t.match(undeclared({ reasoning_effort: 'none' }), { body: { generationConfig: undefined }, leftOut: undefined })
})

t.test('what a client of the protocol says of thinking survives', async t => {
  const thinking = (thinkingConfig: JsonObject) =>
    (
      configOf('content', { contents: [{ parts: [{ text: 'hi' }] }], generationConfig: { thinkingConfig } }) as
        | JsonObject
        | undefined
    )?.thinkingConfig
  t.strictSame(thinking({ thinkingBudget: 0 }), { thinkingBudget: 0 })
  t.strictSame(thinking({ thinkingBudget: -1, includeThoughts: true }), { includeThoughts: true, thinkingBudget: -1 })
  t.strictSame(thinking({ thinking_budget: '4321' }), { thinkingBudget: 4321 })
  t.strictSame(thinking({ thinkingLevel: 'LOW' }), { thinkingBudget: 1024 }, 'the model takes no level')
  t.strictSame(thinking({ includeThoughts: false }), undefined)
})

t.test('a client that asks to see the reasoning gets thoughts, in the words of each protocol', async t => {
  const shown = { thinkingConfig: { includeThoughts: true } }
  t.strictSame(configOf('responses', { input: 'hi', reasoning: { summary: 'auto' } }), shown)
  t.strictSame(configOf('messages', { max_tokens: 5, messages: [hi], thinking: { type: 'adaptive' } }), {
    maxOutputTokens: 5,
    ...shown
  })
  t.strictSame(
    configOf('messages', { max_tokens: 5, messages: [hi], thinking: { type: 'enabled', budget_tokens: 2000 } }),
    {
      maxOutputTokens: 5,
      thinkingConfig: { includeThoughts: true, thinkingBudget: 2000 }
    }
  )
  const hidden = { type: 'adaptive', display: 'omitted' }
  t.strictSame(configOf('messages', { max_tokens: 5, messages: [hi], thinking: hidden }), { maxOutputTokens: 5 })
  const off = { thinking: { type: 'adaptive' }, output_config: { effort: 'none' } }
  t.strictSame(
    configOf('messages', { max_tokens: 5, messages: [hi], ...off }),
    { maxOutputTokens: 5, thinkingConfig: { thinkingBudget: 0 } },
    'the off switch of the wire (decisions.md 81)'
  )
})

t.test('a summary of the reasoning may be asked of this kind, and not of one that shows none', async t => {
  const body = { input: 'hi', reasoning: { effort: 'low', summary: 'auto' } }
  const ask = (acceptance: ProviderAcceptance) => {
    const leftOut = new LeftOut(false)
    admitFeatures(readRequest('responses', body), acceptance, leftOut)
    return leftOut.list()
  }
  t.strictSame(ask(contentCompatibleFace.accepts), [])
  t.strictSame(ask(chatCompatibleAcceptance), ['reasoning.summary'], 'left out with a notice (decisions.md 78)')
})

t.test('images are bytes in the request or the address of a public file', async t => {
  const image = (url: string) => ({ type: 'image_url', image_url: { url } })
  const parts = (url: string) =>
    (contentsOf('completions', { messages: [{ role: 'user', content: [image(url)] }] }) as JsonObject[])[0]?.parts
  t.strictSame(parts('data:image/png;base64,aGk='), [{ inlineData: { mimeType: 'image/png', data: 'aGk=' } }])
  t.strictSame(parts('https://a.test/x.WEBP?y'), [
    { fileData: { mimeType: 'image/webp', fileUri: 'https://a.test/x.WEBP?y' } }
  ])
  t.strictSame(parts('https://a.test/x'), [{ fileData: { mimeType: 'image/jpeg', fileUri: 'https://a.test/x' } }])
  const plain = { messages: [{ role: 'user', content: [image('http://a.test/x.png')] }] }
  t.match(refuse('completions', plain), { code: 'unsupported_semantic', param: 'messages[0].content[0]' })
  const uploaded = { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f1' } }] }] }
  t.match(refuse('completions', uploaded), { code: 'unsupported_semantic', param: 'messages[0].content[0]' })
  const given = contentsOf('content', {
    contents: [
      {
        parts: [
          { fileData: { fileUri: 'https://a.test/1', mimeType: 'image/heic' } },
          { inlineData: { mimeType: 'application/pdf', data: 'aGk=' } }
        ]
      }
    ]
  })
  t.strictSame(given, [
    {
      role: 'user',
      parts: [
        { fileData: { mimeType: 'image/heic', fileUri: 'https://a.test/1' } },
        { inlineData: { mimeType: 'application/pdf', data: 'aGk=' } }
      ]
    }
  ])
})

t.test('images of results stand in the result where the model takes them there, else beside it', async t => {
  const source = { type: 'base64', media_type: 'image/png', data: 'aGk=' }
  const body = {
    max_tokens: 5,
    messages: [
      hi,
      { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'f', input: {} }] },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 't1',
            content: [
              { type: 'text', text: 'a' },
              { type: 'image', source }
            ]
          },
          { type: 'text', text: 'So?' }
        ]
      }
    ]
  }
  const results = (upstreamModel: string) =>
    (contentsOf('messages', body, { upstreamModel }) as JsonObject[]).slice(2).map(({ parts }) => parts)
  const inlineData = { mimeType: 'image/png', data: 'aGk=' }
  const response = { id: 't1', name: 'f', response: { result: 'a' } }
  t.strictSame(results('gemini-2.5-pro'), [[{ functionResponse: response }], [{ inlineData }, { text: 'So?' }]])
  for (const model of ['gemini-3-pro', 'gemini-flash-latest', 'models/gemini-pro-latest']) {
    const inside = { functionResponse: { ...response, parts: [{ inlineData }] } }
    t.strictSame(results(model), [[inside], [{ text: 'So?' }]], model)
  }
})

t.test(
  'a history that began elsewhere has the documented text in place of signatures, for models that demand them',
  async t => {
    const messages = [
      hi,
      { role: 'assistant', tool_calls: [call('a', 'f', '{}'), call('b', 'f', '{}')] },
      { role: 'tool', tool_call_id: 'a', content: '1' },
      { role: 'tool', tool_call_id: 'b', content: '2' },
      { role: 'assistant', tool_calls: [call('c', 'f', '{}')] },
      { role: 'tool', tool_call_id: 'c', content: '3' }
    ]
    const signatures = (upstreamModel: string) =>
      (contentsOf('completions', { messages }, { upstreamModel }) as Array<{ parts: JsonObject[] }>).flatMap(
        ({ parts }) => parts.filter(part => part.functionCall !== undefined).map(part => part.thoughtSignature)
      )
    const skip = 'skip_thought_signature_validator'
    const rolling = ['gemini-flash-latest', 'models/gemini-pro-latest']
    for (const model of ['gemini-3-pro-preview', 'models/gemini-3.5-flash', 'google/gemini-10', ...rolling]) {
      t.strictSame(signatures(model), [skip, undefined, skip], model)
    }
    for (const model of ['gemini-2.5-pro', 'gemini-2.5-flash-latest', 'other-gemini-3', 'flash-latest']) {
      t.strictSame(signatures(model), [undefined, undefined, undefined], model)
    }
  }
)

t.test('signatures of this kind go back on their parts, and state of other kinds is dropped', async t => {
  const own = (thoughtSignature: string) => ({ content_compatible: { thoughtSignature } })
  const request = makeRequest({
    messages: [
      say('user', 'hi'),
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'foreign', state: { messages_compatible: { signature: 's' } } },
          { type: 'reasoning', text: 'unsigned' },
          { type: 'reasoning', text: 'mine', state: own('r') },
          { type: 'reasoning', text: '', state: own('e') },
          { type: 'text', text: 'answer', state: own('t') },
          { type: 'text', text: '', state: own('o') },
          { type: 'tool-call', id: 'a', name: 'f', arguments: {}, state: own('c') },
          { type: 'tool-call', id: 'b', name: 'f', arguments: {}, state: { native: { toolStateId: 'x' } } }
        ]
      }
    ]
  })
  const { body } = contentCompatibleFace.writeChat(request, { upstreamModel: 'gemini-3-pro' }, options)
  t.strictSame((body.contents as JsonObject[])[1]?.parts, [
    { text: 'mine', thought: true, thoughtSignature: 'r' },
    { text: '', thoughtSignature: 'e' },
    { text: 'answer', thoughtSignature: 't' },
    { text: '', thoughtSignature: 'o' },
    { functionCall: { id: 'a', name: 'f', args: {} }, thoughtSignature: 'c' },
    { functionCall: { id: 'b', name: 'f', args: {} } }
  ])
})

t.test('the signature of a whole message stands on its last text, or before its calls', async t => {
  const state = { content_compatible: { thoughtSignature: 'm' } }
  const write = (messages: ReturnType<typeof makeRequest>['messages']) =>
    (
      contentCompatibleFace.writeChat(makeRequest({ messages }), { upstreamModel: 'm' }, options).body
        .contents as JsonObject[]
    ).at(-1)?.parts
  const texts = [
    { type: 'text' as const, text: 'a' },
    { type: 'text' as const, text: 'b' }
  ]
  const calls = [{ type: 'tool-call' as const, id: 'a', name: 'f', arguments: {} }]
  t.strictSame(write([say('user', 'hi'), { role: 'assistant', content: texts, state }]), [
    { text: 'a' },
    { text: 'b', thoughtSignature: 'm' }
  ])
  t.strictSame(write([say('user', 'hi'), { role: 'assistant', content: calls, state }]), [
    { text: '', thoughtSignature: 'm' },
    { functionCall: { id: 'a', name: 'f', args: {} } }
  ])
})

t.test('the request of every protocol is read with its own paths', async t => {
  for (const protocol of ['completions', 'responses', 'messages', 'content'] as const) {
    const body: Record<typeof protocol, JsonObject> = {
      completions: { messages: [hi] },
      responses: { input: 'hi' },
      messages: { max_tokens: 5, messages: [hi] },
      content: { contents: [{ parts: [{ text: 'hi' }] }] }
    }
    const request = readRequest(protocol, body[protocol])
    const { body: written } = contentCompatibleFace.writeChat(request, { upstreamModel: 'm' }, options)
    t.strictSame(written.contents, [{ role: 'user', parts: [{ text: 'hi' }] }], protocol)
  }
})

t.test('a result with a reference at any depth is sent as one text (decisions.md 83)', async t => {
  const histories: Record<Exclude<Protocol, 'content'>, (output: string, isError?: boolean) => JsonObject> = {
    completions: output => ({
      messages: [
        hi,
        { role: 'assistant', tool_calls: [call('a', 'f', '{}')] },
        { role: 'tool', tool_call_id: 'a', content: output }
      ]
    }),
    responses: output => ({
      input: [
        { role: 'user', content: 'hi' },
        { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output }
      ]
    }),
    messages: (output, isError = false) => ({
      max_tokens: 5,
      messages: [
        hi,
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: output, is_error: isError }] }
      ]
    })
  }
  const send = (body: JsonObject, protocol: Protocol) => {
    const [, , results] = contentsOf(protocol, body) as Array<{ parts: Array<{ functionResponse: JsonObject }> }>
    return results?.parts[0]?.functionResponse.response
  }
  for (const [protocol, history] of Object.entries(histories) as Array<[Protocol, (typeof histories)['messages']]>) {
    for (const text of ['{"$ref":"a"}', '{"x":{"$ref":"#/Pet"}}', '{"x":[[{"\\u0024ref":"b"}]]}', '[{"$ref":"a"}]']) {
      t.strictSame(send(history(text), protocol), { result: text }, `${protocol}: ${text}`)
    }
    t.strictSame(send(history('{"x":"$ref","$refs":1}'), protocol), { x: '$ref', $refs: 1 }, protocol)
  }
  const failed = send(histories.messages('{"$ref":"a"}', true), 'messages')
  t.strictSame(failed, { error: '{"$ref":"a"}', is_error: true })
})

t.test('results stand in a content of their own, also between turns (decisions.md 83)', async t => {
  const contents = contentsOf('completions', {
    messages: [
      hi,
      { role: 'assistant', tool_calls: [call('a', 'f', '{}')] },
      { role: 'tool', tool_call_id: 'a', content: '1' },
      { role: 'user', content: 'One' },
      { role: 'user', content: 'Two' },
      { role: 'assistant', tool_calls: [call('b', 'f', '{}')] },
      { role: 'tool', tool_call_id: 'b', content: '2' },
      { role: 'assistant', content: 'So.' }
    ]
  }) as Array<{ role: string; parts: JsonObject[] }>
  t.strictSame(
    contents.map(({ role, parts }) => [role, ...parts.flatMap(part => Object.keys(part))]),
    [
      ['user', 'text'],
      ['model', 'functionCall'],
      ['user', 'functionResponse'],
      ['user', 'text', 'text'],
      ['model', 'functionCall'],
      ['user', 'functionResponse'],
      ['model', 'text']
    ]
  )
})
