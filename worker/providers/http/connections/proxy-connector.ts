// Connectors through a proxy: the connection to the proxy itself, and a tunnel through it to a
// provider with TLS (RFC 9110, section 9.3.6). The ADR of 2026-11-29 on proxies says why these are
// not those of the HTTP client.

import { request as httpRequest } from 'node:http'
import { isIPv6, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { buildConnector } from 'undici'
import type { ProxyServer } from './proxy.ts'
import { ProxyError, proxyConnectionError, proxyStatusError } from './proxy-error.ts'

type Connector = buildConnector.connector
type Callback = buildConnector.Callback

/**
 * Returns a connector that leads to the proxy for every origin. Its failures are `ProxyError`.
 * @param dial connects to a host, with TLS where the scheme asks for it.
 */
export function createProxyDial({ origin }: ProxyServer, dial: Connector): Connector {
  const { protocol, hostname, host, port } = new URL(origin)
  const bare = hostname.replace(/^\[(.*)\]$/, '$1')
  return (_options, callback) => {
    dial({ protocol, hostname: bare, host, port }, (...result) => {
      if (result[0] === null) callback(...result)
      else callback(proxyConnectionError(result[0]), null)
    })
  }
}

export interface TunnelOptions {
  proxy: ProxyServer
  /** Connects to the proxy. */
  dial: Connector
  /** Begins TLS with the provider on an open tunnel. */
  secure: Connector
  /** For the whole way: to the proxy, through it, and TLS with the provider. */
  timeoutMs: number
}

/** Returns a connector whose connections lead through a tunnel of the proxy. */
export function createTunnelConnector({ proxy, dial, secure, timeoutMs }: TunnelOptions): Connector {
  return (options, callback) => {
    let socket: Socket | undefined
    let isSettled = false
    const deadline = setTimeout(() => {
      settle(new ProxyError(`The way through the proxy took longer than ${timeoutMs} ms.`, 'ETIMEDOUT'), null)
      socket?.destroy()
    }, timeoutMs)
    function settle(...result: Parameters<Callback>): void {
      if (isSettled) {
        // The deadline was faster.
        result[1]?.on('error', ignore).destroy()
        return
      }
      isSettled = true
      clearTimeout(deadline)
      callback(...result)
    }
    dial(options, (...dialed) => {
      if (isSettled || dialed[0] !== null) {
        settle(...dialed)
        return
      }
      socket = dialed[1]
      openTunnel(socket, writeAuthority(options), proxy, (...opened) => {
        if (isSettled || opened[0] !== null) settle(...opened)
        else secure({ ...options, httpSocket: opened[1] }, settle)
      })
    })
  }
}

/** Asks the proxy at the other end of a socket for a tunnel. Node reads the response; its client does nothing else. */
function openTunnel(socket: Socket, authority: string, { authorization }: ProxyServer, callback: Callback): void {
  const request = httpRequest({
    method: 'CONNECT',
    path: authority,
    setHost: false,
    headers: {
      host: authority,
      connection: 'keep-alive',
      ...(authorization !== undefined && { 'proxy-authorization': authorization })
    },
    createConnection: () => socket
  })
  request.once('connect', ({ statusCode = 0 }, tunnel: Duplex, head: Buffer) => {
    // Behind the client of node the socket has no listener, and an error without one ends the process.
    tunnel.on('error', ignore)
    if (statusCode >= 200 && statusCode < 300) {
      if (head.length > 0) tunnel.unshift(head)
      callback(null, socket)
      return
    }
    tunnel.destroy()
    callback(proxyStatusError(statusCode), null)
  })
  request.once('error', error => {
    socket.destroy()
    callback(proxyConnectionError(error), null)
    request.on('error', ignore)
  })
  request.end()
}

function writeAuthority({ hostname, port, protocol }: buildConnector.Options): string {
  const ownPort = port === '' ? (protocol === 'https:' ? '443' : '80') : port
  return `${isIPv6(hostname) ? `[${hostname}]` : hostname}:${ownPort}`
}

const ignore = (): void => undefined
