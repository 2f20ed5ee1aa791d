// The socket of a service process: accepts the connections of workers and closes them. What is said over one is the service's.
import { createServer, type Socket } from 'node:net'

export interface SocketServer {
  /** Rejects with the system's error. */
  listen(path: string): Promise<void>
  /** Resolves when no connection is left: workers have closed theirs and all that they sent has been read. */
  drained(): Promise<void>
  /** Closes the socket and every connection. */
  close(): Promise<void>
}

/** Creates a server that does not listen yet. `serve` is called with each connection. */
export function createSocketServer(serve: (socket: Socket) => void): SocketServer {
  const connections = new Set<Socket>()
  const drainListeners: Array<() => void> = []
  const server = createServer(socket => {
    connections.add(socket)
    socket.once('close', () => {
      connections.delete(socket)
      if (connections.size === 0) for (const listener of drainListeners.splice(0)) listener()
    })
    serve(socket)
  })
  return {
    listen: path =>
      new Promise((resolve, reject) => {
        // Later errors are those of single connections, such as a lack of descriptors: their workers connect again.
        server.on('error', reject)
        server.listen(path, () => resolve())
      }),
    drained: () => (connections.size === 0 ? Promise.resolve() : new Promise(resolve => drainListeners.push(resolve))),
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const socket of connections) socket.destroy()
      })
  }
}
