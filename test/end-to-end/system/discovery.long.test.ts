// Failed model discoveries: the log names the cause, and all workers return the same error
// (bridge.md 6.1).

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { get } from '../../support/client.ts'
import { readLog, startGateway } from '../../support/gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { readError } from './support.ts'

interface ListResponse {
  status: number
  headers?: Record<string, string>
  body?: string
}

/** An upstream that serves only its list of models. */
async function startUpstream(t: Test, { delayMs }: { delayMs: number }) {
  const state = { calls: 0, response: { status: 429 } as ListResponse }
  const server = createServer((_request, response) => {
    state.calls += 1
    const { status, headers, body = '{}' } = state.response
    setTimeout(() => response.writeHead(status, headers).end(body), delayMs)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { state, env: { UPSTREAM_BASE_URL: `http://127.0.0.1:${port}/v1`, UPSTREAM_ACCESS_TOKEN: 'canary-token' } }
}

t.test(
  'a failed discovery is the same error from the worker that called the upstream and from those that waited',
  async t => {
    // Slow enough that callers of both workers wait for one discovery.
    const { state, env } = await startUpstream(t, { delayMs: 100 })
    const gateway = await startGateway(t, { env: { ...env, GATEWAY_WORKERS: '2', GATEWAY_ACCESS_LOG: 'true' } })
    /** Sends requests over separate connections until callers of both workers have got the result of one discovery. */
    async function askBothWorkers(status: number, retryAfter: string | null, kind: string): Promise<void> {
      // Discoveries run one after the other, so from here on all requests get the new result.
      await waitUntil(
        async () => (await get(`${gateway.url}/v1/models`)).status === status,
        `the upstream returns ${status}`
      )
      await waitUntil(async () => {
        const { calls } = state
        const responses = await Promise.all(
          Array.from({ length: 8 }, () => get(`${gateway.url}/v1/models`, { connection: 'close' }))
        )
        for (const response of responses) {
          t.equal(response.status, status)
          t.equal(response.headers.get('retry-after'), retryAfter)
          t.match(readError('completions', response), { kind })
          t.equal(response.json.error.message, 'Said by the upstream.')
        }
        if (state.calls !== calls + 1) return false
        const ids = new Set<unknown>(responses.map(response => response.headers.get('x-request-id')))
        const lines = () => readLog(gateway).filter(line => line.event === 'http_access' && ids.has(line.request_id))
        await waitUntil(() => lines().length === responses.length, 'all failures are in the log')
        return new Set(lines().map(line => line.worker)).size === 2
      }, `both workers return ${status} after one discovery`)
    }
    const body = '{"message":"Said by the upstream."}'
    state.response = { status: 429, headers: { 'retry-after': '7' }, body }
    await askBothWorkers(429, '7', 'rate_limit_error')
    state.response = { status: 401, body }
    await askBothWorkers(401, null, 'authentication_error')
    state.response = { status: 402, body }
    await askBothWorkers(402, null, 'invalid_request_error')
    state.response = { status: 403, body }
    await askBothWorkers(403, null, 'permission_denied_error')
  }
)

t.test('the log names the cause of a missing model list, once for each cause', async t => {
  const { state, env } = await startUpstream(t, { delayMs: 0 })
  state.response = { status: 401, body: '{"message":"canary"}' }
  const gateway = await startGateway(t, {
    env: { ...env, GATEWAY_WORKERS: '2', GATEWAY_LOG_REDACT_SENSITIVE: 'false' }
  })
  const reasons = () => readLog(gateway).filter(line => line.event === 'catalog_discovery_failed')
  const ask = async () => (await get(`${gateway.url}/v1/models?refresh=1`, { connection: 'close' })).status
  /** Sends requests until the upstream's new response has arrived, then some more. */
  async function askOften(status: number): Promise<void> {
    await waitUntil(async () => (await ask()) === status, `the status is ${status}`)
    for (let turn = 0; turn < 4; turn += 1) t.equal(await ask(), status)
  }

  await waitUntil(() => reasons().length === 1, 'the warm-up failed')
  t.equal((await get(`${gateway.url}/ready`)).status, 503)
  await askOften(401)
  state.response = { status: 200, body: '<html>canary</html>' }
  await askOften(502)
  state.response = { status: 200, body: '{"data":"canary"}' }
  await waitUntil(async () => {
    await ask()
    return reasons().length === 3
  }, 'an invalid list is logged as a separate cause')
  state.response = { status: 200, body: '{"data":[{"id":"one"}]}' }
  await askOften(200)
  t.equal((await get(`${gateway.url}/ready`)).status, 200)
  // From here on clients get the earlier list, so only the log shows the failure.
  state.response = { status: 503 }
  await askOften(200)
  t.equal(await gateway.stop(), 0)

  t.match(
    reasons().map(({ level, status, code, cause }) => ({ level, status, code, cause })),
    [
      { level: 'WARNING', status: 401, code: 'upstream_unauthorized', cause: 'upstream status 401' },
      { level: 'WARNING', status: 502, code: 'provider_protocol_error', cause: 'invalid_json_response' },
      { level: 'WARNING', status: 502, code: 'provider_protocol_error', cause: /not a list/ },
      { level: 'WARNING', status: 503, code: 'provider_failure', cause: 'upstream status 503' }
    ]
  )
  t.equal(reasons().length, 4)
  t.notMatch(JSON.stringify(readLog(gateway)), /canary/)
})
