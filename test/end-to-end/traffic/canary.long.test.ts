// Secrets in every header, query, body and error path of requests: with everything captured that
// can be, none of them may reach a sink, the log, a span, a metric, an admin page or a debug page
// (field-lessons.md M1).

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import { get, type HttpResponse, post } from '../../support/client.ts'
import { startGateway } from '../../support/gateway.ts'
import { fetchMetrics } from '../../support/metrics.ts'
import { startSearchServer } from '../../support/opensearch.ts'
import { startOtlpReceiver } from '../../support/otlp/receiver.ts'
import { startPostgres } from '../../support/postgres.ts'
import { waitUntil } from '../../support/processes.ts'
import { startRecordedGateway } from '../../support/recorded-gateway.ts'
import { spansOf, tracingVariables } from '../tracing/support.ts'

/** Is part of every planted secret and of nothing else. */
const CANARY = 'c4n4ry'
const secret = (number: number) => `${CANARY}${String(number).padStart(2, '0')}x7f3a9be2`

const GATEWAY_KEY = `gw-${secret(1)}`
const NAMED_KEY = `gw-${secret(2)}`
const ADMIN_KEY = `admin-${secret(3)}`
const CREDENTIALS = Buffer.from(`client:${secret(4)}`).toString('base64')

/** In the forms in which clients write secrets by mistake. */
const SHAPES = {
  token: `sk-proj-${secret(5)}`,
  google: `AIza${secret(6)}0123456789`,
  jwt: `eyJhbGciOiJI.eyJ${secret(7)}.sig${secret(7)}`,
  pem: `-----BEGIN PRIVATE KEY-----\n${secret(8)}\n-----END PRIVATE KEY-----`,
  bearer: `Bearer ${secret(9)}`,
  passToken: `upstream-cred-${secret(10)}`,
  userInfo: `https://user:${secret(11)}@host.example/x`,
  assignment: `password=${secret(12)}`
}

const HEADERS: Record<string, string> = {
  'x-api-key': secret(13),
  'x-goog-api-key': secret(14),
  'api-key': secret(15),
  cookie: `session=${secret(16)}`,
  'proxy-authorization': `Basic ${secret(17)}`,
  'x-forwarded-for': secret(18),
  'x-customer': secret(19),
  'x-amz-security-token': secret(20),
  referer: `https://host.example/?key=${secret(21)}`,
  'user-agent': `tool/1.0 ${SHAPES.token}`,
  'x-request-id': SHAPES.token,
  'x-trace-id': SHAPES.token,
  'x-span-id': SHAPES.google,
  'x-session-id': SHAPES.jwt,
  'x-agent-id': SHAPES.token
}

const QUERY = `?key=${secret(22)}&x-api-key=${secret(23)}&token=${secret(24)}`
const TEXT = Object.values(SHAPES).join(' and ')

const BODY = {
  model: 'GigaChat-2',
  messages: [
    { role: 'system', content: JSON.stringify({ api_key: secret(25), nested: JSON.stringify({ token: secret(26) }) }) },
    { role: 'user', content: TEXT }
  ],
  metadata: { password: secret(27), note: SHAPES.token },
  authorization: { value: secret(28) },
  [SHAPES.token]: 1
}

/** A text that is searched for secrets. */
interface Place {
  readonly name: string
  readonly text: string
}

const readFiles = (folder: string): Place[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => ({ name: entry.name, text: readFileSync(join(entry.parentPath, entry.name), 'latin1') }))

/** A relational store beside the two other sinks; a gateway writes to one of them only. */
interface Relational {
  readonly variables: Readonly<Record<string, string>>
  /** Its address holds this one. */
  readonly password: string
  /** Every row of every table; those of SQLite are in its files. */
  readRows(): Promise<Place[]>
}

const TABLES = ['gateway_traffic_logs', 'gateway_traffic_payloads', 'gateway_traffic_sums', 'gateway_admin_audit']

async function usePostgres(t: Test): Promise<Relational> {
  const { dsn, password } = await startPostgres(t)
  async function readRows(): Promise<Place[]> {
    const client = new pg.Client({ connectionString: dsn })
    await client.connect()
    try {
      const places: Place[] = []
      for (const table of TABLES) {
        const { rows } = await client.query<object>(`SELECT * FROM ${table}`)
        t.ok(rows.length > 0, `${table} has rows`)
        places.push(...rows.map(row => ({ name: `a row of ${table}`, text: JSON.stringify(row) })))
      }
      return places
    } finally {
      await client.end()
    }
  }
  const variables = {
    GATEWAY_TRAFFIC_LOG_SINKS: 'jsonl,postgres,opensearch',
    GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: dsn,
    GATEWAY_TRAFFIC_LOG_AUTO_MIGRATE: 'true'
  }
  return { variables, password, readRows }
}

const SQLITE: Relational = {
  variables: { GATEWAY_TRAFFIC_LOG_SINKS: 'jsonl,sqlite,opensearch' },
  password: CANARY,
  readRows: async () => []
}

const runs = [
  // A debug log has the pieces of a stream as they are written; a key that is spread over several of them cannot be recognized there.
  { level: 'INFO', streamed: `[[text:${TEXT}]]`, store: 'sqlite', useStore: async () => SQLITE },
  { level: 'DEBUG', streamed: `[[chunks:${JSON.stringify([TEXT])}]]`, store: 'postgres', useStore: usePostgres }
] as const

for (const { level, streamed, store, useStore } of runs)
  t.test(
    `planted secrets reach no sink (jsonl, ${store}, opensearch), log of level ${level}, span, metric or page`,
    async t => {
      const receiver = await startOtlpReceiver(t, 'http')
      const search = await startSearchServer(t, { username: 'gateway', password: secret(32) })
      const relational = await useStore(t)
      const gateway = await startRecordedGateway(t, {
        start: startGateway,
        env: {
          ...tracingVariables(receiver.url, 'http'),
          ...relational.variables,
          GATEWAY_SEARCH_INDEX_URL: search.url,
          GATEWAY_OPENSEARCH_USERNAME: 'gateway',
          GATEWAY_OPENSEARCH_PASSWORD: secret(32),
          GATEWAY_OPENSEARCH_FLUSH_INTERVAL_MS: '20',
          UPSTREAM_CREDENTIALS: CREDENTIALS,
          // Also what is no record by default.
          GATEWAY_TRAFFIC_LOG_EXCLUDE_ROUTES: '[]',
          GATEWAY_TRAFFIC_LOG_CAPTURE_CONTENT: 'true',
          GATEWAY_ENABLE_API_KEY_AUTH: 'true',
          GATEWAY_API_KEY: GATEWAY_KEY,
          GATEWAY_API_KEYS: JSON.stringify({ second: NAMED_KEY }),
          GATEWAY_PASS_TOKEN: 'true',
          GATEWAY_ADMIN_API_ENABLED: 'true',
          GATEWAY_ADMIN_API_KEY: ADMIN_KEY,
          GATEWAY_REPLAY_ENABLED: 'true',
          GATEWAY_DEBUG_TRANSLATE_ENABLED: 'true',
          GATEWAY_METRICS_ENABLED: 'true',
          GATEWAY_ACCESS_LOG: 'true',
          GATEWAY_LOG_LEVEL: level,
          GATEWAY_OBSERVABILITY_CAPTURE_CONTENT: 'true',
          GATEWAY_OBSERVABILITY_CAPTURE_MESSAGES: 'true',
          GATEWAY_OBSERVABILITY_CAPTURE_TOOL_ARGS: 'true',
          GATEWAY_OBSERVABILITY_CAPTURE_RESPONSES: 'true'
        }
      })
      const { url } = gateway
      const withKey = (key: string) => ({ ...HEADERS, authorization: `Bearer ${key}` })
      const admin = { 'x-admin-api-key': ADMIN_KEY }
      const chat = `${url}/v1/chat/completions`
      const prompt = (text: string, more: object = {}) => ({
        ...BODY,
        messages: [{ role: 'user', content: text }],
        ...more
      })
      const responses = [
        await post(`${chat}${QUERY}`, BODY, withKey(GATEWAY_KEY)),
        await post(chat, BODY, withKey(NAMED_KEY)),
        // Keys that are wrong, on a route that is served and on one that is not.
        await post(chat, BODY, withKey(secret(30))),
        await post(`${url}/v1/nowhere/${SHAPES.token}${QUERY}`, BODY, HEADERS),
        // Upstream authorization that cannot be used.
        await post(chat, BODY, { ...HEADERS, 'x-api-key': GATEWAY_KEY, authorization: SHAPES.bearer }),
        // Bodies that cannot be read, whose error texts repeat them.
        await post(chat, SHAPES.bearer, withKey(GATEWAY_KEY)),
        await post(chat, { ...BODY, temperature: SHAPES.token }, withKey(GATEWAY_KEY)),
        await post(chat, { ...BODY, model: SHAPES.token }, withKey(GATEWAY_KEY)),
        await post(`${url}/v1beta/models/${SHAPES.token}:generateContent`, { contents: 1 }, withKey(GATEWAY_KEY)),
        // Errors of the provider that repeat what was sent.
        await post(
          chat,
          prompt(`[[error:400 message=${SHAPES.token} and ${SHAPES.assignment}]]`),
          withKey(GATEWAY_KEY)
        ),
        await post(chat, prompt(`[[error:500 message=${SHAPES.bearer}]]`), withKey(GATEWAY_KEY)),
        // Streams: one that ends, one that fails.
        await post(chat, prompt(streamed, { stream: true }), withKey(GATEWAY_KEY)),
        await post(chat, prompt(`[[errframe:400 message=${SHAPES.token}]]`, { stream: true }), withKey(GATEWAY_KEY)),
        await get(`${url}/v1/models/${SHAPES.token}`, withKey(GATEWAY_KEY)),
        await get(`${url}/logs?token=${secret(24)}`, withKey(GATEWAY_KEY)),
        await get(`${url}/_admin/logs?q=${SHAPES.token}`, { ...HEADERS, 'x-admin-api-key': secret(31) }),
        await get(`${url}/_admin/logs?model=${SHAPES.token}`, admin),
        // Debugging shows what it was sent; nothing of it may stay.
        await post(`${url}/_debug/translate`, { from: 'openai', to: 'upstream', payload: BODY }, admin),
        await post(`${url}/_debug/translate`, { from: SHAPES.token, to: 'upstream', payload: BODY }, admin),
        await post(`${url}/_debug/explain/openai`, BODY, admin)
      ]
      const records = await Promise.all(responses.map(gateway.recordOf))
      const requestIds = records.map(({ request_id }) => request_id)
      t.ok(responses.some(({ status }) => status === 200))
      await spansOf(receiver, requestIds[0])

      const pages: Place[] = []
      const keep = (name: string, { status, text }: HttpResponse) => {
        t.equal(status, 200, name)
        pages.push({ name, text })
        return text
      }
      const list = '/_admin/logs?limit=500'
      const isListed = async () => {
        const { text } = await get(url + list, admin)
        return requestIds.every(id => text.includes(id))
      }
      await waitUntil(isListed, 'every request is in the list')
      for (const path of [list, '/tail', '/export.ndjson', '/export.csv', '/sums', '/latencies', '/health']) {
        const page = path.startsWith('/_admin') ? path : `/_admin/logs${path}`
        keep(page, await get(url + page, admin))
      }
      for (const { id } of records)
        for (const part of ['', '/request', '/response']) {
          const page = `/_admin/logs/${id}${part}`
          keep(page, await get(url + page, admin))
        }
      const chatId = records[0]?.id
      keep('replay', await post(`${url}/_admin/logs/${chatId}/replay`, {}, admin))
      keep('redact', await post(`${url}/_admin/logs/${chatId}/redact`, {}, admin))
      // Secrets in the headers and the query of a debugging call, and none in its body.
      const plain = { model: 'GigaChat-2', messages: [{ role: 'user', content: 'hello' }] }
      const debugging = { ...withKey(GATEWAY_KEY), ...admin }
      const translation = { from: 'openai', to: 'upstream', payload: plain }
      keep('translate', await post(`${url}/_debug/translate`, translation, debugging))
      keep('explain', await post(`${url}/_debug/explain/openai`, plain, debugging))
      for (const path of [
        '/logs/500',
        '/logs/html',
        '/docs',
        '/openapi.json',
        '/bridge/models',
        '/bridge/capabilities'
      ]) {
        keep(path, await get(url + path, { authorization: `Bearer ${GATEWAY_KEY}` }))
      }
      const metrics = await fetchMetrics(`${url}/metrics`, { authorization: `Bearer ${GATEWAY_KEY}` })
      t.equal(metrics.status, 200)
      await gateway.stop()

      const documents = search.documents()
      const documentIds = new Set(documents.map(({ source }) => source.request_id))
      t.strictSame(
        requestIds.filter(id => !documentIds.has(id)),
        [],
        'the search server has every record'
      )
      const places = [
        // The file of lines is in a folder of this one.
        ...readFiles(dirname(gateway.files.sqlite)),
        ...(await relational.readRows()),
        ...documents.map(({ id, source }) => ({ name: `document ${id}`, text: JSON.stringify(source) })),
        // What the search server keeps of a record is not all that it was sent.
        ...search.calls.map(({ path, body }) => ({ name: `search call ${path}`, text: `${path}\n${body}` })),
        { name: 'gateway.log', text: readFileSync(join(gateway.folder, 'gateway.log'), 'latin1') },
        { name: 'metrics', text: metrics.text },
        ...receiver.spans.map(span => ({ name: `span ${span.name}`, text: JSON.stringify(span, writeBig) })),
        ...pages
      ]
      t.ok(places.length > 100)
      for (const { name, text } of places) {
        for (const planted of new Set([CANARY, relational.password])) {
          const at = text.indexOf(planted)
          const around = text.slice(Math.max(0, at - 120), at + 60)
          t.equal(at, -1, `nothing in ${name}${at === -1 ? '' : `: ${around}`}`)
        }
      }
    }
  )

function writeBig(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}
