// Why a request failed and whose it was: the record and the access line of every way to end (decisions.md 96).
import { connect } from 'node:net'
import t from 'tap'
import { BASE_FEATURES } from '../../../shared/profile/profile.ts'
import type { TrafficRecord } from '../../../shared/traffic/record.ts'
import { get, post } from '../../support/client.ts'
import { readLog, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { chatBaseUrl, writeChatProfile, writeProfileFile } from '../../support/profile-gateway.ts'
import { startRecordedGateway } from '../../support/recorded-gateway.ts'
import { askIn, bodyOf, families, urlOf } from '../system/support.ts'

const PROMPT = 'prompt-9f3a'
const KEY = 'key-of-the-team-01234'
const headers = { authorization: `Bearer ${KEY}` }
const ALIAS = 'demo/chat'
/** It reads no images. */
const BLIND = 'demo/blind'

const emulator = await startEmulator(t)
const profileFile = writeProfileFile(t, [
  writeChatProfile({
    id: 'desk',
    baseUrl: chatBaseUrl(emulator),
    aliases: [{ alias: ALIAS }, { alias: BLIND, features: BASE_FEATURES }]
  })
])

function start(env: Record<string, string> = {}) {
  return startRecordedGateway(t, {
    env: {
      GATEWAY_ENABLE_API_KEY_AUTH: 'true',
      GATEWAY_API_KEYS: JSON.stringify({ team: KEY }),
      GATEWAY_ACCESS_LOG: 'true',
      GATEWAY_MAX_REQUEST_BODY_BYTES: '3000',
      ...env
    },
    start: (test, options) => startGateway(test, { ...options, args: ['--config', profileFile] })
  })
}

const gateway = await start()
/** The access line of a record; its facts are those of the record. */
async function lineOf({ request_id }: TrafficRecord): Promise<Record<string, unknown>> {
  const find = () => readLog(gateway).find(line => line.event === 'http_access' && line.request_id === request_id)
  await waitUntil(() => find() !== undefined, `the line of ${request_id} is there`)
  return find() as Record<string, unknown>
}

t.test('a refused request has code, field and message in its record, its row and its access line', async t => {
  const cases = [
    {
      response: await get(`${gateway.url}/nowhere`),
      expected: { error_code: 'unknown_url', error_message: 'Unknown request URL.' }
    },
    {
      response: await askIn(gateway, 'messages', PROMPT, { model: ALIAS, headers, more: { temperature: 'hot' } }),
      expected: {
        error_code: 'invalid_request',
        error_field: 'temperature',
        error_message: "'temperature' must be a number, but it is a string.",
        metadata: { api_key_name: 'team' }
      }
    },
    {
      response: await post(urlOf(gateway, 'completions'), `{"a": "${PROMPT}" ${PROMPT}}`, headers),
      expected: {
        error_code: 'invalid_json',
        error_message: /^Invalid JSON body at position \d+ \(line 1 column \d+\)\.$/
      }
    },
    {
      response: await askIn(gateway, 'completions', 'x'.repeat(3000), { model: ALIAS, headers }),
      expected: {
        status_code: 413,
        error_code: 'request_entity_too_large',
        error_message: /exceeds limit of 3000 bytes/
      }
    },
    {
      response: await askIn(gateway, 'completions', PROMPT, { model: 'nobody/knows', headers }),
      expected: { error_code: 'unknown_model_alias', error_field: 'model', model_requested: 'nobody/knows' }
    },
    {
      response: await get(`${gateway.url}/v1/chat/completions`),
      expected: { status_code: 405, error_code: 'method_not_allowed', error_message: 'Method Not Allowed' }
    },
    {
      response: await get(`${gateway.url}/logs?lines=0`, headers),
      expected: {
        error_code: 'invalid_parameter',
        error_field: 'query.lines',
        error_message: 'Invalid request parameters. query.lines: Input should be greater than or equal to 1'
      }
    }
  ]
  for (const { response, expected } of cases) {
    const record = await gateway.recordOf(response)
    t.match(record, expected)
    const { error_code, error_field = null, error_message = null } = record
    t.match(await gateway.rowOf(response), { error_code, error_field, error_message })
    t.match(await lineOf(record), {
      error_code,
      ...(error_field && { error_field }),
      ...(error_message && { error_message })
    })
  }
})

t.test('all wrong keys have a fingerprint and no name; a known key has its name and no fingerprint', async t => {
  const wrong = await askIn(gateway, 'completions', 'hello', { headers: { 'x-api-key': 'wrong-1' } })
  const refused = await gateway.recordOf(wrong)
  t.match(refused, { status_code: 401, error_code: 'invalid_api_key', api_key_hash: /^hmac-sha256:/ })
  t.notOk('api_key_name' in refused.metadata)
  t.match(await lineOf(refused), { error_message: 'Invalid API key', api_key_hash: refused.api_key_hash })

  // The key that was checked is that of the query, and not the known one of the header.
  const both = await get(`${gateway.url}/v1/models?key=wrong-1`, { 'x-api-key': KEY })
  const queried = await gateway.recordOf(both)
  t.match(queried, { status_code: 401, api_key_hash: refused.api_key_hash })
  t.notOk('api_key_name' in queried.metadata)

  const missing = await gateway.recordOf(await askIn(gateway, 'completions', 'hello'))
  t.match(missing, { error_code: 'invalid_api_key', error_message: 'API key required' })
  t.notOk('api_key_hash' in missing)

  for (const response of [
    await askIn(gateway, 'completions', PROMPT, { model: ALIAS, headers }),
    await get(`${gateway.url}/nowhere`, headers)
  ]) {
    const record = await gateway.recordOf(response)
    t.equal(record.metadata.api_key_name, 'team', 'also where no key is checked')
    t.notOk('api_key_hash' in record)
    const line = await lineOf(record)
    t.equal(line.api_key_name, 'team')
    t.notOk('api_key_hash' in line)
  }
})

t.test('a request that its alias does not admit has the alias and its profile', async t => {
  const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }
  const messages = [{ role: 'user', content: [picture] }]
  for (const stream of [false, true]) {
    const response = await post(urlOf(gateway, 'completions'), { model: BLIND, stream, messages }, headers)
    t.equal(response.status, 400)
    const record = await gateway.recordOf(response)
    const route = { alias: BLIND, profile_id: 'desk', error_code: 'unsupported_semantic' }
    t.match(record, {
      ...route,
      model_requested: BLIND,
      error_field: /^messages\[0\]/,
      metadata: { profile_id: 'desk' }
    })
    t.notOk('upstream_status_code' in record)
    t.match(await lineOf(record), route)
    t.match(await gateway.rowOf(response), route)
  }
})

t.test(
  'a request that was routed has its alias, its profile, the status of its provider and what was ignored',
  async t => {
    for (const stream of [false, true]) {
      const response = await askIn(gateway, 'messages', 'hello', { model: ALIAS, headers, stream, more: { top_k: 3 } })
      t.equal(response.status, 200)
      const record = await gateway.recordOf(response)
      t.match(record, {
        alias: ALIAS,
        profile_id: 'desk',
        upstream_status_code: 200,
        metadata: { ignored_fields: ['top_k'], ...(stream && { is_stream: true, first_token_ms: Number }) }
      })
      t.equal('is_stream' in record.metadata, stream)
      for (const name of ['error_code', 'error_field', 'error_message', 'error_type']) t.notOk(name in record)
      t.match(await gateway.rowOf(response), { alias: ALIAS, profile_id: 'desk', error_code: null })
      t.match(await lineOf(record), {
        alias: ALIAS,
        profile_id: 'desk',
        upstream_status_code: 200,
        ignored_fields: ['top_k']
      })
    }
  }
)

t.test('a secret in the place of the name of a field is masked', async t => {
  const secret = `sk-proj-${'aB3dE5gH7'.repeat(5)}`
  const response = await askIn(gateway, 'messages', 'hello', { model: ALIAS, headers, more: { [secret]: 1, top_k: 3 } })
  const record = await gateway.recordOf(response)
  t.same(record.metadata.ignored_fields, ['***', 'top_k'])
  t.same((await lineOf(record)).ignored_fields, ['***', 'top_k'])
})

t.test("a provider's words are recorded only where content is captured, redacted", async t => {
  const capturing = await start({ GATEWAY_TRAFFIC_LOG_CAPTURE_CONTENT: 'true' })
  const directive = (status: number) => `[[error:${status} json message=Bad ${PROMPT} Bearer abcdef]]`
  const cases = [
    [400, 'upstream_rejected', 'The upstream rejected the request.'],
    [429, 'rate_limited', 'The upstream is limiting requests.'],
    [500, 'provider_failure', 'The provider failed.']
  ] as const
  for (const [status, error_code, error_message] of cases) {
    for (const family of families) {
      const response = await askIn(gateway, family, directive(status), { model: ALIAS, headers })
      const record = await gateway.recordOf(response)
      t.match(record, { error_code, error_message, alias: ALIAS, upstream_status_code: status }, `${family} ${status}`)
    }
    const seen = await askIn(capturing, 'completions', directive(status), { model: ALIAS, headers })
    const { error_message: words = '' } = await capturing.recordOf(seen)
    t.ok(words.includes(`Bad ${PROMPT}`), words)
    t.notMatch(words, 'abcdef')
  }
  const stream = { model: ALIAS, headers, stream: true }
  const broken = await askIn(gateway, 'completions', `[[errframe:500 message=${PROMPT}]]`, stream)
  t.equal(broken.status, 200)
  t.match(await gateway.recordOf(broken), {
    status_code: 200,
    error_code: 'provider_failure',
    error_message: 'The provider failed.',
    metadata: { lifecycle: 'streaming_aborted', is_stream: true }
  })
})

t.test('a request that is no request, and one whose client leaves, have code and message too', async t => {
  const { hostname, port } = new URL(gateway.url)
  const broken = connect(Number(port), hostname, () => broken.write('NO HTTP\r\n\r\n'))
  broken.resume()
  const malformed = await gateway.recordWhere(({ method }) => method === 'OTHER', 'a record of what is no request')
  t.match(malformed, { status_code: 400, error_code: 'invalid_request', error_message: 'Bad Request' })

  const controller = new AbortController()
  const body = JSON.stringify(bodyOf('completions', '[[slow:20000]]', { model: ALIAS }))
  const sent = fetch(urlOf(gateway, 'completions'), { method: 'POST', body, headers, signal: controller.signal })
  await waitUntil(() => emulator.requests.some(request => JSON.stringify(request).includes('slow:20000')), 'it is sent')
  controller.abort()
  await t.rejects(sent)
  const left = await gateway.recordWhere(({ status_code }) => status_code === 499, 'a record of who left')
  t.match(left, {
    error_code: 'client_disconnected',
    error_message: 'The client closed the connection.',
    error_type: 'request_cancelled',
    alias: ALIAS
  })
})

t.test('no record and no line of these requests has a word of a prompt', async t => {
  t.notOk(JSON.stringify(gateway.records()).includes(PROMPT))
  const lines = readLog(gateway).filter(({ event }) => event === 'http_access')
  t.notOk(JSON.stringify(lines).includes(PROMPT))
})
