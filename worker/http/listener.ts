// The sockets of a worker: accepts connections, and lets go of them in the order that a drain needs (field lesson I5).
import { lookup } from 'node:dns/promises'
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse
} from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { createTurnBatch } from '../performance/turn-batch.ts'
import { isBodyMethod } from './body.ts'
import { answerClientError } from './client-error.ts'

export interface ListenOptions {
  host: string
  port: number
  /** Every worker binds the port itself and the kernel spreads the connections; otherwise the cluster's primary does. */
  reusePort: boolean
  tls?: { key: string; cert: string }
}

export interface Listener {
  /** Binds every address of the host. Rejects with the system's error (`EADDRINUSE`, `EACCES`, ...). */
  listen(options: ListenOptions): Promise<{ host: string; port: number }>
  /**
   * Resolves when nobody is accepted any more. Connections without a request are closed now and whenever one becomes idle; busy
   * ones go on.
   */
  stopAccepting(): Promise<void>
  /** Waits a moment for the busy connections, then ends them. */
  close(): Promise<void>
}

/** The newest answer of a connection: a malformed successor must not be answered into the middle of it. */
const CURRENT_ANSWER = Symbol('current answer')
/** How many answers of a connection are not complete: more than one where requests were sent without waiting. */
const OPEN_ANSWERS = Symbol('open answers')

interface AnsweredSocket extends Socket {
  [CURRENT_ANSWER]?: ServerResponse | undefined
  [OPEN_ANSWERS]?: number
}

/**
 * An idle connection that still knew its last answer would keep all of the request in memory, body included, and every collection
 * of young objects would copy it.
 */
function forgetAnswer(this: ServerResponse): void {
  const socket: AnsweredSocket = this.req.socket
  socket[OPEN_ANSWERS] = (socket[OPEN_ANSWERS] ?? 1) - 1
  if (socket[CURRENT_ANSWER] === this) socket[CURRENT_ANSWER] = undefined
}

type RequestHandler = (incoming: IncomingMessage, outgoing: ServerResponse) => void

const SERVER_OPTIONS: ServerOptions = {
  noDelay: true,
  keepAlive: true,
  // Refused by a stage of ours, with an id and in the client's form.
  requireHostHeader: false,
  headersTimeout: 60_000,
  /** The silence of a body has a bound of its own; this one ends an upload that only trickles. */
  requestTimeout: 300_000,
  /** Longer than what common balancers keep (60 s), so that the balancer closes first and never meets a closing connection. */
  keepAliveTimeout: 75_000
}

/** Connections that the kernel may hold while this process is busy: a burst must not meet a full queue. */
const BACKLOG = 4096
const IDLE_SWEEP_MS = 100
const CLOSE_GRACE_MS = 1000

export function createListener(handle: RequestHandler): Listener {
  const servers: Server[] = []
  let idleSweep: NodeJS.Timeout | undefined
  let stopped: Promise<void> | undefined
  let lastConnectionClosed: Promise<unknown> = Promise.resolve()

  const handleInTurn = createTurnBatch<ServerResponse>(outgoing => {
    // Nothing can be said any more to who left meanwhile, or was refused for what came behind the head; and nobody would be told
    // of an end that was announced already.
    if (outgoing.req.socket.writable) handle(outgoing.req, outgoing)
  })

  function onRequest(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const socket: AnsweredSocket = incoming.socket
    socket[CURRENT_ANSWER] = outgoing
    socket[OPEN_ANSWERS] = (socket[OPEN_ANSWERS] ?? 0) + 1
    outgoing.on('finish', forgetAnswer)
    // A client that asks for something small may have closed its side already, and gets its answer only at once.
    if (isBodyMethod(incoming.method)) handleInTurn(outgoing)
    else handle(incoming, outgoing)
  }

  function onClientError(error: NodeJS.ErrnoException, stream: Duplex): void {
    const socket = stream as AnsweredSocket
    const answer = socket[CURRENT_ANSWER]
    const isAnswering = (socket[OPEN_ANSWERS] ?? 0) > 1 || (answer?.headersSent === true && !answer.writableFinished)
    if (isAnswering) socket.destroySoon()
    else answerClientError(error, socket)
  }

  function createServer(tls: ListenOptions['tls']): Server {
    const server =
      tls === undefined ? createHttpServer(SERVER_OPTIONS) : createHttpsServer({ ...SERVER_OPTIONS, ...tls })
    server.on('request', onRequest)
    // The invitation to send a body is given when the body is read, not before the request was looked at.
    server.on('checkContinue', onRequest)
    server.on('checkExpectation', onRequest)
    server.on('clientError', onClientError)
    return server
  }

  function sweepIdle(): void {
    for (const server of servers) server.closeIdleConnections()
  }

  function stopAccepting(): Promise<void> {
    // Closing a socket resets the connections that the kernel holds for it. Right after the loop has polled, that queue was
    // just emptied, so nearly nobody who got through is turned away unheard.
    stopped ??= new Promise(resolve => {
      setImmediate(() => {
        lastConnectionClosed = Promise.all(servers.map(server => new Promise(closed => server.close(closed))))
        idleSweep = setInterval(sweepIdle, IDLE_SWEEP_MS)
        resolve()
      })
    })
    return stopped
  }

  return {
    async listen(options) {
      const { host, reusePort, tls } = options
      let { port } = options
      for (const address of await resolveAddresses(host)) {
        const server = createServer(tls)
        try {
          await bind(server, { host: address, port, reusePort })
        } catch (error) {
          if (servers.length > 0 && isMissingAddress(error)) continue
          await stopAccepting()
          throw error
        }
        servers.push(server)
        port = (server.address() as AddressInfo).port
      }
      return { host, port }
    },
    stopAccepting,
    async close() {
      await stopAccepting()
      const grace = new AbortController()
      await Promise.race([lastConnectionClosed, setTimeout(CLOSE_GRACE_MS, undefined, { signal: grace.signal })])
      grace.abort()
      clearInterval(idleSweep)
      for (const server of servers) server.closeAllConnections()
    }
  }
}

/**
 * `localhost` is two addresses on most machines, and a client takes whichever it finds first; everything else is bound as it is
 * written.
 */
async function resolveAddresses(host: string): Promise<string[]> {
  if (host !== 'localhost') return [host]
  const found = await lookup(host, { all: true })
  return [...new Set(found.map(({ address }) => address))]
}

function bind(server: Server, options: { host: string; port: number; reusePort: boolean }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    // With `reusePort` the socket must be this worker's own; otherwise the cluster's primary hands out connections.
    server.listen({ ...options, exclusive: options.reusePort, backlog: BACKLOG }, () => {
      server.removeListener('error', reject)
      resolve()
    })
  })
}

/** `localhost` may resolve to an address family that this machine does not have; the other one is enough. */
function isMissingAddress(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT'
}
