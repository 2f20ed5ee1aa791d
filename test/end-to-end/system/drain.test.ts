// The shutdown of a gateway as clients of every family see it (operations.md 3.8; bridge.md 9.3).

import t from 'tap'
import { get, readUntilCut } from '../../support/client.ts'
import { isRefused } from '../../support/drain.ts'
import { emulatorVariables, readLog, startEmulator, startGateway } from '../../support/gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { openConnection } from '../../worker/http/support.ts'
import {
  askIn,
  bodyOf,
  type Family,
  families,
  openStream,
  readEnd,
  readError,
  streamedTextIn,
  textIn,
  urlOf
} from './support.ts'

const emulator = await startEmulator(t)
const kinds = {
  completions: 'server_error',
  responses: 'server_error',
  messages: 'overloaded_error',
  content: 'UNAVAILABLE'
}

/** The whole body of the refusal (operations.md 3.8). */
function writeRefusal(family: Family, requestId: string | null): object {
  const error = { message: 'Gateway routes are not ready.', code: 'gateway_not_ready' }
  const reason = 'gateway_shutting_down'
  switch (family) {
    case 'completions':
    case 'responses':
      return {
        schema_version: 'gateway.error.v1',
        error: { ...error, type: 'server_error', param: null, details: [{ reason_id: reason }] }
      }
    case 'messages':
      return {
        type: 'error',
        error: { ...error, type: 'overloaded_error', details: { error_code: reason } },
        request_id: requestId
      }
    case 'content':
      return {
        error: {
          code: 503,
          message: error.message,
          status: 'UNAVAILABLE',
          details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'gateway' }]
        }
      }
  }
}

t.test(
  'operations-grace: requests that a balancer still sends within the grace are served, those of new connections too (I1, I2, I3)',
  async t => {
    const gateway = await startGateway(t, {
      env: {
        ...emulatorVariables(emulator),
        GATEWAY_SHUTDOWN_READINESS_GRACE_SECONDS: '6',
        GATEWAY_SHUTDOWN_TIMEOUT_SECONDS: '20'
      }
    })
    const port = Number(new URL(gateway.url).port)
    await waitUntil(async () => (await get(`${gateway.url}/ready`)).status === 200, 'the gateway is ready')
    const whole = families.map(family => askIn(gateway, family, '[[slow:8000]][[text:whole]]'))
    const streamed = families.map(family =>
      openStream(gateway, family, '[[tick:1000]][[chunks:a|b|c|d|e|f|g|h]]', { query: '?alt=sse' })
    )
    await emulator.waitFor(({ stats }) => stats.activeChatRequests === 2 * families.length)
    const exited = gateway.stop()
    await waitUntil(async () => (await get(`${gateway.url}/ready`)).status === 503, 'readiness is false')
    const ready = await get(`${gateway.url}/ready`)
    t.strictSame(ready.json.reasons, [{ reason_id: 'gateway_shutting_down' }])
    t.equal((await get(`${gateway.url}/health`)).status, 200)
    const asked = families.flatMap(family => [false, true].map(stream => askIn(gateway, family, 'in time', { stream })))
    for (const response of await Promise.all(asked)) {
      t.equal(response.status, 200)
      t.not(response.headers.get('connection'), 'close', 'the connection is kept')
    }
    t.notOk(
      readLog(gateway).some(({ event }) => event === 'drain_started'),
      'all of that was within the grace'
    )
    await waitUntil(() => isRefused(port), 'new connections are refused behind the grace')
    t.equal(gateway.process.exitCode, null, 'running requests go on')
    for (const [index, family] of families.entries()) {
      const response = await whole[index]
      t.equal(response?.status, 200, family)
      if (response !== undefined) t.equal(textIn(family, response), 'whole', family)
      const text = (await (await streamed[index])?.text()) ?? ''
      t.equal(streamedTextIn(family, text), 'abcdefgh', family)
      t.equal(readEnd(family, text), 'success', family)
    }
    t.equal(await exited, 0)
  }
)

t.test(
  'operations 57; bridge 95; decisions.md 44: while requests run, open connections stay usable, their model requests are refused in the form of the family, and new ones are refused',
  async t => {
    const gateway = await startGateway(t, {
      env: { ...emulatorVariables(emulator), GATEWAY_SHUTDOWN_TIMEOUT_SECONDS: '300' }
    })
    const port = Number(new URL(gateway.url).port)
    const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`
    const ask = (family: (typeof families)[number]): string => {
      const body = JSON.stringify(bodyOf(family, 'too late'))
      const { pathname } = new URL(urlOf(gateway, family))
      return `POST ${pathname} HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    }
    const open = async () => {
      const connection = await openConnection(t, port)
      connection.socket.write(get('/health'))
      t.match(await connection.waitFor(/\r\n\r\n/), /connection: keep-alive/i)
      return connection
    }
    const refusal = /retry-after: 1\r\n[\s\S]*gateway_shutting_down/
    const expected = [
      [get('/health'), 200, /content-length: 0/],
      [get('/ready'), 503, /gateway_shutting_down/],
      ...families.map(family => [ask(family), 503, refusal] as const)
    ] as const
    const used = await Promise.all(expected.map(open))
    const idle = await open()
    const running = new AbortController()
    const before = emulator.stats.activeChatRequests
    const stream = await openStream(gateway, 'completions', '[[tick:50]][[len:100000]]', { signal: running.signal })
    const whole = askIn(gateway, 'completions', '[[slow:3000]][[text:whole]]')
    await emulator.waitFor(({ stats }) => stats.activeChatRequests > before + 1)
    const exited = gateway.stop()
    await waitUntil(() => isRefused(port), 'new connections are refused')
    for (const [index, [request, status, more]] of expected.entries()) {
      const connection = used[index]
      connection?.socket.write(request)
      await connection?.closed
      const response = connection?.received().split('HTTP/1.1 ').at(-1) ?? ''
      t.match(response, new RegExp(`^${status} `), request)
      t.match(response, /\r\nconnection: close\r\n/, request)
      t.match(response, more, request)
      const family = families[index - 2]
      if (family === undefined) continue
      const [head = '', body = ''] = response.split('\r\n\r\n')
      const requestId = /\r\nx-request-id: (\S+)/.exec(head)?.[1] ?? null
      t.strictSame(JSON.parse(body), writeRefusal(family, requestId), family)
    }
    t.equal((await whole).status, 200)
    t.notOk(idle.socket.destroyed, 'an idle connection stays open')
    t.equal(gateway.process.exitCode, null)
    running.abort()
    await t.rejects(stream.text())
    await idle.closed
    t.equal(await exited, 0)
  }
)

t.test(
  'operations 58; decisions.md 108: at the deadline running requests end with the error of their family, and the exit code is 0',
  async t => {
    const gateway = await startGateway(t, {
      env: { ...emulatorVariables(emulator), GATEWAY_SHUTDOWN_TIMEOUT_SECONDS: '1' }
    })
    const whole = families.map(family => askIn(gateway, family, '[[hang]]'))
    const silent = families.map(family => askIn(gateway, family, '[[hang]]', { stream: true, query: '?alt=sse' }))
    const streamed = families.map(family =>
      openStream(gateway, family, '[[tick:100]][[len:1000]]', { query: '?alt=sse' }).then(readUntilCut)
    )
    await emulator.waitFor(({ stats }) => stats.activeChatRequests === 3 * families.length)
    const aborted = emulator.stats.aborted
    const exited = gateway.stop()
    for (const [index, family] of families.entries()) {
      for (const response of [await whole[index], await silent[index]]) {
        t.equal(response?.status, 503, family)
        if (response !== undefined) t.equal(readError(family, response).kind, kinds[family], family)
        t.match(response?.text, /gateway_shutting_down/, family)
      }
      const end = await streamed[index]
      t.equal(readEnd(family, end?.text ?? ''), 'error', family)
      t.ok(end?.isCut, family)
    }
    t.equal(await exited, 0)
    await emulator.waitFor(({ stats }) => stats.aborted >= aborted + 3 * families.length)
    t.pass('the upstream’s work was ended')
  }
)

t.test(
  'operations-drain-600: with ten minutes for its drain an idle gateway exits at once, although clients keep their connections open (I3, I5)',
  async t => {
    // Longer than the timeout of the test, so waiting for it would fail the test.
    const gateway = await startGateway(t, {
      env: { ...emulatorVariables(emulator), GATEWAY_SHUTDOWN_TIMEOUT_SECONDS: '600' }
    })
    for (const family of families) t.equal((await askIn(gateway, family, 'hi')).status, 200)
    t.equal(await gateway.stop(), 0)
  }
)
