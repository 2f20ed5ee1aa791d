// WebSockets on `/responses` (memory.md 5). The upgrade is a request like any other until it is accepted: it has passed the stages with its
// path and its key.

import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type WebSocket, WebSocketServer } from 'ws'
import { shuttingDown } from '../../http/drain-gate.ts'
import type { RouteTraits } from '../../http/request/route-traits.ts'
import { type ConnectLocally, endResponse, findUpgrade, type Upgrade, type WebSockets } from '../../http/upgrade.ts'
import { GatewayError } from '../../normalized/index.ts'
import type { WorkerRuntime } from '../worker-runtime.ts'
import { CONNECTION_TIMES, type ConnectionTimes, SocketConnection } from './connection.ts'

const PATH = '/responses'
const PREFIXES = ['', '/v1', '/v2'] as const
const PATHS: ReadonlySet<string> = new Set(PREFIXES.map(prefix => prefix + PATH))

/** How long clients may take to close their side at the end. */
const CLOSE_GRACE_MS = 500

export function createResponsesWebSockets(
  { settings, drainGate }: Pick<WorkerRuntime, 'settings' | 'drainGate'>,
  times: ConnectionTimes = CONNECTION_TIMES
): WebSockets {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: settings.maxRequestBodyBytes,
    // Contexts of compression would cost each connection hundreds of kilobytes.
    perMessageDeflate: false
  })
  /** Why a handshake cannot be completed. Without a listener the library would answer in a form of its own, and the record would say 101. */
  const malformed = new WeakMap<IncomingMessage, string>()
  server.on('wsClientError', ({ message }, _socket, incoming) => void malformed.set(incoming, message))
  const open = new Set<SocketConnection>()
  let connect: ConnectLocally | undefined

  function begin(request: FastifyRequest, { socket }: Upgrade, webSocket: WebSocket): void {
    const upgraded = request.raw
    const connection = new SocketConnection({
      webSocket,
      upgraded,
      connect(facts) {
        if (connect === undefined) throw new Error('The listener is not there yet.')
        return connect(socket, facts)
      },
      keptBytesMax: settings.maxRequestBodyBytes,
      times,
      onClosed() {
        stopListening()
        open.delete(connection)
      }
    })
    open.add(connection)
    const stopListening = drainGate.onClosingConnections(() => connection.drain())
    if (drainGate.closesConnections) connection.drain()
  }

  function accept(request: FastifyRequest, reply: FastifyReply): void {
    const upgrade = findUpgrade(request.raw)
    if (upgrade === undefined) throw new GatewayError('method_not_allowed', { allow: 'POST' })
    if (drainGate.isDraining) throw shuttingDown()
    const { context } = request
    const { outgoing } = context
    server.handleUpgrade(request.raw, upgrade.socket, upgrade.head, webSocket => {
      context.firstByte()
      begin(request, upgrade, webSocket)
    })
    const reason = malformed.get(request.raw)
    if (reason !== undefined) throw new GatewayError('invalid_request', { message: `${reason}.` })
    reply.hijack()
    outgoing.detachSocket(upgrade.socket)
    upgrade.socket.setTimeout(0)
    outgoing.statusCode = 101
    context.lifetime.isSent = true
    endResponse(outgoing, upgrade.socket)
  }

  return {
    serves: path => PATHS.has(path),
    mount(app) {
      for (const prefix of PREFIXES) {
        app.route({ method: 'GET', url: prefix + PATH, config: { traits: writeTraits(prefix) }, handler: accept })
      }
    },
    attach(given) {
      connect = given
    },
    async close() {
      const connections = [...open]
      if (connections.length === 0) return
      for (const connection of connections) connection.drain()
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, CLOSE_GRACE_MS)
      const check = setInterval(() => {
        if (open.size === 0) resolve()
      }, CLOSE_GRACE_MS / 20)
      await promise
      clearTimeout(timer)
      clearInterval(check)
      for (const connection of open) connection.destroy()
    }
  }
}

/** The upgrade itself is no model request: each of its messages is one. */
function writeTraits(prefix: (typeof PREFIXES)[number]): RouteTraits {
  return {
    template: prefix + PATH,
    prefix,
    family: 'completions',
    access: 'api-key',
    takesUpstreamAuthorization: true,
    isModelRequest: false,
    ...(prefix === '' ? {} : { apiMode: prefix === '/v1' ? 'v1' : 'v2' })
  }
}
