// When the head of a stream is sent while providers are silent (decisions.md 98).
import { mock } from 'node:test'
import t from 'tap'
import { EarlyHead } from '../../../worker/routes/early-head.ts'
import { messagesRoute, openConnection, signalled, startApplication } from '../http/support.ts'

const options = { keepAliveText: ': keep-alive\n\n', contentType: undefined }
const sink = { takeHead: () => undefined }

t.test('the silence of several providers that are called in turn is one silence for the client', async t => {
  const { promise, resolve } = signalled<EarlyHead<typeof sink>>()
  const { port } = await startApplication(t, {
    routes: messagesRoute((_request, reply) => resolve(new EarlyHead(reply, options, 1000)))
  })
  const { socket, waitFor } = await openConnection(t, port)
  socket.write('POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n')
  const early = await promise
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  early.await(sink)
  mock.timers.tick(600)
  early.await(sink)
  t.equal(early.sent, undefined)
  mock.timers.tick(400)
  t.ok(early.sent)
  t.match(await waitFor(/keep-alive\n\n/), /^HTTP\/1.1 200 /)
  early.take().end()
})
