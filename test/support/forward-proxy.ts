// A small forward proxy on this machine: tunnels by CONNECT and requests in the absolute form, with a
// credential where a test wants one. It resolves every name below `.example` to this machine.

import { createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import { createServer as createTlsServer, type ServerOptions as TlsOptions } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import type { Test } from 'tap'

export interface ForwardProxyOptions {
  /** `user:password`; requests without it get 407. */
  credential?: string
  /** Responds with this status in place of the origin. */
  refuse?: number
  /** Accepts connections and responds to nothing. */
  isSilent?: boolean
  /** Closes the connection in place of a response. */
  closes?: boolean
  /** The address that it listens on; loopback unless given. */
  host?: string
  /** Speaks TLS with its clients. */
  tls?: TlsOptions
}

export interface ForwardProxy {
  url: string
  port: number
  /** Request lines, such as `POST http://host/path` and `CONNECT host:443`. */
  seen: string[]
  /** The headers of each of them. */
  headers: IncomingMessage['headers'][]
  /** Their names and values in turn, as they arrived. */
  rawHeaders: string[][]
  /** The subject in the certificate of each client that spoke TLS. */
  clientNames: Array<string | undefined>
  /** Connections of clients that are open at the moment. */
  openSockets(): number
  /** Closes every connection now, as a proxy does that ends. */
  cut(): void
}

/** Starts a proxy that ends with the test. */
export async function startForwardProxy(t: Test, options: ForwardProxyOptions = {}): Promise<ForwardProxy> {
  const { credential, refuse, isSilent = false, closes = false, tls, host = '127.0.0.1' } = options
  const seen: string[] = []
  const headers: IncomingMessage['headers'][] = []
  const rawHeaders: string[][] = []
  const clientNames: ForwardProxy['clientNames'] = []
  const sockets = new Set<Socket>()
  const expected = credential === undefined ? undefined : `Basic ${Buffer.from(credential).toString('base64')}`

  function findRefusal(incoming: IncomingMessage): number | undefined {
    seen.push(`${incoming.method} ${incoming.url}`)
    headers.push(incoming.headers)
    rawHeaders.push(incoming.rawHeaders)
    return expected === undefined || incoming.headers['proxy-authorization'] === expected ? refuse : 407
  }

  const server = tls === undefined ? createServer() : createTlsServer(tls)
  server.on('request', (incoming, response) => {
    const status = findRefusal(incoming)
    if (isSilent) return
    if (closes) {
      incoming.socket.destroy()
      return
    }
    if (status !== undefined) {
      response.writeHead(status).end('refused by the proxy')
      return
    }
    const { hostname, port, pathname, search } = new URL(incoming.url ?? '')
    const { 'proxy-authorization': _taken, ...passed } = incoming.headers
    const target = { host: resolveHost(hostname), port, path: pathname + search }
    const onward = httpRequest({ ...target, method: incoming.method, headers: passed }, received => {
      response.writeHead(received.statusCode ?? 502, received.headers)
      received.pipe(response)
      received.on('error', () => response.destroy())
    })
    onward.on('error', () => {
      if (response.headersSent) response.destroy()
      else response.writeHead(502).end()
    })
    response.on('close', () => onward.destroy())
    incoming.pipe(onward)
  })
  server.on('connect', (incoming: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => undefined)
    const status = findRefusal(incoming)
    if (isSilent) {
      // A socket that is not read never shows that the other side closed it.
      socket.resume().on('end', () => socket.destroy())
      return
    }
    if (closes) {
      socket.destroy()
      return
    }
    if (status !== undefined) {
      socket.end(`HTTP/1.1 ${status} no\r\ncontent-length: 2\r\n\r\nno`)
      return
    }
    const { hostname, port } = new URL(`http://${incoming.url}`)
    const onward = connect(Number(port), resolveHost(hostname), () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      onward.pipe(socket).pipe(onward)
    })
    onward.on('error', () => socket.destroy())
    socket.on('close', () => onward.destroy())
    onward.on('close', () => socket.destroy())
  })
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    sockets.add(socket)
    if (socket instanceof TLSSocket) clientNames.push(socket.getPeerX509Certificate()?.subject)
    socket.on('close', () => sockets.delete(socket))
  })
  function cut(): void {
    for (const socket of sockets) socket.destroy()
  }
  await new Promise<void>(resolve => server.listen(0, host, resolve))
  t.teardown(() => {
    server.close()
    cut()
  })
  const { port } = server.address() as AddressInfo
  const scheme = tls === undefined ? 'http' : 'https'
  return {
    url: `${scheme}://${host}:${port}`,
    port,
    seen,
    headers,
    rawHeaders,
    clientNames,
    openSockets: () => sockets.size,
    cut
  }
}

function resolveHost(host: string): string {
  if (host.endsWith('.example')) return '127.0.0.1'
  return host.replace(/^\[(.*)\]$/, '$1')
}
