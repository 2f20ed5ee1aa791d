// Requests that were made to be expensive, or whose content the upstream or the client could not read, through a started gateway.

import t from 'tap'
import { post as postTo } from '../../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/gateway.ts'
import { askIn, families, model } from '../system/support.ts'

const emulator = await startEmulator(t)
const gateway = await startGateway(t, { env: emulatorVariables(emulator) })
const url = `${gateway.url}/v1/chat/completions`

const post = (body: object | string) => postTo(url, body)

/** The body of the last request at the upstream. */
function lastBody(): { functions: unknown[]; messages: Array<{ content: string }> } {
  return emulator.requests.at(-1)?.body as ReturnType<typeof lastBody>
}

const messages = [{ role: 'user', content: 'hi' }]

t.test('cost 1: long stop strings that nearly match do not slow a stream', async t => {
  const stop = [1, 2, 3, 4].map(last => `${'x'.repeat(15_000)}${last}`)
  const content = `[[chunks:${Array.from({ length: 300 }, () => 'x'.repeat(200)).join('|')}]]`
  const answered = await post({ model, messages: [{ role: 'user', content }], stop })
  t.equal(answered.status, 200)
  t.equal(answered.json.choices[0].message.content.length, 60_000)
})

t.test('cost 1: stop strings beyond the bound are refused by their field', async t => {
  for (const stop of [Array.from({ length: 1025 }, (_, index) => `s${index}`), ['x'.repeat(65_537)]]) {
    const { status, json } = await post({ model, messages, stop })
    t.equal(status, 400)
    t.match(json.error, { code: 'invalid_request', param: 'stop' })
  }
})

t.test('cost 5: as many chosen names as tools', async t => {
  const names = Array.from({ length: 3000 }, (_, index) => `tool_${index}`)
  const tools = names.map(name => ({ type: 'function', function: { name, parameters: { type: 'object' } } }))
  const chosen = names.map(name => ({ type: 'function', function: { name } }))
  const { status } = await post({
    model,
    messages,
    tools,
    tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: chosen } }
  })
  t.equal(status, 200)
  t.equal(lastBody().functions.length, 3000)
})

t.test('cost 6: very many unknown members are refused', async t => {
  const many = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`member_${index}`, index]))
  const { status, json } = await post({ model, messages, ...many })
  t.equal(status, 400)
  t.match(json.error, { code: 'invalid_request', param: 'member_1000' })
})

t.test('cost 13: a number beyond the range of a double is refused by its field', async t => {
  const { status, json } = await post(`{"model":"${model}","messages":${JSON.stringify(messages)},"temperature":1e400}`)
  t.equal(status, 400)
  t.match(json.error, { code: 'invalid_request', param: 'temperature' })
})

t.test(
  'cost 13: a number beyond the range of a double is refused in unknown members, schemas and arguments too',
  async t => {
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":1e400}' } }
    const history = [...messages, { role: 'assistant', tool_calls: [call] }]
    for (const [member, param] of [
      ['"unknown":{"a":[1e400]}', 'unknown.a[0]'],
      ['"tools":[{"function":{"parameters":{"maximum":-1e400}}}]', 'tools[0].function.parameters.maximum'],
      [`"messages":${JSON.stringify(history)}`, 'messages[1].tool_calls[0].function.arguments']
    ]) {
      const { status, json } = await post(`{"model":"${model}","messages":${JSON.stringify(messages)},${member}}`)
      t.equal(status, 400)
      t.match(json.error, { code: 'invalid_request', param })
    }
  }
)

t.test('cost 18: a retry-after that is none does not reach the client', async t => {
  for (const [retry, expected] of [
    ['\u00e4\u00f6', null],
    ['7', '7']
  ] as const) {
    emulator.respondNext({ status: 429, headers: { 'retry-after': retry }, body: { status: 429, message: 'busy' } })
    const response = await askIn(gateway, 'completions', 'hi')
    t.equal(response.status, 429)
    t.equal(response.headers.get('retry-after'), expected)
  }
})

t.test('cost 19: half a surrogate pair in an error of the upstream is replaced in every family', async t => {
  for (const family of families) {
    emulator.respondNext({ status: 400, body: { status: 400, message: 'a\ud800b' } })
    const response = await askIn(gateway, family, 'hi')
    t.equal(response.status, 400, family)
    t.match(response.json.error.message, 'a\ufffdb', family)
  }
})

t.test("cost 20: half a surrogate pair in a client's text is replaced, and nothing else is", async t => {
  const content = '\\ud800 C:\\\\udata \\ud83d\\ude00 \\\\\\udfff'
  const { status } = await post(`{"model":"${model}","messages":[{"role":"user","content":"${content}"}]}`)
  t.equal(status, 200)
  t.equal(lastBody().messages[0]?.content, '\ufffd C:\\udata \u{1f600} \\\ufffd')
})

t.test('cost 2: thousands of calls and results in an order that a search would pass again and again', async t => {
  const ids = Array.from({ length: 3000 }, (_, index) => `toolu_${index}`)
  const calls = ids.map(id => ({ type: 'tool_use', id, name: 'f', input: {} }))
  const results = ids.map(id => ({ type: 'tool_result', tool_use_id: id, content: 'ok' }))
  const { status } = await postTo(`${gateway.url}/v1/messages`, {
    model,
    max_tokens: 10,
    messages: [
      { role: 'assistant', content: calls },
      { role: 'user', content: results }
    ]
  })
  t.equal(status, 200)
  t.equal(lastBody().messages.length, 6000)
  const missing = await postTo(`${gateway.url}/v1/messages`, {
    model,
    max_tokens: 10,
    messages: [
      { role: 'assistant', content: calls },
      { role: 'user', content: results.slice(1) }
    ]
  })
  t.equal(missing.status, 400)
  t.match(missing.json.error.message, /no tool_result block in a later message: toolu_0\./)
})

t.test('cost 10: more calls in one message than the stack holds arguments', async t => {
  const toolCalls = Array.from({ length: 130_000 }, (_, index) => ({
    id: `${index}`,
    function: { name: 'f', arguments: '{}' }
  }))
  const body = { model, messages: [...messages, { role: 'assistant', content: null, tool_calls: toolCalls }] }
  for (const version of ['v1', 'v2']) {
    const { status } = await postTo(`${gateway.url}/${version}/chat/completions`, body)
    t.equal(status, 200, version)
  }
})

t.test('lists of tools, chosen names, headers and options beyond their bounds are refused by their field', async t => {
  const tool = (index: number) => ({ type: 'function', function: { name: `f${index}` } })
  const many = Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`x-${index}`, 'a']))
  const refused: Array<[string, object]> = [
    ['tools', { tools: Array.from({ length: 4097 }, (_, index) => tool(index)) }],
    [
      'tool_choice',
      { tools: [tool(0)], tool_choice: { type: 'allowed_tools', tools: Array.from({ length: 4097 }, () => tool(0)) } }
    ],
    ['extra_headers', { extra_headers: many }],
    ['tools[0]', { tools: [{ type: 'web_search', ...many }] }],
    ['tools[0].web_search', { tools: [{ type: 'web_search', web_search: many }] }]
  ]
  for (const [param, members] of refused) {
    const { status, json } = await post({ model, messages, ...members })
    t.equal(status, 400, param)
    t.match(json.error, { code: 'invalid_request', param })
  }
  t.equal((await post({ model, messages, tools: Array.from({ length: 4096 }, (_, index) => tool(index)) })).status, 200)
})
