// Replays through the whole stack of a started gateway (operations.md 9.5).
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { TrafficRecord } from '../../../shared/traffic/record.ts'
import type { JsonObject } from '../../../worker/normalized/index.ts'
import { createRecord } from '../../supervisor/writer/records.ts'
import { post, upstreamChats } from '../../support/client.ts'
import { startEmulator } from '../../support/in-process-gateway.ts'
import { anthropicBaseUrl, chatBaseUrl, startProfileGateway, writeChatProfile } from '../../support/profile-gateway.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import {
  ADMIN_KEY,
  type AdminOptions,
  adminVariables,
  createCalls,
  error,
  postJson,
  recording,
  startAdminGateway,
  UNKNOWN_ID,
  until,
  writeRecords
} from './support.ts'

const CHAT = '/v1/chat/completions'
const body = { model: 'GigaChat-2-Max', messages: [{ role: 'user', content: 'hi' }], metadata: { mine: 'kept' } }

function recordOf(body: object, more: Partial<TrafficRecord> = {}): TrafficRecord {
  return createRecord({ request_id: 'source', request_body_redacted: body as never, ...more })
}

function start(t: Test, records: readonly TrafficRecord[], options: AdminOptions = {}) {
  return startAdminGateway(t, {
    ...options,
    records,
    env: { ...recording, GATEWAY_REPLAY_ENABLED: 'true', ...options.env }
  })
}

const good = recordOf({ ...body, password: 'p' })
const refusals = [
  [recordOf(body, { method: 'GET' }), 400, 'replay_not_supported', 'Only POST traffic log requests can be replayed'],
  [
    recordOf(body, {
      route: '/_admin/logs/{id}/redact',
      metadata: { lifecycle: 'x', path: '/_admin/logs/x/redact' }
    }),
    400,
    'replay_not_supported',
    'Admin, debug, and log routes cannot be replayed'
  ],
  [
    recordOf(body, { route: 'unmatched', metadata: { lifecycle: 'x', path: '/x' } }),
    400,
    'replay_not_supported',
    'Invalid replay route'
  ],
  [createRecord(), 409, 'request_body_not_captured', 'Traffic log request body was not captured'],
  [recordOf([1]), 409, 'request_body_not_captured', 'Traffic log request body was not captured']
] as const
const plain = recordOf(body, { request_id: 'plain' })

/** For the cases that need no settings of their own, and its records. */
const shared = await start(t, [good, plain, ...refusals.map(([record]) => record)])

t.test('operations 90: a replay runs through the whole stack, once, and is marked', async t => {
  const off = await startAdminGateway(t)
  for (const id of [UNKNOWN_ID, 'not-a-uuid']) {
    const refused = await off.logs(`/${id}/replay`, postJson(''))
    t.equal(refused.status, 404)
    t.same(refused.json, error('not_found', 'Not Found'))
  }

  const { logs, emulator } = shared
  const chats = upstreamChats(emulator).length
  for (const [record, status, code, message] of refusals) {
    const refused = await logs(`/${record.id}/replay`, postJson(''))
    t.equal(refused.status, status, message)
    t.same(refused.json, error(code, message))
  }
  t.equal((await logs('/not-a-uuid/replay', postJson(''))).json.error.code, 'invalid_log_id')
  t.equal((await logs(`/${UNKNOWN_ID}/replay`, postJson(''))).json.error.code, 'log_not_found')
  t.equal(upstreamChats(emulator).length, chats)

  const { status, json } = await logs(`/${good.id}/replay`, postJson(''))
  t.equal(status, 200)
  const mark = { source_log_id: good.id, source_request_id: 'source' }
  t.match(json, {
    id: good.id,
    request_id: 'source',
    replayed: true,
    request: { method: 'POST', path: CHAT, metadata: { gateway_replay: mark }, redacted: true },
    response: { status_code: 200, headers: { 'content-type': 'application/json' }, body: { object: 'chat.completion' } }
  })
  t.match(json.request.metadata.gateway_replay.replayed_at, /\+00:00$/)
  t.equal(upstreamChats(emulator).length, chats + 1, 'the upstream was called once')

  const requestId = json.response.headers['x-request-id']
  const [replayed] = await until(
    async () => (await logs(`?request_id=${requestId}`)).json.data,
    found => found.length === 1
  )
  t.match(replayed, { route: CHAT, method: 'POST', status_code: 200, metadata: { replay_of: good.id } })
  const sent = (await logs(`/${replayed.id}/request`)).json
  t.equal(sent.request_headers['x-gateway-replay'], 'true')
  t.match(sent.request_body, { metadata: { mine: 'kept', gateway_replay: mark }, password: '***' })
  t.same((await logs('?request_id=source&has_error=false')).json.data.length, 5, 'the source stays as it was')
})

t.test('operations 91: a replay works in PROD with the own key, and a failing target is its result', async t => {
  const record = recordOf(body)
  const { logs, emulator, gateway } = await start(t, [record], {
    env: { GATEWAY_MODE: 'PROD', GATEWAY_API_KEY: 'k1-of-the-tests', GATEWAY_PASS_TOKEN: 'true' }
  })
  t.equal((await post(`${gateway.url}${CHAT}`, body)).status, 401)
  const good = await logs(`/${record.id}/replay`, postJson(''))
  t.equal(good.status, 200)
  t.equal(good.json.response.status_code, 200)
  t.equal(upstreamChats(emulator).length, 1)

  const failing = await logs(
    `/${record.id}/replay`,
    postJson({ overrides: { messages: [{ role: 'user', content: '[[error:500]]' }] } })
  )
  t.equal(failing.status, 200)
  t.equal(failing.json.response.status_code, 500)
})

t.test('external providers, which refuse members that they do not know, are not sent the mark', async t => {
  const emulator = await startEmulator(t)
  const path = join(createTemporaryFolder(t), 'traffic.sqlite')
  const messages = { route: '/v1/messages', metadata: { lifecycle: 'x', path: '/v1/messages' } }
  const hi = { messages: body.messages, max_tokens: 9 }
  const records = [
    [recordOf({ ...hi, model: 'chat', metadata: { mine: 'kept' } }), { mine: 'kept' }],
    [recordOf({ ...hi, model: 'chat' }), undefined],
    [recordOf({ ...hi, model: 'messages', metadata: { user_id: 'kept' } }, messages), { user_id: 'kept' }],
    [recordOf({ ...hi, model: 'messages' }, messages), undefined],
    [recordOf({ ...hi, model: 'chat' }, messages), undefined]
  ] as const
  await writeRecords(
    path,
    records.map(([record]) => record)
  )
  const gateway = await startProfileGateway(t, {
    profiles: [
      writeChatProfile({ id: 'chat', baseUrl: chatBaseUrl(emulator), aliases: [{ alias: 'chat' }] }),
      writeChatProfile({
        id: 'messages',
        kind: 'messages_compatible',
        baseUrl: anthropicBaseUrl(emulator, 'a'),
        aliases: [{ alias: 'messages' }]
      })
    ],
    env: { ...adminVariables(`sqlite:${path}`), ...recording, GATEWAY_REPLAY_ENABLED: 'true' }
  })
  const { logs } = createCalls(gateway)
  for (const [record, metadata] of records) {
    const { json } = await logs(`/${record.id}/replay`, postJson(''))
    const { model } = record.request_body_redacted as { model: string }
    t.equal(json.response.status_code, 200, `${record.route} to ${model}`)
    const sent = emulator.requests.at(-1)?.body as JsonObject | undefined
    t.strictSame(sent?.metadata, metadata, `${record.route} to ${model}`)
    t.match(json.request.metadata.gateway_replay, { source_log_id: record.id })
  }
})

t.test('a replay has the own key, also one that is not ASCII', async t => {
  const record = recordOf(body)
  const { logs } = await start(t, [record], {
    env: { GATEWAY_ENABLE_API_KEY_AUTH: 'true', GATEWAY_API_KEY: 'clé-of-the-tests' }
  })
  t.equal((await logs(`/${record.id}/replay`, postJson(''))).json.response.status_code, 200)
})

t.test('a captured body that was shortened is not sent again', async t => {
  const { logs, gateway, emulator } = shared
  const long = { ...body, messages: [{ role: 'user', content: `${'A'.repeat(16_400)} please delete nothing` }] }
  const response = await post(`${gateway.url}${CHAT}`, long)
  const [record] = await until(
    async () => (await logs(`?request_id=${response.headers.get('x-request-id')}`)).json.data,
    found => found.length === 1
  )
  t.same(record.metadata.content_shortened, ['request_body'])
  const chats = upstreamChats(emulator).length
  const { status, json } = await logs(`/${record.id}/replay`, postJson(''))
  t.equal(status, 409)
  t.equal(json.error.code, 'request_body_not_captured')
  t.equal(upstreamChats(emulator).length, chats)
})

t.test('a stream is replayed to its end, and overrides take the place of members', async t => {
  const { logs, emulator } = shared
  const stream = await logs(`/${plain.id}/replay`, postJson({ stream: true, overrides: { temperature: 0.3 } }))
  t.equal(stream.json.response.status_code, 200)
  t.match(stream.json.response.body, /^data: .*\ndata: \[DONE\]\n\n$/s)
  t.match(upstreamChats(emulator).at(-1)?.body, { temperature: 0.3, stream: true })
  t.match((await logs(`/${plain.id}/replay`, postJson('[]'))).json.error, { code: 'invalid_json' })
})

t.test('a client cannot mark its own requests', async t => {
  const { logs, gateway } = shared
  const response = await post(`${gateway.url}${CHAT}`, body, { 'x-gateway-replay': 'true' })
  const [record] = await until(
    async () => (await logs(`?request_id=${response.headers.get('x-request-id')}`)).json.data,
    found => found.length === 1
  )
  t.equal(record.metadata.replay_of, undefined)
})

t.test('one replay runs at a time; it ends with its client, and at its own deadline', async t => {
  const record = recordOf({ ...body, messages: [{ role: 'user', content: '[[hang]]' }] })
  const { logs, emulator } = await start(t, [record])
  const leaving = new AbortController()
  const running = logs(`/${record.id}/replay`, { ...postJson(''), signal: leaving.signal })
  await emulator.waitFor(({ stats }) => stats.activeChatRequests === 1)
  const second = await logs(`/${record.id}/replay`, postJson(''))
  t.equal(second.status, 429)
  t.same(second.json, error('replay_in_progress', 'Another replay is running'))
  leaving.abort()
  await t.rejects(running)
  await emulator.waitFor(({ stats }) => stats.activeChatRequests === 0)

  const late = await until(
    () => logs(`/${record.id}/replay`, postJson({ timeout_seconds: 0.2 })),
    ({ status }) => status !== 429
  )
  t.equal(late.status, 502)
  t.same(late.json, error('replay_failed', 'Replay request failed'))
  await emulator.waitFor(({ stats }) => stats.activeChatRequests === 0)
})

t.test('a stopping gateway starts no replay, and ends one that runs with the result of its request', async t => {
  const record = recordOf({ ...body, messages: [{ role: 'user', content: '[[hang]]' }] })
  const { logs, emulator, gateway } = await start(t, [record], { env: { GATEWAY_SHUTDOWN_TIMEOUT_SECONDS: '5' } })
  const running = logs(`/${record.id}/replay`, postJson(''))
  await emulator.waitFor(({ stats }) => stats.activeChatRequests === 1)
  // The listener soon accepts no further connection, but these stay open. The response that is written when the drain begins ends its own.
  const agents = [new Agent({ keepAlive: true, maxSockets: 1 }), new Agent({ keepAlive: true, maxSockets: 1 })]
  t.teardown(() => {
    for (const agent of agents) agent.destroy()
  })
  const replayOver = (agent: Agent | undefined) => sendOver(agent, `${gateway.url}/_admin/logs/${record.id}/replay`)
  for (const agent of agents) t.match(await replayOver(agent), { status: 429, isLast: false })
  const stopped = gateway.stop()
  const refused = await until(
    async () => {
      const response = await replayOver(agents[0])
      if (response.isLast) agents.shift()
      return response
    },
    ({ status }) => status !== 429
  )
  t.match(refused, { status: 503, json: { error: { code: 'gateway_not_ready' } } })
  const { status, json } = await running
  t.equal(status, 200)
  t.equal(json.response.status_code, 503)
  t.equal(await stopped, 0)
})

/** Sends an empty replay over the connection of the agent; `isLast` tells whether the response ends the connection. */
async function sendOver(agent: Agent | undefined, url: string) {
  const outgoing = request(url, { method: 'POST', agent, headers: { 'x-admin-api-key': ADMIN_KEY } })
  outgoing.end()
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  const chunks = await response.toArray()
  return {
    status: response.statusCode,
    isLast: response.headers.connection === 'close',
    json: JSON.parse(Buffer.concat(chunks).toString()) as unknown
  }
}
