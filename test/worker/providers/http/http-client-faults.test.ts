// Faults of the HTTP client that the product works around (ADR 2026-11-29-faults-of-the-http-client). A
// case that fails shows that the fault is mended: the work-around that it names can go.

import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { Client } from 'undici'
import { createAuthority } from '../../../support/certificates.ts'
import { startDemandingServer } from '../../../support/demanding-server.ts'

/** A server that answers each piece of a request with the same bytes. */
async function startServer(t: Test, answer: string): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => undefined).once('data', () => socket.write(answer))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test(
  'a 100 Continue that was not asked for ends the connection (worker/providers/http/connections/watched-connection.ts)',
  async t => {
    const final = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'
    const ask = async (answer: string) => {
      const client = new Client(await startServer(t, answer))
      t.teardown(() => client.destroy())
      return await client.request({ method: 'POST', path: '/', body: '{}' })
    }
    t.equal((await ask(final)).statusCode, 200)
    await t.rejects(ask(`HTTP/1.1 100 Continue\r\n\r\n${final}`), { name: 'SocketError' })
  }
)

t.test('the alert behind a handshake is lost (worker/providers/http/connections/tls-alerts.ts)', async t => {
  const authority = createAuthority(t)
  const port = await startDemandingServer(t, authority.issue({ name: 'server' }), authority)
  const client = new Client(`https://127.0.0.1:${port}`, { allowH2: false, connect: { ca: authority.cert } })
  t.teardown(() => client.destroy())
  await t.rejects(client.request({ method: 'POST', path: '/', body: '{}' }), { message: 'other side closed' })
})
