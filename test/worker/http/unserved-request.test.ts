import { once } from 'node:events'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { pino } from 'pino'
import t from 'tap'
import { createUnservedRequests } from '../../../worker/http/unserved-request.ts'
import { createObservation } from '../../../worker/observation/observation.ts'
import { createRecorder } from '../observation/recorder.ts'

function start() {
  const recorder = createRecorder()
  const unserved = createUnservedRequests({
    observation: createObservation([recorder.observer], pino({ level: 'silent' })),
    readKeyFacts: () => ({}),
    fingerprint: value => value,
    describe: ({ url = '' }) => ({ route: url.replace(/\?.*/, ''), protocol: 'anthropic' })
  })
  return { unserved, lives: recorder.lives }
}

function createResponse(): ServerResponse {
  const incoming = new IncomingMessage(new Socket())
  incoming.method = 'POST'
  incoming.url = '/v1/messages?key=hush'
  incoming.headers = { 'x-trace-id': 't1' }
  return new ServerResponse(incoming)
}

t.test('a request whose connection closed before it was handled is a client disconnect', async t => {
  const { unserved, lives } = start()
  unserved.skip(createResponse())
  t.match(lives, [
    {
      view: { method: 'POST', path: '/v1/messages', traceId: 't1', route: '/v1/messages', protocol: 'anthropic' },
      closed: { status: 499, lifecycle: 'request_aborted', errorType: 'request_cancelled', bytesSent: 0 }
    }
  ])
  t.same(
    lives[0]?.moments.map(([name]) => name),
    ['opened', 'closed']
  )
})

t.test('input that was refused on the socket has one record, closed with the connection', async t => {
  const { unserved, lives } = start()
  const socket = new Socket()
  const id = unserved.refuse(400, socket)
  t.equal(lives.length, 1)
  t.equal(lives[0]?.closed, undefined)
  socket.destroy()
  await once(socket, 'close')
  t.match(lives[0], { view: { requestId: id, path: '' }, closed: { status: 400, errorType: 'http_400' } })
})

t.test('without observers a refused request still has an id', async t => {
  const unserved = createUnservedRequests({
    observation: undefined,
    readKeyFacts: () => ({}),
    fingerprint: value => value,
    describe: () => ({ route: 'unmatched', protocol: 'system' })
  })
  t.match(unserved.refuse(431, new Socket()), /^[0-9a-f-]{36}$/)
  unserved.skip(createResponse())
})
