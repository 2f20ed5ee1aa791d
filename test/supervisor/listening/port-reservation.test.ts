import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import t, { type Test } from 'tap'
import { canSharePort, reservePort } from '../../../supervisor/listening/port-reservation.ts'

const host = '127.0.0.1'
const canShare = canSharePort(process.platform, process.versions.node)

async function listen(t: Test, options: { port: number; reusePort?: boolean }) {
  const server = createServer()
  server.listen({ host, ...options })
  await once(server, 'listening')
  t.teardown(() => server.close())
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

t.test('ports are shared on Linux from Node 23.1 on', async t => {
  t.equal(canSharePort('linux', '24.1.0'), true)
  t.equal(canSharePort('linux', '23.1.0'), true)
  t.equal(canSharePort('linux', '23.0.9'), false)
  t.equal(canSharePort('linux', '22.15.0'), false)
  t.equal(canSharePort('darwin', '24.0.0'), false)
})

t.test('a port in use is detected, also when its listener shares it', async t => {
  const plain = await listen(t, { port: 0 })
  await t.rejects(reservePort({ host, port: plain, reusePort: true }), { code: 'EADDRINUSE' })
  if (!canShare) return
  const shared = await listen(t, { port: 0, reusePort: true })
  await t.rejects(reservePort({ host, port: shared, reusePort: true }), { code: 'EADDRINUSE' })
})

t.test('a free port is left free for the workers', async t => {
  const port = await listen(t, { port: 0 }).then(async busy => (busy === 65535 ? busy - 1 : busy + 1))
  const reservation = await reservePort({ host, port, reusePort: false }).catch(() => undefined)
  if (reservation === undefined) return
  t.equal(reservation.port, port)
  await listen(t, { port })
})

t.test('port 0 becomes a port that is held until the workers listen', { skip: !canShare }, async t => {
  const reservation = await reservePort({ host, port: 0, reusePort: true })
  t.ok(reservation.port > 0)
  await t.rejects(reservePort({ host, port: reservation.port, reusePort: true }), { code: 'EADDRINUSE' })
  await listen(t, { port: reservation.port, reusePort: true })
  await reservation.release()
  await reservation.release()
})

t.test('port 0 becomes one port for all workers that follow, also where ports are not shared', async t => {
  const { port, release } = await reservePort({ host, port: 0, reusePort: false })
  t.teardown(release)
  t.ok(port > 0)
  await listen(t, { port })
})

t.test('a connection before the workers listen is reset, not kept waiting', { skip: !canShare }, async t => {
  const reservation = await reservePort({ host, port: 0, reusePort: true })
  t.teardown(reservation.release)
  const socket = connect({ host, port: reservation.port })
  socket.on('error', () => undefined)
  await once(socket, 'close')
  t.pass('closed')
})

t.test('an address of another machine is refused', async t => {
  await t.rejects(reservePort({ host: '192.0.2.1', port: 0, reusePort: true }), { code: 'EADDRNOTAVAIL' })
})

t.test('localhost is every address that it resolves to', { skip: !canShare }, async t => {
  const reservation = await reservePort({ host: 'localhost', port: 0, reusePort: true })
  t.teardown(reservation.release)
  await t.rejects(reservePort({ host, port: reservation.port, reusePort: true }), { code: 'EADDRINUSE' })
})
