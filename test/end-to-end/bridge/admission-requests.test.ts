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
const respond = (members: object) => post(`${gateway.url}/v1/responses`, { model, input: 'hi', ...members })
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

t.test('bridge 75: the output limit of an alias is checked, and an equal one passes', async t => {
  assertRefused(t, await respond({ model: 'bridge/limited', max_output_tokens: 41 }), 'max_output_tokens')
  t.equal((await respond({ model: 'bridge/limited', max_output_tokens: 40 })).status, 200)
  t.equal(gateway.lastBody().max_tokens, 40)
})

t.test('bridge 76: options of an SDK in a body are refused by the first name', async t => {
  const members = { provider: 'x', base_url: 'http://127.0.0.1:1', extra_body: { a: 1 }, api_key: 'k' }
  assertRefused(t, await respond(members), 'api_key')
  for (const [name, value] of Object.entries(members)) assertRefused(t, await respond({ [name]: value }), name)
})

t.test(
  'an unknown member that is null is absent, and another one is refused by its name, in every other family',
  async t => {
    for (const family of families) {
      // A client of the provider's own wire has it sent as it is (decisions.md 72).
      if (family === 'completions') {
        for (const zzz of [null, 1]) {
          t.equal((await askIn(gateway, family, 'hi', { model, more: { zzz } })).status, 200)
          t.match(gateway.lastBody(), { zzz })
        }
        continue
      }
      const answered = await askIn(gateway, family, 'hi', { model, more: { zzz: null } })
      t.equal(answered.status, 200, family)
      t.notOk('zzz' in gateway.lastBody(), family)
      const calls = gateway.calls()
      const refused = await askIn(gateway, family, 'hi', { model, more: { zzz: 1, absent: null } })
      t.equal(refused.status, 400, family)
      t.match(refused.text, /zzz/, family)
      t.notMatch(refused.text, /absent|extra_body/, family)
      t.equal(gateway.calls(), calls, family)
    }
  }
)

t.test('bridge 77: a hosted tool is refused', async t => {
  assertRefused(t, await respond({ tools: [{ type: 'web_search' }] }), 'tools[0].type')
  assertRefused(t, await respond({ tools: [lookup, { type: 'file_search', vector_store_ids: [] }] }), 'tools[1].type')
})

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
  // Calls of earlier turns stay, whatever is declared now (decisions.md 75).
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

t.test('bridge 82: topK of the content protocol is refused', async t => {
  const response = await askIn(gateway, 'content', 'hi', { model, more: { generationConfig: { topK: 5 } } })
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
  const refused = await respond({ model: 'bridge/no-parallel', tools: [lookup], parallel_tool_calls: true })
  assertRefused(t, refused, 'parallel_tool_calls')
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

t.test('a part of an instruction that is no text is refused, a spoken turn is history', async t => {
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
      const response = await askIn(gateway, 'content', 'hi', { model, more })
      t.equal(response.status, 400, kind)
      t.match(response.text, `"field":"${member}.parts[1].${kind}"`)
    }
  }
  t.equal(gateway.calls(), 0)
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
  const refused = await ask({ seed: 1 })
  t.match(refused.json.error, { code: 'unsupported_semantic', param: 'seed' })
  t.match((await ask({ model: 'off' })).json.error, { code: 'unknown_model_alias', param: 'model' })
  t.match((await ask({ max_output_tokens: 5000 })).json.error, {
    code: 'unsupported_semantic',
    param: 'max_output_tokens'
  })
  t.equal(threaded.calls(), 0)
  const response = await ask({})
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
      { code: 'unsupported_semantic', reason_id: 'feature_not_declared:text' },
      { code: 'unknown_model_alias', reason_id: 'alias_disabled' },
      { code: 'unknown_model_alias', reason_id: 'alias_unknown' }
    ]
  )
  t.notMatch(JSON.stringify(logged.lines), /hush/)
})
