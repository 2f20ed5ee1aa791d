import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { openOrigin } from '../../../../../worker/providers/http/connections.ts'
import { type ExchangeRequest, runExchange } from '../../../../../worker/providers/http/exchange.ts'
import { ResponseCollector } from '../../../../../worker/providers/http/whole-response.ts'
import { limitPhases } from '../../support/http.ts'
import { rejection } from '../../support/rejection.ts'

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'
const never = new AbortController().signal

/** An origin whose server plays these pieces, each in a packet of its own, as the response to every request. */
async function startOrigin(t: Test, pieces: readonly string[]) {
  let connections = 0
  const server = createServer({ noDelay: true }, socket => {
    connections += 1
    socket.on('error', () => undefined)
    socket.on('data', async bytes => {
      // The rest of a large request body.
      if (!bytes.includes('HTTP/1.1')) return
      for (const piece of pieces) await writeAlone(socket, piece)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const origin = openOrigin({
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connectionsMax: 1,
    timeouts: limitPhases(5_000)
  })
  t.teardown(async () => {
    await origin.destroy()
    server.close()
  })
  async function call(request: Partial<ExchangeRequest> = {}): Promise<{ status: number; text: string }> {
    const receiver = new ResponseCollector()
    await runExchange({
      dispatcher: origin.dispatcher,
      origin: origin.origin,
      request: { method: 'POST', path: '/', headers: [], body: Buffer.from('{}'), ...request },
      receiver,
      timeouts: origin.timeouts.call,
      signal: never
    })
    const response = receiver.take()
    return { status: response?.status ?? 0, text: response?.bytes.toString() ?? '' }
  }
  const stop = () => new Promise(resolve => server.close(resolve))
  return { call, connections: () => connections, stop }
}

/** Resolves in a later turn of the event loop, so that the next piece is read by itself. */
async function writeAlone(socket: Socket, piece: string): Promise<void> {
  await new Promise(resolve => socket.write(piece, resolve))
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
}

const respond = (body: string) => `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`

t.test('a 100 Continue that no request asked for is passed over, however it arrives', async t => {
  const large = 'x'.repeat(100_000)
  const ways = {
    'with the response': [CONTINUE + respond('ok')],
    'before the response': [CONTINUE, respond('ok')],
    'in single bytes': [...(CONTINUE + respond('ok'))],
    'with headers, and twice': [`HTTP/1.1 100 Go on\r\nserver: a\r\n\r\n${CONTINUE}`, respond('ok')],
    'with the start of a large response': [CONTINUE + respond(large)],
    'not at all': [respond('ok')]
  }
  for (const [name, pieces] of Object.entries(ways)) {
    const { call, connections } = await startOrigin(t, pieces)
    for (const body of [Buffer.from('{}'), Buffer.alloc(600_000, ' ')]) {
      const { status, text } = await call({ body })
      t.equal(status, 200, name)
      t.equal(text, name.endsWith('large response') ? large : 'ok', name)
    }
    t.equal(connections(), 1, 'the connection is used again')
  }
})

t.test('only the start of a response is filtered', async t => {
  const body = `${CONTINUE}and more`
  const [head = ''] = respond(body).split('\r\n\r\n')
  const { call } = await startOrigin(t, [`${head}\r\n\r\n`, body])
  t.same(await call(), { status: 200, text: body })
})

t.test('a connection that is refused stays a refused connection', async t => {
  const { call, stop } = await startOrigin(t, [])
  await stop()
  t.match(await rejection(call()), { error: { code: 'provider_failure' }, outcome: 'connect_error' })
})

t.test('a 100 Continue without an end is refused', async t => {
  const { call } = await startOrigin(t, [`HTTP/1.1 100 Continue\r\nx: ${'a'.repeat(5000)}\r\n`, '\r\n'])
  t.match(await rejection(call()), { error: { code: 'provider_failure' } })
})
