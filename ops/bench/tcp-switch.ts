// A TCP relay in front of a server that can take the server away: it refuses connections as a server that is down does, or falls silent as
// one behind a broken network does.

import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** `refused`: connections break and new ones are refused. `silent`: they stay open, and no byte passes. */
export type Outage = 'refused' | 'silent'

export interface TcpSwitch {
  readonly port: number
  cut(outage: Outage): void
  /** Ends the outage. Bytes that silent connections have taken meanwhile pass now. */
  restore(): Promise<void>
  close(): void
}

/** Starts a relay to this port of the same machine. */
export async function startTcpSwitch(targetPort: number): Promise<TcpSwitch> {
  const sockets = new Set<Socket>()
  let isSilent = false
  const server = createServer(client => {
    const target = connect(targetPort, '127.0.0.1')
    forward(client, target)
    forward(target, client)
  })

  function forward(from: Socket, to: Socket): void {
    sockets.add(from)
    from.setNoDelay(true)
    from.on('data', bytes => to.write(bytes))
    if (isSilent) from.pause()
    from.on('error', () => undefined)
    from.once('close', () => {
      sockets.delete(from)
      to.destroy()
    })
  }

  async function listen(port: number): Promise<number> {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    if (typeof address !== 'object' || address === null) throw new Error('The relay does not listen.')
    return address.port
  }

  function refuse(): void {
    server.close()
    for (const socket of sockets) socket.destroy()
  }

  const port = await listen(0)
  return {
    port,
    cut(outage) {
      isSilent = outage === 'silent'
      if (outage === 'refused') refuse()
      else for (const socket of sockets) socket.pause()
    },
    async restore() {
      isSilent = false
      for (const socket of sockets) socket.resume()
      if (!server.listening) await listen(port)
    },
    close: refuse
  }
}
