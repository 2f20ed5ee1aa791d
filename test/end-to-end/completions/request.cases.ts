import { gzipSync } from 'node:zlib'
import t from 'tap'
import { get, lastUpstreamChat, post, upstreamChats } from '../../support/client.ts'
import { emulatorVariables, startGateway } from '../../support/gateway.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'

const model = 'GigaChat-2'
const messages = [{ role: 'user', content: 'hi' }]
const parts = [{ role: 'user', content: [{ text: 'hi' }] }]

const { emulator, gateway } = await startSharedGateway()
const v1 = `${gateway.url}/v1/chat/completions`
const v2 = `${gateway.url}/v2/chat/completions`

t.test('completions 1: a v1 chat reaches the v1 path with the same messages and no stream member', async t => {
  const response = await post(v1, { model, messages })
  t.equal(response.status, 200)
  t.equal(response.json.object, 'chat.completion')
  t.equal(response.json.choices.length, 1)
  t.equal(response.json.id, `chatcmpl-${response.headers.get('x-request-id')}`)
  const upstream = lastUpstreamChat(emulator)
  t.equal(upstream.path, '/api/v1/chat/completions')
  t.strictSame(upstream.body, { model, messages })
})

t.test('completions 2: a v2 chat reaches the v2 path with content as parts', async t => {
  const response = await post(v2, { model, messages })
  t.equal(response.status, 200)
  t.equal(response.json.object, 'chat.completion')
  t.equal(response.json.choices.length, 1)
  const upstream = lastUpstreamChat(emulator)
  t.equal(upstream.path, '/api/v2/chat/completions')
  t.strictSame(upstream.body, { model, messages: parts })
})

t.test('completions 4: a leading unknown segment is dropped from the path', async t => {
  t.equal((await post(`${gateway.url}/api/v1/chat/completions`, { model, messages })).status, 200)
  t.equal(lastUpstreamChat(emulator).path, '/api/v1/chat/completions')
  t.equal((await post(`${gateway.url}/v1/chat/completions/`, { model, messages })).status, 200)
})

t.test('completions 5: of two version segments the first one decides', async t => {
  t.equal((await post(`${gateway.url}/v2/v1/chat/completions`, { model, messages })).status, 200)
  t.equal(lastUpstreamChat(emulator).path, '/api/v2/chat/completions')
  t.equal((await post(`${gateway.url}/v1/v2/chat/completions`, { model, messages })).status, 404)
})

t.test('completions 6, 7: a body that is not a JSON object is refused before the upstream is called', async t => {
  const before = upstreamChats(emulator).length
  for (const body of ['{bad', '', ' ', '[1]', '"x"', 'null']) {
    const response = await post(v1, body)
    t.equal(response.status, 400, body)
    t.equal(response.json.error.code, 'invalid_json', body)
    t.equal(response.json.error.type, 'invalid_request_error')
    t.strictSame(Object.keys(response.json), ['error'])
  }
  t.equal(upstreamChats(emulator).length, before)
})

t.test(
  'completions 8: a body over the limit is refused, with and without a content-length and when it is compressed',
  async t => {
    const text = JSON.stringify({ model, messages: [{ role: 'user', content: 'x'.repeat(10_485_760) }] })
    const chunked = new ReadableStream({
      start(controller) {
        for (let at = 0; at < text.length; at += 262_144) controller.enqueue(Buffer.from(text.slice(at, at + 262_144)))
        controller.close()
      }
    })
    const responses = [
      await post(v1, text).catch(() => undefined),
      await post(v1, chunked).catch(() => undefined),
      await post(v1, gzipSync(text), { 'content-encoding': 'gzip' })
    ]
    for (const response of responses) {
      // A client that is still sending when the connection is closed may see a reset instead of the response.
      if (response === undefined) continue
      t.equal(response.status, 413)
      t.equal(response.json.error.code, 'request_entity_too_large')
      t.ok(response.headers.get('x-request-id'))
    }
    t.equal(responses[2]?.status, 413)
  }
)

t.test('completions 9: without any model the request is refused before the upstream is called', async t => {
  const before = upstreamChats(emulator).length
  const response = await post(v1, { messages })
  t.equal(response.status, 400)
  t.match(response.json.error, { code: 'model_required', param: 'model', type: 'invalid_request_error' })
  t.equal(upstreamChats(emulator).length, before)
})

t.test('completions 13: missing or wrongly typed messages are refused', async t => {
  for (const body of [{ model }, { model, messages: 'hi' }, { model, messages: [] }]) {
    const response = await post(v1, body)
    t.equal(response.status, 400)
    t.match(response.json.error, { code: 'invalid_request', param: 'messages' })
  }
  const response = await post(v1, { model, messages: [{ content: 'x' }] })
  t.match(response.json.error, { code: 'invalid_request', param: /^messages\[0\]/ })
})

t.test('completions 14: a temperature of zero becomes a top_p of zero', async t => {
  await post(v1, { model, messages, temperature: 0, top_p: 0.5 })
  t.strictSame(lastUpstreamChat(emulator).body, { model, messages, top_p: 0 })
  await post(v2, { model, messages, temperature: 0, top_p: 0.5 })
  t.strictSame(lastUpstreamChat(emulator).body, { model, messages: parts, model_options: { top_p: 0 } })
})

t.test('completions 15: a negative temperature is dropped', async t => {
  t.equal((await post(v1, { model, messages, temperature: -1 })).status, 200)
  t.strictSame(lastUpstreamChat(emulator).body, { model, messages })
  t.equal((await post(v2, { model, messages, temperature: -1 })).status, 200)
  t.strictSame(lastUpstreamChat(emulator).body, { model, messages: parts })
})

t.test('completions 16: a temperature that is not a number is refused', async t => {
  const response = await post(v1, { model, messages, temperature: 'hot' })
  t.equal(response.status, 400)
  t.match(response.json.error, { code: 'invalid_request', param: 'temperature' })
})

t.test('completions 17, 18: the older token limit has priority over the newer one', async t => {
  await post(v1, { model, messages, max_completion_tokens: 9 })
  t.equal(lastUpstreamChat(emulator).body.max_tokens, 9)
  await post(v2, { model, messages, max_completion_tokens: 9 })
  t.strictSame(lastUpstreamChat(emulator).body.model_options, { max_tokens: 9 })
  await post(v1, { model, messages, max_tokens: 7, max_completion_tokens: 9 })
  t.equal(lastUpstreamChat(emulator).body.max_tokens, 7)
})

t.test('completions 19, 20: known parameters without effect are accepted and not sent', async t => {
  const ignored = {
    seed: 7,
    n: 2,
    user: 'u',
    metadata: { a: 'b' },
    logprobs: true,
    store: true,
    service_tier: 'auto',
    verbosity: 'low',
    prompt_cache_options: {},
    moderation: {},
    logit_bias: {},
    prediction: {},
    audio: {},
    modalities: ['text'],
    web_search_options: {},
    safety_identifier: 's',
    prompt_cache_key: 'k'
  }
  for (const [url, expected] of [
    [v1, { model, messages }],
    [v2, { model, messages: parts }]
  ] as const) {
    const response = await post(url, { model, messages, ...ignored })
    t.equal(response.status, 200)
    t.equal(response.json.choices.length, 1)
    t.strictSame(lastUpstreamChat(emulator).body, expected)
  }
})

t.test(
  'completions 21, 22: unknown members are sent upstream and cannot override known members of the request',
  async t => {
    for (const url of [v1, v2]) {
      const extras = { tenant_hint: 'a', extra_body: { model: 'evil', messages: [], zz: 2 } }
      t.equal((await post(url, { model, messages, ...extras })).status, 200)
      const { body } = lastUpstreamChat(emulator)
      t.equal(body.tenant_hint, 'a')
      t.equal(body.zz, 2)
      t.equal(body.model, model)
      t.strictSame(body.messages, url === v1 ? messages : parts)
      t.notOk('extra_body' in body)
    }
  }
)

t.test('completions 23: an extra_body that is not an object is refused', async t => {
  for (const extra_body of ['x', [], 1]) {
    const response = await post(v1, { model, messages, extra_body })
    t.equal(response.status, 400)
    t.match(response.json.error, { code: 'unsupported_parameter', param: 'extra_body' })
  }
})

t.test('completions 24, 25: vendor fields are sent at their places in a v2 body', async t => {
  await post(v2, { model, messages, profanity_check: false })
  t.strictSame(lastUpstreamChat(emulator).body, { model, messages: parts, disable_filter: true })
  await post(v2, { model, messages, extra_body: { model_options: { preset: 'p' } }, max_tokens: 5 })
  t.strictSame(lastUpstreamChat(emulator).body.model_options, { preset: 'p', max_tokens: 5 })
})

t.test('completions 26: a reasoning effort is forwarded as given', async t => {
  for (const effort of ['low', 'xhigh']) {
    await post(v1, { model, messages, reasoning_effort: effort })
    t.equal(lastUpstreamChat(emulator).body.reasoning_effort, effort)
    await post(v2, { model, messages, reasoning_effort: effort })
    t.strictSame(lastUpstreamChat(emulator).body.model_options, { reasoning: { effort } })
  }
})

t.test('completions 27: the effort none removes reasoning everywhere', async t => {
  const extra_body = { reasoning_effort: 'high', model_options: { reasoning: { effort: 'low' }, preset: 'p' } }
  for (const url of [v1, v2]) {
    for (const more of [{}, { extra_body }]) {
      t.equal((await post(url, { model, messages, reasoning_effort: 'none', ...more })).status, 200)
      t.notMatch(JSON.stringify(lastUpstreamChat(emulator).body), /reasoning/)
    }
  }
  t.equal(lastUpstreamChat(emulator).body.model_options.preset, 'p')
})

t.test(
  'completions 29, 30, 31: system messages are merged into one, and adjacent messages of one role are joined',
  async t => {
    await post(v1, {
      model,
      messages: [
        { role: 'developer', content: 'one' },
        { role: 'system', content: 'two' },
        { role: 'user', content: 'a' }
      ]
    })
    t.strictSame(lastUpstreamChat(emulator).body.messages, [
      { role: 'system', content: 'one\n\ntwo' },
      { role: 'user', content: 'a' }
    ])
    await post(v1, {
      model,
      messages: [
        { role: 'system', content: 'first' },
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b' },
        { role: 'system', content: 'late' }
      ]
    })
    t.strictSame(lastUpstreamChat(emulator).body.messages.at(-1), { role: 'user', content: 'late' })
    await post(v1, {
      model,
      messages: [
        { role: 'user', content: 'a' },
        { role: 'user', content: 'b' }
      ]
    })
    t.strictSame(lastUpstreamChat(emulator).body.messages, [{ role: 'user', content: 'a\nb' }])
  }
)

t.test('completions 76: safe headers are forwarded and the others are not', async t => {
  const response = await post(
    v1,
    { model, messages },
    { 'x-session-id': 's', 'x-bar': '2', 'openai-organization': 'o', cookie: 'c=1', 'x-stainless-os': 'l' }
  )
  t.equal(response.status, 200)
  const { headers } = lastUpstreamChat(emulator)
  t.equal(headers['x-session-id'], 's')
  t.equal(headers['x-bar'], '2')
  for (const name of ['openai-organization', 'cookie', 'x-stainless-os']) t.notOk(name in headers, name)
})

t.test(
  'operations 9, 10: the gateway creates a request id for its response and forwards the client’s id upstream',
  async t => {
    const ids = new Set<string>()
    for (let round = 0; round < 2; round++) {
      const response = await post(v1, { model, messages }, { 'x-request-id': 'mine' })
      const id = response.headers.get('x-request-id') ?? ''
      t.match(id, /^[0-9a-f-]{36}$/)
      t.equal(response.json.id, `chatcmpl-${id}`)
      ids.add(id)
      t.equal(lastUpstreamChat(emulator).headers['x-request-id'], 'mine')
    }
    t.equal(ids.size, 2)
  }
)

t.test(
  'operations 48, 49: headers in the body are forwarded by the same rules, and the query is not forwarded',
  async t => {
    const extra_headers = { 'x-session-id': 's2', authorization: 'Bearer z', 'X-Extra': '1' }
    const response = await post(
      `${v1}?foo=1`,
      { model, messages, extra_headers, extra_query: { a: 1 } },
      { 'x-session-id': 's1' }
    )
    t.equal(response.status, 200)
    const upstream = lastUpstreamChat(emulator)
    t.equal(upstream.headers['x-session-id'], 's2')
    t.equal(upstream.headers['x-extra'], '1')
    t.not(upstream.headers.authorization, 'Bearer z')
    t.strictSame(upstream.body, { model, messages })
    t.equal(emulator.requests.at(-1)?.query, '')
  }
)

t.test('completions 3, 10, 11: the settings decide the contract of root routes and the default model', async t => {
  const other = await startGateway(t, {
    env: { ...emulatorVariables(emulator), GATEWAY_UPSTREAM_API_MODE: 'v2', UPSTREAM_MODEL: 'GigaChat-2-Pro' }
  })
  const root = `${other.url}/chat/completions`
  t.equal((await post(root, { model, messages })).status, 200)
  t.equal(lastUpstreamChat(emulator).path, '/api/v2/chat/completions')
  for (const body of [{ messages }, { model: ' ', messages }, { model: null, messages }]) {
    const response = await post(root, body)
    t.equal(response.status, 200)
    t.equal(lastUpstreamChat(emulator).body.model, 'GigaChat-2-Pro')
    t.equal(response.json.model, 'GigaChat-2-Pro')
  }
})

t.test(
  'completions 12: with model passing off the configured model is sent upstream and the response names the client’s model',
  async t => {
    const other = await startGateway(t, {
      env: { ...emulatorVariables(emulator), GATEWAY_PASS_MODEL: 'false', UPSTREAM_MODEL: 'GigaChat-2-Pro' }
    })
    const response = await post(`${other.url}/v1/chat/completions`, { model: 'gpt-x', messages })
    t.equal(response.status, 200)
    t.equal(lastUpstreamChat(emulator).body.model, 'GigaChat-2-Pro')
    t.equal(response.json.model, 'gpt-x')
  }
)

t.test('completions 82: wrong methods and unknown routes are errors in the family’s envelope', async t => {
  const wrongMethod = await get(v1)
  t.equal(wrongMethod.status, 405)
  t.match(wrongMethod.headers.get('allow'), /POST/)
  t.equal(wrongMethod.json.error.code, 'method_not_allowed')
  for (const path of ['/v1/completions', '/v1/files', '/v1/batches', '/v1/nope']) {
    const response = await post(gateway.url + path, {})
    t.equal(response.status, 404, path)
    t.match(response.json, { error: { type: 'invalid_request_error', code: 'unknown_url', param: null } }, path)
  }
})
