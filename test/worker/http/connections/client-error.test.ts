import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { sendClientError, toRequestFault } from '../../../../worker/http/connections/client-error.ts'

/** Both ends of a connection that stays half open, as the HTTP server's connections do. */
async function openPair(t: Test): Promise<{ server: Socket; client: Socket }> {
  const listener = createServer({ allowHalfOpen: true })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const connected = once(listener, 'connection')
  const client = connect({ port: (listener.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true })
  client.on('error', () => undefined)
  const [server] = await connected
  t.teardown(() => {
    client.destroy()
    server.destroy()
    listener.close()
  })
  return { server, client }
}

function failure(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(code), { code })
}

async function readToEnd(socket: Socket): Promise<string> {
  let text = ''
  for await (const chunk of socket) text += chunk
  return text
}

t.test('bytes that are no HTTP request get their status in the system form, with the id of their record', async t => {
  const recorded: number[] = []
  for (const [code, status, body] of [
    ['HPE_INVALID_METHOD', '400 Bad Request', { code: 'invalid_request', message: 'Bad Request' }],
    ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout', { code: 'request_timeout', message: 'Request Timeout' }],
    [
      'HPE_HEADER_OVERFLOW',
      '431 Request Header Fields Too Large',
      { code: 'invalid_request', message: 'Request Header Fields Too Large' }
    ]
  ] as const) {
    const { server, client } = await openPair(t)
    sendClientError(failure(code), server, status => {
      recorded.push(status)
      return 'id-of-this-request'
    })
    const text = await readToEnd(client)
    const [head = '', json = ''] = text.split('\r\n\r\n')
    t.ok(head.startsWith(`HTTP/1.1 ${status}\r\n`), status)
    t.match(head, /x-request-id: id-of-this-request\r\nvary: Origin\r\n/)
    t.ok(head.includes(`content-length: ${json.length}\r\nconnection: close`))
    t.same(JSON.parse(json), { error: body })
  }
  t.same(recorded, [400, 408, 431])
})

t.test('the connection of a client that never closes its side is closed after a moment, with one record', async t => {
  let records = 0
  const record = () => `id-${++records}`
  const { server, client } = await openPair(t)
  client.resume()
  const closed = once(server, 'close')
  sendClientError(failure('HPE_INVALID_METHOD'), server, record)
  sendClientError(failure('HPE_INVALID_METHOD'), server, record)
  await closed
  t.ok(server.destroyed)
  t.equal(records, 1)
})

t.test('a broken connection gets no response and no record', async t => {
  const record = () => {
    throw new Error('There is nothing to record.')
  }
  const { server, client } = await openPair(t)
  const received = readToEnd(client)
  sendClientError(failure('ECONNRESET'), server, record)
  t.ok(server.destroyed)
  t.equal(await received, '')
})

t.test('a fault after the head of a request keeps its status and says what is wrong', async t => {
  t.match(toRequestFault(failure('HPE_INVALID_CHUNK_SIZE')), {
    code: 'invalid_request',
    status: 400,
    message: /content-length/
  })
  t.match(toRequestFault(failure('HPE_HEADER_OVERFLOW')), { code: 'invalid_request', status: 431, message: /trailers/ })
  t.match(toRequestFault(failure('ERR_HTTP_REQUEST_TIMEOUT')), { code: 'request_timeout', status: 408 })
})
