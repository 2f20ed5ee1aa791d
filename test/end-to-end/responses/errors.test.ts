import t from 'tap'
import { findFreePort } from '../../../ops/net/free-port.ts'
import { upstreamChats } from '../../support/client.ts'
import { startDraining } from '../../support/drain.ts'
import { catchError } from '../../support/errors.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { ask, createClient, model, versions } from './support.ts'

const slotted = 'GigaChat-2-Pro'
const emulator = await startEmulator(t)
const gateway = await startGateway(t, {
  env: {
    ...emulatorVariables(emulator),
    UPSTREAM_FIRST_BYTE_TIMEOUT: '2',
    GATEWAY_MODEL_MAX_CONNECTIONS: JSON.stringify({ [slotted]: 1 }),
    GATEWAY_MODEL_MAX_CONNECTIONS_ACQUIRE_TIMEOUT: '0'
  }
})

t.test('responses 71: an upstream refusal before the first event is an HTTP status', async t => {
  for (const version of versions) {
    for (const [upstream, type, code, attempts] of [
      [500, 'server_error', null, 1],
      [429, 'rate_limit_error', null, 1],
      [401, 'authentication_error', 'invalid_api_key', 2],
      [503, 'server_error', 'provider_failure', 1]
    ] as const) {
      for (const stream of [true, false]) {
        // A refused token was discarded: only a held one is renewed within a call.
        await ask(gateway, version, 'hi')
        const before = upstreamChats(emulator).length
        const renewalsBefore = emulator.stats.oauthCalls
        const prompt = `[[error:${upstream} retry=7 json message=told at https://up.test/api with Bearer abc.def]]`
        const httpResponse = await ask(gateway, version, prompt, { stream })
        t.equal(httpResponse.status, upstream)
        t.match(httpResponse.headers.get('content-type'), /^application\/json/)
        t.strictSame(Object.keys(httpResponse.json), ['error'])
        t.match(httpResponse.json.error, { type, code, message: String })
        t.equal(httpResponse.headers.get('retry-after'), upstream === 429 || upstream === 503 ? '7' : null)
        t.equal(upstreamChats(emulator).length - before, attempts, `${upstream}: attempts`)
        t.equal(emulator.stats.oauthCalls - renewalsBefore, attempts - 1, `${upstream}: renewals`)
        t.notMatch(httpResponse.text, /127\.0\.0\.1|up\.test|api\/v[12]|abc\.def/)
      }
    }
  }
})

t.test('responses 73: a client disconnect aborts the upstream call and releases its slot (H1)', async t => {
  for (const version of versions) {
    const before = emulator.stats.aborted
    const controller = new AbortController()
    const response = await fetch(`${gateway.url}/${version}/responses`, {
      method: 'POST',
      signal: controller.signal,
      body: JSON.stringify({ model: slotted, input: '[[tick:20]][[len:5000]]', stream: true })
    })
    await response.body?.getReader().read()
    const full = await ask(gateway, version, 'x', { model: slotted })
    t.equal(full.status, 429)
    t.match(full.json.error, { code: 'model_concurrency_limit', param: 'model' })
    controller.abort()
    await emulator.waitFor(() => emulator.stats.aborted > before)
    await waitUntil(
      async () => (await ask(gateway, version, 'x', { model: slotted })).status === 200,
      'the slot is free again'
    )
  }
})

t.test(
  'responses 74: a timeout, an upstream status of 502 and a refused connection are mapped to their errors (H5)',
  async t => {
    const aborted = emulator.stats.aborted
    for (const slow of await Promise.all(versions.map(version => ask(gateway, version, '[[hang]]')))) {
      t.equal(slow.status, 504)
      t.match(slow.json.error, { type: 'server_error', code: 'provider_timeout' })
    }
    await emulator.waitFor(() => emulator.stats.aborted === aborted + versions.length)
    for (const version of versions) {
      const bad = await ask(gateway, version, '[[error:502]]')
      t.equal(bad.status, 502)
      t.match(bad.json.error, { type: 'server_error', code: 'provider_failure' })
      t.notMatch(bad.text, /html/i)
    }
    const port = await findFreePort()
    const other = await startGateway(t, {
      env: { UPSTREAM_BASE_URL: `http://127.0.0.1:${port}/v1`, UPSTREAM_ACCESS_TOKEN: 'x' }
    })
    for (const version of versions) {
      const httpResponse = await ask(other, version, 'x')
      t.equal(httpResponse.status, 502)
      t.match(httpResponse.json.error, { type: 'server_error', code: 'provider_failure' })
    }
  }
)

t.test('responses 79: during shutdown requests are refused with a reason and retry-after (I1, I2)', async t => {
  const draining = await startDraining(t, gateway)
  const before = upstreamChats(emulator).length
  for (const version of versions) {
    for (const stream of [false, true]) {
      const httpResponse = await ask(draining, version, 'x', { stream })
      t.equal(httpResponse.status, 503)
      t.equal(httpResponse.headers.get('retry-after'), '1')
      t.match(httpResponse.json, {
        error: {
          type: 'server_error',
          code: 'gateway_not_ready',
          details: [{ reason_id: 'gateway_shutting_down' }]
        }
      })
    }
    t.match(await catchError(() => createClient(draining, version).responses.create({ model, input: 'x' })), {
      status: 503,
      code: 'gateway_not_ready'
    })
  }
  t.equal(upstreamChats(emulator).length, before)
})
