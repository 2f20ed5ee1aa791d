// Every `UPSTREAM_*` setting (upstream.md 1.2) does what it says in a started gateway. Addresses,
// tokens, TLS, proxies and retries have files of their own.

import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { lastUpstreamChat, post, upstreamChats } from '../../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { ask, lastReceived, model, received, stream, textOf } from './support.ts'

const emulator = await startEmulator(t)

t.test('defaults of the request come from the settings, and what the client says wins', async t => {
  const gateway = await startGateway(t, {
    env: {
      ...emulatorVariables(emulator),
      UPSTREAM_MODEL: 'GigaChat-2-Pro',
      UPSTREAM_PROFANITY_CHECK: 'no',
      UPSTREAM_FLAGS: '["first","second"]',
      // Names of variables are read in any case.
      upstream_scope: 'GIGACHAT_API_CORP',
      GATEWAY_DEFAULT_MAX_TOKENS: '77',
      GATEWAY_EMBEDDINGS: 'Embeddings-2'
    }
  })
  const messages = [{ role: 'user', content: 'hi' }]
  t.equal((await post(`${gateway.url}/v1/chat/completions`, { messages })).status, 200)
  t.strictSame(lastUpstreamChat(emulator).body, {
    model: 'GigaChat-2-Pro',
    messages,
    max_tokens: 77,
    profanity_check: false,
    flags: ['first', 'second']
  })
  t.equal((await post(`${gateway.url}/v2/chat/completions`, { messages })).status, 200)
  t.strictSame(lastUpstreamChat(emulator).body, {
    model: 'GigaChat-2-Pro',
    messages: [{ role: 'user', content: [{ text: 'hi' }] }],
    model_options: { max_tokens: 77 },
    disable_filter: true,
    flags: ['first', 'second']
  })
  const own = { model, profanity_check: true, flags: ['mine'], max_tokens: 5 }
  await ask(gateway, 'v1', 'hi', { more: own })
  t.match(lastUpstreamChat(emulator).body, own)
  await ask(gateway, 'v2', 'hi', { more: own })
  t.match(lastUpstreamChat(emulator).body, {
    model,
    disable_filter: false,
    flags: ['mine'],
    model_options: { max_tokens: 5 }
  })
  t.strictSame(lastReceived(emulator, '/oauth').body, { scope: 'GIGACHAT_API_CORP' })
  await post(`${gateway.url}/v1/embeddings`, { input: 'text' })
  t.strictSame(lastReceived(emulator, '/embeddings').body, { input: ['text'], model: 'Embeddings-2' })
})

t.test('without settings the request holds nothing that the client did not send', async t => {
  emulator.reset()
  const gateway = await startGateway(t, {
    // An empty value is as good as none.
    env: { ...emulatorVariables(emulator), UPSTREAM_MODEL: '', UPSTREAM_PROFANITY_CHECK: '' }
  })
  t.equal((await ask(gateway, 'v1', 'hi')).status, 200)
  t.strictSame(Object.keys(lastUpstreamChat(emulator).body).sort(), ['messages', 'model'])
  t.equal((await ask(gateway, 'v2', 'hi')).status, 200)
  t.strictSame(Object.keys(lastUpstreamChat(emulator).body).sort(), ['messages', 'model'])
  t.strictSame(lastReceived(emulator, '/oauth').body, { scope: 'GIGACHAT_API_PERS' })
  await post(`${gateway.url}/v1/embeddings`, { input: 'text' })
  t.equal((lastReceived(emulator, '/embeddings').body as { model: string }).model, 'EmbeddingsGigaR')
})

t.test('credentials that are no base64 are warned about and sent as they are', async t => {
  emulator.reset()
  const gateway = await startGateway(t, {
    env: { ...emulatorVariables(emulator), UPSTREAM_CREDENTIALS: 'not base64 at all' }
  })
  const response = await ask(gateway, 'v1', 'hi')
  t.equal(response.status, 401)
  t.match(response.json.error, { type: 'authentication_error', code: 'invalid_api_key' })
  t.equal(lastReceived(emulator, '/oauth').headers.authorization, 'Basic not base64 at all')
  t.equal(await gateway.stop(), 0)
  const log = readFileSync(join(gateway.folder, 'gateway.log'), 'utf8')
  t.match(log, /"level":"WARNING"[^\n]*UPSTREAM_CREDENTIALS/)
  t.match(log, /"event":"upstream_token_failed"/)
  t.notMatch(log, /not base64 at all/)
})

t.test('the timeouts bound each silence before and within a response, and not its whole time (H5)', async t => {
  const gateway = await startGateway(t, {
    env: {
      ...emulatorVariables(emulator),
      UPSTREAM_TIMEOUT: '2',
      UPSTREAM_FIRST_BYTE_TIMEOUT: '2',
      GATEWAY_STREAM_IDLE_TIMEOUT_SECONDS: '2'
    }
  })
  t.equal((await ask(gateway, 'v1', 'hi')).status, 200)
  for (const version of ['v1', 'v2'] as const) {
    const silent = await ask(gateway, version, '[[hang]]')
    t.equal(silent.status, 504)
    t.match(silent.json.error, { type: 'server_error', code: 'provider_timeout' })
  }
  emulator.respondNext({ chunks: ['{"choices":[{"mess'], end: 'hang', headers: { 'content-type': 'application/json' } })
  const halfway = await ask(gateway, 'v1', 'hi')
  t.equal(halfway.status, 504)
  t.equal(halfway.json.error.code, 'provider_timeout')

  // Each gap is well within the limit, all of them together are well beyond it.
  const body = JSON.stringify({
    choices: [{ message: { role: 'assistant', content: 'slowly' }, finish_reason: 'stop' }]
  })
  const pieces = Array.from({ length: 6 }, (_, index) =>
    body.slice(index * 20, index === 5 ? undefined : index * 20 + 20)
  )
  emulator.respondNext({
    chunks: pieces.map(text => ({ text, delayMs: 400 })),
    headers: { 'content-type': 'application/json' }
  })
  const slow = await ask(gateway, 'v1', 'hi')
  t.equal(slow.status, 200)
  t.equal(slow.json.choices[0].message.content, 'slowly')
  const { response, frames } = await stream(gateway, 'v2', '[[tick:400]][[chunks:a|b|c|d|e|f]]')
  t.equal(response.status, 200)
  t.equal(textOf(frames), 'abcdef')

  const unheard = await stream(gateway, 'v2', '[[hang:0]]')
  t.equal(unheard.response.status, 504, 'nothing was sent: the silence is an HTTP status')
  const stuck = await stream(gateway, 'v1', '[[hang:1]][[chunks:a|b]]')
  t.equal(stuck.response.status, 200)
  t.equal(textOf(stuck.frames), 'a')
  t.match(stuck.frames.at(-1).error, { type: 'server_error', code: 'provider_timeout' })
  t.equal((await ask(gateway, 'v1', 'still there?')).status, 200)
})

t.test('decisions.md 66: the response of a chat may take longer to begin than any other', async t => {
  const thinking = await startGateway(t, {
    env: { ...emulatorVariables(emulator), UPSTREAM_TIMEOUT: '1', GATEWAY_STREAM_IDLE_TIMEOUT_SECONDS: '1' }
  })
  for (const version of ['v1', 'v2'] as const) {
    const whole = await ask(thinking, version, '[[slow:2500]]')
    t.equal(whole.status, 200)
    const streamed = await stream(thinking, version, '[[slow:2500]][[chunks:a|b]]')
    t.equal(streamed.response.status, 200)
    t.equal(textOf(streamed.frames), 'ab')
    const unheard = await stream(thinking, version, '[[hang:0]]')
    t.equal(unheard.response.status, 504, 'after the head of a stream its own limit counts')
  }
  emulator.failNext({ path: '/embeddings', times: 1, hang: true })
  const silent = await post(`${thinking.url}/v1/embeddings`, { input: 'x' })
  t.equal(silent.status, 504, 'other calls are limited as before')
  t.equal(silent.json.error.code, 'provider_timeout')

  const hasty = await startGateway(t, { env: { ...emulatorVariables(emulator), UPSTREAM_FIRST_BYTE_TIMEOUT: '1' } })
  for (const version of ['v1', 'v2'] as const) {
    for (const isStream of [false, true]) {
      const response = await ask(hasty, version, '[[hang]]', { more: { stream: isStream } })
      t.equal(response.status, 504)
      t.match(response.json.error, { type: 'server_error', code: 'provider_timeout' })
    }
  }
  emulator.respondNext({
    chunks: ['{"choices":[{"message":{"role":"assistant",', { text: '"content":"late"}}]}', delayMs: 1800 }],
    headers: { 'content-type': 'application/json' }
  })
  t.equal((await ask(hasty, 'v1', 'hi')).json.choices[0].message.content, 'late', 'after the head other limits count')
  emulator.respondNext({ path: '/embeddings', delayMs: 1800, body: { data: [{ index: 0, embedding: [1] }] } })
  t.equal((await post(`${hasty.url}/v1/embeddings`, { input: 'x' })).status, 200, 'the limit is for chats only')
})

t.test('a connection that is never made is a timeout as well (H5)', async t => {
  const sockets = new Set<Socket>()
  // Takes the connection and never says a word of the TLS handshake.
  const mute = createServer(socket => sockets.add(socket)).listen(0, '127.0.0.1')
  await new Promise(resolve => mute.once('listening', resolve))
  t.teardown(() => {
    mute.close()
    for (const socket of sockets) socket.destroy()
  })
  const { port } = mute.address() as AddressInfo
  const gateway = await startGateway(t, {
    env: { UPSTREAM_BASE_URL: `https://127.0.0.1:${port}/v1`, UPSTREAM_ACCESS_TOKEN: 'token', UPSTREAM_TIMEOUT: '1' }
  })
  for (const more of [{}, { stream: true }]) {
    const response = await ask(gateway, 'v1', 'hi', { more })
    t.equal(response.status, 504)
    t.match(response.json.error, { type: 'server_error', code: 'provider_timeout' })
  }
  t.equal((await post(`${gateway.url}/v1/embeddings`, { input: 'x' })).status, 504)
})

t.test('no more connections than allowed are made, and one that waits for them in vain is refused', async t => {
  const own = await startEmulator(t)
  const gateway = await startGateway(t, {
    env: { ...emulatorVariables(own), UPSTREAM_MAX_CONNECTIONS: '2', UPSTREAM_TIMEOUT: '2' }
  })
  const responses = await Promise.all(Array.from({ length: 8 }, () => ask(gateway, 'v1', '[[slow:100]]')))
  t.ok(responses.every(({ status }) => status === 200))
  t.equal(own.stats.activeChatRequestsMax, 2)
  t.ok(own.stats.connections <= 3, 'two for the API, one for tokens')

  const controller = new AbortController()
  const held = [1, 2].map(() =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      signal: controller.signal,
      body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: '[[tick:100]][[len:5000]]' }] })
    })
  )
  await Promise.all(held)
  const refused = await ask(gateway, 'v1', 'no room')
  t.equal(refused.status, 503)
  t.equal(refused.json.error.code, 'gateway_overloaded')
  t.equal(refused.headers.get('retry-after'), '1')
  controller.abort()
  await own.waitFor(({ stats }) => stats.activeChatRequests === 0)
  t.equal((await ask(gateway, 'v1', 'room again')).status, 200)
  t.equal(upstreamChats(own).filter(({ body }) => JSON.stringify(body).includes('no room')).length, 0)
  t.ok(received(own, '/oauth').length <= 1)
})

t.test('decisions.md 47: a worker makes 1024 connections to the upstream when no number is set', async t => {
  const own = await startEmulator(t)
  const gateway = await startGateway(t, { env: { ...emulatorVariables(own), UPSTREAM_TIMEOUT: '5' } })
  t.equal((await ask(gateway, 'v1', 'hi')).status, 200)
  const controller = new AbortController()
  const responses = Array.from({ length: 1024 + 3 }, () =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      signal: controller.signal,
      body: JSON.stringify({ model, messages: [{ role: 'user', content: '[[hang]]' }] })
    })
  )
  let refused = 0
  for (const pending of responses) {
    pending.then(
      response => {
        if (response.status === 503) refused += 1
      },
      () => undefined
    )
  }
  await own.waitFor(({ stats }) => stats.activeChatRequests === 1024)
  await waitUntil(() => refused === 3, 'the others wait in vain')
  t.equal(own.stats.activeChatRequestsMax, 1024)
  controller.abort()
  await Promise.allSettled(responses)
})
