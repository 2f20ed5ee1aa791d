// Makes sure that the port is free before workers share it. With port sharing in the kernel a second gateway on the same port
// would bind without an error and get half of the connections, so the port is probed without sharing.
import { createServer, type Server } from 'node:net'
import { isMissingAddress, resolveListenAddresses } from '../../shared/net/listen-addresses.ts'

export interface PortReservation {
  readonly port: number
  /** Releases the port where it is kept; to be called when the workers listen, or when the start has failed. */
  release(): Promise<void>
}

/** Whether the kernel can spread connections over several listeners of one port, and this Node can request it. */
export function canSharePort(platform: string, nodeVersion: string): boolean {
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number)
  return platform === 'linux' && (major > 23 || (major === 23 && minor >= 1))
}

/** A free port of one address may be in use on another; then the next free one is attempted. */
const PICK_ATTEMPTS_MAX = 10

interface ReservationOptions {
  readonly host: string
  readonly port: number
  readonly reusePort: boolean
}

/**
 * Proves that no process listens on the host's addresses. For port 0 it picks a port that is free on all of them and, where ports can
 * be shared, keeps it until `release`. Rejects with the system's error (`EADDRINUSE`, `EADDRNOTAVAIL`, `EACCES`, `ENOTFOUND`).
 */
export async function reservePort(options: ReservationOptions): Promise<PortReservation> {
  const addresses = await resolveListenAddresses(options.host)
  if (options.port !== 0) {
    await probe(addresses, options.port)
    return { port: options.port, release: async () => undefined }
  }
  // Without sharing too: the listener there ends with the last worker, and workers that listened on port 0 in their place would get
  // another port than the one that was announced.
  const port = await pickPort(addresses, PICK_ATTEMPTS_MAX)
  const holders = options.reusePort ? await holdPort(addresses, port) : []
  return {
    port,
    async release() {
      await Promise.all(holders.map(close))
    }
  }
}

/** Returns the port that was probed: the given one, or for 0 the one that the first address got. */
async function probe(addresses: readonly string[], port: number): Promise<number> {
  let found = port
  for (const [index, host] of addresses.entries()) {
    try {
      const server = await listen({ host, port: found, reusePort: false })
      found = portOf(server)
      await close(server)
    } catch (error) {
      if (index === 0 || !isMissingAddress(error)) throw error
    }
  }
  return found
}

async function pickPort(addresses: readonly string[], attemptsLeft: number): Promise<number> {
  try {
    return await probe(addresses, 0)
  } catch (error) {
    if (attemptsLeft <= 1 || !hasCode(error, ['EADDRINUSE'])) throw error
    return pickPort(addresses, attemptsLeft - 1)
  }
}

async function holdPort(addresses: readonly string[], port: number): Promise<Server[]> {
  const holders: Server[] = []
  for (const host of addresses) {
    const holder = await listen({ host, port, reusePort: true }).catch(() => undefined)
    if (holder === undefined) continue
    // The port is not announced yet; an early connection is reset instead of waiting in this socket's queue.
    holder.on('connection', socket => socket.destroy())
    holders.push(holder)
  }
  return holders
}

function hasCode(error: unknown, codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}

function listen(options: { host: string; port: number; reusePort: boolean }): Promise<Server> {
  const server = createServer()
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ ...options, exclusive: true }, () => {
      server.off('error', reject)
      resolve(server)
    })
  })
}

function portOf(server: Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('A listening server has no port.')
  return address.port
}

function close(server: Server): Promise<void> {
  return new Promise(resolve => server.close(() => resolve()))
}
