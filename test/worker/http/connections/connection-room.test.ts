import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import t from 'tap'
import {
  boundConnections,
  connectionsMaxOf,
  readDescriptorUse
} from '../../../../worker/http/connections/connection-room.ts'

t.test('connections leave descriptors for calls, threads and files', async t => {
  t.equal(connectionsMaxOf({ limit: 1_000_000, open: 50 }), 999_694)
  t.equal(connectionsMaxOf({ limit: 1024, open: 50 }), 718)
  t.equal(connectionsMaxOf({ limit: 128, open: 50 }), 46, 'a quarter of a small limit is left')
  t.equal(connectionsMaxOf({ limit: 64, open: 60 }), 1, 'a worker serves at least one')
  t.equal(connectionsMaxOf(undefined), undefined)
})

t.test('the system tells how many descriptors are open', { skip: process.platform !== 'linux' }, async t => {
  const use = readDescriptorUse()
  t.ok(use !== undefined && use.open > 2 && use.limit > use.open)
})

t.test('a connection beyond the bound is refused, and a failure to accept one ends nothing', async t => {
  const refused: object[] = []
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  boundConnections(server, 1, refusal => refused.push(refusal))
  const { port } = server.address() as AddressInfo
  const first = connect(port, '127.0.0.1')
  t.teardown(() => first.destroy())
  await once(server, 'connection')
  const second = connect(port, '127.0.0.1')
  second.on('error', () => undefined)
  await once(second, 'close')
  const cause = new Error('EMFILE')
  server.emit('error', cause)
  t.same(refused, [{ connectionsMax: 1 }, { cause }])
})
