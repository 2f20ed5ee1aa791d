// A free port, for programs that cannot say which port the system gave them.
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Systems give ports from 32768 or 49152 on to servers that ask for any, and to clients: each of them could take a port of those before it is
 * used, or between two starts of one server. They give none of these by themselves.
 */
const FIRST_PORT = 20_000
const LAST_PORT = 32_767

/** A port of 127.0.0.1 that nothing listens on, and that nothing gets which does not ask for just this one. */
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
