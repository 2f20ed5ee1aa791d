// A kept connection that the provider closes just when the next request arrives is replaced once, for every kind of call, and the request
// goes out again with the same credential (decisions.md 112).

import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { GatewayError } from '../../../../worker/normalized/index.ts'
import type { ChatCall } from '../../../../worker/providers/types.ts'
import { compatibleCall, startCompatible } from '../support/compatible.ts'
import { contextOf, createSink } from '../support/native.ts'
import { rejection } from '../support/rejection.ts'
import { type StubHandler, sendJson, startStub } from '../support/stub-upstream.ts'

const WAYS = [false, true]
const certificates = join(import.meta.dirname, '../../../ops/emulator/fixtures')

const sendWords: StubHandler = ({ headers }, response) => {
  if (headers['accept-encoding'] !== undefined) return sendJson(response, 200, { words: ['a'] })
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end('data: BEGIN\n\ndata: a\n\n')
}

interface Options {
  /** What happens to a kept connection when its second request has arrived. */
  close: (socket: Socket) => void
  /** What happens to the third request, which has a new connection. */
  third?: StubHandler
  isSecure?: boolean
  retries?: number
}

async function start(t: Test, { close, third = sendWords, isSecure = false, retries = 0 }: Options) {
  const read = (name: string) => readFileSync(join(certificates, name), 'utf8')
  const handlers: StubHandler[] = [sendWords, request => close(request.socket), third]
  let sent = 0
  const stub = await startStub(
    (request, response) => (handlers[sent++] ?? sendWords)(request, response),
    isSecure ? { tls: { cert: read('server.pem'), key: read('server.key') } } : {}
  )
  t.teardown(() => stub.close())
  const replaced: string[] = []
  const { executorOf, memory } = startCompatible(
    t,
    { p1: { baseUrl: stub.origin, credential: 'sk-1234567890', more: { retries } } },
    { onStaleConnection: provider => replaced.push(provider), ...(isSecure && { ca: read('ca.pem') }) }
  )
  const ask = async (call: Partial<ChatCall> & { isStream: boolean }, signal = new AbortController().signal) => {
    const sink = createSink()
    const { isStream, ...more } = call
    await executorOf('p1').chat({ ...compatibleCall({ isStream }), ...more }, contextOf({ signal }), sink)
    return sink.text()
  }
  return { stub, ask, replaced, memory }
}

const closings: Record<string, Options['close']> = {
  'a normal close': socket => void socket.end(),
  'a destroyed socket': socket => void socket.destroy(),
  'a reset': socket => void socket.resetAndDestroy()
}

for (const [name, close] of Object.entries(closings)) {
  for (const isSecure of [false, true]) {
    if (isSecure && name === 'a reset') continue
    t.test(`${name} ${isSecure ? 'with TLS ' : ''}is hidden from the client`, async t => {
      for (const isStream of WAYS) {
        const { stub, ask, replaced, memory } = await start(t, { close, isSecure })
        t.equal(await ask({ isStream }), 'a')
        t.equal(await ask({ isStream }), 'a')
        const [, second, third] = stub.requests
        t.equal(stub.requests.length, 3)
        t.not(second?.socket, third?.socket)
        t.equal(third?.headers.authorization, 'Bearer sk-1234567890')
        t.strictSame(third?.body, second?.body)
        t.strictSame({ ...third?.headers, connection: '' }, { ...second?.headers, connection: '' })
        t.strictSame(replaced, ['p1'])
        t.notOk(memory.lines.some(line => line.event === 'upstream_call_failed'))
        t.match(
          memory.lines.filter(line => line.event === 'upstream_connection_replaced'),
          [{ profile_id: 'p1', operation: 'chat' }]
        )
      }
    })
  }
}

t.test('a large body, which goes out in pieces, is sent again from its beginning', async t => {
  const body = Buffer.from(JSON.stringify({ say: 'x'.repeat(3_000_000) }))
  const { stub, ask, replaced } = await start(t, { close: socket => void socket.destroy() })
  t.equal(await ask({ isStream: false }), 'a')
  t.equal(await ask({ isStream: false, body }), 'a')
  t.ok(stub.requests[2]?.body.equals(body))
  t.equal(stub.requests[2]?.headers['content-length'], String(body.length))
  t.equal(replaced.length, 1)
})

t.test("the replacement is the only one: its own failure is the call's", async t => {
  for (const isStream of WAYS) {
    const { stub, ask, replaced } = await start(t, {
      close: socket => void socket.destroy(),
      third: request => void request.socket.destroy()
    })
    await ask({ isStream })
    t.match(await rejection(ask({ isStream })), { code: 'provider_failure', status: 502 })
    t.equal(stub.requests.length, 3)
    t.equal(replaced.length, 1)
  }
})

t.test('a connection that breaks after a byte of the response is not replaced', async t => {
  for (const bytes of ['HTTP/1.1 2', 'HTTP/1.1 100 Continue\r\n\r\n']) {
    for (const isStream of WAYS) {
      const { stub, ask, replaced } = await start(t, { close: socket => socket.write(bytes, () => socket.destroy()) })
      await ask({ isStream })
      t.match(await rejection(ask({ isStream })), { code: 'provider_failure', status: 502 })
      t.equal(stub.requests.length, 2)
      t.equal(replaced.length, 0)
    }
  }
})

t.test('a new connection that breaks is a failure, and only retries repeat it', async t => {
  for (const retries of [0, 1]) {
    for (const isStream of WAYS) {
      let asked = 0
      const stub = await startStub((request, response) => {
        if (asked++ === 0) request.socket.destroy()
        else void sendWords(request, response)
      })
      t.teardown(() => stub.close())
      const replaced: string[] = []
      const { executorOf } = startCompatible(
        t,
        { p1: { baseUrl: stub.origin, more: { retries } } },
        { onStaleConnection: provider => replaced.push(provider) }
      )
      const sink = createSink()
      const chat = executorOf('p1').chat(compatibleCall({ isStream }), contextOf(), sink)
      if (retries === 0) t.match(await rejection(chat), { code: 'provider_failure' })
      else {
        await chat
        t.equal(sink.text(), 'a')
      }
      t.equal(stub.requests.length, 1 + retries)
      t.equal(replaced.length, 0)
    }
  }
})

t.test('an abort while the request is sent again ends it', async t => {
  const abort = new AbortController()
  const { stub, ask } = await start(t, {
    close: socket => void socket.destroy(),
    third: () => abort.abort(new GatewayError('client_disconnected'))
  })
  await ask({ isStream: false })
  t.match(await rejection(ask({ isStream: false }, abort.signal)), { code: 'client_disconnected' })
  t.equal(stub.requests.length, 3)
})
