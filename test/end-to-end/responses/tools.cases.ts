import t from 'tap'
import { readToolCallId } from '../../../worker/normalized/index.ts'
import { lastUpstreamChat, upstreamChats } from '../../support/client.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'
import { listSentFunctions } from '../../support/upstream.ts'
import { ask, callsOf, type Loose, largest, model, schema, stream, textOf, tool, versions } from './support.ts'

const { emulator, gateway } = await startSharedGateway()

function sent() {
  return lastUpstreamChat(emulator).body
}

t.test('a schema of a tool reaches the upstream exactly as sent, flat and nested', async t => {
  for (const version of versions) {
    for (const declared of [
      { type: 'function', name: 'f', description: 'd', strict: true, parameters: schema },
      { type: 'function', function: { name: 'f', description: 'd', parameters: schema } }
    ]) {
      t.equal((await ask(gateway, version, 'x', { tools: [declared] })).status, 200)
      t.strictSame(listSentFunctions(sent()), [{ name: 'f', description: 'd', parameters: schema }])
    }
  }
})

t.test('responses 44: a function with a reserved name is sent under an alias and returned under its name', async t => {
  const more = { tools: [tool('web_search')], tool_choice: { type: 'function', name: 'web_search' } }
  for (const version of versions) {
    const httpResponse = await ask(gateway, version, 'go', more)
    t.equal(listSentFunctions(sent())[0]?.name, '__gateway_user_search_web')
    t.match(callsOf(httpResponse.json), [{ name: 'web_search' }])
    const streamed = await stream(gateway, version, 'go', more)
    t.match(callsOf(streamed.response), [{ name: 'web_search' }])
    t.notMatch(streamed.httpResponse.text, /__gateway/)
  }
})

t.test(
  'responses 45: a function of a namespace is sent under one flat name and returned with namespace and name',
  async t => {
    const tools = [{ type: 'namespace', name: 'ns', tools: [tool('f'), tool('g')] }]
    for (const version of versions) {
      const httpResponse = await ask(gateway, version, '[[tool:ns__f {"a":1}]]', { tools })
      t.strictSame(
        listSentFunctions(sent()).map(({ name }) => name),
        ['ns__f', 'ns__g']
      )
      t.match(callsOf(httpResponse.json), [{ name: 'f', namespace: 'ns', arguments: '{"a":1}' }])
      const { response, events } = await stream(gateway, version, '[[tool:ns__f {"a":1}]]', { tools })
      t.match(callsOf(response), [{ name: 'f', namespace: 'ns' }])
      t.match(events.find(event => event.item?.type === 'function_call').item, { name: 'f', namespace: 'ns' })
    }
  }
)

t.test('responses 47: a chosen function is forced by its name and the response repeats the tool choice', async t => {
  const tool_choice = { type: 'function', name: 'g' }
  const v2 = await ask(gateway, 'v2', 'go', { tools: [tool('f'), tool('g')], tool_choice })
  t.strictSame(sent().tool_config, { mode: 'forced', function_name: 'g' })
  const v1 = await ask(gateway, 'v1', 'go', { tools: [tool('f'), tool('g')], tool_choice })
  t.strictSame(sent().function_call, { name: 'g' })
  for (const { json } of [v1, v2]) {
    t.strictSame(json.tool_choice, tool_choice)
    t.match(callsOf(json), [{ name: 'g' }])
  }
})

t.test('decisions.md 68: tools of additional_tools items are declared like those of tools', async t => {
  const parameters = { type: 'object', properties: { cell: { $ref: '#/$defs/C' } }, $defs: { C: { type: 'string' } } }
  const item = {
    type: 'additional_tools',
    role: 'developer',
    tools: [
      {
        type: 'namespace',
        name: 'functions',
        tools: [{ type: 'custom', name: 'exec', format: { type: 'text' } }, tool('wait', parameters)]
      },
      tool('plain')
    ]
  }
  const call = { type: 'function_call', call_id: 'a', name: 'wait', namespace: 'functions', arguments: '{"cell":"1"}' }
  const question = { role: 'user', content: '[[tool:functions__wait {"cell":"1"}]]' }
  for (const version of versions) {
    for (const top of [[], [tool('top')]]) {
      const more = { tools: top }
      const { json } = await ask(gateway, version, [item, question], more)
      const functions = version === 'v1' ? sent().functions : sent().tools[0].functions.specifications
      t.match(functions.slice(-3), [{ name: 'functions__exec' }, { name: 'functions__wait' }, { name: 'plain' }])
      t.equal(functions.length, top.length + 3)
      t.strictSame(functions.at(-2).parameters, parameters)
      t.match(callsOf(json), [{ name: 'wait', namespace: 'functions', arguments: '{"cell":"1"}' }])
      t.equal(json.tools.length, top.length, 'the response repeats only what was in tools')
      const streamed = await stream(gateway, version, [item, question], more)
      t.match(callsOf(streamed.response), [{ name: 'wait', namespace: 'functions' }])
      const input = [item, question, call, { type: 'function_call_output', call_id: 'a', output: 'ok' }]
      t.equal((await ask(gateway, version, input, more)).status, 200)
      t.equal(JSON.stringify(sent()).match(/"name":"functions__wait"/g)?.length, 3, 'declared, called and returned')
      t.notMatch(JSON.stringify(sent()), /additional_tools/)
    }
    const chosen = { tool_choice: { type: 'function', name: 'plain' } }
    t.match(callsOf((await ask(gateway, version, [item, { role: 'user', content: 'go' }], chosen)).json), [
      { name: 'plain' }
    ])
  }
})

t.test('responses 48, 49: a built-in tool is sent with its configuration, on v2 only', async t => {
  const tools = [{ type: 'image_generation', size: '1024x1024' }]
  t.equal((await ask(gateway, 'v2', 'x', { tools })).status, 200)
  t.strictSame(sent().tools, [{ image_generate: { size: '1024x1024' } }])
  t.equal((await ask(gateway, 'v1', 'x', { tools })).status, 200)
  t.strictSame(sent(), { model, messages: [{ role: 'user', content: 'x' }] })
})

t.test(
  'responses 50: tools that neither gateway nor upstream can run are not sent, and the response repeats them',
  async t => {
    const tools = [
      { type: 'computer', name: 'c' },
      { type: 'file_search', vector_store_ids: ['v'] },
      { type: 'local_shell' },
      { type: 'mcp', server_label: 'm', server_url: 'https://mcp.test' }
    ]
    for (const version of versions) {
      const httpResponse = await ask(gateway, version, 'x', { tools })
      t.equal(httpResponse.status, 200)
      t.notOk('tools' in sent() || 'functions' in sent())
      t.strictSame(httpResponse.json.tools, tools)
    }
  }
)

t.test(
  'responses 51: a call has ids that carry its state, arguments as text and no members that are null (C3)',
  async t => {
    const unknownBefore = emulator.stats.unknownStateIds
    for (const version of versions) {
      const httpResponse = await ask(gateway, version, '[[tool:g {"a":1}]]', { tools: [tool('g')] })
      const [item] = callsOf(httpResponse.json)
      t.equal(httpResponse.json.output.length, 1)
      t.match(item.call_id, /^[a-zA-Z0-9_-]{1,40}$/)
      t.strictSame(item, {
        id: `fc_${item.call_id}`,
        type: 'function_call',
        status: 'completed',
        call_id: item.call_id,
        name: 'g',
        arguments: '{"a":1}'
      })
      const { stateId } = readToolCallId(item.call_id)
      t.type(stateId, 'string')

      const result = { type: 'function_call_output', call_id: item.call_id, output: '{"ok":true}' }
      const next = await ask(gateway, version, [{ role: 'user', content: 'go' }, item, result], { tools: [tool('g')] })
      t.equal(next.status, 200)
      if (version === 'v1') continue
      t.match(sent().messages.slice(1), [
        { role: 'assistant', tools_state_id: stateId },
        { role: 'tool', tools_state_id: stateId, content: [{ function_result: { name: 'g', result: { ok: true } } }] }
      ])
    }
    t.equal(emulator.stats.unknownStateIds, unknownBefore, 'the upstream knows every id that was sent back')
  }
)

t.test('responses 52: text before a call is a separate message', async t => {
  for (const version of versions) {
    const { json } = await ask(gateway, version, '[[text:One moment.]][[tool:g {"a":1}]]', { tools: [tool('g')] })
    t.match(json.output, [
      { type: 'message', status: 'completed', content: [{ type: 'output_text', text: 'One moment.' }] },
      { type: 'function_call', name: 'g' }
    ])
    t.equal(json.status, 'completed')
  }
})

t.test(
  'responses 53: parallel calls are requested only for the largest model and are sent back with one state (B1, B2)',
  async t => {
    const prompt = '[[tool:g {"a":1}]][[tool:g {"a":2}]]'
    const more = { model: largest, tools: [tool('g')], parallel_tool_calls: true }
    const { json } = await ask(gateway, 'v2', prompt, more)
    t.equal(sent().parallel_tool_calls, true)
    const calls = callsOf(json)
    t.match(calls, [{ arguments: '{"a":1}' }, { arguments: '{"a":2}' }])
    t.equal(new Set(calls.map(({ call_id }) => call_id)).size, 2)
    const { stateId } = readToolCallId(calls[0].call_id)
    t.type(stateId, 'string')
    t.equal(readToolCallId(calls[1].call_id).stateId, stateId)
    t.equal(callsOf((await stream(gateway, 'v2', prompt, more)).response).length, 2)

    const results = calls.map(({ call_id }, index) => ({
      type: 'function_call_output',
      call_id,
      output: `{"index":${index}}`
    }))
    t.equal((await ask(gateway, 'v2', [{ role: 'user', content: 'go' }, ...calls, ...results], more)).status, 200)
    const [, assistant, ...placed] = sent().messages
    t.equal(assistant.tools_state_id, stateId)
    t.equal(assistant.content.length, 2)
    t.strictSame(
      placed.map((message: Loose) => [message.tools_state_id, message.content[0].function_result.result]),
      [
        [stateId, { index: 0 }],
        [stateId, { index: 1 }]
      ]
    )

    const other = (await ask(gateway, 'v2', `[[parallel]]${prompt}`, { ...more, model })).json
    t.notOk('parallel_tool_calls' in sent())
    t.match(callsOf(other), [{ arguments: '{"a":1}' }, { arguments: '{"a":2}' }])
    t.equal(new Set(callsOf(other).map(({ call_id }) => call_id)).size, 2)

    for (const [version, options] of [
      ['v2', { ...more, parallel_tool_calls: false }],
      ['v1', more]
    ] as const) {
      t.equal((await ask(gateway, version, prompt, options)).status, 200)
      t.notOk('parallel_tool_calls' in sent())
    }
  }
)

t.test('tool choices that a contract cannot express are refused before the upstream is called', async t => {
  const before = upstreamChats(emulator).length
  for (const [version, more, code] of [
    ['v1', { tools: [tool('f'), tool('g')], tool_choice: 'required' }, 'unsupported_semantic'],
    ['v1', { tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } }, 'unsupported_semantic'],
    ['v2', { tools: [tool('f')], tool_choice: { type: 'function', name: 'unknown' } }, 'invalid_request']
  ] as const) {
    const httpResponse = await ask(gateway, version, 'go', more)
    t.equal(httpResponse.status, 400)
    t.match(httpResponse.json.error, { code, param: 'tool_choice' })
  }
  t.equal(upstreamChats(emulator).length, before)
  const some = await ask(gateway, 'v2', 'go', { tools: [tool('f'), tool('g')], tool_choice: 'required' })
  t.equal(some.status, 200)
  t.strictSame(sent().tool_config, { mode: 'forced' })
  t.equal(textOf(some.json), '')
})
