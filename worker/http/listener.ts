// The sockets of a worker: accepts connections, and closes them in the order that a drain needs
// (field-lessons.md I5; decisions.md 44).

import { once } from 'node:events'
import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http'
import { createServer as createHttpsServer, Server as HttpsServer } from 'node:https'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { shareDeadline, withDeadline } from '../../shared/deadline.ts'
import { findListeningHandle, type ListeningHandle } from '../../shared/ipc/listening-handle.ts'
import { isMissingAddress, resolveListenAddresses } from '../../shared/net/listen-addresses.ts'
import { http } from '../../shared/net/node-http.ts'
import { createTurnBatch } from '../performance/turn-batch.ts'
import { canRespond, refuseConnect, sendClientError, toRequestFault } from './connections/client-error.ts'
import {
  boundConnections,
  connectionsMaxOf,
  type RefusedConnection,
  readDescriptorUse
} from './connections/connection-room.ts'
import { connectLocally } from './connections/local-connection.ts'
import {
  type ConnectionHandlers,
  closeTimedOut,
  findConnection,
  receiveRequest
} from './connections/served-connection.ts'
import { isBodyMethod } from './request/body.ts'
import { findContext } from './request-context.ts'
import type { UnservedRequests } from './unserved-request.ts'
import { type ConnectLocally, createUpgradeHandler } from './upgrade.ts'

/** PEM texts. */
export interface TlsPair {
  readonly key: string
  readonly cert: string
}

export interface ListenOptions {
  host: string
  port: number
  /**
   * Every worker binds the port itself and the kernel spreads the connections; otherwise the
   * cluster's primary does.
   */
  reusePort: boolean
  tls?: TlsPair
  /** Sockets that listen already; with any of them no address is bound. */
  inherited?: readonly ListeningHandle[]
}

export interface Listener {
  /**
   * Binds every address of the host. Rejects with the system's error (`EADDRINUSE`, `EACCES`, ...).
   */
  listen(options: ListenOptions): Promise<{ host: string; port: number }>
  /** Shows another certificate to new connections; without TLS it has no effect. */
  useCertificate(pair: TlsPair): void
  /** The sockets of this process, for another one that goes on with them; none where the cluster's primary has them. */
  listHandles(): ListeningHandle[]
  /**
   * Stops accepting, and resolves when no connection is open any more. Idle ones are closed when they send nothing for a while, and
   * `readKeptIdleMs` then says how many milliseconds longer they should stay open.
   */
  whenEmpty(readKeptIdleMs?: () => number): Promise<void>
  /** Resolves when no connection is accepted any more. Connections that are open stay usable. */
  stopAccepting(): Promise<void>
  /** Opens a connection in memory in the name of the client of another one. */
  connect: ConnectLocally
  /**
   * Closes the idle connections, waits a moment for the busy ones, then ends them. With `keptIdleMs` idle connections stay open for so many
   * milliseconds (at most the moment): what their clients have sent meanwhile is answered, where a closed connection would be reset.
   */
  close(keptIdleMs?: number): Promise<void>
}

type RequestHandler = (incoming: IncomingMessage, outgoing: ServerResponse) => void

const SERVER_OPTIONS: ServerOptions = {
  noDelay: true,
  keepAlive: true,
  // A stage refuses the request instead, with an id and in the form of its family.
  requireHostHeader: false,
  headersTimeout: 60_000,
  // The idle time of a body has a bound of its own; this one ends an upload that only trickles.
  requestTimeout: 300_000
}

/** Connections that the kernel queues while this process is busy: enough for a burst. */
const BACKLOG = 4096
const IDLE_SWEEP_MS = 100
const CLOSE_GRACE_MS = 1000
/** A process that another one has replaced closes connections that send nothing for so long: they would keep it until its deadline. */
const REPLACED_IDLE_MS = 15_000

export interface ListenerOptions {
  /**
   * How long an idle connection stays open; clients are told. The bounds of a request do not count while its connection is idle. Longer than
   * the balancer in front keeps it: the balancer closes first and never sends into a closing connection. Default: that of the setting.
   */
  readonly keepAliveMs?: number
  /** Whether the route of a request may upgrade its connection; absent where none does, which costs no request anything. */
  readonly isUpgraded?: ((incoming: IncomingMessage) => boolean) | undefined
  /** Called with each connection that was not accepted. */
  readonly onRefused?: (refused: RefusedConnection) => void
}

/**
 * Creates a listener that hands each request to `handle`, and those that cannot be handled to
 * `unserved`.
 */
export function createListener(
  handle: RequestHandler,
  unserved: UnservedRequests,
  { keepAliveMs = 75_000, isUpgraded, onRefused = () => undefined }: ListenerOptions = {}
): Listener {
  const servers: Server[] = []
  /** Serves the connections in memory; it never listens. */
  let localServer: Server | undefined
  let stopped: Promise<void> | undefined
  /** In place of that of the start. */
  let renewed: TlsPair | undefined

  const handleInTurn = createTurnBatch<ServerResponse>(outgoing => {
    // A socket that closed within this turn emits no further `close`: a handler would wait for one
    // without end.
    if (outgoing.req.socket.writable) handle(outgoing.req, outgoing)
    else unserved.skip(outgoing)
  })

  const handlers: ConnectionHandlers = {
    serve(outgoing) {
      // A client may close its sending side with a request without a body; its response must be
      // written in this turn.
      if (isBodyMethod(outgoing.req.method)) handleInTurn(outgoing)
      else handle(outgoing.req, outgoing)
    },
    skip: unserved.skip
  }

  function onRequest(_incoming: IncomingMessage, outgoing: ServerResponse): void {
    receiveRequest(outgoing, handlers)
  }

  function onClientError(error: NodeJS.ErrnoException, stream: Duplex): void {
    const socket = stream as Socket
    const connection = findConnection(socket)
    const { current, openCount = 0 } = connection ?? {}
    // Everything that a client sends after the first fault raises the error again.
    if (connection?.fault !== undefined) return
    // The refusal of a malformed request must not be written into the middle of a response.
    const isResponding = openCount > 1 || (current?.headersSent === true && !current.writableFinished)
    if (isResponding) {
      socket.destroySoon()
      return
    }
    // A client that closes its connection within a request has disconnected: its request counts as
    // aborted, not as malformed.
    if (error.code === 'HPE_INVALID_EOF_STATE' && current !== undefined) {
      socket.destroy()
      return
    }
    // The client gives up a body that was refused: no request is left that a response could belong to.
    if (connection?.isBehindResponse === true) {
      socket.destroy()
      return
    }
    if (connection === undefined || current === undefined || !canRespond(error, socket)) {
      sendClientError(error, socket, status => unserved.refuse(status, socket))
      return
    }
    // The head of this request was read, so its family is known and gives the error its form.
    const fault = toRequestFault(error)
    connection.fail(current, fault)
    findContext(current)?.lifetime.abort(fault)
  }

  function onConnect(incoming: IncomingMessage, stream: Duplex): void {
    const socket = stream as Socket
    // Node has removed its own listeners from the socket.
    socket.on('error', () => socket.destroy())
    if ((findConnection(socket)?.openCount ?? 0) > 0) socket.destroySoon()
    else refuseConnect(socket, status => unserved.refuse(status, socket, incoming))
  }

  const connect: ConnectLocally = (peer, facts) => {
    localServer ??= createServer(undefined, false)
    return connectLocally(localServer, peer, facts)
  }

  function createServer(tls: ListenOptions['tls'], mayUpgrade = true): Server {
    const upgrading = isUpgraded === undefined || !mayUpgrade ? {} : { shouldUpgradeCallback: isUpgraded }
    const options = { ...SERVER_OPTIONS, keepAliveTimeout: keepAliveMs, ...upgrading }
    const server = tls === undefined ? http.createServer(options) : createHttpsServer({ ...options, ...tls })
    server.on('request', onRequest)
    // `100 Continue` is sent when the body is read, after the stages have accepted the head.
    server.on('checkContinue', onRequest)
    server.on('checkExpectation', onRequest)
    server.on('clientError', onClientError)
    server.on('connect', onConnect)
    server.on('timeout', closeTimedOut)
    // Before version 24.9, which has the option above, node gives up every connection whose client asks for another protocol.
    if (isUpgraded !== undefined && mayUpgrade) {
      server.on('upgrade', createUpgradeHandler({ isServed: isUpgraded, handle, connect }))
    }
    return server
  }

  /** Right after the event loop has polled, what clients have sent is read, and its connection is idle no longer. */
  function sweepIdle(): void {
    setImmediate(() => {
      for (const server of servers) server.closeIdleConnections()
    })
  }

  function stopAccepting(): Promise<void> {
    // Closing a listening socket resets the connections that the kernel queues for it. Right after
    // the event loop has polled, that queue was just emptied, so hardly any connection is reset.
    stopped ??= new Promise(resolve => {
      setImmediate(() => {
        // An HTTP server would close its idle connections too.
        for (const server of servers) NetServer.prototype.close.call(server)
        resolve()
      })
    })
    return stopped
  }

  return {
    async listen(options) {
      const { host, reusePort, tls, inherited = [] } = options
      let { port } = options
      const connectionsMax = connectionsMaxOf(readDescriptorUse())
      function open(server: Server): void {
        boundConnections(server, connectionsMax, onRefused)
        servers.push(server)
        port = (server.address() as AddressInfo).port
      }
      for (const handle of inherited) {
        const server = createServer(tls && (renewed ?? tls))
        await listenOn(server, handle)
        open(server)
      }
      if (servers.length > 0) return { host, port }
      for (const address of await resolveListenAddresses(host)) {
        const server = createServer(tls && (renewed ?? tls))
        try {
          await bind(server, { host: address, port, reusePort })
        } catch (error) {
          if (servers.length > 0 && isMissingAddress(error)) continue
          await stopAccepting()
          throw error
        }
        open(server)
      }
      return { host, port }
    },
    useCertificate(pair) {
      renewed = pair
      for (const server of servers) if (server instanceof HttpsServer) server.setSecureContext(pair)
    },
    listHandles: () => servers.map(findListeningHandle).filter(handle => handle !== undefined),
    async whenEmpty(readKeptIdleMs = () => 0) {
      const closed = Promise.all(servers.map(server => once(server, 'close')))
      await stopAccepting()
      const idleMs = Math.min(keepAliveMs, REPLACED_IDLE_MS)
      // The setting holds from the next response of a connection on.
      for (const server of servers) server.keepAliveTimeout = idleMs
      let sweep = setTimeout(closeIdle, idleMs)
      function closeIdle(): void {
        const keptMs = readKeptIdleMs()
        if (keptMs > 0) sweep = setTimeout(closeIdle, keptMs)
        else sweepIdle()
      }
      await closed
      clearTimeout(sweep)
    },
    stopAccepting,
    connect,
    async close(keptIdleMs = 0) {
      const share = shareDeadline(CLOSE_GRACE_MS)
      await stopAccepting()
      // An HTTP server would close its idle connections at once.
      const whenClosed = servers.map(server => new Promise(closed => NetServer.prototype.close.call(server, closed)))
      const lastConnectionClosed = Promise.all(whenClosed)
      if (keptIdleMs > 0) await withDeadline(lastConnectionClosed, share(keptIdleMs))
      sweepIdle()
      const idleSweep = setInterval(sweepIdle, IDLE_SWEEP_MS)
      await withDeadline(lastConnectionClosed, share(CLOSE_GRACE_MS))
      clearInterval(idleSweep)
      for (const server of servers) {
        server.close()
        server.closeAllConnections()
      }
    }
  }
}

function listenOn(server: Server, handle: ListeningHandle): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(handle, BACKLOG, () => {
      server.removeListener('error', reject)
      resolve()
    })
  })
}

function bind(server: Server, options: { host: string; port: number; reusePort: boolean }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    // With `reusePort` each worker has a socket of its own; otherwise the cluster's primary
    // distributes the connections.
    server.listen({ ...options, exclusive: options.reusePort, backlog: BACKLOG }, () => {
      server.removeListener('error', reject)
      resolve()
    })
  })
}
