// What a record holds, for every way in which a request can end (operations.md 8.1).

import { chmodSync, lstatSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import t from 'tap'
import { get, post } from '../../support/client.ts'
import { startDraining } from '../../support/drain.ts'
import { waitUntil } from '../../support/processes.ts'
import { createTrafficFiles, type RecordedGateway, startRecordedGateway } from '../../support/recorded-gateway.ts'
import { askIn, bodyOf, families, urlOf } from '../system/support.ts'

const PROTOCOLS = { completions: 'openai', responses: 'openai', messages: 'anthropic', content: 'gemini' } as const
const CONTENT = ['error_message', 'request_headers_redacted', 'request_body_redacted', 'response_body_redacted']

/** For the cases that need none of the settings that rule out another. */
const shared = await startRecordedGateway(t, {
  env: { UPSTREAM_MODEL: 'GigaChat-2-Pro', UPSTREAM_MAX_RETRIES: '0', GATEWAY_MAX_REQUEST_BODY_BYTES: '2000' }
})
const keys = { current: 'key-current-0123456', next: 'key-next-0123456' }
/** For the cases with keys of the gateway. */
const locked = await startRecordedGateway(t, {
  env: {
    GATEWAY_ENABLE_API_KEY_AUTH: 'true',
    GATEWAY_API_KEY: 'key-default-012345',
    GATEWAY_API_KEYS: JSON.stringify(keys)
  }
})

/** The ids that the head of a response has on the socket. */
function readRequestId(head: string): string {
  return /x-request-id: (\S+)/i.exec(head)?.[1] ?? ''
}

/** Sends bytes and resolves with what comes back until the connection closes. */
function sendRaw({ url }: RecordedGateway, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    let text = ''
    socket.on('data', chunk => (text += String(chunk)))
    socket.on('close', () => resolve(text))
    socket.on('error', reject)
  })
}

t.test('operations 69: a JSONL record is one private line with sorted members and without content', async t => {
  const files = createTrafficFiles(t)
  mkdirSync(dirname(files.jsonl))
  for (const path of [files.jsonl, files.sqlite]) {
    writeFileSync(path, '')
    chmodSync(path, 0o644)
  }
  const gateway = await startRecordedGateway(t, { files })
  const response = await askIn(gateway, 'completions', 'hello')
  const record = await gateway.recordOf(response)
  await gateway.rowOf(response)
  for (const path of [files.jsonl, files.sqlite, `${files.sqlite}-wal`, `${files.sqlite}-shm`]) {
    t.equal(statSync(path).mode & 0o777, 0o600, path)
  }
  const lines = readFileSync(files.jsonl, 'utf8').split('\n').filter(Boolean)
  t.equal(lines.length, 1)
  const [line = ''] = lines
  t.match(line, /^\{"api_key_hash|^\{"client_ip_hash/)
  t.notOk(/":\S|,"/.test(line.replaceAll(/"(?:[^"\\]|\\.)*"(?!:)/g, '""')), 'a space follows each colon and comma')
  const sorted = (value: object): boolean =>
    JSON.stringify(Object.keys(value)) === JSON.stringify(Object.keys(value).sort()) &&
    Object.values(value).every(member => typeof member !== 'object' || member === null || sorted(member))
  t.ok(sorted(JSON.parse(line)))
  t.notMatch(line, 'null')
  for (const name of CONTENT) t.notOk(name in record)

  const target = createTrafficFiles(t)
  mkdirSync(dirname(target.jsonl))
  writeFileSync(target.jsonl, 'kept\n')
  const linked = createTrafficFiles(t)
  mkdirSync(dirname(linked.jsonl))
  symlinkSync(target.jsonl, linked.jsonl)
  await t.rejects(startRecordedGateway(t, { files: linked }), /GATEWAY_TRAFFIC_LOG_JSONL_PATH must name a file/)
  t.ok(lstatSync(linked.jsonl).isSymbolicLink())
  t.equal(readFileSync(target.jsonl, 'utf8'), 'kept\n')
})

t.test('the path of a record is the one that the client sent, its route the one that was found', async t => {
  for (const path of ['/myprefix/v1/v1/models', '/v1/models/']) {
    const response = await get(`${shared.url}${path}?key=hidden-0123`)
    t.equal(response.status, 200)
    t.match(await shared.recordOf(response), { route: '/v1/models', metadata: { path } })
  }
})

t.test('operations 70: refused and unknown requests are recorded', async t => {
  const refused = await askIn(locked, 'completions', 'hello', { headers: { 'x-api-key': 'wrong-key-4567' } })
  const unknown = await get(`${locked.url}/nowhere?key=hidden-0123`)
  t.same([refused.status, unknown.status], [401, 404])
  t.match(await locked.recordOf(refused), {
    status_code: 401,
    error_type: 'http_401',
    protocol: 'openai',
    route: '/v1/chat/completions',
    api_key_hash: /^hmac-sha256:[0-9a-f]{16}$/,
    metadata: { lifecycle: 'request_error', path: '/v1/chat/completions' }
  })
  t.match(await locked.recordOf(unknown), {
    status_code: 404,
    error_type: 'http_404',
    protocol: 'system',
    route: 'unmatched',
    metadata: { lifecycle: 'request_error', path: '/nowhere' }
  })
  t.match(await locked.rowOf(refused), { status_code: 401, error_type: 'http_401' })
  t.match(await locked.rowOf(unknown), { status_code: 404, error_type: 'http_404' })
  t.notMatch(readFileSync(locked.files.jsonl, 'utf8'), /hidden-0123|wrong-key/)
})

t.test('every family has all members of a request that succeeds', async t => {
  for (const family of families) {
    for (const stream of [false, true]) {
      const query = family === 'content' && stream ? '?alt=sse' : ''
      const headers = { 'x-trace-id': 'trace-1', 'x-span-id': 'span-1', 'x-request-id': 'mine-1' }
      const response = await askIn(shared, family, '[[usage:3,2,0]]', { stream, query, headers })
      const record = await shared.recordOf(response)
      t.match(
        record,
        {
          id: /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/,
          created_at: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/,
          trace_id: 'trace-1',
          span_id: 'span-1',
          protocol: PROTOCOLS[family],
          method: 'POST',
          status_code: 200,
          model_requested: 'GigaChat-2',
          model_effective: 'GigaChat-2',
          provider: 'native',
          upstream_status_code: 200,
          latency_ms: Number,
          upstream_latency_ms: Number,
          input_tokens: 3,
          output_tokens: 2,
          total_tokens: 5,
          client_ip_hash: /^hmac-sha256:/,
          metadata: {
            lifecycle: stream ? 'streaming_completed' : 'request_completed',
            model_source: 'payload',
            client_request_id: 'mine-1',
            annotations: { caller: { name: String, category: String } }
          }
        },
        `${family} ${stream ? 'stream' : 'whole'}`
      )
      t.equal(typeof record.metadata.first_token_ms, stream ? 'number' : 'undefined')
      for (const name of [...CONTENT, 'error_type']) t.notOk(name in record)
    }
  }
})

t.test("the total of the provider's token counts is recorded, also where it is not their sum", async t => {
  for (const [usage, expected] of [
    [
      { prompt_tokens: 3, completion_tokens: 2, total_tokens: 9 },
      { input_tokens: 3, output_tokens: 2, total_tokens: 9 }
    ],
    [{ total_tokens: 9 }, { input_tokens: undefined, output_tokens: undefined, total_tokens: 9 }],
    [
      { prompt_tokens: 3, completion_tokens: 2 },
      { input_tokens: 3, output_tokens: 2, total_tokens: 5 }
    ]
  ] as const) {
    const message = { role: 'assistant', content: 'ok' }
    shared.emulator.respondNext({ body: { choices: [{ index: 0, message, finish_reason: 'stop' }], usage } })
    const response = await askIn(shared, 'completions', 'hello')
    t.equal(response.json.usage.total_tokens, expected.total_tokens)
    t.match(await shared.recordOf(response), expected)
    t.equal((await shared.rowOf(response)).total_tokens, expected.total_tokens)
  }
})

t.test('the model of the settings is told apart, and a refused model is named', async t => {
  const body = { messages: [{ role: 'user', content: 'hi' }] }
  const unnamed = await post(`${shared.url}/v1/chat/completions`, body)
  t.match(await shared.recordOf(unnamed), {
    status_code: 200,
    model_requested: undefined,
    metadata: { model_source: 'default' }
  })
  // This gateway has no model in its settings.
  const missing = await post(`${locked.url}/v1/chat/completions`, body, { 'x-api-key': keys.current })
  t.match(await locked.recordOf(missing), { status_code: 400, model_requested: undefined })
  const invalid = await post(urlOf(shared, 'completions'), { ...bodyOf('completions', 'x'), temperature: 'hot' })
  t.match(await shared.recordOf(invalid), { status_code: 400, error_type: 'http_400', model_requested: 'GigaChat-2' })
  const named = await post(`${shared.url}/v1beta/models/some-model:generateContent`, { contents: 5 })
  t.match(await shared.recordOf(named), { status_code: 400, model_requested: 'some-model' })
})

t.test('long ids and names are cut, so that every store takes them', async t => {
  const long = 'x'.repeat(3000)
  const listed = await get(`${shared.url}/v1/models`, { 'x-trace-id': long, 'x-span-id': long })
  const named = await post(`${shared.url}/v1beta/models/${long}:generateContent`, bodyOf('content', 'hi'))
  const cut = 'x'.repeat(512)
  const { trace_id, span_id } = await shared.recordOf(listed)
  t.same([trace_id, span_id], [cut, cut])
  t.equal((await shared.recordOf(named)).model_requested, cut)
})

t.test('failures of the provider have their word, their status and their time', async t => {
  const failed = await askIn(shared, 'completions', '[[error:429]]')
  t.match(await shared.recordOf(failed), { status_code: 429, upstream_status_code: 429, upstream_latency_ms: Number })
  const broken = await askIn(shared, 'messages', '[[len:50]][[die:5]]', { stream: true })
  const record = await shared.recordOf(broken)
  t.match(record, {
    status_code: 200,
    upstream_status_code: 200,
    metadata: { lifecycle: 'streaming_aborted', bytes_sent: Number }
  })
  t.ok(record.error_type)
})

t.test('malformed heads, wrong methods, large bodies and system routes are recorded', async t => {
  const malformed = readRequestId(await sendRaw(shared, 'BROKEN\r\n\r\n'))
  t.match(await shared.recordWhere(({ request_id }) => request_id === malformed, 'the malformed one is there'), {
    status_code: 400,
    error_type: 'http_400',
    route: 'unmatched',
    protocol: 'system',
    client_ip_hash: /^hmac-sha256:/
  })
  const wrongMethod = await get(`${shared.url}/v1/chat/completions`)
  t.match(await shared.recordOf(wrongMethod), { status_code: 405, method: 'GET', error_type: 'http_405' })
  const large = await post(urlOf(shared, 'messages'), bodyOf('messages', 'x'.repeat(5000)))
  t.match(await shared.recordOf(large), { status_code: 413, error_type: 'http_413', protocol: 'anthropic' })
  const system = await get(`${shared.url}/bridge/models`)
  t.match(await shared.recordOf(system), { status_code: 200, route: '/bridge/models', protocol: 'system' })
})

t.test('a request that the drain refuses is recorded before the gateway exits', async t => {
  const gateway = await startRecordedGateway(t)
  const draining = await startDraining(t, gateway)
  const refused = await askIn(draining, 'messages', 'late')
  t.equal(refused.status, 503)
  await gateway.stop()
  t.match(
    gateway.records().find(({ request_id }) => request_id === refused.headers.get('x-request-id')),
    { status_code: 503, error_type: 'http_503', route: '/v1/messages', model_requested: undefined }
  )
})

t.test('keys have names in the records, several are valid at once, and a secret key is in none', async t => {
  const names: Record<string, unknown> = {}
  for (const key of ['key-default-012345', keys.current, keys.next]) {
    const response = await askIn(locked, 'completions', 'hello', { headers: { authorization: `Bearer ${key}` } })
    t.equal(response.status, 200)
    names[key] = (await locked.recordOf(response)).metadata.api_key_name
  }
  t.same(names, { 'key-default-012345': 'default', [keys.current]: 'current', [keys.next]: 'next' })
  const text = readFileSync(locked.files.jsonl, 'utf8')
  for (const key of Object.keys(names)) t.notOk(text.includes(key))
})

t.test('operations-probes: one record for one chat, none for probes, scrapes and files of pages', async t => {
  const env = {
    GATEWAY_METRICS_ENABLED: 'true',
    GATEWAY_METRICS_PATH: '/figures',
    GATEWAY_ADMIN_API_ENABLED: 'true',
    GATEWAY_ADMIN_API_KEY: 'adm'
  }
  const asking = async (gateway: RecordedGateway) => {
    for (let index = 0; index < 10; index += 1) {
      for (const path of ['/health', '/ready', '/livez']) await get(gateway.url + path)
    }
    for (const path of ['/figures', '/docs/docs.css', '/favicon.ico', '/_admin/ui']) await get(gateway.url + path)
    for (const path of ['/_admin/logs/health', '/_admin/logs/sums', '/_admin/keys']) {
      await get(gateway.url + path, { 'x-admin-api-key': 'adm' })
    }
    return askIn(gateway, 'completions', 'hello')
  }
  const gateway = await startRecordedGateway(t, { env })
  await gateway.rowOf(await asking(gateway))
  t.same(
    gateway.records().map(({ route }) => route),
    ['/v1/chat/completions']
  )
  const everything = await startRecordedGateway(t, { env: { ...env, GATEWAY_TRAFFIC_LOG_EXCLUDE_ROUTES: '[]' } })
  await everything.rowOf(await asking(everything))
  await waitUntil(() => everything.records().length === 38, 'every request is recorded')
})

t.test('routes are left out by their template, and sampling keeps every failure', async t => {
  const gateway = await startRecordedGateway(t, {
    env: { GATEWAY_TRAFFIC_LOG_EXCLUDE_ROUTES: '["/health"]', GATEWAY_TRAFFIC_LOG_SAMPLE_RATE: '0' }
  })
  for (let index = 0; index < 3; index += 1) {
    await get(`${gateway.url}/health`)
    await askIn(gateway, 'completions', 'hello')
  }
  const failed = await get(`${gateway.url}/nowhere`)
  await gateway.recordOf(failed)
  t.equal(gateway.records().length, 1)
})
