// The control endpoint: recorded requests, counters, configured faults, scripted responses, settings.
import { request as httpRequest } from 'node:http'
import t from 'tap'
import { createRecorder } from '../../../ops/emulator/recorder.ts'
import { createEmulator } from '../../../ops/emulator/server.ts'
import { type Client, openChat, send, startClient } from './support.ts'

function control(client: Client) {
  return async (path: string, body?: unknown, method?: string) => {
    const response = await send(`${client.emulator.controlUrl}${path}`, {
      ...(body === undefined ? {} : { body }),
      ...(method === undefined ? {} : { method })
    })
    return { status: response.status, body: JSON.parse(response.text) }
  }
}

t.test('it shows the received requests, and a reset deletes them', async t => {
  const client = await startClient(t)
  const ask = control(client)
  await client.call('/api/v1/models?x=1', { headers: { 'X-Trace-ID': 'trace' } })
  await client.chatV1('Hi')
  const { requests } = (await ask('/requests')).body
  t.same(
    requests.map((entry: { method: string; path: string }) => `${entry.method} ${entry.path}`),
    ['POST /api/v2/oauth', 'GET /api/v1/models', 'POST /api/v1/chat/completions']
  )
  t.match(requests[1], {
    query: 'x=1',
    headers: { 'x-trace-id': 'trace' },
    status: 200,
    finished: true,
    aborted: false
  })
  t.match(requests[2].body, { messages: [{ role: 'user', content: 'Hi' }] })
  t.equal((await ask('/requests?path=/models&method=get')).body.requests.length, 1)
  t.equal((await ask('/requests?last=1')).body.requests[0].path, '/api/v1/chat/completions')
  t.match((await ask('/stats')).body.byRoute, {
    'GET /api/v1/models': 1,
    'POST /api/v1/chat/completions': 1,
    'POST /api/v2/oauth': 1
  })
  await ask('/requests', undefined, 'DELETE')
  t.same((await ask('/requests')).body, { requests: [] })
  t.match((await ask('/stats')).body, { requests: 0, finished: 0, oauthCalls: 0, byRoute: {} })
})

t.test('bodies that are not JSON are recorded as text', async t => {
  const client = await startClient(t)
  await client.call('/api/v1/chat/completions', { body: 'not json' })
  t.match(client.emulator.requests.at(-1), { body: 'not json', bodyBytes: 8, status: 400 })
})

t.test('a call can wait until counters reach given values', async t => {
  const client = await startClient(t)
  const ask = control(client)
  const waiting = ask('/stats?until=activeChatRequests>=1')
  const request = openChat(client, '[[hang]]')
  t.equal((await waiting).body.activeChatRequests, 1)
  request.destroy()
  const aborted = await ask('/stats?until=aborted>=1,activeChatRequests<=0,activeRequests=0')
  t.match(aborted.body, { aborted: 1, activeChatRequestsMax: 1 })
  t.equal((await ask('/stats?until=aborted>=9&timeoutMs=1')).status, 408)
  t.equal((await ask('/stats?until=nonsense>=9')).status, 400)
})

t.test('the highest number of concurrent chat requests is counted', async t => {
  const client = await startClient(t)
  const requests = Array.from({ length: 5 }, () => openChat(client, '[[hang]]'))
  await client.emulator.waitFor(({ stats }) => stats.activeChatRequests === 5)
  for (const request of requests) request.destroy()
  await client.emulator.waitFor(({ stats }) => stats.activeChatRequests === 0)
  t.equal(client.emulator.stats.activeChatRequestsMax, 5)
})

t.test('a control call revokes or registers tokens', async t => {
  const client = await startClient(t)
  const ask = control(client)
  t.same((await ask('/expire', {})).body, { revoked: 1 })
  t.equal((await client.chatV1('Hi')).status, 401)
  await ask('/tokens', { token: 'ready' })
  const status = async () =>
    (await client.call('/api/v1/models', { headers: { authorization: 'Bearer ready' } })).status
  t.equal(await status(), 200)
  const origin = new URL(client.emulator.baseUrl).origin
  t.same(JSON.parse((await send(`${origin}/__expire`, { method: 'POST' })).text), { revoked: 1 })
  t.equal(await status(), 401)
  t.equal((await ask('/tokens', {})).status, 400)
})

t.test('an endpoint fails the configured number of times', async t => {
  const client = await startClient(t)
  const ask = control(client)
  await ask('/fail', { path: '/models', status: 503, times: 2, retryAfter: 3, message: 'later' })
  const first = await client.call('/api/v1/models')
  t.equal(first.headers['retry-after'], '3')
  t.same(JSON.parse(first.text), { status: 503, message: 'later' })
  t.equal((await client.call('/api/v1/models')).status, 503)
  t.equal((await client.call('/api/v1/models')).status, 200)
  await ask('/fail', { path: '/files/*/content', status: 502, html: true })
  t.equal((await client.call('/api/v1/files/x')).status, 404)
  t.match(await client.call('/api/v1/files/x/content'), { status: 502, text: /^<html>/ })
  await ask('/fail', { path: '/oauth', status: 401 })
  t.same(JSON.parse((await send(client.emulator.authUrl, { body: 'x' })).text), { code: 401, message: 'Unauthorized' })
  await ask('/fail', { path: '/embeddings', status: 0, method: 'post' })
  await t.rejects(client.call('/api/v1/embeddings', { body: {} }), { code: 'ECONNRESET' })
  for (const wrong of [{}, { path: '/x' }, { path: '/x', status: 42 }, { path: '/x', status: 500, times: 0 }]) {
    t.equal((await ask('/fail', wrong)).status, 400)
  }
})

t.test('an endpoint that is configured to hang sends no response', async t => {
  const client = await startClient(t)
  client.emulator.failNext({ path: '/models', hang: true })
  const request = httpRequest(`${client.emulator.baseUrl}/models`)
  request.on('error', () => t.pass('the client ended the request'))
  request.end()
  await client.emulator.waitFor(({ stats }) => stats.activeRequests === 1)
  request.destroy()
  await client.emulator.waitFor(({ stats }) => stats.aborted === 1)
})

t.test('the next chat call gets a scripted response byte for byte', async t => {
  const client = await startClient(t)
  const ask = control(client)
  await ask('/answer', { status: 418, headers: { 'X-One': '1' }, body: { any: 'thing' } })
  const plain = await client.chatV2('Hi')
  t.match(plain, {
    status: 418,
    headers: { 'x-one': '1', 'content-type': 'application/json; charset=utf-8' },
    text: '{"any":"thing"}'
  })
  t.equal((await client.chatV2('Hi')).status, 200)
  const letter = Buffer.from('я')
  await ask('/answer', {
    chunks: [
      'data: {"a":"',
      { base64: letter.subarray(0, 1).toString('base64') },
      { base64: letter.subarray(1).toString('base64'), delayMs: 5 },
      { text: '"}\n\n' }
    ]
  })
  const chunks = await client.chatV1('Hi', { stream: true })
  t.equal(chunks.text, 'data: {"a":"я"}\n\n')
  t.equal(chunks.headers['content-type'], 'text/event-stream')
  await ask('/answer', { chunks: ['data: 1\n\n'], end: 'destroy' })
  const broken = await client.chatV1('Hi', { stream: true })
  t.ok(broken.isBroken)
  await ask('/answer', { path: '/models', body: 'raw' })
  t.equal((await client.call('/api/v1/models')).text, 'raw')
  t.equal((await ask('/answer', { status: 1 })).status, 400)
  t.equal((await ask('/answer', { end: 'sometime' })).status, 400)
})

t.test('settings can be read and changed, and invalid settings are refused', async t => {
  const client = await startClient(t)
  const ask = control(client)
  t.match((await ask('/settings')).body, { oauthForm: 'standard', strictStateIds: false })
  t.match((await ask('/settings', { oauthForm: 'alternative', tickMs: 1 })).body, {
    oauthForm: 'alternative',
    tickMs: 1
  })
  for (const wrong of [
    { oauthForm: 'x' },
    { tickMs: 'a' },
    { strictFiles: 1 },
    { chatApiKey: 5 },
    { unknown: 1 },
    []
  ]) {
    t.equal((await ask('/settings', wrong)).status, 400, JSON.stringify(wrong))
  }
  t.equal((await ask('/nowhere')).status, 404)
  t.equal((await send(`${client.emulator.controlUrl}/fail`, { body: '{' })).status, 400)
})

t.test('the control endpoint can be switched off', async t => {
  const emulator = await createEmulator({ control: false })
  t.teardown(() => emulator.close())
  t.equal(emulator.controlUrl, null)
  t.equal((await send(`${new URL(emulator.baseUrl).origin}/__control/stats`)).status, 404)
})

t.test('a response has the session id of the client and a new request id', async t => {
  const client = await startClient(t)
  const headers = { 'x-session-id': 'session', 'x-request-id': 'mine' }
  const response = await client.call('/api/v1/models', { headers })
  t.equal(response.headers['x-session-id'], 'session')
  t.not(response.headers['x-request-id'], 'mine')
})

t.test('the recorder keeps the newest requests and a bounded size of bodies', async t => {
  const recorder = createRecorder()
  t.teardown(() => recorder.close())
  const add = () =>
    recorder.add({
      receivedAtMs: 0,
      method: 'GET',
      path: '/',
      query: '',
      headers: {},
      body: undefined,
      bodyBytes: 0,
      status: null,
      aborted: false,
      finished: false,
      clientCertificate: null,
      notes: []
    })
  const early = add()
  for (let index = 0; index < 2500; index++) recorder.setBody(add(), 'body', 100_000)
  t.equal(recorder.requests.length, 2000)
  t.equal(recorder.requests[0]?.sequence, 502)
  const kept = recorder.requests.filter(entry => entry.body !== undefined)
  t.ok(kept.length > 600 && kept.length <= 672, `${kept.length} bodies`)
  t.equal(recorder.requests.at(-1)?.body, 'body')
  recorder.setBody(early, 'late', 10)
  t.equal(early.body, undefined)
})

t.test('waitFor rejects at its deadline and when the emulator closes', async t => {
  const emulator = await createEmulator()
  await t.rejects(
    emulator.waitFor(() => false, 1),
    /within 1 ms/
  )
  const waiting = t.rejects(
    emulator.waitFor(() => false),
    /was closed/
  )
  await emulator.close()
  await waiting
})
