// A model list that cannot be had: the log says why, and every worker says the same of it (bridge contract, section 6.1).

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { get } from '../../support/client.ts'
import { readLog, startGateway } from '../../support/gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { readError } from './support.ts'

interface ListAnswer {
  status: number
  headers?: Record<string, string>
  body?: string
}

/** An upstream that knows nothing but its list of models. */
async function startUpstream(t: Test, { delayMs }: { delayMs: number }) {
  const state = { calls: 0, answer: { status: 429 } as ListAnswer }
  const server = createServer((_request, response) => {
    state.calls += 1
    const { status, headers, body = '{}' } = state.answer
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

t.test('a failed discovery is the same answer from the worker that asked and from those that waited', async t => {
  // Slow enough that callers of both workers wait for one discovery.
  const { state, env } = await startUpstream(t, { delayMs: 100 })
  const gateway = await startGateway(t, { env: { ...env, GATEWAY_WORKERS: '2', GATEWAY_ACCESS_LOG: 'true' } })
  /** Asks over connections of their own, until one discovery answered callers of both workers. */
  async function askBothWorkers(status: number, retryAfter: string | null, kind: string): Promise<void> {
    // One discovery comes after the other, so from here on all of them get the new answer.
    await waitUntil(
      async () => (await get(`${gateway.url}/v1/models`)).status === status,
      `the upstream answers ${status}`
    )
    await waitUntil(async () => {
      const { calls } = state
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => get(`${gateway.url}/v1/models`, { connection: 'close' }))
      )
      for (const answer of answers) {
        t.equal(answer.status, status)
        t.equal(answer.headers.get('retry-after'), retryAfter)
        t.match(readError('completions', answer), { kind })
        t.equal(answer.json.error.message, 'Said by the upstream.')
      }
      if (state.calls !== calls + 1) return false
      const ids = new Set<unknown>(answers.map(answer => answer.headers.get('x-request-id')))
      const lines = () => readLog(gateway).filter(line => line.event === 'http_access' && ids.has(line.request_id))
      await waitUntil(() => lines().length === answers.length, 'all are in the log')
      return new Set(lines().map(line => line.worker)).size === 2
    }, `both workers answer ${status} after one discovery`)
  }
  const body = '{"message":"Said by the upstream."}'
  state.answer = { status: 429, headers: { 'retry-after': '7' }, body }
  await askBothWorkers(429, '7', 'rate_limit_error')
  state.answer = { status: 401, body }
  await askBothWorkers(401, null, 'authentication_error')
  state.answer = { status: 402, body }
  await askBothWorkers(402, null, 'invalid_request_error')
  state.answer = { status: 403, body }
  await askBothWorkers(403, null, 'permission_denied_error')
})

t.test('the log says why there is no model list, once for each reason', async t => {
  const { state, env } = await startUpstream(t, { delayMs: 0 })
  state.answer = { status: 401, body: '{"message":"canary"}' }
  const gateway = await startGateway(t, {
    env: { ...env, GATEWAY_WORKERS: '2', GATEWAY_LOG_REDACT_SENSITIVE: 'false' }
  })
  const reasons = () => readLog(gateway).filter(line => line.event === 'catalog_discovery_failed')
  const ask = async () => (await get(`${gateway.url}/v1/models?refresh=1`, { connection: 'close' })).status
  /** Asks until the upstream's new answer arrived, then some more. */
  async function askOften(status: number): Promise<void> {
    await waitUntil(async () => (await ask()) === status, `the answer is ${status}`)
    for (let turn = 0; turn < 4; turn += 1) t.equal(await ask(), status)
  }

  await waitUntil(() => reasons().length === 1, 'the warm-up failed')
  t.equal((await get(`${gateway.url}/ready`)).status, 503)
  await askOften(401)
  state.answer = { status: 200, body: '<html>canary</html>' }
  await askOften(502)
  state.answer = { status: 200, body: '{"data":"canary"}' }
  await waitUntil(async () => {
    await ask()
    return reasons().length === 3
  }, 'a list that is none has a reason of its own')
  state.answer = { status: 200, body: '{"data":[{"id":"one"}]}' }
  await askOften(200)
  t.equal((await get(`${gateway.url}/ready`)).status, 200)
  // From here on the old list is shown, so only the log knows of the failure.
  state.answer = { status: 503 }
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
