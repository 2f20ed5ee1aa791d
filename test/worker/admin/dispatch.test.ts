import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import t from 'tap'
import { dispatch } from '../../../worker/admin/dispatch.ts'
import { findReplay } from '../../../worker/http/request/replay-mark.ts'
import { GatewayError } from '../../../worker/normalized/index.ts'

const replay = { sourceId: 'source', keyName: undefined, scope: undefined }
const request = { path: '/v1/x', headers: { 'x-a': 'b' }, body: '{"a":1}', replay }
const options = () => ({ bytesMax: 1_000_000, timeoutMs: 60_000, signal: new AbortController().signal })

t.test('a request arrives as from a client on this host, with its mark, and its response comes back', async t => {
  let isFinished = false
  const handle: RequestListener = async (incoming, outgoing) => {
    outgoing.on('close', () => {
      isFinished = outgoing.writableFinished
    })
    const chunks = await incoming.toArray()
    const { method, url, headers, socket } = incoming
    const seen = { method, url, a: headers['x-a'], address: socket.remoteAddress, source: findReplay(socket)?.sourceId }
    outgoing.writeHead(201, { 'content-type': 'application/json' })
    outgoing.end(JSON.stringify({ ...seen, body: Buffer.concat(chunks).toString() }))
  }
  const { status, headers, body, isCut } = await dispatch(handle, request, options())
  t.equal(status, 201)
  t.equal(headers['content-type'], 'application/json')
  t.same(JSON.parse(body.toString()), {
    method: 'POST',
    url: '/v1/x',
    a: 'b',
    address: '127.0.0.1',
    source: 'source',
    body: '{"a":1}'
  })
  t.equal(isCut, false)
  t.equal(isFinished, true, 'no disconnect was seen')
})

t.test('a long response is read to its end and kept to its bound', async t => {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const handle: RequestListener = async (_incoming, outgoing) => {
    for (let chunk = 0; chunk < 100; chunk += 1) {
      if (!outgoing.write(Buffer.alloc(100_000, 'x'))) await once(outgoing, 'drain')
    }
    outgoing.end(() => resolve(outgoing.writableFinished))
  }
  const { body, isCut } = await dispatch(handle, request, { ...options(), bytesMax: 150_000 })
  t.equal(body.length, 150_000)
  t.equal(isCut, true)
  t.equal(await promise, true)
})

t.test('the end of the caller, and of the time, look like a disconnect', async t => {
  const handle = (closed: (isFinished: boolean) => void): RequestListener => {
    return (_incoming, outgoing) => {
      outgoing.on('close', () => closed(outgoing.writableFinished))
    }
  }
  const late = Promise.withResolvers<boolean>()
  await t.rejects(dispatch(handle(late.resolve), request, { ...options(), timeoutMs: 1 }))
  t.equal(await late.promise, false)

  const client = new AbortController()
  const left = Promise.withResolvers<boolean>()
  const running = dispatch(handle(left.resolve), request, { ...options(), signal: client.signal })
  client.abort(new GatewayError('client_disconnected'))
  await t.rejects(running)

  await t.rejects(
    dispatch((_incoming, outgoing) => outgoing.destroy(), request, options()),
    'a cut response'
  )
  await t.rejects(
    dispatch(() => undefined, { ...request, path: '/a b' }, options()),
    'a path that is none'
  )
})
