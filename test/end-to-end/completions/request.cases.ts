import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { get, lastUpstreamChat, post } from '../../support/client.ts'
import { emulatorVariables, startGateway } from '../../support/in-process-gateway.ts'
import { assertRefusedUnsent, assertSdkError } from '../../support/sdk-refusal.ts'
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
  t.equal(response.json.id, `chatcmpl-${response.headers.get('x-request-id')}`)
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
  for (const url of [v1, v2]) {
    for (const body of ['{bad', '', ' ', '[1]', '"x"', 'null']) {
      t.strictSame(Object.keys((await post(url, body)).json), ['error'], body)
      await assertRefusedUnsent(t, emulator, { url, body }, { status: 400, code: 'invalid_json', param: null })
    }
  }
})

/** The response to a request whose body never ends, so that the client does not run into a closed connection. */
async function postUnended(url: string, headers: Record<string, string>, pieces: Iterable<Buffer> = []) {
  const sent = request(url, { method: 'POST', headers })
  const responded = once(sent, 'response') as Promise<[IncomingMessage]>
  sent.flushHeaders()
  for (const piece of pieces) if (!sent.write(piece)) await Promise.race([once(sent, 'drain'), responded])
  const [response] = await responded
  let text = ''
  for await (const piece of response.setEncoding('utf8')) text += piece
  sent.destroy()
  return { status: response.statusCode, headers: new Headers(response.headers as Record<string, string>), text }
}

t.test(
  'completions 8: a body of 10 MiB and a byte is refused, whether its length is sent, found or inflated',
  async t => {
    const length = 10_485_760 + 1
    const piece = Buffer.alloc(65_536, ' ')
    const pieces = [...Array.from({ length: 160 }, () => piece), Buffer.from(' ')]
    for (const { status, headers, text } of [
      await postUnended(v1, { 'content-length': String(length) }),
      await postUnended(v1, { 'transfer-encoding': 'chunked' }, pieces),
      await post(v1, gzipSync(Buffer.alloc(length, ' ')), { 'content-encoding': 'gzip' })
    ]) {
      t.equal(status, 413)
      t.match(JSON.parse(text), {
        error: { code: 'request_entity_too_large', type: 'invalid_request_error', param: null }
      })
      t.match(headers.get('x-request-id'), /^[0-9a-f-]{36}$/)
    }
  }
)

t.test('completions 9: without any model the request is refused before the upstream is called', async t => {
  for (const url of [v1, v2]) {
    for (const more of [{}, { model: null }, { model: ' ' }]) {
      const refusal = { status: 400, code: 'model_required', param: 'model' }
      await assertRefusedUnsent(t, emulator, { url, body: { messages, ...more } }, refusal)
    }
  }
})

t.test('completions 13: missing or wrongly typed messages are refused', async t => {
  for (const url of [v1, v2]) {
    for (const [body, param] of [
      [{ model }, 'messages'],
      [{ model, messages: 'hi' }, 'messages'],
      [{ model, messages: [] }, 'messages'],
      [{ model, messages: [{ content: 'x' }] }, 'messages[0].role']
    ] as const) {
      await assertRefusedUnsent(t, emulator, { url, body }, { status: 400, code: 'invalid_request', param })
    }
  }
})

t.test('completions 14: a temperature of zero becomes a top_p of zero', async t => {
  t.equal((await post(v1, { model, messages, temperature: 0, top_p: 0.5 })).status, 200)
  t.strictSame(lastUpstreamChat(emulator).body, { model, messages, top_p: 0 })
  t.equal((await post(v2, { model, messages, temperature: 0, top_p: 0.5 })).status, 200)
  t.strictSame(lastUpstreamChat(emulator).body, { model, messages: parts, model_options: { top_p: 0 } })
})

t.test('completions 15: a negative temperature is dropped', async t => {
  t.equal((await post(v1, { model, messages, temperature: -1 })).status, 200)
  t.strictSame(lastUpstreamChat(emulator).body, { model, messages })
  t.equal((await post(v2, { model, messages, temperature: -1 })).status, 200)
  t.strictSame(lastUpstreamChat(emulator).body, { model, messages: parts })
})

t.test('completions 16: a temperature that is not a number is refused', async t => {
  for (const url of [v1, v2]) {
    const body = { model, messages, temperature: 'hot' }
    const refusal = { status: 400, code: 'invalid_request', param: 'temperature' }
    await assertRefusedUnsent(t, emulator, { url, body }, refusal)
  }
})

t.test('completions 17, 18: the older token limit has priority over the newer one', async t => {
  for (const [more, expected] of [
    [{ max_completion_tokens: 9 }, 9],
    [{ max_tokens: 7, max_completion_tokens: 9 }, 7]
  ] as const) {
    t.equal((await post(v1, { model, messages, ...more })).status, 200)
    t.strictSame(lastUpstreamChat(emulator).body, { model, messages, max_tokens: expected })
    t.equal((await post(v2, { model, messages, ...more })).status, 200)
    t.strictSame(lastUpstreamChat(emulator).body.model_options, { max_tokens: expected })
  }
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
  for (const url of [v1, v2]) {
    for (const extra_body of ['x', [], 1]) {
      const refusal = { status: 400, code: 'unsupported_parameter', param: 'extra_body' }
      await assertRefusedUnsent(t, emulator, { url, body: { model, messages, extra_body } }, refusal)
    }
  }
})

t.test('completions 24, 25: vendor fields are sent at their places in a v2 body', async t => {
  t.equal((await post(v2, { model, messages, profanity_check: false })).status, 200)
  t.strictSame(lastUpstreamChat(emulator).body, { model, messages: parts, disable_filter: true })
  const extra_body = { model_options: { preset: 'p' } }
  t.equal((await post(v2, { model, messages, extra_body, max_tokens: 5 })).status, 200)
  t.strictSame(lastUpstreamChat(emulator).body.model_options, { preset: 'p', max_tokens: 5 })
})

t.test('completions 26: a reasoning effort is forwarded as given', async t => {
  for (const effort of ['low', 'xhigh']) {
    t.equal((await post(v1, { model, messages, reasoning_effort: effort })).status, 200)
    t.equal(lastUpstreamChat(emulator).body.reasoning_effort, effort)
    t.equal((await post(v2, { model, messages, reasoning_effort: effort })).status, 200)
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
    const cases = [
      [
        [
          ['developer', 'one'],
          ['system', 'two'],
          ['user', 'a']
        ],
        [
          ['system', 'one\n\ntwo'],
          ['user', 'a']
        ]
      ],
      [
        [
          ['system', 'first'],
          ['user', 'a'],
          ['assistant', 'b'],
          ['system', 'late']
        ],
        [
          ['system', 'first'],
          ['user', 'a'],
          ['assistant', 'b'],
          ['user', 'late']
        ]
      ],
      [
        [
          ['system', 'first'],
          ['user', 'a'],
          ['system', 'late']
        ],
        [
          ['system', 'first'],
          ['user', 'a\nlate']
        ]
      ],
      [
        [
          ['user', 'a'],
          ['user', 'b']
        ],
        [['user', 'a\nb']]
      ]
    ] as const
    for (const [given, expected] of cases) {
      const body = { model, messages: given.map(([role, content]) => ({ role, content })) }
      t.equal((await post(v1, body)).status, 200)
      t.strictSame(
        lastUpstreamChat(emulator).body.messages,
        expected.map(([role, content]) => ({ role, content }))
      )
      t.equal((await post(v2, body)).status, 200)
      t.strictSame(
        lastUpstreamChat(emulator).body.messages,
        expected.map(([role, text]) => ({ role, content: [{ text }] }))
      )
    }
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
    t.equal((await post(v1, { model, messages })).status, 200)
    const plain = lastUpstreamChat(emulator)
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
    t.equal(upstream.headers.authorization, plain.headers.authorization, 'the one of the server')
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
    for (const version of ['v1', 'v2']) {
      const response = await post(`${other.url}/${version}/chat/completions`, { model: 'gpt-x', messages })
      t.equal(response.status, 200)
      t.equal(lastUpstreamChat(emulator).body.model, 'GigaChat-2-Pro')
      t.equal(response.json.model, 'gpt-x')
    }
  }
)

t.test('completions 82: wrong methods and unknown routes are errors in the family’s envelope', async t => {
  const wrongMethod = await get(v1)
  t.equal(wrongMethod.status, 405)
  t.match(wrongMethod.headers.get('allow'), /POST/)
  t.equal(wrongMethod.json.error.code, 'method_not_allowed')
  await assertSdkError(t, { url: v1 }, { status: 405, code: 'method_not_allowed', param: null })
  for (const path of ['/v1/completions', '/v1/files', '/v1/batches', '/v1/nope']) {
    const response = await post(gateway.url + path, {})
    t.equal(response.status, 404, path)
    t.match(response.json, { error: { type: 'invalid_request_error', code: 'unknown_url', param: null } }, path)
    const refused = { url: gateway.url + path, body: {} }
    await assertRefusedUnsent(t, emulator, refused, { status: 404, code: 'unknown_url', param: null })
  }
})
