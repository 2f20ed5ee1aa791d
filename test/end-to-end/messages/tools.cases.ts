import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readToolCallId } from '../../../worker/normalized/index.ts'
import { lastUpstreamChat, post, upstreamChats } from '../../support/client.ts'
import { readLog } from '../../support/in-process-gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'
import { lastReceived, listSentFunctions } from '../../support/upstream.ts'
import { addUp, ask, largest, model, type StreamEvent, stream, type Version, versions } from './support.ts'

const { emulator, gateway } = await startSharedGateway()

const A = {
  name: 'get_weather',
  description: 'Weather of a city',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
}
const B = { name: 'get_time', input_schema: { type: 'object', properties: { tz: { type: 'string' } } } }
const wireA = { name: A.name, description: A.description, parameters: A.input_schema }
const wireB = { name: B.name, parameters: B.input_schema }
const CALL_A = '[[tool:get_weather {"city":"Paris"}]]'

function sent() {
  return lastUpstreamChat(emulator).body
}

/** The tool_use blocks of a whole response, or of the start events of a stream. */
function callsOf(content: StreamEvent[]): Array<{ id: string; name: string; input: unknown }> {
  return content.filter(block => block.type === 'tool_use')
}

t.test('messages 25: two tools on v1 are two functions, and a call is a tool_use', async t => {
  const response = await ask(gateway, 'v1', CALL_A, { tools: [A, B], tool_choice: { type: 'auto' } })
  t.strictSame(sent().functions, [wireA, wireB])
  t.notOk('function_call' in sent())
  t.equal(response.json.stop_reason, 'tool_use')
  t.match(response.json.content, [{ type: 'tool_use', name: A.name, input: { city: 'Paris' } }])
  t.match(response.json.content[0].id, /^[a-zA-Z0-9_-]{1,128}$/)
})

t.test('messages 26: two tools on v2 are one entry with two specifications', async t => {
  const response = await ask(gateway, 'v2', CALL_A, { tools: [A, B] })
  t.strictSame(sent().tools, [{ functions: { specifications: [wireA, wireB] } }])
  t.notOk('tool_config' in sent())
  t.equal(response.json.stop_reason, 'tool_use')
  t.strictSame(response.json.content[0], {
    type: 'tool_use',
    id: response.json.content[0].id,
    name: A.name,
    input: { city: 'Paris' },
    caller: { type: 'direct' }
  })
})

const search = { name: 'ToolSearch', input_schema: { type: 'object' } }
const deferredA = { ...A, defer_loading: true }
const deferredB = { ...B, defer_loading: true }
const placeholder = { name: 'DeferredToolPlaceholder', input_schema: { type: 'object' }, defer_loading: true }
const deferred = [search, deferredA, deferredB, placeholder]
const sentNames = () => listSentFunctions(sent()).map(({ name }) => name)
const found = (...names: string[]) => [
  { role: 'user', content: 'hi' },
  { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: search.name, input: {} }] },
  {
    role: 'user',
    content: [
      {
        type: 'tool_result',
        tool_use_id: 'toolu_1',
        content: names.map(name => ({ type: 'tool_reference', tool_name: name }))
      }
    ]
  }
]

t.test('decisions.md 57: a deferred tool is offered once a result refers to it, and a placeholder never', async t => {
  for (const version of versions) {
    await ask(gateway, version, 'hi', { tools: deferred })
    t.strictSame(sentNames(), [search.name])
    const messages = found(B.name, placeholder.name)
    t.equal((await ask(gateway, version, '', { tools: deferred, messages })).status, 200)
    t.strictSame(listSentFunctions(sent()).slice(1), [wireB])
    t.equal(sentNames()[0], search.name)
    const result = sent().messages.at(-1)
    const text = version === 'v1' ? result.content : JSON.stringify(result.content[0].function_result.result)
    t.strictSame(JSON.parse(text), {
      result: `Available tool: ${B.name}\nAvailable tool: ${placeholder.name}`
    })
    await ask(gateway, version, 'hi', { tools: deferred, tool_choice: { type: 'tool', name: A.name } })
    t.ok(sentNames().includes(A.name), 'a chosen tool is offered')
    // The service’s own search tool is not run here, so the deferred tools could never be found.
    const byService = { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' }
    await ask(gateway, version, 'hi', { tools: [byService, deferredA, placeholder] })
    t.strictSame(sentNames(), [A.name])
  }
  const unnamed = await ask(gateway, 'v1', '', {
    messages: [
      ...found().slice(0, 2),
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'tool_reference' }] }]
      }
    ]
  })
  t.equal(unnamed.status, 400)
  t.match(unnamed.json.error.message, /messages\.2\.content\.0\.content\.0\.tool_name/)
})

t.test('decisions.md 57: the recorded search of a coding agent loads the tools that it found', async t => {
  const file = '../../fixtures/recorded/agents/claude-messages-toolsearch-reference.json'
  const { body } = JSON.parse(readFileSync(join(import.meta.dirname, file), 'utf8'))
  const declared: Array<{ name: string; description: string; input_schema: object }> = body.tools
  const offered = declared.filter(({ name }) => name !== placeholder.name)
  for (const version of versions) {
    const response = await post(`${gateway.url}/${version}/messages`, body)
    t.equal(response.status, 200)
    t.match(response.text, /"stop_reason":"tool_use"/)
    t.strictSame(
      listSentFunctions(sent()),
      offered.map(({ name, description, input_schema }) => ({ name, description, parameters: input_schema }))
    )
    t.match(JSON.stringify(sent().messages.at(-1)), /Available tool: WebSearch.*Available tool: WebFetch/)
  }
})

t.test('decisions.md 57: a token count has the same tools and texts as the request', async t => {
  const system = [
    { type: 'text', text: 'x-anthropic-billing-header: cc_version=1; cch=abc;' },
    { type: 'text', text: 'sys' }
  ]
  for (const version of versions) {
    const body = { model, system, tools: deferred, messages: found(B.name) }
    t.equal((await post(`${gateway.url}/${version}/messages/count_tokens`, body)).status, 200)
    const texts = (lastReceived(emulator, '/tokens/count').body as { input: string[] }).input.join('\n')
    t.match(texts, /^sys\n/)
    t.match(texts, /Available tool: get_time/)
    t.match(texts, /ToolSearch \{/)
    t.match(texts, /get_time \{/)
    t.notMatch(texts, /billing|Placeholder|get_weather/)
  }
})

t.test('messages 27, 28: a chosen tool is forced by name', async t => {
  const choice = { tools: [A, B], tool_choice: { type: 'tool', name: A.name } }
  const v1 = await ask(gateway, 'v1', 'go', choice)
  t.strictSame(sent().function_call, { name: A.name })
  const v2 = await ask(gateway, 'v2', 'go', choice)
  t.strictSame(sent().tool_config, { mode: 'forced', function_name: A.name })
  for (const response of [v1, v2]) t.match(response.json.content, [{ type: 'tool_use', name: A.name }])
})

t.test('messages 29: the tool choice none removes the tools from the request', async t => {
  for (const version of versions) {
    const response = await ask(gateway, version, CALL_A, { tools: [A, B], tool_choice: { type: 'none' } })
    t.notOk('functions' in sent() || 'tools' in sent())
    t.match(response.json, { content: [{ type: 'text' }], stop_reason: 'end_turn' })
  }
})

t.test('messages 30: the tool choice any with one tool forces that tool', async t => {
  for (const version of versions) {
    const response = await ask(gateway, version, 'go', { tools: [A], tool_choice: { type: 'any' } })
    t.strictSame(sent().function_call ?? sent().tool_config, {
      ...(version === 'v1' ? { name: A.name } : { mode: 'forced', function_name: A.name })
    })
    t.match(response.json.content, [{ type: 'tool_use', name: A.name }])
  }
})

t.test('messages 31: any of several tools is refused on v1 and forced without a name on v2', async t => {
  const choice = { tools: [A, B], tool_choice: { type: 'any' } }
  const before = upstreamChats(emulator).length
  const refused = await ask(gateway, 'v1', 'go', choice)
  t.equal(refused.status, 400)
  t.match(refused.json.error, {
    type: 'invalid_request_error',
    code: 'unsupported_semantic',
    details: { error_code: 'unsupported_semantic' },
    message: /tool_choice/
  })
  t.equal(upstreamChats(emulator).length, before)
  t.equal((await ask(gateway, 'v2', 'go', choice)).status, 200)
  t.strictSame(sent().tool_config, { mode: 'forced' })

  t.comment('an upstream that does not obey is passed on as it is')
  emulator.respondNext({
    body: {
      model: 'GigaChat-2:2.0.28.2',
      created_at: 1,
      messages: [{ role: 'assistant', content: [{ text: 'I would rather not.' }] }],
      finish_reason: 'stop',
      usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
    }
  })
  const unmoved = await ask(gateway, 'v2', 'go', choice)
  t.equal(unmoved.status, 200)
  t.match(unmoved.json, { content: [{ type: 'text', text: 'I would rather not.' }], stop_reason: 'end_turn' })
  const id = unmoved.headers.get('x-request-id')
  const findLine = () => readLog(gateway).find(line => line.event === 'upstream_anomaly' && line.request_id === id)
  await waitUntil(() => findLine() !== undefined, 'the anomaly is logged')
  t.match(findLine(), { anomaly: 'forced_tool_call_missing' })
})

t.test('tool choices that no tool can satisfy are refused before the upstream is called', async t => {
  const before = upstreamChats(emulator).length
  const search = { type: 'web_search_20250305', name: 'web_search' }
  const cases: Array<[Version, object]> = [
    ['v1', { tools: [A], tool_choice: { type: 'tool', name: 'unknown' } }],
    ['v1', { tools: [search], tool_choice: { type: 'tool', name: 'web_search' } }],
    ['v1', { tools: [search], tool_choice: { type: 'any' } }],
    ['v2', { tool_choice: { type: 'any' } }],
    ['v2', { tools: [A], tool_choice: { type: 'sometimes' } }],
    ['v2', { tools: [A], tool_choice: 'auto' }]
  ]
  for (const [version, more] of cases) {
    const response = await ask(gateway, version, 'go', more)
    t.equal(response.status, 400, JSON.stringify(more))
    t.match(response.json.error, { type: 'invalid_request_error', message: /tool_choice/ }, JSON.stringify(more))
  }
  t.equal(upstreamChats(emulator).length, before)
})

t.test(
  'messages 32: a search on v2 is declared without unknown settings and its sources are listed in the text',
  async t => {
    const tools = [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3, allowed_domains: ['a.test'] }]
    const response = await ask(gateway, 'v2', '[[builtin:web_search]]', { tools })
    t.strictSame(sent().tools, [{ web_search: {} }])
    t.equal(response.json.content.length, 1)
    const { text } = response.json.content[0]
    t.notMatch(text, /\[sources=/)
    t.match(text, /\n\nSources:\n- \[The first page\]\(https:\/\/example\.test\/first\)/)
    const { events } = await stream(gateway, 'v2', '[[builtin:web_search]]', { tools })
    t.strictSame(addUp(events), { blocks: [`text:${text}`], stop: 'end_turn' })
  }
)

t.test('messages 33, 35: tools without effect in the gateway are accepted and not declared', async t => {
  const search = [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }]
  const ofTheService = [
    { type: 'bash_20250124', name: 'bash' },
    { type: 'memory_20250818', name: 'memory' },
    { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' },
    { type: 'computer_20250124', name: 'computer', display_width_px: 1, display_height_px: 1 }
  ]
  for (const [version, tools] of [
    ['v1', search],
    ['v1', ofTheService],
    ['v2', ofTheService]
  ] as const) {
    const response = await ask(gateway, version, 'go', { tools })
    t.equal(response.status, 200)
    t.match(response.json.content, [{ type: 'text' }])
    t.notOk('functions' in sent() || 'tools' in sent(), version)
  }
})

t.test('the WebSearch function of a coding agent, which has properties, stays a function', async t => {
  const own = { name: 'WebSearch', input_schema: { type: 'object', properties: { query: { type: 'string' } } } }
  await ask(gateway, 'v2', 'go', { tools: [own] })
  t.strictSame(sent().tools, [{ functions: { specifications: [{ name: 'WebSearch', parameters: own.input_schema }] } }])
  await ask(gateway, 'v2', 'go', { tools: [{ name: 'WebSearch', input_schema: { type: 'object' } }] })
  t.strictSame(sent().tools, [{ web_search: {} }])
})

t.test('messages 34: a function with a reserved name is sent under an alias and returned under its name', async t => {
  const tools = [{ ...A, name: 'web_search' }]
  const tool_choice = { type: 'tool', name: 'web_search' }
  for (const version of versions) {
    const response = await ask(gateway, version, 'go', { tools, tool_choice })
    t.equal(listSentFunctions(sent())[0]?.name, '__gateway_user_search_web')
    t.match(response.json.content, [{ type: 'tool_use', name: 'web_search' }])
    const streamed = await stream(gateway, version, 'go', { tools, tool_choice })
    const blocks = streamed.events
      .filter(event => event.type === 'content_block_start')
      .map(event => event.content_block)
    t.match(callsOf(blocks), [{ name: 'web_search' }])
    t.notMatch(streamed.response.text, /__gateway/)
  }
})

const turn = (...blocks: object[]) => ({
  messages: [
    { role: 'user', content: 'go' },
    { role: 'assistant', content: blocks.filter(block => 'input' in block || 'text' in block) },
    { role: 'user', content: blocks.filter(block => 'tool_use_id' in block) }
  ]
})
const use = (id: string, name: string, input: object) => ({ type: 'tool_use', id, name, input })
const result = (tool_use_id: string, content?: unknown, more: object = {}) => ({
  type: 'tool_result',
  tool_use_id,
  content,
  ...more
})

t.test(
  'messages 36: on v1 a call and its result become a function call with an object and a function message',
  async t => {
    const history = turn(
      { type: 'text', text: 'let me' },
      use('toolu_1', A.name, { city: 'P' }),
      result('toolu_1', 'ok')
    )
    t.equal((await ask(gateway, 'v1', '', history)).status, 200)
    t.strictSame(sent().messages, [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: 'let me', function_call: { name: A.name, arguments: { city: 'P' } } },
      { role: 'function', name: A.name, content: '{"result":"ok"}' }
    ])
  }
)

t.test('messages 37: on v2 a call and its result are sent with one state id', async t => {
  const unknownBefore = emulator.stats.unknownStateIds
  const first = await ask(gateway, 'v2', CALL_A, { tools: [A] })
  const [call] = callsOf(first.json.content)
  const { stateId } = readToolCallId(call?.id ?? '')
  t.type(stateId, 'string')
  const history = turn(use(call?.id ?? '', A.name, { city: 'Paris' }), result(call?.id ?? '', 'ok'))
  t.equal((await ask(gateway, 'v2', '', { ...history, tools: [A] })).status, 200)
  t.strictSame(sent().messages, [
    { role: 'user', content: [{ text: 'go' }] },
    {
      role: 'assistant',
      content: [{ function_call: { name: A.name, arguments: { city: 'Paris' } } }],
      tools_state_id: stateId
    },
    {
      role: 'tool',
      content: [{ function_result: { name: A.name, result: { result: 'ok' } } }],
      tools_state_id: stateId
    }
  ])
  t.equal(emulator.stats.unknownStateIds, unknownBefore, 'the upstream knows every id that was sent back')
})

t.test('messages 38, 39: two calls with two results are parts in order on v2, pairs on v1', async t => {
  const history = turn(
    use('toolu_1', A.name, { city: 'P' }),
    use('toolu_2', B.name, { tz: 'Z' }),
    // In reverse order, as concurrent tools may finish.
    result('toolu_2', '{"now":"12:00"}'),
    result('toolu_1', 'cold')
  )
  t.equal((await ask(gateway, 'v2', '', history)).status, 200)
  const [, assistant, ...results] = sent().messages
  t.strictSame(assistant.content, [
    { function_call: { name: A.name, arguments: { city: 'P' } } },
    { function_call: { name: B.name, arguments: { tz: 'Z' } } }
  ])
  t.strictSame(
    results.map(({ role, content }: { role: string; content: unknown }) => [role, content]),
    [
      ['tool', [{ function_result: { name: A.name, result: { result: 'cold' } } }]],
      ['tool', [{ function_result: { name: B.name, result: { now: '12:00' } } }]]
    ]
  )
  t.equal((await ask(gateway, 'v1', '', history)).status, 200)
  t.strictSame(sent().messages.slice(1), [
    { role: 'assistant', content: '', function_call: { name: A.name, arguments: { city: 'P' } } },
    { role: 'function', name: A.name, content: '{"result":"cold"}' },
    { role: 'assistant', content: '', function_call: { name: B.name, arguments: { tz: 'Z' } } },
    { role: 'function', name: B.name, content: '{"now":"12:00"}' }
  ])
})

t.test('a call without a result is refused with the id of the call', async t => {
  const history = turn(use('toolu_1', A.name, {}), use('toolu_2', B.name, {}), result('toolu_1', 'ok'))
  const response = await ask(gateway, 'v2', '', history)
  t.equal(response.status, 400)
  t.match(response.json.error, { type: 'invalid_request_error', message: /^messages\.1: .*toolu_2/ })
  t.notMatch(response.json.error.message, /toolu_1/)
})

t.test('messages 40, 41: the content of a result becomes an object, which also says that the tool failed', async t => {
  const texts = [
    { type: 'text', text: 'one' },
    { type: 'text', text: 'two' }
  ]
  const cases: Array<[object, object]> = [
    [result('toolu_1', 'boom', { is_error: true }), { error: 'boom', is_error: true }],
    [result('toolu_1', '{"code":5}', { is_error: true }), { error: { code: 5 }, is_error: true }],
    [result('toolu_1', texts), { result: 'one\ntwo' }],
    [result('toolu_1'), {}],
    [result('toolu_1', '[1,2]'), { result: [1, 2] }]
  ]
  for (const [block, expected] of cases) {
    t.equal((await ask(gateway, 'v2', '', turn(use('toolu_1', A.name, {}), block))).status, 200)
    t.strictSame(sent().messages.at(-1).content[0].function_result.result, expected)
    t.equal((await ask(gateway, 'v1', '', turn(use('toolu_1', A.name, {}), block))).status, 200)
    t.strictSame(JSON.parse(sent().messages.at(-1).content), expected)
  }
})

const SEVERAL = { type: 'auto', disable_parallel_tool_use: false }
const TWO_CALLS = '[[tool:get_weather {"city":"A"}]][[tool:get_weather {"city":"B"}]]'

t.test('messages 42: allowed parallel calls are blocks with distinct ids that lead to one state', async t => {
  const unknownBefore = emulator.stats.unknownStateIds
  const request = { model: largest, tools: [A, B], tool_choice: SEVERAL }
  for (const form of ['', '[[multimsg]]']) {
    const response = await ask(gateway, 'v2', form + TWO_CALLS, request)
    t.equal(sent().parallel_tool_calls, true)
    const calls = callsOf(response.json.content)
    t.match(calls, [{ input: { city: 'A' } }, { input: { city: 'B' } }])
    t.equal(response.json.stop_reason, 'tool_use')
    t.equal(new Set(calls.map(({ id }) => id)).size, 2)
    const states = calls.map(({ id }) => readToolCallId(id).stateId)
    t.type(states[0], 'string')
    t.equal(states[0], states[1])

    const { events } = await stream(gateway, 'v2', form + TWO_CALLS, request)
    t.strictSame(addUp(events), {
      blocks: ['tool_use:{"city":"A"}', 'tool_use:{"city":"B"}'],
      stop: 'tool_use'
    })
    const streamed = callsOf(events.flatMap(event => event.content_block ?? [])).map(({ id }) => id)
    t.equal(new Set(streamed).size, 2)
    const [state, ...others] = streamed.map(id => readToolCallId(id).stateId)
    t.type(state, 'string')
    t.strictSame(others, [state])
    const history = turn(
      ...calls.map(({ id, name, input }) => use(id, name, input as object)),
      ...calls.map(({ id }, index) => result(id, `{"index":${index}}`))
    )
    t.equal((await ask(gateway, 'v2', '', { ...history, ...request })).status, 200)
    const [, assistant, ...results] = sent().messages
    t.equal(assistant.tools_state_id, states[0])
    t.equal(assistant.content.length, 2)
    t.strictSame(
      results.map((message: StreamEvent) => [message.tools_state_id, message.content[0].function_result.result]),
      [
        [states[0], { index: 0 }],
        [states[0], { index: 1 }]
      ]
    )
  }
  t.equal(emulator.stats.unknownStateIds, unknownBefore)
})

t.test('messages 43: without the parallel option all calls are shown, unless the client refused several', async t => {
  const unasked = `[[parallel]]${TWO_CALLS}`
  const refused = { ...SEVERAL, disable_parallel_tool_use: true }
  const cases: Array<[Version, string, object, string[]]> = [
    ['v2', unasked, { model: largest, tools: [A] }, ['A', 'B']],
    ['v2', unasked, { model, tools: [A, B] }, ['A', 'B']],
    ['v2', unasked, { model: largest, tools: [A, B], tool_choice: refused }, ['A']],
    ['v1', TWO_CALLS, { model: largest, tools: [A], tool_choice: SEVERAL }, ['A']],
    ['v2', TWO_CALLS, { model, tools: [A], tool_choice: SEVERAL }, ['A']]
  ]
  for (const [version, prompt, request, cities] of cases) {
    const response = await ask(gateway, version, prompt, request)
    t.equal(response.status, 200)
    t.notOk('parallel_tool_calls' in sent())
    t.strictSame(
      callsOf(response.json.content).map(({ input }) => input),
      cities.map(city => ({ city }))
    )
    const { events } = await stream(gateway, version, prompt, request)
    t.strictSame(addUp(events), { blocks: cities.map(city => `tool_use:{"city":"${city}"}`), stop: 'tool_use' })
  }
})

t.test('the id of a call carries its state, whole and streamed (B3, C3)', async t => {
  for (const version of versions) {
    const whole = await ask(gateway, version, CALL_A, { tools: [A] })
    const { events } = await stream(gateway, version, CALL_A, { tools: [A] })
    const start = events.find(event => event.content_block?.type === 'tool_use').content_block
    for (const id of [callsOf(whole.json.content)[0]?.id ?? '', start.id]) {
      t.match(readToolCallId(id), { isOwn: true, stateId: String, callNumber: 0 })
    }
    t.strictSame(start.input, {})
  }
})
