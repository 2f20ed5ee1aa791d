// A small HTTP server on loopback that plays the upstream, a token server or a client's file host, and counts its sockets.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type ServerOptions as TlsOptions } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'

export interface StubRequest {
  method: string
  url: string
  headers: IncomingMessage['headers']
  body: Buffer
  socket: Socket
}

export type StubHandler = (request: StubRequest, response: ServerResponse) => void | Promise<void>

export interface StubServer {
  origin: string
  port: number
  /** Every request in order of arrival, its body read. */
  requests: StubRequest[]
  /** Sockets that are open at the moment. */
  openSockets: () => number
  /** Resolves when a socket on which a request is running was closed by the other side. */
  nextAbort: () => Promise<void>
  /** Resolves when this many requests have arrived. */
  arrived: (count: number) => Promise<void>
  close: () => Promise<void>
}

export async function startStub(handler: StubHandler, options: { tls?: TlsOptions } = {}): Promise<StubServer> {
  const requests: StubRequest[] = []
  const sockets = new Set<Socket>()
  const abortWaiters: Array<() => void> = []
  const arrivalWaiters: Array<{ count: number; resolve: () => void }> = []

  const listener = (incoming: IncomingMessage, response: ServerResponse): void => {
    const chunks: Buffer[] = []
    response.on('close', () => {
      if (!response.writableFinished) for (const resolve of abortWaiters.splice(0)) resolve()
    })
    incoming.on('data', chunk => chunks.push(chunk))
    incoming.on('end', () => {
      const request = {
        method: incoming.method ?? '',
        url: incoming.url ?? '',
        headers: incoming.headers,
        body: Buffer.concat(chunks),
        socket: incoming.socket
      }
      requests.push(request)
      for (const waiter of arrivalWaiters) if (requests.length >= waiter.count) waiter.resolve()
      void handler(request, response)
    })
  }
  const server = options.tls === undefined ? createServer(listener) : createTlsServer(options.tls, listener)
  server.on(options.tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  return {
    origin: `${options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    port,
    requests,
    openSockets: () => sockets.size,
    nextAbort: () => new Promise(resolve => abortWaiters.push(resolve)),
    arrived: count =>
      requests.length >= count ? Promise.resolve() : new Promise(resolve => arrivalWaiters.push({ count, resolve })),
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {}
): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers })
  response.end(JSON.stringify(body))
}
