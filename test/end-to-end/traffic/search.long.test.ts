// Records in a search server, written by a started gateway (operations.md 8.5 and 9.6).
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { get, post } from '../../support/client.ts'
import {
  emulatorVariables,
  readLog,
  type ServingGateway,
  startEmulator,
  startGateway
} from '../../support/in-process-gateway.ts'
import { type SearchServerFake, startSearchServer } from '../../support/opensearch.ts'
import { waitUntil } from '../../support/processes.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

const emulator = await startEmulator(t)
const ADMIN_KEY = 'admin-key-of-the-tests'
const ROUTE = '/v1/chat/completions'

function start(t: Test, { url }: SearchServerFake, env: Record<string, string> = {}): Promise<ServingGateway> {
  return startGateway(t, {
    env: {
      ...emulatorVariables(emulator),
      GATEWAY_TRAFFIC_LOG_ENABLED: 'True',
      GATEWAY_TRAFFIC_LOG_SINK: 'opensearch',
      GATEWAY_SEARCH_INDEX_URL: url,
      GATEWAY_OPENSEARCH_FLUSH_INTERVAL_MS: '20',
      ...env
    }
  })
}

/** Sends a chat and returns the id of its request. */
async function chat({ url }: ServingGateway, text: string): Promise<string> {
  const body = { model: 'GigaChat-2-Max', messages: [{ role: 'user', content: text }] }
  const { status, headers, text: answer } = await post(`${url}${ROUTE}`, body)
  if (status !== 200) throw new Error(`The chat failed: ${answer}`)
  return headers.get('x-request-id') ?? 'none'
}

const chatsOf = (server: SearchServerFake) => server.documents().filter(({ source }) => source.route === ROUTE)
const requestIds = (server: SearchServerFake) => chatsOf(server).map(({ source }) => source.request_id as string)

t.test('operations 77: records are created with their ids in a data stream, and indexed without one', async t => {
  for (const [isDataStream, action] of [
    ['True', 'create'],
    ['False', 'index']
  ] as const) {
    const server = await startSearchServer(t)
    const gateway = await start(t, server, { GATEWAY_OPENSEARCH_DATA_STREAM: isDataStream })
    const requestId = await chat(gateway, 'hello')
    t.equal((await get(`${gateway.url}/no/such/path`)).status, 404)
    await waitUntil(() => server.documents().length >= 2, 'both records are stored')
    const lines = server.bulkBodies.flatMap(body => body.trimEnd().split('\n'))
    const values = lines.map(line => JSON.parse(line) as Record<string, unknown>)
    t.strictSame(
      lines,
      values.map(value => JSON.stringify(value)),
      'compact'
    )
    const documents = values.filter((_, line) => line % 2 === 1)
    t.strictSame(
      values.filter((_, line) => line % 2 === 0),
      documents.map(({ id }) => ({ [action]: { _index: 'gateway-traffic', _id: id } }))
    )
    for (const document of documents) t.equal(document['@timestamp'], document.created_at)
    const ok = documents.find(({ request_id }) => request_id === requestId)
    t.match(ok, { model: 'GigaChat-2-Max', has_error: false, status_code: 200 })
    t.match(
      documents.find(({ status_code }) => status_code === 404),
      { model: null, has_error: true }
    )
    t.equal(server.dataStreams.has('gateway-traffic'), action === 'create')
    t.equal(await gateway.stop(), 0)
  }
})

t.test('operations 78: a search server that answers 503 three times gets every record once', async t => {
  const server = await startSearchServer(t)
  const gateway = await start(t, server, { GATEWAY_OPENSEARCH_BULK_SIZE: '5' })
  server.failNext('_bulk', 503, 503, 503)
  const sent = await Promise.all(Array.from({ length: 20 }, (_, index) => chat(gateway, `chat ${index}`)))
  await waitUntil(() => chatsOf(server).length >= sent.length, 'all records are stored')
  t.equal(await gateway.stop(), 0)
  t.strictSame(requestIds(server).sort(), sent.sort())
  const bulkCalls = server.calls.filter(({ path }) => path.startsWith('/_bulk'))
  t.equal(bulkCalls.length - server.bulkBodies.length, 3, 'three calls failed')
})

t.test('a search server that is down from the start gets the spilled records, each once', async t => {
  const auth = { username: 'gateway', password: 'canary-password' }
  const server = await startSearchServer(t, auth)
  const spill = createTemporaryFolder(t)
  await server.stop()
  const gateway = await start(t, server, {
    GATEWAY_TRAFFIC_LOG_SPILL_DIR: spill,
    GATEWAY_OPENSEARCH_USERNAME: auth.username,
    GATEWAY_OPENSEARCH_PASSWORD: auth.password
  })
  const sent: string[] = []
  const spilled = () =>
    readdirSync(spill)
      .map(file => readFileSync(join(spill, file), 'utf8'))
      .join('')
  for (let index = 0; index < 10; index += 1) sent.push(await chat(gateway, `chat ${index}`))
  await waitUntil(() => sent.every(id => spilled().includes(id)), 'the records are spilled')
  server.failNext('_bulk', 'lost', 'cut')
  await server.start()
  await waitUntil(() => chatsOf(server).length >= sent.length, 'all records are stored')
  sent.push(await chat(gateway, 'afterwards'))
  await waitUntil(() => chatsOf(server).length >= sent.length, 'the last record is stored')
  t.strictSame(requestIds(server).sort(), sent.sort())
  await waitUntil(() => readdirSync(spill).length === 0, 'the spill is empty')
  t.ok(readLog(gateway).some(({ event, sink }) => event === 'traffic_sink_unavailable' && sink === 'opensearch'))
  t.notMatch(JSON.stringify(readLog(gateway)), auth.password)
})

t.test('operations 93: a redaction removes the content from the document of the search server', async t => {
  const server = await startSearchServer(t)
  const gateway = await start(t, server, {
    GATEWAY_TRAFFIC_LOG_SINKS: 'sqlite,opensearch',
    GATEWAY_TRAFFIC_LOG_CAPTURE_CONTENT: 'True',
    GATEWAY_TRAFFIC_LOG_FLUSH_INTERVAL_MS: '20',
    GATEWAY_ADMIN_API_ENABLED: 'True',
    GATEWAY_ADMIN_API_KEY: ADMIN_KEY
  })
  const admin = { 'x-admin-api-key': ADMIN_KEY }
  const redact = async (id: string, body: object) => {
    const { status, json } = await post(`${gateway.url}/_admin/logs/${id}/redact`, body, admin)
    t.equal(status, 200)
    return json.result
  }
  const store = async (text: string) => {
    const requestId = await chat(gateway, text)
    await waitUntil(() => requestIds(server).includes(requestId), 'the document is stored')
    const document = chatsOf(server).find(({ source }) => source.request_id === requestId)
    const { id = '' } = document ?? {}
    t.match(JSON.stringify(document), text)
    await waitUntil(
      async () => (await get(`${gateway.url}/_admin/logs/${id}`, admin)).status === 200,
      'the record is in the relational store'
    )
    return id
  }
  const find = (id: string) => server.documents().find(document => document.id === id)?.source

  const first = await store('canary-one')
  const second = await store('canary-two')
  // The document stands in an index that the data stream no longer writes.
  server.rollOver('gateway-traffic')
  t.match(await redact(first, { fields: ['request_body'] }), {
    request_body_redacted: true,
    response_body_redacted: false,
    mirrors: { opensearch: 'redacted' }
  })
  t.notOk(find(first)?.request_body_redacted)
  t.ok(find(first)?.response_body_redacted, 'what was not chosen stays')
  t.match(find(first)?.metadata, { manual_redaction: { fields: ['request_body'], redacted_at: String } })
  await redact(first, {})
  t.notMatch(JSON.stringify(server.documents()), 'canary-one')
  for (const field of ['request_headers_redacted', 'request_body_redacted', 'response_body_redacted']) {
    t.notOk(Object.hasOwn(find(first) ?? {}, field), field)
  }
  t.match(JSON.stringify(find(second)), 'canary-two', 'other documents stay')

  await server.stop()
  t.match(await redact(second, {}), { request_body_redacted: true, mirrors: { opensearch: 'failed' } })
  await server.start()
  t.match(await redact(second, {}), { mirrors: { opensearch: 'redacted' } })
  t.notMatch(JSON.stringify(server.documents()), 'canary-two')
})
