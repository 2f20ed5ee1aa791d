// What the requests of a gateway are counted as (operations.md 7.2 to 7.5).

import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { get, post } from '../../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { fetchMetrics, scrape, scrapeUntil } from '../../support/metrics.ts'
import type { MetricsText } from '../../support/metrics-text.ts'
import { waitUntil } from '../../support/processes.ts'
import { chatBaseUrl, startProfileGateway, writeChatProfile } from '../../support/profile-gateway.ts'
import { askIn, families, openStream } from '../system/support.ts'

const emulator = await startEmulator(t)
const variables = { ...emulatorVariables(emulator), GATEWAY_METRICS_ENABLED: 'True' }
const MODEL = 'GigaChat-2-Max'
const askModel = { model: MODEL }

const chat = (text: string, more: object = {}) => ({
  ...askModel,
  messages: [{ role: 'user', content: text }],
  ...more
})
const requestsOf = (metrics: MetricsText, labels: Record<string, string>) =>
  metrics.sum('gateway_requests_total', labels)

/** For the cases that need no settings of their own; their labels differ. */
const shared = await startGateway(t, { env: variables })

t.test('operations 62: a chat is counted once with all its labels', async t => {
  const gateway = shared
  const { status } = await post(`${gateway.url}/v1/chat/completions`, chat('hi'))
  t.equal(status, 200)
  await scrapeUntil(gateway, metrics => requestsOf(metrics, { provider: 'native' }) === 1, 'the chat is counted')
  const { text } = await fetchMetrics(`${gateway.url}/metrics`)
  const line =
    'gateway_requests_total{lifecycle="request_completed",method="POST",protocol="openai",provider="native",' +
    'route="/v1/chat/completions",status="200"} 1'
  t.ok(text.split('\n').includes(line), line)
  const { headers } = await get(`${gateway.url}/metrics`)
  t.equal(headers.get('cache-control'), 'no-store')
  t.equal(headers.get('x-content-type-options'), 'nosniff')
})

t.test("operations 63: the upstream's token counts are counted in every family", async t => {
  const gateway = await startGateway(t, { env: variables })
  const names = { completions: 'openai', responses: 'openai', messages: 'anthropic', content: 'gemini' }
  const routes = {
    completions: '/v1/chat/completions',
    responses: '/v1/responses',
    messages: '/v1/messages',
    content: '/v1beta/models/{model}:'
  }
  // The catalog knows the name from its first discovery on. A list that a client asks for before would be counted as well.
  await waitUntil(async () => (await get(`${gateway.url}/ready`)).status === 200, 'the models are known')
  t.equal((await get(`${gateway.url}/v1/models`)).status, 200)
  for (const family of families) {
    for (const stream of [false, true]) {
      const query = family === 'content' && stream ? '?alt=sse' : ''
      const { status } = await askIn(gateway, family, '[[usage:3,2,0]]', { ...askModel, stream, query })
      t.equal(status, 200, family)
    }
  }
  const metrics = await scrapeUntil(
    gateway,
    metrics => requestsOf(metrics, { provider: 'native' }) === 2 * families.length,
    'all are counted'
  )
  for (const family of families) {
    const protocol = names[family]
    const ofFamily = (name: string) =>
      metrics
        .samples(name, { protocol, provider: 'native', model: MODEL })
        .filter(({ labels }) => labels.route?.startsWith(routes[family]))
    const sum = (name: string) => ofFamily(name).reduce((total, { value }) => total + value, 0)
    t.equal(sum('gateway_tokens_input_total'), 6, family)
    t.equal(sum('gateway_tokens_output_total'), 4, family)
  }
  const labels = { model: MODEL, provider: 'native' }
  t.equal(metrics.sum('gateway_time_to_first_token_seconds_count', labels), 4, 'K6: one for each stream')
  t.equal(metrics.sum('gateway_time_to_first_byte_seconds_count', labels), 4)
  t.equal(metrics.sum('gateway_inter_token_seconds_count', labels), 4)
  t.equal(metrics.sum('gateway_output_tokens_per_second_count', labels), 8)
  t.equal(metrics.sum('gateway_overhead_seconds_count', { provider: 'native' }), 8)

  const before = metrics.sum('gateway_tokens_input_total')
  const embedded = await post(`${gateway.url}/v1/embeddings`, { model: 'Embeddings', input: 'hi' })
  const counted = await post(`${gateway.url}/v1/messages/count_tokens`, chat('hi'))
  t.same([embedded.status, counted.status], [200, 200])
  const after = await scrapeUntil(
    gateway,
    metrics => requestsOf(metrics, { provider: 'native' }) === 2 * families.length + 2,
    'the embedding and the count are counted'
  )
  t.equal(after.sum('gateway_tokens_input_total') - before, embedded.json.usage.prompt_tokens, 'embeddings have input')
  t.equal(after.sum('gateway_tokens_output_total', { route: '/v1/embeddings' }), 0)
  t.same(after.samples('gateway_tokens_input_total', { route: '/v1/messages/count_tokens' }), [])
})

t.test('operations 64: upstream failures are counted by status or kind', async t => {
  const gateway = await startGateway(t, { env: { ...variables, UPSTREAM_MAX_RETRIES: '1' } })
  const labels = { protocol: 'openai', provider: 'native', route: '/v1/chat/completions' }
  t.equal((await post(`${gateway.url}/v1/chat/completions`, chat('[[error:429]]'))).status, 429)
  const refused = await scrapeUntil(
    gateway,
    metrics => requestsOf(metrics, labels) === 1,
    'the refused chat is counted'
  )
  const attempts = refused.sum('gateway_upstream_requests_total', { provider: 'native', status: '429' })
  t.ok(attempts >= 1)
  t.equal(refused.sum('gateway_upstream_errors_total', { ...labels, status: '429' }), attempts)
  t.equal(refused.sum('gateway_upstream_duration_seconds_count', { ...labels, status: '429' }), attempts)
  t.equal(refused.sum('gateway_upstream_retries_total', { provider: 'native' }), attempts - 1)
  t.equal(requestsOf(refused, { ...labels, status: '429', lifecycle: 'request_error' }), 1)

  const content = [
    ['[[badjson]]', 'protocol_error'],
    ['[[die:0]]', 'connect_error'],
    ['[[error:500]]', '500']
  ] as const
  for (const [index, [text, status]] of content.entries()) {
    await post(`${gateway.url}/v1/chat/completions`, chat(text))
    const metrics = await scrapeUntil(gateway, metrics => requestsOf(metrics, labels) === index + 2, text)
    t.ok(metrics.sum('gateway_upstream_errors_total', { ...labels, status }) >= 1, `${text} ${status}`)
  }

  const lost = await startGateway(t, {
    env: {
      ...variables,
      UPSTREAM_ACCESS_TOKEN: 'token',
      UPSTREAM_CREDENTIALS: undefined,
      UPSTREAM_BASE_URL: 'http://127.0.0.1:9/api/v1'
    }
  })
  t.equal((await post(`${lost.url}/v1/chat/completions`, chat('hi'))).status, 502)
  const metrics = await scrapeUntil(lost, metrics => requestsOf(metrics, labels) === 1, 'the failed chat is counted')
  t.equal(metrics.sum('gateway_upstream_errors_total', { ...labels, status: 'connect_error' }), 1)

  const ofList = { protocol: 'openai', route: '/v1/models' }
  const named = { ...ofList, provider: 'native', status: 'connect_error' }
  const countCalls = (metrics: MetricsText) => metrics.sum('gateway_upstream_errors_total', named)
  let listed = metrics
  // A request that finds a discovery of the gateway itself under way waits for that, and makes no call.
  for (let count = 1; countCalls(listed) === 0; count += 1) {
    t.equal((await get(`${lost.url}/v1/models`)).status, 502)
    listed = await scrapeUntil(lost, metrics => requestsOf(metrics, ofList) === count, 'the failed list is counted')
  }
  t.equal(countCalls(listed), 1, 'a list that no model was planned for has its provider')
  t.equal(listed.sum('gateway_upstream_duration_seconds_count', named), 1)
  t.same(listed.samples('gateway_upstream_requests_total', { status: 'connect_error' }).length, 1)
  t.equal(listed.sum('gateway_overhead_seconds_count', { provider: 'native' }), 2)
})

t.test('operations 65: random paths mint no series', async t => {
  const gateway = shared
  const before = await scrape(gateway)
  for (let index = 0; index < 1000; index += 50) {
    const paths = Array.from({ length: 50 }, (_, offset) => `/${(index + offset) * 7919}/${Math.random()}`)
    await Promise.all(paths.map(path => get(gateway.url + path)))
  }
  const metrics = await scrapeUntil(
    gateway,
    metrics => requestsOf(metrics, { route: 'unmatched' }) === 1000,
    'all are counted'
  )
  t.match(metrics.samples('gateway_requests_total', { route: 'unmatched' }), [
    { labels: { lifecycle: 'request_error', method: 'GET', protocol: 'system', status: '404' }, value: 1000 }
  ])
  const count = (text: MetricsText) => text.families.reduce((sum, { samples }) => sum + samples.length, 0)
  // One label set of the counter and of the histogram of durations, and the first scrape's own.
  t.ok(count(metrics) - count(before) <= 2 + 2 * 16 + 2, `${count(metrics) - count(before)} further lines`)
})

t.test('operations 66: random model names mint no series', async t => {
  const gateway = await startGateway(t, {
    env: { ...variables, GATEWAY_PASS_MODEL: 'False', UPSTREAM_MODEL: MODEL }
  })
  for (let index = 0; index < 100; index += 1) await get(`${gateway.url}/v1/models/model-${index}-${Math.random()}`)
  const metrics = await scrapeUntil(
    gateway,
    metrics => requestsOf(metrics, { route: '/v1/models/{model}' }) === 100,
    'all are counted'
  )
  const routes = new Set(
    metrics.samples('gateway_requests_total', { protocol: 'openai' }).map(({ labels }) => labels.route)
  )
  t.same([...routes], ['/v1/models/{model}'])

  // K5: names in a body neither.
  const wanted = 30
  for (let index = 0; index < wanted; index += 1) {
    const model = `random-${index}-${Math.random()}`
    await post(`${gateway.url}/v1/embeddings`, { model, input: 'hi' })
    await post(`${gateway.url}/v1/chat/completions`, { ...chat('hi'), model })
  }
  const after = await scrapeUntil(
    gateway,
    metrics => requestsOf(metrics, { provider: 'native' }) === 2 * wanted,
    'all are counted'
  )
  const models = new Set(after.families.flatMap(({ samples }) => samples.flatMap(({ labels }) => labels.model ?? [])))
  t.same([...models], ['other'])
})

t.test('every request is counted, also those that no route or no handler sees', async t => {
  const gateway = await startGateway(t, { env: { ...variables, GATEWAY_MAX_REQUEST_BODY_BYTES: '2000' } })
  const port = Number(new URL(gateway.url).port)
  const send = async (text: string) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    socket.on('error', () => undefined)
    socket.resume()
    await once(socket, 'close')
  }
  await send('nonsense\r\n\r\n')
  await send('BREW / HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await send('PROPFIND /v1/models HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n')
  await post(`${gateway.url}/v1/chat/completions`, { ...chat('x'.repeat(3000)) })
  await post(`${gateway.url}/v1/messages`, '{')
  await fetch(`${gateway.url}/v1/chat/completions`, { method: 'PUT' })
  const metrics = await scrapeUntil(gateway, text => text.sum('gateway_requests_total') >= 6, 'all are counted')
  const error = { lifecycle: 'request_error' }
  t.equal(requestsOf(metrics, { ...error, method: 'OTHER', route: 'unmatched', status: '400' }), 2)
  t.equal(requestsOf(metrics, { ...error, method: 'OTHER', route: '/v1/models', status: '405' }), 1)
  t.equal(requestsOf(metrics, { ...error, method: 'POST', route: '/v1/chat/completions', status: '413' }), 1)
  t.equal(
    requestsOf(metrics, { ...error, method: 'POST', route: '/v1/messages', status: '400', protocol: 'anthropic' }),
    1
  )
  t.equal(requestsOf(metrics, { ...error, method: 'PUT', route: '/v1/chat/completions', status: '405' }), 1)
  const again = await scrape(gateway)
  t.ok(requestsOf(again, { route: '/metrics', status: '200' }) >= 1, 'a scrape is in the next one')
})

t.test('a path of a model is counted by its client, with a right and with a wrong method', async t => {
  const clients = {
    openai: {},
    anthropic: { 'anthropic-version': '2023-06-01' },
    gemini: { 'x-goog-api-client': 'google-genai-sdk/3' }
  }
  const route = '/v2/models/{model}'
  const errors: Record<string, unknown> = {}
  for (const [protocol, headers] of Object.entries(clients)) {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const response = await fetch(`${shared.url}/v2/models/${MODEL}`, { method, headers })
      const body = await response.json()
      if (method === 'DELETE') errors[protocol] = { status: response.status, body }
    }
  }
  t.match(errors, {
    openai: { status: 405, body: { error: { code: 'method_not_allowed' } } },
    anthropic: { status: 405, body: { type: 'error', error: { type: 'invalid_request_error' } } },
    gemini: { status: 405, body: { error: { code: 405, status: 'UNIMPLEMENTED' } } }
  })
  const metrics = await scrapeUntil(shared, text => requestsOf(text, { route }) === 9, 'all are counted')
  for (const protocol of Object.keys(clients)) {
    t.equal(requestsOf(metrics, { route, protocol, method: 'GET', status: '200' }), 1, protocol)
    t.equal(requestsOf(metrics, { route, protocol, method: 'POST', status: '405' }), 1, protocol)
    t.equal(requestsOf(metrics, { route, protocol, method: 'DELETE', status: '405' }), 1, protocol)
  }
})

t.test('requests and streams in flight are counted, and a client disconnect of a stream', async t => {
  const gateway = shared
  const abort = new AbortController()
  const stream = await openStream(gateway, 'messages', '[[hang:2]]', { ...askModel, signal: abort.signal })
  await stream.body?.getReader().read()
  const during = await scrape(gateway)
  t.equal(during.sum('gateway_requests_in_flight', { protocol: 'anthropic' }), 1)
  t.equal(during.sum('gateway_streams_in_flight', { protocol: 'anthropic' }), 1)
  t.equal(during.sum('gateway_requests_in_flight', { protocol: 'system' }), 1, 'the scrape itself')
  abort.abort()
  const after = await scrapeUntil(gateway, text => text.sum('gateway_stream_disconnects_total') === 1, 'it is counted')
  t.match(after.samples('gateway_stream_disconnects_total'), [
    { labels: { protocol: 'anthropic', provider: 'native', route: '/v1/messages' } }
  ])
  t.equal(requestsOf(after, { lifecycle: 'streaming_aborted', status: '499' }), 1)
  t.equal(after.sum('gateway_upstream_duration_seconds_count', { status: 'cancelled' }), 1)
  t.equal(after.sum('gateway_upstream_errors_total'), 0, 'a cancelled call is no error of the provider')
  t.equal(after.sum('gateway_requests_in_flight', { protocol: 'anthropic' }), 0)
  t.equal(after.sum('gateway_streams_in_flight'), 0)
})

t.test('operations 68: a scrape holds no content, key, id or address', async t => {
  const gateway = await startGateway(t, {
    env: {
      ...variables,
      GATEWAY_ENABLE_API_KEY_AUTH: 'True',
      GATEWAY_API_KEY: 'canary-api-key',
      GATEWAY_PASS_TOKEN: 'True'
    }
  })
  const headers = {
    'x-api-key': 'canary-api-key',
    'x-request-id': 'canary-request-id',
    'x-session-id': 'canary-session-id',
    'x-trace-id': 'canary-trace-id',
    'user-agent': 'canary-agent/1.0',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  }
  const ids: string[] = []
  for (const family of families) {
    for (const stream of [false, true]) {
      const text = 'canary-prompt [[text:canary-answer]]'
      const query = family === 'content' && stream ? '?alt=sse' : ''
      const { headers: received } = await askIn(gateway, family, text, {
        model: 'canary-model',
        stream,
        query,
        headers
      })
      ids.push(received.get('x-request-id') ?? 'none')
    }
  }
  await get(`${gateway.url}/canary-path?canary-query=1`, headers)
  await get(`${gateway.url}/v1/models/canary-model`, { ...headers, 'x-api-key': 'canary-wrong-key' })
  const accepts = ['text/plain', 'application/openmetrics-text']
  for (const accept of accepts) {
    const { status, text } = await fetchMetrics(`${gateway.url}/metrics`, { 'x-api-key': 'canary-api-key', accept })
    t.equal(status, 200)
    t.match(text, 'gateway_tokens_output')
    for (const secret of ['canary', '0af7651916cd43dd8448eb211c80319c', '127.0.0.1', 'localhost', ...ids]) {
      t.notOk(text.includes(secret), secret)
    }
  }
})

t.test(
  'the aliases of a profile file are counted by their names, and their provider by its profile (decisions.md 116)',
  async t => {
    const alias = { alias: 'house-model', model: 'emulator-large' }
    const gateway = await startProfileGateway(t, {
      profiles: [writeChatProfile({ id: 'house-profile', baseUrl: chatBaseUrl(emulator), aliases: [alias] })],
      env: { GATEWAY_METRICS_ENABLED: 'True' }
    })
    for (const family of families) {
      for (const stream of [false, true]) {
        const query = family === 'content' && stream ? '?alt=sse' : ''
        const { status } = await askIn(gateway, family, '[[usage:3,2,0]]', { model: 'house-model', stream, query })
        t.equal(status, 200, `${family} ${stream}`)
      }
    }
    const labels = { provider: 'house-profile' }
    const metrics = await scrapeUntil(gateway, text => requestsOf(text, labels) === 8, 'all are counted')
    for (const [name, tokens] of [
      ['input', 3],
      ['output', 2]
    ] as const) {
      t.equal(metrics.sum(`gateway_tokens_${name}_total`, { ...labels, model: 'house-model' }), 8 * tokens)
    }
    t.equal(metrics.sum('gateway_time_to_first_token_seconds_count', { ...labels, model: 'house-model' }), 4)
    t.equal(metrics.sum('gateway_upstream_requests_total', { ...labels, status: '200' }), 8)
    const { text } = await fetchMetrics(`${gateway.url}/metrics`)
    for (const inner of ['emulator-large', String(emulator.port)]) t.notOk(text.includes(inner), inner)

    // The provider has sent status 200, and an error that states none or another than the client gets.
    for (const text of ['[[errframe]]', '[[okerror:401]]', '[[okerror:529]]']) {
      await post(`${gateway.url}/v1/chat/completions`, chat(text, { model: 'house-model', stream: true }))
    }
    const failed = await scrapeUntil(gateway, text => requestsOf(text, labels) === 11, 'the failed ones are counted')
    const statuses = failed.samples('gateway_upstream_errors_total', labels).map(sample => sample.labels.status)
    t.same(statuses, ['401', '529', 'protocol_error'])
  }
)

t.test('an unexpected but usable response of the provider is counted', async t => {
  t.equal((await post(`${shared.url}/v1/chat/completions`, chat('[[finish:odd]]'))).status, 200)
  await scrapeUntil(
    shared,
    text => text.sum('gateway_upstream_anomalies_total', { protocol: 'openai' }) === 1,
    'counted'
  )
})
