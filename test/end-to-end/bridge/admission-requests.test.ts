// What reaches an external provider, and what is refused before any call (bridge.md 7.4 to 7.6).

import t, { type Test } from 'tap'
import { post } from '../../support/client.ts'
import { ALL_FEATURES, makeAlias } from '../../support/profiles.ts'
import { askIn, families } from '../system/support.ts'
import { externalProfile, startAdmission } from './admission-support.ts'
import { chatAnswer } from './executor-support.ts'

const without = (name: string) => ALL_FEATURES.filter(feature => feature !== name)
const gateway = await startAdmission(t, ({ external }) => [
  externalProfile(external, [
    makeAlias('bridge/a'),
    makeAlias('bridge/limited', { limits: { contextWindow: 100, maxOutputTokens: 40 } }),
    makeAlias('bridge/no-schema', { features: without('json_schema_output') }),
    makeAlias('bridge/no-parallel', { features: without('parallel_tool_calls') }),
    makeAlias('bridge/no-image', { features: without('image_references') })
  ])
])
const model = 'bridge/a'
const respond = (members: object, headers: Record<string, string> = {}) =>
  post(`${gateway.url}/v1/responses`, { model, input: 'hi', ...members }, headers)
/** Sent by clients that want every field refused that the route would leave out (decisions.md 71). */
const exact = { 'x-gateway-unsupported': 'refuse' }
const parameters = { type: 'object', properties: { q: { type: 'string' } } }
const lookup = { type: 'function', name: 'lookup', parameters }

t.beforeEach(() => {
  gateway.provider.requests.length = 0
  gateway.answer(chatAnswer('Hello.'))
})

/** Checks that a response refuses this field, and that no provider was called. */
function assertRefused(
  t: Test,
  response: Awaited<ReturnType<typeof post>>,
  param: string,
  code = 'unsupported_semantic'
) {
  t.equal(response.status, 400, param)
  t.match(response.json.error, { param, code, type: 'invalid_request_error' })
  t.equal(gateway.calls(), 0, param)
}

t.test('bridge 72: a Responses text reaches the provider with exactly its members and headers', async t => {
  const response = await respond({})
  t.equal(response.status, 200)
  t.equal(response.json.model, model)
  t.strictSame(gateway.lastBody(), { model: 'mini-7b', messages: [{ role: 'user', content: 'hi' }], stream: false })
  const [call] = gateway.provider.requests
  if (call === undefined) throw new Error('The provider was not called.')
  const { headers, url, method } = call
  t.same([method, url], ['POST', '/v1/chat/completions'])
  t.same(
    Object.keys(headers)
      .filter(name => !['host', 'connection', 'content-length', 'accept-encoding', 'user-agent'].includes(name))
      .sort(),
    ['accept', 'authorization', 'content-type']
  )
  t.match(headers, { accept: 'text/event-stream, application/json', 'content-type': 'application/json' })
})

/** Checks that a response is whole, and that its header names these fields. */
function assertLeftOut(t: Test, response: Awaited<ReturnType<typeof post>>, names: string | undefined) {
  t.equal(response.status, 200, response.text)
  t.equal(response.headers.get('x-gateway-ignored') ?? undefined, names)
}

t.test('bridge 75: the output limit of an alias bounds that of a client, with a notice (decisions.md 73)', async t => {
  assertLeftOut(t, await respond({ model: 'bridge/limited', max_output_tokens: 41 }), 'max_output_tokens')
  t.equal(gateway.lastBody().max_tokens, 40)
  assertLeftOut(t, await respond({ model: 'bridge/limited', max_output_tokens: 40 }), undefined)
  t.equal(gateway.lastBody().max_tokens, 40)
  gateway.provider.requests.length = 0
  assertRefused(t, await respond({ model: 'bridge/limited', max_output_tokens: 41 }, exact), 'max_output_tokens')
})

t.test('an input that leaves no room in the window is the error that agents look for (decisions.md 73)', async t => {
  for (const family of families) {
    const refused = await askIn(gateway, family, 'word '.repeat(1000), { model: 'bridge/limited' })
    t.equal(refused.status, 400, family)
    t.match(refused.text, /prompt is too long: \d+ tokens > \d+ maximum/)
    t.match(refused.text, /context_length_exceeded/)
  }
  t.equal(gateway.calls(), 0)
})

t.test(
  'bridge 76: options of an SDK ask for nothing, other members of a body are left out (decisions.md 70)',
  async t => {
    const members = { provider: 'x', extra_body: { a: 1 } }
    const options = { base_url: 'http://127.0.0.1:1', api_key: 'k' }
    assertLeftOut(t, await respond({ ...members, ...options }), 'extra_body, provider')
    t.strictSame(Object.keys(gateway.lastBody()).sort(), ['messages', 'model', 'stream'])
    assertLeftOut(t, await respond(options, exact), undefined)
    gateway.provider.requests.length = 0
    for (const [name, value] of Object.entries(members)) assertRefused(t, await respond({ [name]: value }, exact), name)
    const refused = await respond(members, exact)
    assertRefused(t, refused, 'extra_body')
    t.equal(refused.json.error.message, `'extra_body' is not supported by model '${model}'.`)
  }
)

t.test(
  'an unknown member that is null is absent, and another one is named, in every family of another wire',
  async t => {
    for (const family of families) {
      const answered = await askIn(gateway, family, 'hi', { model, more: { zzz: null } })
      t.equal(answered.status, 200, family)
      // A body of the provider's own wire goes on as it is (decisions.md 72).
      if (family === 'completions') {
        await askIn(gateway, family, 'hi', { model, more: { zzz: 1 } })
        t.match(gateway.lastBody(), { zzz: 1 })
        continue
      }
      t.notOk('zzz' in gateway.lastBody(), family)
      const named = await askIn(gateway, family, 'hi', { model, more: { zzz: 1, absent: null } })
      t.equal(named.headers.get('x-gateway-ignored'), 'zzz', family)
      t.notOk('zzz' in gateway.lastBody(), family)
      const calls = gateway.calls()
      const more = { zzz: 1, absent: null }
      const refused = await askIn(gateway, family, 'hi', { model, more, headers: exact })
      t.equal(refused.status, 400, family)
      t.match(refused.text, /zzz/, family)
      t.notMatch(refused.text, /absent|extra_body/, family)
      t.equal(gateway.calls(), calls, family)
    }
  }
)

t.test('the notice stands on streams and JSON arrays too, and shows no name that a header cannot hold', async t => {
  gateway.answer(chatAnswer('Hello.'))
  const odd = { 'a b': 1, 'x\r\nset-cookie: y': 1, [`long_${'x'.repeat(80)}`]: 1, plain: 1 }
  assertLeftOut(t, await respond(odd), '?, plain')
  const generation = { model, more: { generationConfig: { topK: 5 } } }
  const whole = await askIn(gateway, 'content', 'hi', generation)
  t.equal(whole.headers.get('x-gateway-ignored'), 'generationConfig.topK')
})

t.test(
  'bridge 77: a hosted tool is refused where it stands alone, and left out beside a function (decisions.md 69)',
  async t => {
    assertRefused(t, await respond({ tools: [{ type: 'web_search' }] }), 'tools[0].type')
    const tools = [lookup, { type: 'file_search', vector_store_ids: [] }]
    assertRefused(t, await respond({ tools }, exact), 'tools[1].type')
    const forced = await respond({ tools: [lookup, { type: 'web_search' }], tool_choice: { type: 'web_search' } })
    assertRefused(t, forced, 'tool_choice')
    assertLeftOut(t, await respond({ tools }), 'tools[1]')
    t.match(gateway.lastBody().tools, [{ function: { name: 'lookup' } }])
    t.equal(gateway.lastBody().tools.length, 1)
  }
)

t.test('bridge 78: stored answers are refused, and their refusal is accepted', async t => {
  assertRefused(t, await respond({ store: true }), 'store')
  assertRefused(t, await respond({ previous_response_id: 'resp_a' }), 'previous_response_id')
  const response = await respond({ store: false })
  t.equal(response.status, 200)
  t.notOk('store' in gateway.lastBody())
})

t.test('bridge 79: a schema output needs its feature, and the schema arrives unchanged', async t => {
  const schema = {
    $defs: { a: { type: ['string', 'null'] } },
    type: 'object',
    properties: { a: { $ref: '#/$defs/a' } }
  }
  const text = { format: { type: 'json_schema', name: 'answer', schema } }
  assertRefused(t, await respond({ model: 'bridge/no-schema', text }), 'text.format')
  t.equal((await respond({ text })).status, 200)
  t.strictSame(gateway.lastBody().response_format, { type: 'json_schema', json_schema: { name: 'answer', schema } })
})

t.test('bridge 80: a tool of a namespace goes flat and comes back as it was', async t => {
  const call = { id: 'call_1', type: 'function', function: { name: 'ns__fn', arguments: '{"q":"x"}' } }
  const [choice] = (chatAnswer('') as { choices: object[] }).choices
  gateway.answer({
    ...chatAnswer(''),
    choices: [
      { ...choice, finish_reason: 'tool_calls', message: { role: 'assistant', content: null, tool_calls: [call] } }
    ]
  })
  const tools = [{ type: 'namespace', name: 'ns', tools: [{ ...lookup, name: 'fn' }] }]
  const response = await respond({ tools })
  t.match(gateway.lastBody().tools, [{ type: 'function', function: { name: 'ns__fn', parameters } }])
  const item = response.json.output.find((one: { type: string }) => one.type === 'function_call')
  t.match(item, { name: 'fn', namespace: 'ns', arguments: '{"q":"x"}' })
  const history = [
    { role: 'user', content: 'hi' },
    item,
    { type: 'function_call_output', call_id: item.call_id, output: 'y' }
  ]
  t.equal((await respond({ tools, input: history })).status, 200)
  t.match(gateway.lastBody().messages, [
    {},
    { tool_calls: [{ function: { name: 'ns__fn' } }] },
    { role: 'tool', content: 'y' }
  ])
  // Calls of earlier turns stay, also of functions that are not declared now (decisions.md 75).
  const foreign = [
    { ...item, namespace: 'other' },
    { ...item, name: 'other' }
  ]
  for (const one of foreign) {
    t.equal((await respond({ tools, input: history.with(1, one) })).status, 200)
    const [{ function: called }] = gateway.lastBody().messages[1].tool_calls
    t.equal(called.name, `${one.namespace}__${one.name}`)
  }
  t.equal((await respond({ input: history })).status, 200)
  gateway.provider.requests.length = 0
})

t.test('bridge 82: topK of the content protocol is refused for a client that wants exactness', async t => {
  const more = { generationConfig: { topK: 5 } }
  const response = await askIn(gateway, 'content', 'hi', { model, more, headers: exact })
  t.equal(response.status, 400)
  t.match(response.json.error, { status: 'INVALID_ARGUMENT' })
  t.match(response.text, /"field":"generationConfig.topK"/)
  t.equal(gateway.calls(), 0)
})

t.test('responses 76: parallel calls on a chat-compatible alias follow its declared features', async t => {
  const message = {
    role: 'assistant',
    content: null,
    tool_calls: ['a', 'b'].map(id => ({
      id,
      type: 'function',
      function: { name: 'lookup', arguments: `{"q":"${id}"}` }
    }))
  }
  gateway.answer({ ...chatAnswer(''), choices: [{ index: 0, message, finish_reason: 'tool_calls' }] })
  const response = await respond({ tools: [lookup], parallel_tool_calls: true })
  t.equal(gateway.lastBody().parallel_tool_calls, true)
  t.equal(response.json.model, model)
  const calls = response.json.output.filter((item: { type: string }) => item.type === 'function_call')
  t.same(
    calls.map((item: { arguments: string }) => item.arguments),
    ['{"q":"a"}', '{"q":"b"}']
  )
  gateway.provider.requests.length = 0
  const members = { model: 'bridge/no-parallel', tools: [lookup], parallel_tool_calls: true }
  assertRefused(t, await respond(members, exact), 'parallel_tool_calls')
  assertLeftOut(t, await respond(members), 'parallel_tool_calls')
  t.notOk('parallel_tool_calls' in gateway.lastBody())
  const single = await respond({ ...members, parallel_tool_calls: false })
  assertLeftOut(t, single, undefined)
  t.notOk('parallel_tool_calls' in gateway.lastBody())
  const kept = single.json.output.filter((item: { type: string }) => item.type === 'function_call')
  t.equal(kept.length, 1, 'the gateway keeps the first call itself')
})

t.test('responses 77: a developer item is a system message of the provider, and a result needs its call', async t => {
  const items = [
    { role: 'developer', content: 'Be brief.' },
    { role: 'user', content: 'hi' }
  ]
  t.equal((await respond({ input: items })).status, 200)
  t.strictSame(gateway.lastBody().messages, [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'hi' }
  ])
  gateway.provider.requests.length = 0
  const result = await respond({ input: [{ role: 'tool', tool_call_id: 'c', content: 'x' }] })
  assertRefused(t, result, 'input[0].tool_call_id', 'invalid_request')
})

t.test('a Responses message without content is refused, and one with an empty text is not', async t => {
  for (const content of [[], null, undefined]) {
    const input = [{ role: 'user', content }]
    assertRefused(t, await respond({ input }), 'input[0].content', 'invalid_request')
  }
  t.equal((await respond({ input: [{ role: 'user', content: '' }] })).status, 200)
})

t.test('an image needs its feature in every family', async t => {
  const data = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const url = `data:image/png;base64,${data}`
  const image: Record<(typeof families)[number], object> = {
    completions: { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] },
    responses: { input: [{ role: 'user', content: [{ type: 'input_image', image_url: url }] }] },
    messages: {
      messages: [
        { role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data } }] }
      ]
    },
    content: { contents: [{ role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data } }] }] }
  }
  for (const family of families) {
    const refused = await askIn(gateway, family, '', { model: 'bridge/no-image', more: image[family] })
    t.equal(refused.status, 400, family)
    t.match(refused.text, /"unsupported_semantic"/)
    t.equal(gateway.calls(), 0)
    t.equal((await askIn(gateway, family, '', { model, more: image[family] })).status, 200, family)
    t.match(gateway.lastBody().messages, [{ content: [{ type: 'image_url', image_url: { url } }] }], family)
    gateway.provider.requests.length = 0
  }
})

t.test('a part of an instruction that is no text is left out, a spoken turn is history', async t => {
  const spoken = { role: 'assistant', audio: { id: 'audio_1' } }
  const messages = [{ role: 'user', content: 'hi' }, spoken, { role: 'user', content: 'And?' }]
  t.equal((await post(`${gateway.url}/v1/chat/completions`, { model, messages })).status, 200)
  gateway.provider.requests.length = 0
  const parts = [
    [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }, 'inlineData'],
    [{ fileData: { mimeType: 'text/plain', fileUri: 'https://files.example/a' } }, 'fileData']
  ] as const
  for (const [part, kind] of parts) {
    for (const member of ['systemInstruction', 'system_instruction']) {
      const more = { [member]: { parts: [{ text: 'Be brief.' }, part] } }
      const response = await askIn(gateway, 'content', 'hi', { model, more, headers: exact })
      t.equal(response.status, 400, kind)
      t.match(response.text, `"field":"${member}.parts[1].${kind}"`)
      t.equal(gateway.calls(), 0)
      const named = await askIn(gateway, 'content', 'hi', { model, more })
      t.equal(named.headers.get('x-gateway-ignored'), `${member}.parts[1].${kind}`)
      gateway.provider.requests.length = 0
    }
  }
  for (const instruction of ['Be brief.', { parts: [] }, { parts: [{ text: 'Be brief.' }] }]) {
    const more = { systemInstruction: instruction }
    t.equal((await askIn(gateway, 'content', 'hi', { model, more })).status, 200)
  }
})

t.test('a reasoning effort is forwarded as the client wrote it, in every family', async t => {
  const efforts: Record<(typeof families)[number], object> = {
    completions: { reasoning_effort: 'xhigh' },
    responses: { reasoning: { effort: 'xhigh' } },
    messages: { output_config: { effort: 'xhigh' } },
    content: { generationConfig: { thinkingConfig: { thinkingLevel: 'xhigh' } } }
  }
  for (const family of families) {
    t.equal((await askIn(gateway, family, 'hi', { model, more: efforts[family] })).status, 200, family)
    t.equal(gateway.lastBody().reasoning_effort, 'xhigh', family)
  }
  await askIn(gateway, 'completions', 'hi', { model, more: { reasoning_effort: 'none' } })
  t.equal(gateway.lastBody().reasoning_effort, 'none', 'the off switch of the wire (decisions.md 81)')
})

t.test('a large request is admitted in a thread as it is inline', async t => {
  const threaded = await startAdmission(
    t,
    ({ external }) => [externalProfile(external, [makeAlias('bridge/a'), makeAlias('off', { enabled: false })])],
    { env: { GATEWAY_POOL_THREADS: '1', GATEWAY_POOL_THRESHOLD_BYTES: '1000' } }
  )
  const text = 'x'.repeat(5000)
  const ask = (members: object) => post(`${threaded.url}/v1/responses`, { model, input: text, ...members })
  const refused = await ask({ tools: [{ type: 'web_search' }] })
  t.match(refused.json.error, {
    code: 'unsupported_semantic',
    param: 'tools[0].type',
    message: `'tools[0].type' is not supported by model '${model}'.`
  })
  t.match((await ask({ model: 'off' })).json.error, { code: 'unknown_model_alias', param: 'model' })
  t.equal(threaded.calls(), 0)
  const response = await ask({ reasoning: { effort: 'low', summary: 'auto' } })
  t.equal(response.headers.get('x-gateway-ignored'), 'reasoning.summary')
  t.equal(response.status, 200)
  t.equal(response.json.model, model)
  t.equal(threaded.lastBody().messages[0].content.length, text.length)
})

t.test('the reason of a refusal stands in the log, and no content of the request', async t => {
  const logged = await startAdmission(
    t,
    ({ external }) => [
      externalProfile(external, [
        makeAlias('bridge/a', { features: without('text') }),
        makeAlias('off', { enabled: false })
      ])
    ],
    { env: { GATEWAY_ACCESS_LOG: 'true' } }
  )
  await askIn(logged, 'messages', 'hush-hush', { model })
  await askIn(logged, 'messages', 'hush-hush', { model: 'off' })
  await askIn(logged, 'messages', 'hush-hush', { model: 'nope' })
  t.match(
    logged.lines.filter(({ event }) => event === 'request_refused'),
    [
      {
        code: 'unsupported_semantic',
        reason_id: 'feature_not_declared:text',
        field: 'messages',
        alias: model,
        level: 30
      },
      { code: 'unknown_model_alias', reason_id: 'alias_disabled' },
      { code: 'unknown_model_alias', reason_id: 'alias_unknown' }
    ]
  )
  t.notMatch(JSON.stringify(logged.lines), /hush/)
})
