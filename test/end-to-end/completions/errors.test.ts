import OpenAI from 'openai'
import t from 'tap'
import { findFreePort } from '../../../ops/net/free-port.ts'
import { lastUpstreamChat, post, postUntilCut, readFrames, upstreamChats } from '../../support/client.ts'
import { catchError } from '../../support/errors.ts'
import { emulatorVariables, readLog, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { assertSdkError, catchSdkError } from '../../support/sdk-refusal.ts'

const model = 'GigaChat-2'
const emulator = await startEmulator(t)
const slotted = 'GigaChat-2-Pro'
const gateway = await startGateway(t, {
  env: {
    ...emulatorVariables(emulator),
    UPSTREAM_FIRST_BYTE_TIMEOUT: '2',
    GATEWAY_MODEL_MAX_CONNECTIONS: JSON.stringify({ [slotted]: 1 })
  }
})
const v1 = `${gateway.url}/v1/chat/completions`
const v2 = `${gateway.url}/v2/chat/completions`

function bodyOf(content: string, more: object = {}) {
  return { model, messages: [{ role: 'user', content }], ...more }
}

function ask(url: string, content: string, more: object = {}, headers: Record<string, string> = {}) {
  return post(url, bodyOf(content, more), headers)
}

t.test('completions 67: an upstream refusal before the first byte is an HTTP error', async t => {
  for (const url of [v1, v2]) {
    const before = upstreamChats(emulator).length
    const response = await ask(url, '[[error:429 retry=7]]', { stream: true })
    t.equal(response.status, 429)
    t.equal(response.headers.get('retry-after'), '7')
    t.match(response.json.error, { type: 'rate_limit_error', code: null })
    t.equal(upstreamChats(emulator).length, before + 1)
    const error = await catchSdkError({ url, body: bodyOf('[[error:429 retry=7]]', { stream: true }) })
    t.match(error, { status: 429, type: 'rate_limit_error', code: null })
    t.equal(error instanceof OpenAI.RateLimitError && error.headers.get('retry-after'), '7')
  }
})

t.test(
  'completions 68; decisions.md 108: a malformed or cut upstream stream ends with an error frame and an unfinished body (A14)',
  async t => {
    for (const url of [v1, v2]) {
      for (const [directive, code] of [
        ['[[badframe]]', 'provider_protocol_error'],
        ['[[noeof]]', 'provider_protocol_error'],
        ['[[die]]', /stream_error|provider_protocol_error/],
        ['[[errframe]]', 'stream_error']
      ] as const) {
        const response = await postUntilCut(url, bodyOf(`${directive}[[chunks:one|two|three]]`, { stream: true }))
        t.equal(response.status, 200, directive)
        t.ok(response.isCut, directive)
        const frames = readFrames(response.text)
        t.match(frames.at(-1).error, { type: String, code, param: null }, directive)
        t.ok(
          frames.slice(0, -1).some(frame => frame.choices[0]?.delta.content),
          'a delta came before'
        )
        const client = new OpenAI({ baseURL: url.replace('/chat/completions', ''), apiKey: 'unused', maxRetries: 0 })
        const error = await catchError(async () => {
          const body = bodyOf(`${directive}[[chunks:one|two|three]]`) as OpenAI.ChatCompletionCreateParamsNonStreaming
          for await (const _ of await client.chat.completions.create({ ...body, stream: true }));
        })
        t.ok(error instanceof OpenAI.APIError, `${directive}: the SDK throws`)
        t.match(error, { code })
        t.notMatch(response.text, /127\.0\.0\.1|api\/v[12]/, directive)
      }
    }
  }
)

t.test('completions 69: upstream statuses are mapped to errors in the family’s envelope', async t => {
  const rows = [
    [400, 400, 'invalid_request_error', null, 1],
    [401, 401, 'authentication_error', 'invalid_api_key', 2],
    [403, 403, 'permission_denied_error', null, 1],
    [404, 404, 'not_found_error', null, 1],
    [413, 413, 'invalid_request_error', null, 1],
    [422, 422, 'invalid_request_error', null, 1],
    [500, 500, 'server_error', null, 1],
    [402, 402, 'invalid_request_error', 'provider_failure', 1],
    [507, 500, 'server_error', null, 1]
  ] as const
  for (const url of [v1, v2]) {
    for (const [upstream, status, type, code, attempts] of rows) {
      // A refused token was discarded: only a held one is renewed within a call.
      t.equal((await ask(url, 'hi')).status, 200)
      const before = upstreamChats(emulator).length
      const renewalsBefore = emulator.stats.oauthCalls
      const prompt = `[[error:${upstream} message=told at https://up.test/api with Bearer abc.def]]`
      const response = await ask(url, prompt)
      t.equal(response.status, status, String(upstream))
      t.strictSame(Object.keys(response.json), ['error'])
      t.match(response.json.error, { type, code, message: String })
      t.equal(upstreamChats(emulator).length - before, attempts, `${upstream}: attempts`)
      t.equal(emulator.stats.oauthCalls - renewalsBefore, upstream === 401 ? 1 : 0, `${upstream}: renewals`)
      t.notMatch(response.text, /127\.0\.0\.1|up\.test|api\/v[12]|abc\.def/)
      await assertSdkError(t, { url, body: bodyOf(prompt) }, { status, type, code, param: null })
    }
  }
  const unknown = { url: v1, body: { ...bodyOf('x'), model: 'NoSuchModel' } }
  const refusal = { status: 404, type: 'not_found_error', code: 'model_not_found', param: 'model' }
  await assertSdkError(t, unknown, refusal)
})

t.test(
  'completions 70: upstream statuses 502 to 504 and a refused connection are reported as provider failures',
  async t => {
    for (const [upstream, retry] of [
      [502, null],
      [503, '3'],
      [504, null]
    ] as const) {
      for (const url of [v1, v2]) {
        const prompt = retry === null ? `[[error:${upstream}]]` : `[[error:${upstream} retry=${retry}]]`
        for (const stream of [false, true]) {
          const response = await ask(url, prompt, { stream })
          t.equal(response.headers.get('retry-after'), retry)
          t.notMatch(response.text, /html/i)
          const refused = { url, body: bodyOf(prompt, { stream }) }
          const refusal = { status: upstream, type: 'server_error', code: 'provider_failure', param: null }
          await assertSdkError(t, refused, refusal)
        }
      }
    }
    const port = await findFreePort()
    const other = await startGateway(t, {
      env: { UPSTREAM_BASE_URL: `http://127.0.0.1:${port}/v1`, UPSTREAM_ACCESS_TOKEN: 'x' }
    })
    for (const version of ['v1', 'v2']) {
      const refused = { url: `${other.url}/${version}/chat/completions`, body: bodyOf('hi') }
      const refusal = { status: 502, type: 'server_error', code: 'provider_failure', param: null }
      await assertSdkError(t, refused, refusal)
    }
  }
)

t.test('completions 71: an upstream that sends nothing is reported as a timeout (H5)', async t => {
  const refusal = { status: 504, type: 'server_error', code: 'provider_timeout', param: null }
  await Promise.all(
    [v1, v2].flatMap(url =>
      [false, true].map(stream => assertSdkError(t, { url, body: bodyOf('[[hang]]', { stream }) }, refusal))
    )
  )
})

t.test('completions 72: a client disconnect aborts the upstream request and frees its slot (H1, H2, H3)', async t => {
  const linesBefore = readLog(gateway).length
  for (const [directive, stream] of [
    ['[[hang]]', true],
    ['[[hang]]', false],
    ['[[tick:50]][[len:500]]', true]
  ] as const) {
    const before = emulator.stats.aborted
    const sent = upstreamChats(emulator).length
    const controller = new AbortController()
    const response = fetch(v1, {
      method: 'POST',
      signal: controller.signal,
      body: JSON.stringify({ model: slotted, stream, messages: [{ role: 'user', content: directive }] })
    })
    if (directive === '[[hang]]') await emulator.waitFor(() => upstreamChats(emulator).length > sent)
    else await (await response).body?.getReader().read()
    controller.abort()
    await response.catch(() => undefined)
    await emulator.waitFor(() => emulator.stats.aborted > before)
    // The model has one slot, and a request waits for it without a timeout.
    t.equal((await ask(v1, 'next', { model: slotted })).status, 200, `${directive} ${stream ? 'streamed' : 'whole'}`)
  }
  const lines = readLog(gateway).slice(linesBefore)
  t.strictSame(
    lines.filter(({ level }) => level === 'ERROR'),
    []
  )
})

t.test('completions 75: a missing or wrong gateway key is an authentication error', async t => {
  const other = await startGateway(t, {
    env: { ...emulatorVariables(emulator), GATEWAY_ENABLE_API_KEY_AUTH: 'true', GATEWAY_API_KEY: 'k1' }
  })
  const url = `${other.url}/v1/chat/completions`
  for (const headers of [{}, { 'x-api-key': 'no' }, { authorization: 'Bearer bad', 'x-api-key': 'k1' }]) {
    const response = await ask(url, 'hi', {}, headers)
    t.equal(response.status, 401)
    t.match(response.json.error, { type: 'authentication_error', code: 'invalid_api_key', param: null })
  }
  const refusal = { status: 401, type: 'authentication_error', code: 'invalid_api_key', param: null }
  await assertSdkError(t, { url, body: bodyOf('hi') }, refusal)
  for (const headers of [{ authorization: 'bearer k1' }, { 'x-api-key': 'k1' }, { 'x-goog-api-key': 'k1' }]) {
    t.equal((await ask(url, 'hi', {}, headers)).status, 200)
  }
  for (const query of ['key=k1', 'x-api-key=k1']) t.equal((await ask(`${url}?${query}`, 'hi')).status, 200)
  t.not(lastUpstreamChat(emulator).headers.authorization, 'Bearer k1')
})

t.test('passed-through authorization is sent to the upstream and never appears in a response', async t => {
  const other = await startGateway(t, {
    env: { ...emulatorVariables(emulator), GATEWAY_PASS_TOKEN: 'true' }
  })
  const url = `${other.url}/v1/chat/completions`
  const credentials = Buffer.from('client:secret').toString('base64')
  t.equal((await ask(url, 'hi', {}, { authorization: `Bearer upstream-cred-${credentials}` })).status, 200)
  for (const token of ['upstream-cred-', 'upstream-auth-', 'upstream-user-zzz-canary']) {
    const response = await ask(url, 'hi', {}, { authorization: `Bearer ${token}` })
    t.equal(response.status, 400, token)
    t.match(response.json.error, {
      code: 'invalid_upstream_authorization',
      message: 'Invalid upstream pass-through token'
    })
    t.notMatch(response.text, /canary/)
  }
  // Without that prefix it is a key for the gateway, and the server's credentials are used.
  t.equal((await ask(url, 'hi', {}, { authorization: 'Bearer zzz-canary' })).status, 200)
  t.notMatch(JSON.stringify(lastUpstreamChat(emulator).headers), /canary/)
})

t.test('model slots are host-wide, and a request beyond the limit is refused with an HTTP status', async t => {
  const other = await startGateway(t, {
    env: {
      ...emulatorVariables(emulator),
      GATEWAY_WORKERS: '2',
      GATEWAY_MODEL_MAX_CONNECTIONS: JSON.stringify({ [model]: 1 }),
      GATEWAY_MODEL_MAX_CONNECTIONS_ACQUIRE_TIMEOUT: '0'
    }
  })
  const url = `${other.url}/v1/chat/completions`
  const controller = new AbortController()
  const held = await fetch(url, {
    method: 'POST',
    signal: controller.signal,
    body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: '[[tick:50]][[len:2000]]' }] })
  })
  for (const stream of [false, true, false, true]) {
    const response = await ask(url, 'hi', { stream })
    t.equal(response.status, 429)
    t.match(response.json.error, { code: 'model_concurrency_limit', param: 'model', type: 'rate_limit_error' })
    t.equal(response.headers.get('retry-after'), '1')
  }
  t.equal((await post(url, { model: 'GigaChat-2-Pro', messages: [{ role: 'user', content: 'x' }] })).status, 200)
  const before = emulator.stats.aborted
  controller.abort()
  await held.text().catch(() => undefined)
  await emulator.waitFor(() => emulator.stats.aborted > before, 10_000)
  let status = 0
  for (let attempt = 0; attempt < 100 && status !== 200; attempt++) status = (await ask(url, 'hi')).status
  t.equal(status, 200)
})
