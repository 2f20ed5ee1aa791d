// What a record holds of a request's content, and how it is redacted (operations.md 8.2).

import t from 'tap'
import type { JsonObject } from '../../../shared/json.ts'
import { get, post } from '../../support/client.ts'
import { startRecordedGateway } from '../../support/recorded-gateway.ts'
import { askIn, bodyOf, families, urlOf } from '../system/support.ts'

const CAPTURE = { GATEWAY_TRAFFIC_LOG_CAPTURE_CONTENT: 'true' }

/** Two for the cases that need no settings of their own: with capture, and as it is by default. */
const capturing = await startRecordedGateway(t, { env: CAPTURE })
const plain = await startRecordedGateway(t)

t.test('operations 71: captured headers and bodies are redacted', async t => {
  const body = {
    ...bodyOf('completions', 'Bearer abc'),
    max_tokens: 50,
    metadata: { password: 'hunter2', note: 'plain' }
  }
  const response = await post(urlOf(capturing, 'completions'), body, { 'x-api-key': 'client-key', cookie: 'a=b' })
  const expected = {
    max_tokens: 50,
    messages: [{ role: 'user', content: 'Bearer ***' }],
    metadata: { password: '***', note: 'plain' }
  }
  const record = await capturing.recordOf(response)
  t.match(record.request_headers_redacted, {
    'x-api-key': '***',
    cookie: '***',
    'content-type': 'application/json',
    'user-agent': String
  })
  t.match(record.request_body_redacted, expected)
  const answer = record.response_body_redacted as JsonObject
  t.match(answer, { object: 'chat.completion', id: response.json.id })
  const row = await capturing.rowOf(response)
  t.match(JSON.parse(String(row.request_headers)), { 'x-api-key': '***' })
  t.match(JSON.parse(String(row.request_body)), expected)
  t.same(JSON.parse(String(row.response_body)), answer)
})

t.test('operations 72: extra keys are masked under either spelling', async t => {
  const gateway = await startRecordedGateway(t, {
    env: { ...CAPTURE, GATEWAY_TRAFFIC_LOG_REDACT_EXTRA_KEYS: '["customer_token"]' }
  })
  const more = { metadata: { 'Customer-Token': 'abc', customer_token: 'def', customer: 'shown' } }
  const response = await askIn(gateway, 'completions', 'say customer-token=ghi', {
    more,
    headers: { 'customer-token': 'jkl' }
  })
  const record = await gateway.recordOf(response)
  t.match(record.request_body_redacted, {
    metadata: { 'Customer-Token': '***', customer_token: '***', customer: 'shown' },
    messages: [{ content: 'say customer-token=***' }]
  })
  t.match(record.request_headers_redacted, { 'customer-token': '***' })
})

t.test('operations 73: a captured body is cut at its bound, and of a stream there is only its message', async t => {
  const large = await askIn(capturing, 'completions', '[[bigtext:1500000]]')
  t.ok(large.text.length > 1_500_000)
  const body = (await capturing.recordOf(large)).response_body_redacted as JsonObject
  t.same(Object.keys(body).sort(), ['body', 'max_bytes', 'truncated'])
  t.equal(body.truncated, true)
  t.equal(body.max_bytes, 1_000_000)
  const kept = String(body.body)
  t.ok(kept.length > 990_000 && kept.length <= 1_000_000)
  t.ok(large.text.startsWith(kept))

  for (const family of families) {
    const query = family === 'content' ? '?alt=sse' : ''
    const stream = await askIn(capturing, family, '[[chunks:Hello|, |world]]', { stream: true, query })
    const record = await capturing.recordOf(stream)
    t.notMatch(JSON.stringify(record), /data: |event: /)
    t.match(record.response_body_redacted, { object: 'stream', role: 'assistant', content: 'Hello, world' })
    t.match(record.metadata.stream, { event_count: Number, first_event_ms: Number, last_event_ms: Number })
  }
})

t.test('operations 74: what an error quotes of a request is recorded only with capture on, redacted', async t => {
  const broken = 'Bearer abcdef'
  const unseen = await post(urlOf(plain, 'completions'), broken)
  t.equal(unseen.status, 400)
  // The gateway's own words (decisions.md 96).
  t.equal((await plain.recordOf(unseen)).error_message, 'Invalid JSON body.')
  t.equal((await plain.rowOf(unseen)).error_message, 'Invalid JSON body.')

  const seen = await post(urlOf(capturing, 'completions'), broken)
  const { error_message: text = '' } = await capturing.recordOf(seen)
  t.match(text, /^Invalid JSON body: .*Bearer \*\*\*/)
  t.notMatch(text, 'abcdef')
  t.equal((await capturing.rowOf(seen)).error_message, text)
})

t.test('a body that a thread translates is captured too, with its files described', async t => {
  const gateway = await startRecordedGateway(t, { env: { ...CAPTURE, GATEWAY_POOL_THRESHOLD_BYTES: '100000' } })
  const text = `${'word '.repeat(40_000)} Bearer abc`
  const image = `data:image/png;base64,${Buffer.alloc(3000, 1).toString('base64')}`
  const response = await askIn(gateway, 'completions', text, { more: { metadata: { image, token: { a: 1 } } } })
  const body = (await gateway.recordOf(response)).request_body_redacted as { messages: [{ content: string }] }
  t.match(body, { metadata: { image: '[image/png;base64 3000 bytes]', token: '***' } })
  t.match(body.messages[0].content, /^word word .*\[183627 more characters\]$/)
})

t.test('with redaction off the gateway masks its own secrets and nothing else', async t => {
  const key = 'gateway-key-0123456'
  const gateway = await startRecordedGateway(t, {
    env: {
      ...CAPTURE,
      GATEWAY_TRAFFIC_LOG_REDACT_SENSITIVE: 'false',
      GATEWAY_ENABLE_API_KEY_AUTH: 'true',
      GATEWAY_API_KEY: key
    }
  })
  const text = `password=open ${key} upstream-auth-abcdef`
  const response = await askIn(gateway, 'completions', text, { headers: { authorization: `Bearer ${key}` } })
  const record = await gateway.recordOf(response)
  t.match(record.request_body_redacted, { messages: [{ content: 'password=open *** upstream-auth-***' }] })
  t.match(record.request_headers_redacted, { authorization: '***' })
})

t.test('the default configuration stores no content', async t => {
  const marker = 'marker-5d1f'
  for (const family of families) {
    for (const stream of [false, true]) {
      const query = family === 'content' && stream ? '?alt=sse' : ''
      const response = await askIn(plain, family, `[[text:${marker}]] ${marker}`, { stream, query })
      await plain.rowOf(response)
    }
  }
  const failed = await get(`${plain.url}/v1/nowhere?q=${marker}`)
  const row = await plain.rowOf(failed)
  t.match(row, { request_headers: null, request_body: null, response_body: null })
  t.equal(row.error_message, 'Unknown request URL.', "the gateway's own (decisions.md 96)")
  t.notMatch(JSON.stringify(plain.records()), marker)
})
