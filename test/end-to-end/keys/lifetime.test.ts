// What a key that expires, or that another keys file no longer has, still does: what began goes on, and nothing begins (keys.md 2).

import { once } from 'node:events'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { FEATURE_NAMES } from '../../../shared/profile/profile.ts'
import { get, type HttpResponse, post } from '../../support/client.ts'
import { startEmulator } from '../../support/in-process-gateway.ts'
import type { KeyOptions } from '../../support/key-sets.ts'
import { startKeyedWorker } from '../../support/keyed-worker.ts'
import { waitUntil } from '../../support/processes.ts'
import { aliasOf, edgeProfile } from '../../support/profile-sets.ts'
import { openTemporaryStore } from '../../support/response-store.ts'

const SECRET = 'a-secret-of-a-client-01'
const EXPIRES_AT_MS = 1_000_000
const model = 'demo/chat'
const headers = { authorization: `Bearer ${SECRET}` }
const client: KeyOptions = { name: 'client', secrets: [SECRET], expiresAtMs: EXPIRES_AT_MS, models: ['demo/*'] }

const emulator = await startEmulator(t, { tickMs: 10 })

async function start(t: Test) {
  const memory = await openTemporaryStore(t)
  return startKeyedWorker(t, {
    env: { GATEWAY_RESPONSES_WEBSOCKET: 'true' },
    profiles: [
      edgeProfile([aliasOf(model, 'emulator-large', { features: FEATURE_NAMES })], { baseUrl: emulator.chatBaseUrl })
    ],
    keys: { keys: [client] },
    parts: { memory }
  })
}

const text = '[[text:one two three four five six seven eight nine ten]]'
const messages = [{ role: 'user', content: text }]
const STREAMS = {
  completions: { path: '/v1/chat/completions', body: { model, messages, stream: true }, end: /\[DONE\]/ },
  responses: { path: '/v1/responses', body: { model, input: text, stream: true }, end: /response\.completed/ },
  messages: { path: '/v1/messages', body: { model, messages, stream: true, max_tokens: 99 }, end: /message_stop/ },
  content: {
    path: `/v1beta/models/${model}:streamGenerateContent?alt=sse`,
    body: { contents: [{ role: 'user', parts: [{ text }] }] },
    end: /"finishReason":\s?"STOP"/
  }
}

/** Reads a stream, and calls `begun` once it has begun. */
async function readStream(url: string, body: object, begun: () => void): Promise<string> {
  const init = {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body)
  }
  const response = await fetch(url, init)
  let received = ''
  const decoder = new TextDecoder()
  for await (const piece of response.body ?? []) {
    if (received === '') begun()
    received += decoder.decode(piece, { stream: true })
  }
  return received
}

const codeOf = ({ status, json }: HttpResponse) => `${status} ${json?.error?.code ?? json?.error?.status ?? ''}`.trim()

for (const [family, { path, body, end }] of Object.entries(STREAMS)) {
  t.test(`keys 5: a key that expires in the middle of a stream of ${family} lets it end`, async t => {
    const { url, clock } = await start(t)
    const received = await readStream(url + path, body, () => {
      clock.nowMs = EXPIRES_AT_MS
    })
    t.ok(end.test(received), 'the stream has its end')
    t.ok(/ten/.test(received), 'and all of its text')
    const refused = await post(url + path, body, headers)
    t.equal(refused.status, 401)
    t.match(refused.json.error, { message: 'The API key has expired' })
  })
}

t.test(
  'keys 2: a stream of a secret that another keys file no longer has goes on, and the next request is refused',
  async t => {
    const { url, replaceKeys } = await start(t)
    const { path, body, end } = STREAMS.completions
    const received = await readStream(url + path, body, () =>
      replaceKeys({ keys: [{ ...client, secrets: ['another-secret-00001'] }] })
    )
    t.ok(end.test(received))
    t.equal(codeOf(await post(url + path, body, headers)), '401 invalid_api_key')
    replaceKeys({ keys: [{ ...client, isEnabled: false }] })
    t.equal(codeOf(await post(url + path, body, headers)), '401 key_disabled')
    replaceKeys({ keys: [{ ...client, models: ['other/*'] }] })
    t.equal(codeOf(await post(url + path, body, headers)), '404 unknown_model_alias')
    replaceKeys({ keys: [client] })
    t.equal((await post(url + path, { ...body, stream: false }, headers)).status, 200)
  }
)

t.test('keys 5: a response in the background of a key that expires goes on to its end', async t => {
  const { url, clock, replaceKeys } = await start(t)
  const created = await post(`${url}/v1/responses`, { model, input: text, background: true }, headers)
  t.match(created, { status: 200, json: { status: /queued|in_progress/ } })
  clock.nowMs = EXPIRES_AT_MS
  const path = `${url}/v1/responses/${created.json.id}`
  t.equal(codeOf(await get(path, headers)), '401 key_expired')
  // The key has a later end now, and its own responses again.
  replaceKeys({ keys: [{ ...client, expiresAtMs: EXPIRES_AT_MS + 1 }] })
  await waitUntil(async () => (await get(path, headers)).json.status === 'completed', 'the response has ended')
  replaceKeys({ keys: [{ ...client, name: 'other-client', expiresAtMs: EXPIRES_AT_MS + 1 }] })
  t.equal((await get(path, headers)).status, 404, 'a response belongs to the name of its key')
})

t.test('keys 5: each response of a WebSocket is authorised anew', async t => {
  const { url, clock, replaceKeys } = await start(t)
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, { headers })
  t.teardown(() => socket.terminate())
  await once(socket, 'open')
  let end = Promise.withResolvers<{ type: string }>()
  socket.on('message', data => {
    const event = JSON.parse(String(data))
    if (/^(?:response\.(?:completed|incomplete|failed)|error)$/.test(event.type)) end.resolve(event)
  })
  function ask(changes: object = {}): Promise<{ type: string }> {
    end = Promise.withResolvers()
    socket.send(JSON.stringify({ type: 'response.create', model, input: text, ...changes }))
    return end.promise
  }
  t.match(await ask(), { type: 'response.completed' })
  t.match(await ask({ model: 'hidden/chat' }), { type: 'error', status: 404, error: { code: 'unknown_model_alias' } })
  clock.nowMs = EXPIRES_AT_MS
  t.match(await ask(), { type: 'error', status: 401, error: { code: 'key_expired' } })
  replaceKeys({ keys: [{ ...client, expiresAtMs: EXPIRES_AT_MS + 1, isEnabled: false }] })
  t.match(await ask(), { type: 'error', status: 401, error: { code: 'key_disabled' } })
  replaceKeys({ keys: [{ ...client, expiresAtMs: EXPIRES_AT_MS + 1 }] })
  t.match(await ask(), { type: 'response.completed' })
})
