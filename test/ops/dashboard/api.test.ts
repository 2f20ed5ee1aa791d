import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { ApiError, createApi } from '../../../ops/dashboard/src/data/api.ts'

interface Seen {
  url: string
  method: string
  key: string | undefined
  body: string
}

/** A server that answers every request with one response, and the requests that it got. */
async function startServer(t: Test, status: number, body: unknown) {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', chunk => {
      text += String(chunk)
    })
    request.on('end', () => {
      const { url = '', method = '', headers } = request
      seen.push({ url, method, key: headers['x-admin-api-key']?.toString(), body: text })
      response
        .writeHead(status, { 'content-type': 'application/json', 'x-total-estimate': '7+' })
        .end(JSON.stringify(body))
    })
  })
  t.teardown(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return { seen, base: `http://127.0.0.1:${port}/_admin/ui` }
}

t.test('requests go to the admin API beside the page, with the key in its header only', async t => {
  const { seen, base } = await startServer(t, 200, { data: [], next_cursor: null })
  const api = createApi({ key: 'k1', base })
  await api.checkKey()
  const page = await api.list(new URLSearchParams({ model: 'a b', limit: '50' }))
  t.same(page, { data: [], next_cursor: null, total: '7+' })
  await api.find('id/1')
  await api.readRequest('id')
  await api.readResponse('id')
  await api.sums({ from: 'f', to: 't', by: ['hour', 'model'] })
  await api.health()
  await api.keys()
  await api.threads(undefined)
  await api.threads('c/1')
  await api.thread('resp_1')
  await api.replay('id')
  await api.redact('id', ['request_body'])
  t.same(
    seen.map(({ method, url }) => `${method} ${url}`),
    [
      'GET /_admin/logs?limit=1',
      'GET /_admin/logs?model=a+b&limit=50',
      'GET /_admin/logs/id%2F1',
      'GET /_admin/logs/id/request',
      'GET /_admin/logs/id/response',
      'GET /_admin/logs/sums?from=f&to=t&by=hour%2Cmodel&limit=10000',
      'GET /_admin/logs/health',
      'GET /_admin/keys',
      'GET /_admin/threads?limit=100',
      'GET /_admin/threads?limit=100&cursor=c%2F1',
      'GET /_admin/threads/resp_1',
      'POST /_admin/logs/id/replay',
      'POST /_admin/logs/id/redact'
    ]
  )
  t.ok(seen.every(({ key }) => key === 'k1'))
  t.notMatch(JSON.stringify(seen.map(({ url, body }) => [url, body])), /k1/)
  t.equal(seen.at(-1)?.body, '{"fields":["request_body"]}')
})

t.test('failures say what can be done', async t => {
  const failures = [
    [403, 'invalid_admin_key', 'key', /key is wrong/],
    [403, 'admin_key_required', 'key', /GATEWAY_ADMIN_API_KEY/],
    [503, 'query_store_not_configured', 'store', /GATEWAY_TRAFFIC_LOG_SINK/],
    [503, 'query_store_unavailable', 'store', /unavailable/],
    [409, 'request_body_not_captured', 'other', /not captured/],
    [400, 'invalid_cursor', 'other', /^Its message$/]
  ] as const
  for (const [status, code, kind, message] of failures) {
    const { base } = await startServer(t, status, { error: { code, message: 'Its message' } })
    const error = await createApi({ key: 'k', base })
      .find('id')
      .catch(error => error)
    t.ok(error instanceof ApiError)
    t.match(error, { kind, code, message })
  }
  const invalid = {
    code: 'invalid_parameter',
    message: 'Invalid.',
    errors: [{ path: 'query.limit', message: 'Too large' }]
  }
  const { base } = await startServer(t, 422, { error: invalid })
  const api = createApi({ key: 'k', base })
  await t.rejects(api.health(), { kind: 'other', message: 'Invalid. query.limit: Too large' })
})

t.test('a missing store does not make the key wrong, and an unreachable gateway is no wrong key', async t => {
  const { base } = await startServer(t, 503, { error: { code: 'query_store_not_configured', message: '' } })
  await createApi({ key: 'k', base }).checkKey()
  const refused = createApi({ key: 'k', base, fetch: () => Promise.reject(new TypeError('fetch failed')) })
  await t.rejects(refused.checkKey(), { kind: 'network', message: 'The gateway cannot be reached.' })
})
