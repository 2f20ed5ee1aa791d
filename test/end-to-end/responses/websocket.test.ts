// WebSockets on `/responses` (memory.md 5), with the official SDK and with frames of our own.

import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import OpenAI from 'openai'
import { ResponsesWS } from 'openai/resources/responses/ws'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import {
  emulatorVariables,
  readLog,
  type ServingGateway,
  startEmulator,
  startGateway
} from '../../support/in-process-gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { getWithAnyHeaders, WEBSOCKET_HEADERS } from '../../support/upgrade-client.ts'
import { lastReceived, received } from '../../support/upstream.ts'
import { readRecordedRequests } from '../agents/recorded.ts'
import type { Loose } from '../bridge/families.ts'

const model = 'GigaChat-2'
const emulator = await startEmulator(t, { tickMs: 5 })
const start = (t: Test, env: Record<string, string> = {}) =>
  startGateway(t, { env: { ...emulatorVariables(emulator), GATEWAY_RESPONSES_WEBSOCKET: 'true', ...env } })
const gateway = await start(t)

interface Client {
  socket: WebSocket
  events: Loose[]
  closed: Promise<number>
  /** Sends a message and resolves with its events up to the last one. */
  ask(message: object): Promise<Loose[]>
  /** Resolves with the first event of a type that has not been taken. */
  next(pattern: RegExp): Promise<Loose>
}

const END = /^(?:response\.(?:completed|incomplete|failed)|error)$/

async function open(
  t: Test,
  { url }: Pick<ServingGateway, 'url'>,
  path = '/v1/responses',
  headers = {},
  options = {}
): Promise<Client> {
  const socket = new WebSocket(url.replace('http', 'ws') + path, { ...options, headers })
  t.teardown(() => socket.terminate())
  const events: Loose[] = []
  let wake: () => void = () => undefined
  socket.on('message', data => {
    events.push(JSON.parse(String(data)))
    wake()
  })
  const closed = new Promise<number>(resolve => socket.once('close', code => resolve(code)))
  socket.on('error', () => undefined)
  await once(socket, 'open')
  let taken = 0
  async function next(pattern: RegExp): Promise<Loose> {
    for (;;) {
      while (taken < events.length) {
        const event = events[taken++]
        if (pattern.test(event.type)) return event
      }
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
  }
  return {
    socket,
    events,
    closed,
    next,
    async ask(message) {
      const from = events.length
      socket.send(JSON.stringify(message))
      await next(END)
      return events.slice(from)
    }
  }
}

const create = (input: unknown, more: object = {}) => ({ type: 'response.create', model, input, ...more })
const sentInput = (): Loose => lastReceived(emulator, '/chat/completions').body

t.test('memory 19: the events are those of a stream, with the same upstream call, under every prefix', async t => {
  for (const path of ['/responses', '/v1/responses', '/v2/responses']) {
    const client = await open(t, gateway, path)
    const events = await client.ask(create('[[text:hello]]', { stream_id: 'lane-1' }))
    t.match(
      events.map(({ type }) => type),
      ['response.created', 'response.in_progress', 'response.output_item.added', 'response.content_part.added']
    )
    t.strictSame(
      events.map(({ sequence_number: number }) => number),
      events.map((_event, index) => index)
    )
    t.ok(events.every(({ stream_id: id }) => id === 'lane-1'))
    t.match(events.at(-1), { type: 'response.completed', response: { output: [{ content: [{ text: 'hello' }] }] } })
    t.match(lastReceived(emulator, '/chat/completions').path, path.startsWith('/v2') ? '/api/v2' : '/api/v1')
    client.socket.close()
    await client.closed
  }
})

t.test('memory 19: a response is continued by its id although nothing stores it, in branches too', async t => {
  const client = await open(t, gateway)
  const first = (await client.ask(create('My name is Ada. [[text:noted]]', { store: false }))).at(-1).response
  const item = { role: 'user', content: 'Who am I? [[text:Ada]]' }
  const second = (await client.ask(create([item], { previous_response_id: first.id, store: false }))).at(-1).response
  t.equal(second.previous_response_id, first.id)
  t.match(JSON.stringify(sentInput().messages), /My name is Ada.*noted.*Who am I/)
  const branch = (await client.ask(create('And now? [[text:yes]]', { previous_response_id: first.id }))).at(-1).response
  t.match(JSON.stringify(sentInput().messages), /My name is Ada.*noted.*And now/)
  t.notMatch(JSON.stringify(sentInput().messages), 'Who am I')
  const third = (await client.ask(create('Go on. [[text:ok]]', { previous_response_id: branch.id }))).at(-1).response
  t.equal(third.status, 'completed')
  t.match(JSON.stringify(sentInput().messages), /My name is Ada.*noted.*And now.*yes.*Go on/)
  // Another connection knows nothing of it.
  const other = await open(t, gateway)
  const [refused] = await other.ask(create('x', { previous_response_id: first.id }))
  t.match(refused, {
    type: 'error',
    status: 400,
    error: { type: 'invalid_request_error', code: 'previous_response_not_found', param: 'previous_response_id' }
  })
  // The client's own index, not that of the whole conversation.
  const [wrong] = await client.ask(create([{ role: 7 }], { previous_response_id: first.id }))
  t.match(wrong, { type: 'error', status: 400, error: { code: 'invalid_request', param: 'input[0].role' } })
})

t.test('memory 19: a loop of tools sends only the results', async t => {
  const client = await open(t, gateway)
  const tools = [
    { type: 'function', name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } }
  ]
  const asked = (await client.ask(create('[[tool:weather {"city":"Oslo"}]]', { tools }))).at(-1).response
  const [call] = asked.output
  t.equal(call.type, 'function_call')
  const output = [{ type: 'function_call_output', call_id: call.call_id, output: 'sunny' }]
  const answered = (await client.ask(create(output, { tools, previous_response_id: asked.id }))).at(-1)
  t.equal(answered.type, 'response.completed', JSON.stringify(answered))
  t.match(
    sentInput().messages.map(({ role }: Loose) => role),
    ['user', 'assistant', 'function']
  )
})

t.test('memory 19: a preparation calls no provider, and is continued', async t => {
  const client = await open(t, gateway)
  const before = received(emulator, '/chat/completions').length
  const item = { role: 'user', content: 'My name is Ada.' }
  const events = await client.ask(create([item], { generate: false, instructions: 'be' }))
  t.match(events, [
    { type: 'response.created', response: { status: 'in_progress', model, instructions: 'be' } },
    {
      type: 'response.completed',
      response: { status: 'completed', output: [], model, instructions: 'be', store: false }
    }
  ])
  t.equal(received(emulator, '/chat/completions').length, before)
  const { id } = events[1].response
  const end = (await client.ask(create([{ role: 'user', content: 'Who am I?' }], { previous_response_id: id }))).at(-1)
  t.equal(end.type, 'response.completed')
  t.match(JSON.stringify(sentInput().messages), /My name is Ada.*Who am I/)
  const [refused] = await client.ask(create([], { generate: false, prompt: { id: 'p' } }))
  t.match(refused, { type: 'error', error: { code: 'unsupported_semantic', param: 'prompt' } })
})

t.test('memory 19: one response at a time; a second message is an error event, and the first goes on', async t => {
  const client = await open(t, gateway)
  client.socket.send(JSON.stringify(create('[[chunks:a|b|c|d|e|f]]')))
  await client.next(/created/)
  client.socket.send(JSON.stringify(create('second')))
  const busy = await client.next(/^error$/)
  t.match(busy, { status: 409, error: { type: 'invalid_request_error', code: 'response_in_progress', param: null } })
  const end = await client.next(/completed/)
  t.match(end.response.output, [{ content: [{ text: 'abcdef' }] }])
  t.match((await client.ask(create('[[text:third]]'))).at(-1), { type: 'response.completed' })
})

t.test('memory 19: what is no wish for a response is an error event, and the connection stays', async t => {
  const client = await open(t, gateway)
  for (const [text, code, param] of [
    ['{', 'invalid_json', null],
    ['[]', 'invalid_json', null],
    ['{"type":"response.steer"}', 'invalid_request', 'type'],
    ['{"type":"response.create"}', 'invalid_request', 'input'],
    [JSON.stringify(create('[[error:429]]')), null, null]
  ] as const) {
    client.socket.send(text)
    t.match(await client.next(/^error$/), { type: 'error', status: Number, error: { code, param } }, text)
  }
  t.match((await client.ask(create('[[text:ok]]'))).at(-1), { type: 'response.completed' })
})

t.test('memory 19: the key is checked at the upgrade, and each message is a request of the log', async t => {
  const keyed = await start(t, {
    GATEWAY_ENABLE_API_KEY_AUTH: 'true',
    GATEWAY_API_KEY: 'k1',
    GATEWAY_ACCESS_LOG: 'true'
  })
  const refused = await getWithAnyHeaders(`${keyed.url}/v1/responses`, WEBSOCKET_HEADERS)
  t.equal(refused.status, 401)
  t.match(refused.json, { error: { code: 'invalid_api_key' } })
  t.equal((await getWithAnyHeaders(`${keyed.url}/v1/responses/x`, WEBSOCKET_HEADERS)).status, 426)
  for (const malformed of [{ 'sec-websocket-version': '7' }, { 'sec-websocket-key': 'x' }]) {
    const headers = { ...WEBSOCKET_HEADERS, ...malformed, authorization: 'Bearer k1' }
    const { status, json } = await getWithAnyHeaders(`${keyed.url}/v1/responses`, headers)
    t.match([status, json.error], [400, { code: 'invalid_request', message: /^Missing or invalid Sec-WebSocket/ }])
  }
  for (const headers of [{ authorization: 'Bearer k1' }, { 'x-api-key': 'k1' }]) {
    const client = await open(t, keyed, '/v1/responses', headers)
    t.match((await client.ask(create('[[text:ok]]'))).at(-1), { type: 'response.completed' })
  }
  const list = (method: string) =>
    readLog(keyed).filter(
      line => line.event === 'http_access' && line.route === '/v1/responses' && line.method === method
    )
  await waitUntil(() => list('POST').length === 2, 'each message has its line')
  t.match(list('POST'), [
    { status: 200, lifecycle: 'streaming_completed', model, output_tokens: Number },
    { status: 200, lifecycle: 'streaming_completed', api_key_name: 'default' }
  ])
  t.strictSame(
    list('GET').map(({ status }) => status),
    [401, 400, 400, 101, 101]
  )
})

t.test('memory 19: other upgrades, and other paths, are served as if nothing had been asked', async t => {
  t.equal((await getWithAnyHeaders(`${gateway.url}/v1/models`, WEBSOCKET_HEADERS)).status, 200)
  t.equal((await getWithAnyHeaders(`${gateway.url}/v1/nope`, WEBSOCKET_HEADERS)).status, 404)
  const other = { ...WEBSOCKET_HEADERS, upgrade: 'h2c' }
  t.equal((await getWithAnyHeaders(`${gateway.url}/v1/responses`, other)).status, 405)
  // Java's client asks for h2c with its first request, which may have a body.
  const body = JSON.stringify({ model, input: '[[text:from Java]]' })
  const head = `POST /v1/responses HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade, HTTP2-Settings, close\r\nupgrade: h2c\r\nhttp2-settings: AA\r\ncontent-length: ${body.length}\r\n\r\n`
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(gateway.url).port) })
  socket.write(head)
  socket.write(body)
  const pieces: Uint8Array[] = []
  for await (const piece of socket) pieces.push(piece)
  const answer = Buffer.concat(pieces).toString()
  t.match(answer, 'from Java')
  t.match(answer, /^HTTP\/1.1 200 OK\r\n/)
})

t.test('memory 19: over TLS too', async t => {
  const fixtures = new URL('../../ops/emulator/fixtures/', import.meta.url).pathname
  const secure = await start(t, {
    GATEWAY_USE_HTTPS: 'true',
    GATEWAY_HTTPS_KEY_FILE: `${fixtures}server.key`,
    GATEWAY_HTTPS_CERT_FILE: `${fixtures}server.pem`
  })
  const url = secure.url.replace(/^http:/, 'https:')
  const client = await open(t, { url }, '/v1/responses', {}, { rejectUnauthorized: false })
  t.match((await client.ask(create('[[text:ok]]'))).at(-1), { type: 'response.completed' })
})

t.test(
  'memory 19: with a store, stored responses are continued on any connection, and others on their own',
  async t => {
    const file = join(createTemporaryFolder(t), 'responses.sqlite')
    const storing = await start(t, { GATEWAY_RESPONSES_STORE_DSN: `sqlite:${file}` })
    const one = await open(t, storing)
    const other = await open(t, storing)
    const stored = (await one.ask(create('My name is Ada. [[text:noted]]'))).at(-1).response
    t.equal(stored.store, true)
    const next = { previous_response_id: stored.id }
    const unstored = (await other.ask(create('Who am I? [[text:Ada]]', { ...next, store: false }))).at(-1).response
    t.match(JSON.stringify(sentInput().messages), /My name is Ada.*noted.*Who am I/)
    t.equal(unstored.store, false)
    const [foreign] = await one.ask(create('x', { previous_response_id: unstored.id }))
    t.match(foreign, { type: 'error', status: 404, error: { code: 'previous_response_not_found' } })
    t.match((await one.ask(create('Go on. [[text:ok]]', { previous_response_id: stored.id }))).at(-1), {
      type: 'response.completed',
      response: { store: true, previous_response_id: stored.id }
    })
  }
)

t.test('memory 19: a message beyond the limit of a body closes the connection with 1009', async t => {
  const small = await start(t, { GATEWAY_MAX_REQUEST_BODY_BYTES: '1000' })
  const client = await open(t, small)
  client.socket.send(JSON.stringify(create('x'.repeat(2000))))
  t.equal(await client.closed, 1009)
})

t.test('memory 19: a client that leaves ends the call of the upstream', async t => {
  const client = await open(t, gateway)
  const before = emulator.stats.aborted
  client.socket.send(JSON.stringify(create('[[tick:20]][[len:5000]]')))
  await client.next(/output_text.delta/)
  client.socket.close()
  await client.closed
  await emulator.waitFor(() => emulator.stats.aborted > before)
})

t.test('memory 19: a drain closes idle connections at once with 1001, and others behind their response', async t => {
  const draining = await start(t)
  const idle = await open(t, draining)
  const busy = await open(t, draining)
  busy.socket.send(JSON.stringify(create('[[chunks:a|b|c|d|e|f|g|h]]')))
  await busy.next(/output_text.delta/)
  const stopped = draining.stop()
  t.equal(await idle.closed, 1001)
  t.match(await busy.next(END), { type: 'response.completed' })
  t.equal(await busy.closed, 1001)
  await stopped
})

t.test('memory 19: the SDK speaks it', async t => {
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'unused', maxRetries: 0 })
  const socket = new ResponsesWS(client)
  t.teardown(() => socket.close())
  const done = Promise.withResolvers<string>()
  socket.on('response.completed', ({ response }: Loose) => done.resolve(JSON.stringify(response.output)))
  socket.on('error', error => done.reject(error))
  socket.send({ type: 'response.create', model, input: '[[text:hello]]' })
  t.match(await done.promise, 'hello')
})

t.test('memory 19: a session of Codex needs one upgrade, and goes on behind a compaction', async t => {
  const recorded = readRecordedRequests().filter(({ name }) => /^codex-responses-(plain|toolloop)$/.test(name))
  t.equal(recorded.length, 2)
  for (const { headers, body } of recorded) {
    const client = await open(t, gateway, '/v1/responses', {
      ...headers,
      'openai-beta': 'responses_websockets=2026-02-06'
    })
    const { stream: _stream, ...wish } = body
    const message = { ...wish, type: 'response.create', model }
    const prepared = (await client.ask({ ...message, generate: false })).at(-1)
    t.match(prepared, { type: 'response.completed', response: { output: [] } })
    const said = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'And now? [[text:done]]' }] }
    const go = { ...message, input: [said], previous_response_id: prepared.response.id }
    const answered = (await client.ask(go)).at(-1)
    t.match(answered, { type: 'response.completed', response: { output: [{ content: [{ text: 'done' }] }] } })
    const trigger = { ...message, input: [{ type: 'compaction_trigger' }], previous_response_id: answered.response.id }
    const compacted = (await client.ask(trigger)).at(-1)
    t.match(compacted, { type: 'response.completed', response: { output: [{ type: 'compaction' }] } })
    const gone = (await client.ask({ ...message, input: [...compacted.response.output, said] })).at(-1)
    t.match(gone, { type: 'response.completed', response: { output: [{ content: [{ text: 'done' }] }] } })
    t.match(JSON.stringify(sentInput().messages), /summary of it.*You wrote.*And now/)
    client.socket.close()
    await client.closed
  }
})
