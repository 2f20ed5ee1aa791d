import OpenAI from 'openai'
import t from 'tap'
import { readToolCallId, writeToolCallId } from '../../../worker/normalized/index.ts'
import { lastUpstreamChat, post, readFrames } from '../../support/client.ts'
import { assertRefusedUnsent } from '../../support/sdk-refusal.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'

const model = 'GigaChat-2'
const largest = 'GigaChat-2-Max'
const messages = [{ role: 'user', content: 'hi' }]
const { emulator, gateway } = await startSharedGateway()
const v1 = `${gateway.url}/v1/chat/completions`
const v2 = `${gateway.url}/v2/chat/completions`

const emptySchema = { type: 'object', properties: {} }
const schema = {
  type: 'object',
  properties: {
    a: { $ref: '#/$defs/A' },
    b: { anyOf: [{ type: 'string', format: 'email' }, { type: 'null' }] },
    c: true,
    d: { type: ['integer', 'null'], enum: [1, 2] },
    e: {}
  },
  required: ['a'],
  additionalProperties: false,
  $defs: { A: { type: 'object', properties: { next: { $ref: '#/$defs/A' } } } }
}

function tool(name: string, parameters: object | undefined = emptySchema) {
  return { type: 'function', function: { name, ...(parameters === undefined ? {} : { parameters }) } }
}

/** The function definitions that the upstream received. */
function sentFunctions(url: string): Array<Record<string, unknown>> {
  const { body } = lastUpstreamChat(emulator)
  if (url === v1) return body.functions ?? []
  return body.tools?.find((entry: object) => 'functions' in entry)?.functions.specifications ?? []
}

const history = [
  { role: 'user', content: 'both' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [
      { id: 'call_one', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
      { id: 'call_two', type: 'function', function: { name: 'g', arguments: '' } }
    ]
  },
  { role: 'tool', tool_call_id: 'call_one', content: '{"r":1}' },
  { role: 'tool', tool_call_id: 'call_two', content: '{"r":2}' }
]

t.test('completions 32: parallel calls and their results keep their order on v2', async t => {
  t.equal((await post(v2, { model, messages: history })).status, 200)
  const [, assistant, ...results] = lastUpstreamChat(emulator).body.messages
  t.strictSame(assistant.content, [
    { function_call: { name: 'f', arguments: { x: 1 } } },
    { function_call: { name: 'g', arguments: {} } }
  ])
  t.strictSame(
    results.map((message: { role: string; content: unknown }) => [message.role, message.content]),
    [
      ['tool', [{ function_result: { name: 'f', result: { r: 1 } } }]],
      ['tool', [{ function_result: { name: 'g', result: { r: 2 } } }]]
    ]
  )
})

t.test('completions 33: parallel calls become pairs on v1', async t => {
  t.equal((await post(v1, { model, messages: history })).status, 200)
  t.strictSame(lastUpstreamChat(emulator).body.messages, [
    { role: 'user', content: 'both' },
    { role: 'assistant', content: '', function_call: { name: 'f', arguments: { x: 1 } } },
    { role: 'function', name: 'f', content: '{"r":1}' },
    { role: 'assistant', content: '', function_call: { name: 'g', arguments: {} } },
    { role: 'function', name: 'g', content: '{"r":2}' }
  ])
})

t.test('completions 34, 35: tool results become objects', async t => {
  const cases: Array<[string, object]> = [
    ['plain', { result: 'plain' }],
    ['[1,2]', { result: [1, 2] }],
    ['', {}],
    ['{"k":1}', { k: 1 }],
    ['"{\\"k\\":1}"', { k: 1 }]
  ]
  for (const [content, expected] of cases) {
    const call = { id: 'call_x', type: 'function', function: { name: 'f', arguments: '{}' } }
    const turn = [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_x', content }
    ]
    t.equal((await post(v2, { model, messages: turn })).status, 200)
    t.strictSame(lastUpstreamChat(emulator).body.messages.at(-1).content[0].function_result.result, expected)
    t.equal((await post(v1, { model, messages: turn })).status, 200)
    t.strictSame(JSON.parse(lastUpstreamChat(emulator).body.messages.at(-1).content), expected)
  }
})

t.test('completions 36: a tool result is sent with the name and state of its call on v2', async t => {
  const id = writeToolCallId({ stateId: 'abc', name: undefined, callNumber: 0, nonce: 'n' })
  const call = { id, type: 'function', function: { name: 'f', arguments: '{}' } }
  const history = [
    { role: 'user', content: 'go' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: id, content: '{}' }
  ]
  t.equal((await post(v2, { model, messages: history })).status, 200)
  const result = lastUpstreamChat(emulator).body.messages.at(-1)
  t.equal(result.tools_state_id, 'abc')
  t.equal(result.content[0].function_result.name, 'f')
})

t.test('completions 37: call arguments that are not JSON are kept as their text', async t => {
  const call = { id: 'call_abc', type: 'function', function: { name: 'f', arguments: 'not json' } }
  const history = [
    { role: 'user', content: 'go' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_abc', content: 'Error: bad arguments' }
  ]
  for (const url of [v1, v2]) {
    t.equal((await post(url, { model, messages: history })).status, 200)
    t.match(JSON.stringify(lastUpstreamChat(emulator).body), '"arguments":{"arguments":"not json"}')
  }
})

t.test(
  'completions 44: a function with a reserved name is sent under an alias and returned under its name (B11)',
  async t => {
    for (const url of [v1, v2]) {
      for (const stream of [false, true]) {
        const response = await post(url, {
          model,
          stream,
          messages,
          tools: [tool('web_search')],
          tool_choice: { type: 'function', function: { name: 'web_search' } }
        })
        t.equal(response.status, 200)
        const { body } = lastUpstreamChat(emulator)
        t.equal(sentFunctions(url)[0]?.name, '__gateway_user_search_web')
        const forced = url === v1 ? body.function_call.name : body.tool_config.function_name
        t.equal(forced, '__gateway_user_search_web')
        t.match(response.text, /"name":"web_search"/)
        t.notMatch(response.text, /__gateway_user_search_web/)
      }
    }
  }
)

t.test('completions 45: a function without parameters gets an empty object schema', async t => {
  for (const url of [v1, v2]) {
    for (const declared of [
      { tools: [{ type: 'function', function: { name: 'f' } }] },
      { functions: [{ name: 'f' }] }
    ]) {
      t.equal((await post(url, { model, messages, ...declared })).status, 200)
      t.strictSame(sentFunctions(url), [{ name: 'f', parameters: emptySchema }])
    }
  }
})

t.test('completions 46, 47: schemas reach the upstream exactly as the client sent them (B10, E3)', async t => {
  for (const url of [v1, v2]) {
    const response_format = { type: 'json_schema', json_schema: { name: 'out', schema } }
    const response = await post(url, { model, messages, tools: [tool('f', schema)], response_format })
    t.equal(response.status, 200)
    t.strictSame(sentFunctions(url)[0]?.parameters, schema)
    const { body } = lastUpstreamChat(emulator)
    t.strictSame((body.response_format ?? body.model_options.response_format).schema, schema)
  }
})

t.test('completions 48: a forced function uses the mode forced', async t => {
  const tool_choice = { type: 'function', function: { name: 'f' } }
  t.equal((await post(v2, { model, messages, tools: [tool('f'), tool('g')], tool_choice })).status, 200)
  t.strictSame(lastUpstreamChat(emulator).body.tool_config, { mode: 'forced', function_name: 'f' })
  await post(v1, { model, messages, tools: [tool('f'), tool('g')], tool_choice })
  t.strictSame(lastUpstreamChat(emulator).body.function_call, { name: 'f' })
  for (const url of [v1, v2]) {
    const undeclared = await post(url, {
      model,
      messages,
      tools: [tool('f')],
      tool_choice: { type: 'function', function: { name: 'nope' } }
    })
    t.equal(undeclared.status, 400)
    t.match(undeclared.json.error, { code: 'invalid_request', param: 'tool_choice' })
  }
})

t.test('completions 49: a web search tool is mapped on v2 and dropped on v1', async t => {
  const tools = [{ type: 'web_search_preview', indexes: ['w'] }]
  t.equal((await post(v2, { model, messages, tools })).status, 200)
  t.strictSame(lastUpstreamChat(emulator).body.tools, [{ web_search: { indexes: ['w'] } }])
  t.equal((await post(v1, { model, messages, tools })).status, 200)
  t.strictSame(lastUpstreamChat(emulator).body, { model, messages })
})

t.test('completions 50: the tool choice none removes the tools', async t => {
  for (const url of [v1, v2]) {
    const tools = [tool('f'), { type: 'web_search' }]
    t.equal((await post(url, { model, messages, tools, tool_choice: 'none' })).status, 200)
    const { body } = lastUpstreamChat(emulator)
    for (const name of ['tools', 'functions', 'function_call', 'tool_config']) t.notOk(name in body, name)
  }
})

t.test(
  'completions 51: a required tool is forced when the contract can express it and refused otherwise (B6)',
  async t => {
    t.equal((await post(v1, { model, messages, tools: [tool('f')], tool_choice: 'required' })).status, 200)
    t.strictSame(lastUpstreamChat(emulator).body.function_call, { name: 'f' })
    t.equal((await post(v2, { model, messages, tools: [tool('f')], tool_choice: 'required' })).status, 200)
    t.strictSame(lastUpstreamChat(emulator).body.tool_config, { mode: 'forced', function_name: 'f' })
    const several = [tool('f'), tool('g')]
    const passedOn = await post(v2, {
      model,
      messages: [{ role: 'user', content: '[[text:no call]]' }],
      tools: several,
      tool_choice: 'required'
    })
    t.strictSame(lastUpstreamChat(emulator).body.tool_config, { mode: 'forced' })
    t.equal(passedOn.status, 200)
    t.equal(passedOn.json.choices[0].message.content, 'no call')
    const refused = { url: v1, body: { model, messages, tools: several, tool_choice: 'required' } }
    const refusal = { status: 400, code: 'unsupported_semantic', param: 'tool_choice' }
    await assertRefusedUnsent(t, emulator, refused, refusal)
  }
)

t.test('completions 52: a response to legacy functions has the legacy form', async t => {
  const body = { model, messages, functions: [{ name: 'f', parameters: emptySchema }], function_call: { name: 'f' } }
  const response = await post(v1, body)
  t.strictSame(lastUpstreamChat(emulator).body.function_call, { name: 'f' })
  const [choice] = response.json.choices
  t.equal(choice.message.function_call.name, 'f')
  t.type(choice.message.function_call.arguments, 'string')
  t.notOk('tool_calls' in choice.message)
  t.equal(choice.finish_reason, 'function_call')
  const frames = readFrames((await post(v1, { ...body, stream: true })).text)
  t.ok(frames.some(frame => frame.choices?.[0]?.delta.function_call?.name === 'f'))
  t.notOk(frames.some(frame => frame.choices?.[0]?.delta.tool_calls !== undefined))
})

t.test('completions 53: a v2 call is returned with an id that carries its state', async t => {
  const response = await post(v2, {
    model,
    messages: [{ role: 'user', content: '[[tool:f {"a":1}]]' }],
    tools: [tool('f')]
  })
  const [choice] = response.json.choices
  const [call] = choice.message.tool_calls
  t.match(call.id, /^[a-zA-Z0-9_-]{1,128}$/)
  t.strictSame(JSON.parse(call.function.arguments), { a: 1 })
  t.equal(choice.finish_reason, 'tool_calls')
  t.equal(choice.message.content, null)
  t.type(readToolCallId(call.id).stateId, 'string')

  t.comment('a result without its call has no name')
  const alone = await post(v2, { model, messages: [{ role: 'tool', tool_call_id: call.id, content: '{"ok":true}' }] })
  t.equal(alone.status, 400)
  t.match(alone.json.error, { code: 'invalid_request', param: 'messages[0].tool_call_id' })
})

t.test('decisions.md 39: in a stored conversation a result that comes back alone finds name and state', async t => {
  const question = { role: 'user', content: '[[tool:f {"a":1}]]' }
  const response = await post(v2, { model, messages: [question], tools: [tool('f')], storage: {} })
  const [call] = response.json.choices[0].message.tool_calls
  t.match(call.id, /^[a-zA-Z0-9_-]{1,128}$/)
  const { stateId, name } = readToolCallId(call.id)
  t.type(stateId, 'string')
  t.equal(name, 'f')
  const storage = { thread_id: response.json.metadata?.upstream_thread_id }
  const messages = [{ role: 'tool', tool_call_id: call.id, content: '{"ok":true}' }]
  t.equal((await post(v2, { model, messages, storage })).status, 200)
  t.match(lastUpstreamChat(emulator).body.messages, [
    {
      role: 'tool',
      tools_state_id: stateId,
      content: [{ function_result: { name: 'f', result: { ok: true } } }]
    }
  ])
})

t.test(
  'completions 54: the parallel option is sent for the largest v2 model and both calls round-trip (B1, B2)',
  async t => {
    for (const name of [largest, `${largest}:2.0`]) {
      const question = { role: 'user', content: '[[tool:f {"n":1}]][[tool:f {"n":2}]]' }
      const tools = [tool('f')]
      const response = await post(v2, { model: name, messages: [question], tools, parallel_tool_calls: true })
      t.equal(response.status, 200)
      t.equal(lastUpstreamChat(emulator).body.parallel_tool_calls, true)
      const { message } = response.json.choices[0]
      t.equal(message.tool_calls.length, 2)
      t.not(message.tool_calls[0].id, message.tool_calls[1].id)
      const results = message.tool_calls.map((call: { id: string }, index: number) => ({
        role: 'tool',
        tool_call_id: call.id,
        content: `{"index":${index}}`
      }))
      t.equal((await post(v2, { model: name, messages: [question, message, ...results], tools })).status, 200)
      const sent = lastUpstreamChat(emulator).body.messages
      const { stateId } = readToolCallId(message.tool_calls[0].id)
      t.equal(sent[1].tools_state_id, stateId)
      t.equal(sent[1].content.length, 2)
      t.strictSame(
        sent
          .slice(2)
          .map(
            (one: { content: Array<{ function_result: { result: unknown } }> }) =>
              one.content[0]?.function_result.result
          ),
        [{ index: 0 }, { index: 1 }]
      )
      const frames = readFrames(
        (await post(v2, { model: name, messages: [question], tools, parallel_tool_calls: true, stream: true })).text
      )
      const indexes = frames.flatMap(frame => frame.choices?.[0]?.delta.tool_calls ?? []).map(call => call.index)
      t.strictSame([...new Set(indexes)], [0, 1])
    }
  }
)

t.test('completions 55: the parallel option is sent for no other model and not on v1 (B7)', async t => {
  const tools = [tool('f')]
  const cases: Array<[string, object]> = [
    [v1, { model: largest, parallel_tool_calls: true }],
    [v2, { model, parallel_tool_calls: true }],
    [v2, { model: 'GigaChat-2-Maxi', parallel_tool_calls: true }],
    [v2, { model: largest, parallel_tool_calls: false }],
    [v2, { model: largest }]
  ]
  const body = { messages: [{ role: 'assistant', content: [{ text: 'x' }] }], finish_reason: 'stop' }
  for (const [url, options] of cases) {
    // The emulator knows no model of this name.
    if (JSON.stringify(options).includes('Maxi')) emulator.respondNext({ body })
    t.equal((await post(url, { messages, tools, ...options })).status, 200)
    t.notOk('parallel_tool_calls' in lastUpstreamChat(emulator).body)
  }
})

t.test('completions 56: a JSON schema output uses the upstream’s response format on v1', async t => {
  const json_schema = { name: 'out', schema, strict: true }
  const response_format = { type: 'json_schema' as const, json_schema }
  const response = await post(v1, { model, messages, response_format })
  const { body } = lastUpstreamChat(emulator)
  t.strictSame(body, { model, messages, response_format: { type: 'json_schema', schema, strict: true } })
  const [choice] = response.json.choices
  t.equal(choice.finish_reason, 'stop')
  t.notOk('tool_calls' in choice.message)
  t.type(JSON.parse(choice.message.content), 'object')

  t.comment('the text is what the upstream sent, and the SDK parses it')
  const printed = JSON.stringify({ a: { next: {} } }, undefined, 4)
  const message = { role: 'assistant', content: printed }
  emulator.respondNext({ body: { model, created: 1, choices: [{ index: 0, message, finish_reason: 'stop' }] } })
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'unused', maxRetries: 0 })
  const parsed = await client.chat.completions.parse({
    model,
    messages: [{ role: 'user', content: 'hi' }],
    response_format
  })
  t.equal(parsed.choices[0]?.message.content, printed)
  t.strictSame(parsed.choices[0]?.message.parsed, { a: { next: {} } })
})

t.test('completions 57: a JSON schema output and a client tool are combined on v2', async t => {
  const response_format = { type: 'json_schema', json_schema: { name: 'out', schema, strict: true } }
  const response = await post(v2, {
    model,
    messages: [{ role: 'user', content: '[[tool:f {"a":1}]]' }],
    response_format,
    tools: [tool('f')]
  })
  const { body } = lastUpstreamChat(emulator)
  t.strictSame(body.model_options.response_format, { type: 'json_schema', schema, strict: true })
  t.equal(sentFunctions(v2)[0]?.name, 'f')
  t.notOk('tool_config' in body)
  t.equal(response.json.choices[0].message.tool_calls[0].function.name, 'f')
  t.equal(response.json.choices[0].finish_reason, 'tool_calls')
})

t.test('completions 58: the schema-less JSON mode is refused', async t => {
  for (const url of [v1, v2]) {
    for (const type of ['json_object', 'xml']) {
      const body = { model, messages, response_format: { type } }
      const refusal = { status: 400, code: 'unsupported_response_format', param: 'response_format.type' }
      await assertRefusedUnsent(t, emulator, { url, body }, refusal)
    }
  }
})

t.test('a tool result without a known call is refused with its field (B9)', async t => {
  const response = await post(v2, { model, messages: [{ role: 'tool', tool_call_id: 'call_lost', content: '{}' }] })
  t.equal(response.status, 400)
  t.match(response.json.error, { code: 'invalid_request', param: 'messages[0].tool_call_id' })
})
