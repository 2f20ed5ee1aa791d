// A free port, for programs that cannot say which port the system gave them.
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * A system hands out ports from 32768 or 49152 on: to clients, and to servers that ask for any port. Such a port could be taken before it is
 * used, or between two starts of one server. Ports below that range go only to programs that ask for them by number.
 */
const FIRST_PORT = 20_000
const LAST_PORT = 32_767

/** Returns a port of 127.0.0.1 that nothing listens on and that the system does not hand out by itself. */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST_PORT, LAST_PORT + 1)
    if (await isFree(port)) return port
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return false
    throw error
  }
  server.close()
  await once(server, 'close')
  return true
}
