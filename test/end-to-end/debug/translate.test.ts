// The translations of a started gateway (operations.md 10).

import t from 'tap'
import { post, upstreamChats } from '../../support/client.ts'
import { emulatorVariables, startGateway } from '../../support/in-process-gateway.ts'
import { wholeV1, wholeV2 } from '../../support/native-route.ts'
import { listUploads } from '../../support/upstream.ts'
import { ADMIN_KEY, startDebugGateway } from './support.ts'

const { emulator, call } = await startDebugGateway(t)

const ENDPOINTS = [
  '/_debug/translate',
  '/_debug/translate/openai-to-normalized',
  '/_debug/translate/anthropic-to-normalized',
  '/_debug/translate/normalized-to-upstream',
  '/_debug/translate/upstream-to-openai',
  '/_debug/explain/openai',
  '/debug/explain/responses'
]

const chat = { model: 'GigaChat-2-Max', messages: [{ role: 'user', content: 'hi' }] }

function refusal(code: string, message: string, errors?: object[]) {
  return { error: { code, message, ...(errors === undefined ? {} : { errors }) } }
}

t.test('operations 94: the debugging routes are off by default, need the admin key, and take JSON objects', async t => {
  const plain = await startGateway(t, { env: emulatorVariables(emulator) })
  const unkeyed = await startGateway(t, {
    env: { ...emulatorVariables(emulator), GATEWAY_DEBUG_TRANSLATE_ENABLED: 'true' }
  })
  for (const path of ENDPOINTS) {
    const off = await post(plain.url + path, chat, { 'x-admin-api-key': ADMIN_KEY })
    t.same([off.status, off.json], [404, refusal('not_found', 'Not Found')], path)
    const unconfigured = await post(unkeyed.url + path, chat, { 'x-admin-api-key': ADMIN_KEY })
    t.same([unconfigured.status, unconfigured.json], [403, refusal('admin_key_required', 'Admin API key is required')])
    for (const headers of [{}, { 'x-admin-api-key': 'wrong' }, { 'x-api-key': ADMIN_KEY }]) {
      const refused = await call(path, '[]', headers)
      t.same([refused.status, refused.json], [403, refusal('invalid_admin_key', 'Invalid admin API key')], path)
    }
    for (const body of ['[]', '1', '', '{', '"text"', 'null']) {
      const invalid = await call(path, body)
      t.same([invalid.status, invalid.json], [400, refusal('invalid_json', 'Expected a JSON object')], path)
    }
  }
  const bearer = await call('/_debug/translate', '[]', { authorization: `Bearer ${ADMIN_KEY}` })
  t.equal(bearer.json.error.code, 'invalid_json')
})

t.test('operations 95: a completions body translates to a messages body, with the form in between', async t => {
  const payload = {
    model: 'GigaChat-2-Max',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' }
    ]
  }
  const { status, json, headers } = await call('/_debug/translate', { from: 'openai', to: 'anthropic', payload })
  t.equal(status, 200)
  t.equal(headers.get('cache-control'), 'no-store')
  t.same(json.payload, {
    model: 'GigaChat-2-Max',
    system: 'Be brief.',
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }]
  })
  t.strictSame([json.from, json.to, Object.keys(json.intermediate)], ['openai', 'anthropic', ['normalized']])
  const { request_id: requestId, ...normalized } = json.intermediate.normalized
  t.type(requestId, 'string')
  t.same(normalized, {
    schema_version: 'gateway.normalized.v1',
    protocol: 'openai',
    operation: 'chat',
    model: 'GigaChat-2-Max',
    stream: false,
    messages: [
      { role: 'system', parts: [{ type: 'text', text: 'Be brief.' }], form: 'text' },
      { role: 'user', parts: [{ type: 'text', text: 'Hi' }], form: 'text' }
    ],
    tools: []
  })
})

t.test(
  'operations 96: a format translates to itself unchanged, and what is not translated is refused by name',
  async t => {
    const odd = { anything: [1, null], model: 7 }
    for (const format of ['openai', 'anthropic', 'normalized', 'upstream', 'gemini', 'responses']) {
      const same = await call('/_debug/translate', { from: ` ${format.toUpperCase()}`, to: format, payload: odd })
      t.strictSame(same.json, { from: format, to: format, payload: odd })
    }
    const pair = await call('/_debug/translate', { from: 'upstream', to: 'anthropic', payload: {} })
    t.same(
      [pair.status, pair.json],
      [400, refusal('invalid_request', 'Unsupported translation pair: upstream -> anthropic')]
    )
    const missing = 'Expected from to be one of: anthropic, normalized, openai, upstream'
    const cases: Array<[object, string]> = [
      [{}, missing],
      [{ from: ' ', to: 'foo' }, missing],
      [{ from: 5 }, missing],
      [{ from: 'Foo' }, 'Unsupported from format: Foo'],
      [{ from: 'openai' }, 'Expected to to be one of: anthropic, normalized, openai, upstream'],
      [{ from: 'openai', to: 'bar', payload: 1 }, 'Unsupported to format: bar'],
      [{ from: 'openai', to: 'upstream' }, 'Expected payload to be an object'],
      [{ from: 'openai', to: 'openai', payload: [] }, 'Expected payload to be an object'],
      [{ from: 'upstream', to: 'openai', payload: { response: 5 } }, 'Expected an upstream response object'],
      [{ from: 'upstream', to: 'openai', payload: { choices: 1 } }, 'Expected an upstream response object'],
      [{ from: 'openai', to: 'upstream', payload: chat, api_mode: 'v3' }, 'Expected api_mode to be one of: v1, v2'],
      [
        { from: 'openai', to: 'upstream', payload: chat, alias: 'x' },
        'Expected alias to be a public alias of a profile'
      ],
      [{ from: 'openai', to: 'upstream', payload: chat, profile: 'x' }, 'Expected profile to be the id of a profile']
    ]
    for (const [body, message] of cases) {
      const { status, json } = await call('/_debug/translate', body)
      t.equal(status, 400)
      t.equal(json.error.code, 'invalid_request')
      t.equal(json.error.message, message)
    }
  }
)

t.test(
  'operations 97: the normalized form translates to the upstream body, bare and wrapped, on each contract',
  async t => {
    const normalized = { model: 'GigaChat-2-Max', messages: [{ role: 'user', parts: [{ type: 'text', text: 'hi' }] }] }
    const path = '/_debug/translate/normalized-to-upstream'
    const bare = await call(path, normalized)
    const wrapped = await call(path, { normalized })
    t.equal(bare.status, 200)
    t.strictSame(wrapped.json, bare.json)
    t.strictSame(bare.json.upstream_payload, chat)
    t.strictSame([bare.json.source, bare.json.target], ['normalized', 'upstream'])
    t.strictSame(bare.json.openai_payload, { ...chat, stream: false })
    const v2 = await startDebugGateway(t, { GATEWAY_UPSTREAM_API_MODE: 'v2' })
    const v2Body = { model: 'GigaChat-2-Max', messages: [{ role: 'user', content: [{ text: 'hi' }] }] }
    for (const body of [normalized, { normalized }])
      t.strictSame((await v2.call(path, body)).json.upstream_payload, v2Body)
    t.strictSame((await call(path, { normalized, api_mode: 'v2' })).json.upstream_payload, v2Body)
  }
)

t.test('operations 98: an invalid normalized object names its mistakes, and an image is never uploaded', async t => {
  const invalid = { messages: 'hi', limits: { max_output_tokens: 0 }, foo: 1 }
  for (const [path, body] of [
    ['/_debug/translate/normalized-to-upstream', invalid],
    ['/_debug/translate', { from: 'normalized', to: 'openai', payload: { normalized: invalid } }]
  ] as const) {
    const { status, json } = await call(path, body)
    t.equal(status, 400)
    t.equal(json.error.code, 'invalid_normalized_payload')
    t.equal(json.error.message, 'Invalid normalized payload')
    const paths = json.error.errors.map((one: { path: string }) => one.path)
    t.ok(paths.includes('messages') && paths.includes('limits.max_output_tokens'))
    for (const one of json.error.errors) t.type(one.message, 'string')
  }
  const images = [
    { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
    { type: 'image_url', image_url: { url: 'https://pictures.test/one.png' } }
  ]
  const payload = { model: 'GigaChat-2-Max', messages: [{ role: 'user', content: images }] }
  const first = await call('/_debug/translate', { from: 'openai', to: 'upstream', payload })
  t.same(first.json.payload.messages[0].attachments, ['<attachment:0>', '<attachment:1>'])
  const second = await call('/_debug/translate', {
    from: 'normalized',
    to: 'upstream',
    api_mode: 'v2',
    payload: first.json.intermediate.normalized
  })
  const files = [{ id: '<attachment:0>' }, { id: '<attachment:1>' }]
  t.same(second.json.payload.messages[0].content.at(-1), { files })
  await call('/_debug/explain/openai', payload)
  t.strictSame([listUploads(emulator), upstreamChats(emulator)], [[], []], 'the upstream was called for nothing')
})

t.test('a payload that its route refuses is refused with the field at fault', async t => {
  const path = '/_debug/translate/openai-to-normalized'
  const { status, json } = await call(path, { model: 'm', messages: [{ role: 'user', content: 5 }] })
  t.equal(status, 400)
  t.equal(json.error.code, 'invalid_request')
  t.equal(json.error.errors[0].path, 'messages[0].content')
  const tool = { type: 'function', function: { name: 'f', parameters: {} } }
  const choice = { ...chat, tools: [tool, { ...tool, function: { name: 'g' } }], tool_choice: 'required' }
  const refused = await call('/_debug/translate', { from: 'openai', to: 'upstream', payload: choice })
  t.equal(refused.status, 400)
  t.equal(refused.json.error.errors[0].path, 'tool_choice')
})

t.test('a response of the upstream is read on both contracts, with placeholder ids', async t => {
  const message = { role: 'assistant', content: 'Hello' }
  for (const response of [
    wholeV1({ content: 'Hello' }),
    wholeV2([{ role: 'assistant', content: [{ text: 'Hello' }] }])
  ]) {
    const { status, json } = await call('/_debug/translate/upstream-to-openai', { requested_model: 'mine', response })
    t.equal(status, 200)
    const { id, model, system_fingerprint: fingerprint, choices } = json.openai
    t.strictSame([id, model, fingerprint], ['chatcmpl-normalized', 'mine', 'fp_normalized'])
    t.match(choices[0].message, message)
    t.strictSame([json.source, json.target], ['upstream', 'openai'])
    t.match(json.normalized, { schema_version: 'gateway.normalized.v1', items: [{ type: 'text', text: 'Hello' }] })
    const bare = await call('/_debug/translate/upstream-to-openai', response)
    t.equal(bare.json.openai.model, 'GigaChat-2-Max:2.0', 'the model of the response')
    const translated = await call('/_debug/translate', { from: 'upstream', to: 'openai', payload: response })
    t.strictSame(Object.keys(translated.json.intermediate), ['normalized'])
  }
  const { model: _model, ...unnamed } = wholeV1({ content: 'Hello' })
  t.equal((await call('/_debug/translate/upstream-to-openai', unnamed)).json.openai.model, 'GigaChat')
  const to = { from: 'upstream', payload: unnamed }
  t.equal((await call('/_debug/translate', { ...to, to: 'responses' })).json.payload.object, 'response')
  t.ok((await call('/_debug/translate', { ...to, to: 'gemini' })).json.payload.candidates)
  t.notOk((await call('/_debug/translate', { ...to, to: 'normalized' })).json.intermediate)
})

t.test('a body above the threshold of the pool is translated like a small one', async t => {
  const content = 'long '.repeat(400_000)
  const payload = { model: 'GigaChat-2-Max', messages: [{ role: 'user', content }] }
  const { status, json } = await call('/_debug/translate', { from: 'openai', to: 'upstream', payload })
  t.equal(status, 200)
  t.ok(json.payload.messages[0].content === content)
  const broken = { ...payload, messages: [{ role: 'user', content, name: 5 }] }
  const refused = await call('/_debug/translate', { from: 'openai', to: 'upstream', payload: broken })
  t.strictSame([refused.status, refused.json.error.errors[0].path], [400, 'messages[0].name'])
})
