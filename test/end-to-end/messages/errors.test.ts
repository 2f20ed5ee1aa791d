import Anthropic from '@anthropic-ai/sdk'
import t from 'tap'
import { post, upstreamChats } from '../../support/client.ts'
import { startDraining } from '../../support/drain.ts'
import { catchError } from '../../support/errors.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { received } from '../../support/upstream.ts'
import { ask, model, versions } from './support.ts'

const emulator = await startEmulator(t)
const gateway = await startGateway(t, {
  env: { ...emulatorVariables(emulator), UPSTREAM_FIRST_BYTE_TIMEOUT: '2' }
})
const url = `${gateway.url}/v1/messages`
const question = { model, max_tokens: 10, messages: [{ role: 'user' as const, content: 'hi' }] }

t.test('messages 59: a rate limit before the first byte is an HTTP status with retry-after', async t => {
  for (const version of versions) {
    const before = upstreamChats(emulator).length
    const response = await ask(gateway, version, '[[error:429 retry=7]]', { stream: true })
    t.equal(response.status, 429)
    t.match(response.headers.get('content-type'), /^application\/json/)
    t.equal(response.headers.get('retry-after'), '7')
    t.match(response.json, { type: 'error', error: { type: 'rate_limit_error' } })
    t.equal(upstreamChats(emulator).length, before + 1)
  }
})

t.test('messages 64: a body that is not a JSON object is refused with the request’s id in the header', async t => {
  const before = upstreamChats(emulator).length
  for (const path of [url, `${url}/count_tokens`]) {
    for (const body of ['{bad', '', '[1]', '"x"', 'null']) {
      const response = await post(path, body)
      t.equal(response.status, 400, body)
      t.strictSame(Object.keys(response.json), ['type', 'error', 'request_id'])
      t.match(response.json, { type: 'error', error: { type: 'invalid_request_error', message: String } })
      t.match(response.headers.get('request-id'), /^[0-9a-f-]{36}$/)
      t.equal(response.json.request_id, response.headers.get('request-id'))
    }
  }
  t.equal(upstreamChats(emulator).length, before)
})

t.test('a body over the limit is refused in the family’s envelope', async t => {
  const response = await ask(gateway, 'v1', 'x'.repeat(10_485_760)).catch(() => undefined)
  // A client that is still sending when the connection is closed may see a reset instead of the response.
  if (response === undefined) return
  t.equal(response.status, 413)
  t.match(response.json, { type: 'error', error: { type: 'request_too_large' }, request_id: String })
})

t.test('without any model both operations are refused before the upstream is called', async t => {
  const before = emulator.requests.length
  for (const path of [url, `${url}/count_tokens`]) {
    const response = await post(path, { ...question, model: undefined })
    t.equal(response.status, 400)
    t.match(response.json.error, {
      type: 'invalid_request_error',
      code: 'model_required',
      details: { error_code: 'model_required' }
    })
  }
  t.equal(emulator.requests.length, before)
})

t.test(
  'messages 66: upstream failures are mapped to the family’s statuses and types and contain no address or token',
  async t => {
    const rows = [
      [400, 400, 'invalid_request_error', 1],
      [401, 401, 'authentication_error', 2],
      [403, 403, 'permission_error', 1],
      [404, 404, 'not_found_error', 1],
      [413, 413, 'request_too_large', 1],
      [418, 418, 'invalid_request_error', 1],
      [422, 422, 'invalid_request_error', 1],
      [429, 429, 'rate_limit_error', 1],
      [500, 500, 'api_error', 1],
      [502, 502, 'api_error', 1],
      [503, 503, 'overloaded_error', 1],
      [504, 504, 'timeout_error', 1],
      [507, 500, 'api_error', 1]
    ] as const
    for (const version of versions) {
      for (const [upstream, status, type, attempts] of rows) {
        for (const stream of [false, true]) {
          // A refused token was discarded: only a held one is renewed within a call.
          if (upstream === 401) await ask(gateway, version, 'hi')
          const before = upstreamChats(emulator).length
          const prompt = `[[error:${upstream} retry=5 json message=told at https://up.test/api with Bearer abc.def]]`
          const response = await ask(gateway, version, prompt, { stream })
          t.equal(response.status, status, String(upstream))
          t.strictSame(Object.keys(response.json), ['type', 'error', 'request_id'])
          t.match(response.json, { type: 'error', error: { type, message: String } })
          t.equal(response.json.request_id, response.headers.get('request-id'))
          t.equal(upstreamChats(emulator).length - before, attempts, `${upstream}: attempts`)
          t.equal(response.headers.get('retry-after'), upstream === 429 || upstream === 503 ? '5' : null)
          t.notMatch(response.text, /127\.0\.0\.1|up\.test|api\/v[12]|abc\.def/)
        }
      }
    }
    t.match((await ask(gateway, 'v1', '[[error:400 message=told by the upstream]]')).json.error.message, /told by/)
    const unknown = await ask(gateway, 'v1', 'hi', { model: 'NoSuchModel' })
    t.equal(unknown.status, 404)
    t.equal(unknown.json.error.type, 'not_found_error')
  }
)

t.test('a failed count is an error and never an estimate', async t => {
  emulator.failNext({ path: '/tokens/count', status: 403 })
  const response = await post(`${url}/count_tokens`, question)
  t.equal(response.status, 403)
  t.match(response.json, { type: 'error', error: { type: 'permission_error' } })
})

t.test('messages 67: a call to an upstream that is too slow is cancelled and reported as a timeout (H5)', async t => {
  const before = emulator.stats.aborted
  const asked = versions.flatMap(version => [false, true].map(stream => ask(gateway, version, '[[hang]]', { stream })))
  for (const response of await Promise.all(asked)) {
    t.equal(response.status, 504)
    t.match(response.json, { type: 'error', error: { type: 'timeout_error' } })
  }
  await emulator.waitFor(() => emulator.stats.aborted === before + asked.length)
})

t.test('a model at its concurrency limit is a rate limit error with its code', async t => {
  const other = await startGateway(t, {
    env: {
      ...emulatorVariables(emulator),
      GATEWAY_MODEL_MAX_CONNECTIONS: JSON.stringify({ [model]: 1 }),
      GATEWAY_MODEL_MAX_CONNECTIONS_ACQUIRE_TIMEOUT: '0'
    }
  })
  const controller = new AbortController()
  const held = await fetch(`${other.url}/v1/messages`, {
    method: 'POST',
    signal: controller.signal,
    body: JSON.stringify({
      ...question,
      stream: true,
      messages: [{ role: 'user', content: '[[tick:50]][[len:2000]]' }]
    })
  })
  for (const stream of [false, true]) {
    const response = await ask(other, 'v1', 'hi', { stream })
    t.equal(response.status, 429)
    t.match(response.json.error, { type: 'rate_limit_error', details: { error_code: 'model_concurrency_limit' } })
    t.equal(response.headers.get('retry-after'), '1')
  }
  controller.abort()
  await held.text().catch(() => undefined)
})

t.test('messages 74: during shutdown requests are refused with a reason and retry-after (I1, I2)', async t => {
  const draining = await startDraining(t, gateway)
  const path = `${draining.url}/v1/messages`
  const client = new Anthropic({ baseURL: draining.url, apiKey: 'unused', maxRetries: 0 })
  const chats = upstreamChats(emulator).length
  const counts = received(emulator, '/tokens/count').length
  for (const address of [path, `${path}/count_tokens`, `${draining.url}/v2/messages`]) {
    const response = await post(address, question)
    t.equal(response.status, 503)
    t.equal(response.headers.get('retry-after'), '1')
    t.match(response.json, {
      type: 'error',
      error: {
        type: 'overloaded_error',
        code: 'gateway_not_ready',
        details: { error_code: 'gateway_shutting_down' }
      }
    })
  }
  const error = await catchError(() => client.messages.create(question))
  t.ok(error instanceof Anthropic.InternalServerError)
  t.match(error, { status: 503, errorCode: 'gateway_shutting_down', requestID: String })
  t.equal(upstreamChats(emulator).length, chats)
  t.equal(received(emulator, '/tokens/count').length, counts)
})
