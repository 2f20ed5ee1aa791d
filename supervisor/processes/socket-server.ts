// The socket of a service process: accepts the connections of workers and closes them. What is said over one is the service's.
import { existsSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import type { Logger } from '../../shared/logging.ts'
import { ensurePrivateFolder } from '../../shared/private-folder.ts'

export interface SocketServer {
  /** Rejects with the system's error. */
  listen(path: string): Promise<void>
  /** Resolves when no connection is left: workers have closed theirs and all that they sent has been read. */
  drained(): Promise<void>
  /** Closes the socket and every connection. */
  close(): Promise<void>
}

export interface SocketServerDependencies {
  readonly log: Logger
  /** Called with each connection. */
  readonly serve: (socket: Socket) => void
}

/** What cleans temporary folders may remove the socket: a worker that starts later would find nothing. */
const CHECK_INTERVAL_MS = 1_000
/** Further failures are logged once a minute. */
const CHECKS_PER_LINE = 60

/** Creates a server that does not listen yet. Where its socket is removed, it listens again under the same path. */
export function createSocketServer({ log, serve }: SocketServerDependencies): SocketServer {
  const connections = new Set<Socket>()
  const drainListeners: Array<() => void> = []
  let server: Server | undefined
  let check: NodeJS.Timeout | undefined
  let isListeningAgain = false
  /** In a row. */
  let failures = 0

  function accept(socket: Socket): void {
    connections.add(socket)
    socket.once('close', () => {
      connections.delete(socket)
      if (connections.size === 0) for (const listener of drainListeners.splice(0)) listener()
    })
    serve(socket)
  }

  function open(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      ensurePrivateFolder(path)
      const opened = createServer(accept)
      server = opened
      // Later errors are those of single connections, such as a lack of descriptors: their workers connect again.
      opened.on('error', reject)
      opened.listen(path, () => resolve())
    })
  }

  async function listenAgain(path: string): Promise<void> {
    if (isListeningAgain || process.platform === 'win32' || existsSync(path)) return
    isListeningAgain = true
    try {
      // Open connections stay. The closed socket removes its path, so it closes first.
      server?.close()
      await open(path)
      failures = 0
      log.warn(
        { event: 'socket_made_again' },
        'The socket of this process was removed from the temporary folder; it was made again'
      )
    } catch (error) {
      if (failures % CHECKS_PER_LINE === 0) {
        const message = 'The socket of this process was removed and cannot be made again'
        log.warn({ event: 'socket_lost', err: error }, message)
      }
      failures += 1
    } finally {
      isListeningAgain = false
    }
  }

  return {
    async listen(path) {
      await open(path)
      check = setInterval(() => void listenAgain(path), CHECK_INTERVAL_MS).unref()
    },
    drained: () => (connections.size === 0 ? Promise.resolve() : new Promise(resolve => drainListeners.push(resolve))),
    close: () =>
      new Promise(resolve => {
        clearInterval(check)
        if (server === undefined) resolve()
        else server.close(() => resolve())
        for (const socket of connections) socket.destroy()
      })
  }
}
