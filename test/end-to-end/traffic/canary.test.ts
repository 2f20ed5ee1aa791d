// Secrets in every header, query, body and error path of requests: with everything captured that can be, none of them may reach a sink, the
// log, a span, a metric or an admin page (field lesson M1).

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { get, post } from '../../support/client.ts'
import { fetchMetrics } from '../../support/metrics.ts'
import { startOtlpReceiver } from '../../support/otlp/receiver.ts'
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

const bytesOf = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => ({ name: entry.name, text: readFileSync(join(entry.parentPath, entry.name), 'latin1') }))

t.test('planted secrets reach no sink, log, span, metric or admin page', async t => {
  const receiver = await startOtlpReceiver(t, 'http')
  const gateway = await startRecordedGateway(t, {
    env: {
      ...tracingVariables(receiver.url, 'http'),
      UPSTREAM_CREDENTIALS: CREDENTIALS,
      GATEWAY_TRAFFIC_LOG_CAPTURE_CONTENT: 'true',
      GATEWAY_ENABLE_API_KEY_AUTH: 'true',
      GATEWAY_API_KEY: GATEWAY_KEY,
      GATEWAY_API_KEYS: JSON.stringify({ second: NAMED_KEY }),
      GATEWAY_PASS_TOKEN: 'true',
      GATEWAY_ADMIN_API_ENABLED: 'true',
      GATEWAY_ADMIN_API_KEY: ADMIN_KEY,
      GATEWAY_METRICS_ENABLED: 'true',
      GATEWAY_ACCESS_LOG: 'true',
      GATEWAY_LOG_LEVEL: 'DEBUG',
      GATEWAY_OBSERVABILITY_CAPTURE_CONTENT: 'true',
      GATEWAY_OBSERVABILITY_CAPTURE_MESSAGES: 'true',
      GATEWAY_OBSERVABILITY_CAPTURE_TOOL_ARGS: 'true',
      GATEWAY_OBSERVABILITY_CAPTURE_RESPONSES: 'true'
    }
  })
  const { url } = gateway
  const withKey = (key: string) => ({ ...HEADERS, authorization: `Bearer ${key}` })
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
    await post(chat, prompt(`[[error:400 message=${SHAPES.token} and ${SHAPES.assignment}]]`), withKey(GATEWAY_KEY)),
    await post(chat, prompt(`[[error:500 message=${SHAPES.bearer}]]`), withKey(GATEWAY_KEY)),
    // Streams: one that ends, one that fails.
    await post(chat, prompt(`[[text:${TEXT}]]`, { stream: true }), withKey(GATEWAY_KEY)),
    await post(chat, prompt(`[[errframe:400 message=${SHAPES.token}]]`, { stream: true }), withKey(GATEWAY_KEY)),
    await get(`${url}/v1/models/${SHAPES.token}`, withKey(GATEWAY_KEY)),
    await get(`${url}/logs?token=${secret(24)}`, withKey(GATEWAY_KEY)),
    await get(`${url}/_admin/logs?q=${SHAPES.token}`, { ...HEADERS, 'x-admin-api-key': secret(31) })
  ]
  for (const response of responses) await gateway.rowOf(response)
  t.ok(responses.some(({ status }) => status === 200))
  await spansOf(receiver, responses[0]?.headers.get('x-request-id'))

  const admin = { 'x-admin-api-key': ADMIN_KEY }
  const pages: Array<{ name: string; text: string }> = []
  const read = async (path: string) => pages.push({ name: path, text: (await get(url + path, admin)).text })
  for (const path of ['/_admin/logs', '/_admin/logs/tail', '/_admin/logs/export.ndjson', '/_admin/logs/export.csv']) {
    await read(path)
  }
  for (const { id } of gateway.records())
    for (const part of ['', '/request', '/response']) await read(`/_admin/logs/${id}${part}`)
  for (const path of ['/logs/500', '/logs/html']) {
    pages.push({ name: path, text: (await get(url + path, { authorization: `Bearer ${GATEWAY_KEY}` })).text })
  }
  const metrics = await fetchMetrics(`${url}/metrics`, { authorization: `Bearer ${GATEWAY_KEY}` })
  t.equal(metrics.status, 200)
  t.match(pages[0]?.text, /"request_id"/)
  await gateway.stop()

  const places = [
    ...bytesOf(dirname(gateway.files.sqlite)),
    { name: 'gateway.log', text: readFileSync(join(gateway.folder, 'gateway.log'), 'latin1') },
    { name: 'metrics', text: metrics.text },
    ...receiver.spans.map(span => ({ name: `span ${span.name}`, text: JSON.stringify(span, writeBig) })),
    ...pages
  ]
  t.ok(places.length > 40)
  for (const { name, text } of places) {
    const at = text.indexOf(CANARY)
    const around = text.slice(Math.max(0, at - 120), at + 60)
    t.equal(at, -1, `nothing in ${name}${at === -1 ? '' : `: ${around}`}`)
  }
})

function writeBig(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}
