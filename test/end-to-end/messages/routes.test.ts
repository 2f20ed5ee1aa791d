import t from 'tap'
import { get, lastUpstreamChat, post, upstreamChats } from '../../support/client.ts'
import { emulatorVariables, startGateway } from '../../support/in-process-gateway.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'
import { readEvents } from './support.ts'

const model = 'GigaChat-2'
/** A key whose letters no upstream token has, so that it can be searched in all upstream headers. */
const key = 'key.of.this.gateway'
const messages = [{ role: 'user', content: 'hi' }]
const { emulator, gateway } = await startSharedGateway()
const configured = await startGateway(t, {
  env: {
    ...emulatorVariables(emulator),
    GATEWAY_UPSTREAM_API_MODE: 'v2',
    GATEWAY_PASS_MODEL: 'false',
    UPSTREAM_MODEL: 'GigaChat-2-Pro',
    GATEWAY_ENABLE_API_KEY_AUTH: 'true',
    GATEWAY_API_KEY: key
  }
})

function send(path: string, more: object = {}, headers: Record<string, string> = {}) {
  return post(gateway.url + path, { model, messages, ...more }, headers)
}

t.test(
  'messages 1: a v1 message is sent to the v1 path verbatim, and the response is a message with token counts',
  async t => {
    const content = '[[text:Hello]][[usage:19,8,5]]'
    const response = await send('/v1/messages', { max_tokens: 50, messages: [{ role: 'user', content }] })
    t.equal(response.status, 200)
    const upstream = lastUpstreamChat(emulator)
    t.equal(upstream.path, '/api/v1/chat/completions')
    t.strictSame(upstream.body, { model, messages: [{ role: 'user', content }], max_tokens: 50 })
    const requestId = response.headers.get('request-id')
    t.equal(response.headers.get('x-request-id'), requestId)
    t.strictSame(response.json, {
      id: `msg_${requestId}`,
      type: 'message',
      role: 'assistant',
      model,
      content: [{ type: 'text', text: 'Hello' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      stop_details: null,
      usage: {
        input_tokens: 14,
        output_tokens: 8,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 5,
        service_tier: 'standard'
      }
    })
  }
)

t.test('messages 2: a v2 message is sent to the v2 path with content as parts', async t => {
  const content = '[[text:Hello]][[usage:19,8,5]]'
  const response = await send('/v2/messages', { max_tokens: 50, messages: [{ role: 'user', content }] })
  t.equal(response.status, 200)
  t.match(response.json, {
    id: `msg_${response.headers.get('request-id')}`,
    type: 'message',
    model,
    content: [{ type: 'text', text: 'Hello' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 14, output_tokens: 8, cache_read_input_tokens: 5 }
  })
  const upstream = lastUpstreamChat(emulator)
  t.equal(upstream.path, '/api/v2/chat/completions')
  t.strictSame(upstream.body, {
    model,
    messages: [{ role: 'user', content: [{ text: content }] }],
    model_options: { max_tokens: 50 }
  })
})

t.test('messages 3: an unprefixed route follows the configured API mode', async t => {
  t.equal((await send('/messages')).status, 200)
  t.equal(lastUpstreamChat(emulator).path, '/api/v1/chat/completions')
  const response = await post(`${configured.url}/messages`, { model, messages }, { 'x-api-key': key })
  t.equal(response.status, 200)
  t.equal(lastUpstreamChat(emulator).path, '/api/v2/chat/completions')
})

t.test('messages 4: of two version segments the first one decides', async t => {
  t.equal((await send('/v2/v1/messages')).status, 200)
  t.equal(lastUpstreamChat(emulator).path, '/api/v2/chat/completions')
  t.equal((await send('/v1/v1/messages')).status, 200)
  t.equal(lastUpstreamChat(emulator).path, '/api/v1/chat/completions')
  t.equal((await send('/v1/v2/messages')).status, 404)
})

t.test('messages 5, 6: a leading unknown segment and a trailing slash do not change the path', async t => {
  for (const path of ['/api/v1/messages', '/v1/messages/', '/v1/messages?beta=true']) {
    t.equal((await send(path)).status, 200, path)
    t.equal(lastUpstreamChat(emulator).path, '/api/v1/chat/completions', path)
    t.equal(emulator.requests.at(-1)?.query, '', path)
  }
})

t.test('a wrong method and unknown routes are errors in the family’s envelope', async t => {
  const wrongMethod = await get(`${gateway.url}/v1/messages`)
  t.equal(wrongMethod.status, 405)
  t.match(wrongMethod.headers.get('allow'), /POST/)
  t.match(wrongMethod.json, { type: 'error', error: { type: 'invalid_request_error' }, request_id: String })
  for (const path of ['/v1/messages/batches', '/v1/messages/batches/b1/cancel']) {
    const response = await send(path)
    t.equal(response.status, 404, path)
    t.match(response.json, { type: 'error', error: { type: 'not_found_error' }, request_id: String }, path)
  }
})

t.test('messages 7, 8: the gateway key is read from either header and not forwarded', async t => {
  for (const headers of [
    { authorization: `Bearer ${key}` },
    { 'x-api-key': key },
    { authorization: `Bearer ${key}`, 'x-api-key': 'wrong' }
  ]) {
    const response = await post(`${configured.url}/v1/messages`, { model, messages }, headers)
    t.equal(response.status, 200)
    const { headers: sent } = lastUpstreamChat(emulator)
    t.notOk(JSON.stringify(sent).includes(key))
    t.match(sent.authorization, /^Bearer /)
  }
})

t.test('messages 9: a wrong bearer key is refused even with a right x-api-key', async t => {
  const before = upstreamChats(emulator).length
  for (const headers of [{ authorization: 'Bearer wrong', 'x-api-key': key }, { 'x-api-key': 'wrong' }, {}]) {
    const response = await post(`${configured.url}/v1/messages`, { model, messages }, headers)
    t.equal(response.status, 401)
    t.strictSame(Object.keys(response.json), ['type', 'error', 'request_id'])
    t.match(response.json, { type: 'error', error: { type: 'authentication_error', message: String } })
    t.equal(response.json.request_id, response.headers.get('request-id'))
  }
  t.equal(upstreamChats(emulator).length, before)
})

t.test(
  'messages 76: with model passing off the configured model is used and the response names the client’s model',
  async t => {
    const headers = { 'x-api-key': key }
    for (const version of ['v1', 'v2']) {
      const url = `${configured.url}/${version}/messages`
      const response = await post(url, { model: 'claude-x', messages }, headers)
      t.equal(response.status, 200)
      t.equal(response.json.model, 'claude-x')
      t.equal(lastUpstreamChat(emulator).body.model, 'GigaChat-2-Pro')
      const [start] = readEvents((await post(url, { model: 'claude-x', messages, stream: true }, headers)).text)
      t.equal(start.message.model, 'claude-x')
      t.equal(lastUpstreamChat(emulator).body.model, 'GigaChat-2-Pro')
      const counted = await post(`${url}/count_tokens`, { model: 'claude-x', messages }, headers)
      t.equal(counted.status, 200)
      t.match(emulator.requests.at(-1), { path: '/api/v1/tokens/count', body: { model: 'GigaChat-2-Pro' } })
      const silent = await post(url, { messages }, headers)
      t.equal(silent.json.model, 'GigaChat-2-Pro', 'without a client model the response names the model that was used')
    }
  }
)
