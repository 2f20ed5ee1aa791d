// A free port, for programs that cannot say which port the system gave them.
import { once } from 'node:events'
import { createServer } from 'node:net'

/** A port of 127.0.0.1 that nothing listens on. Another program may take it before it is used. */
export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (typeof address !== 'object' || address === null) throw new Error('No free port was found.')
  return address.port
}
