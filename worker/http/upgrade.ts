// Requests that ask for another protocol on their connection. WebSockets exist on `/responses` alone, where the operator has switched them on
// (memory.md 5).
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { http } from '../../shared/net/node-http.ts'
import { GatewayError } from '../normalized/index.ts'
import type { LocalFacts } from './connections/local-connection.ts'
import { findConnection } from './connections/served-connection.ts'
import type { Stage } from './stages.ts'

/** A path of the Responses family, repaired. */
const RESPONSES_PATH = /^(?:\/v[12])?\/responses(?:\/|$)/

/** Opens a connection in memory in the name of the client of another one: `connectLocally`. */
export type ConnectLocally = (peer: Socket, facts?: LocalFacts) => Duplex

/** What serves WebSockets. */
export interface WebSockets {
  /** Whether a repaired path has WebSockets. */
  serves(path: string): boolean
  /** Mounts the routes that upgrade their connection. */
  mount(app: FastifyInstance): void
  /** The listener is there. */
  attach(connect: ConnectLocally): void
  /** Closes all of them. */
  close(): Promise<void>
}

/** The connection of a request that may be upgraded. */
export interface Upgrade {
  readonly socket: Socket
  /** What came behind the head. */
  readonly head: Buffer
}

const upgrades = new WeakMap<IncomingMessage, Upgrade>()

/** The connection of a request whose upgrade its route decides on. */
export function findUpgrade(incoming: IncomingMessage): Upgrade | undefined {
  return upgrades.get(incoming)
}

/**
 * Refuses a WebSocket on a Responses path with 426, before keys and methods are looked at, unless it is served. Agents take this status as the
 * end of their attempts and go on with HTTP; any other one makes them try again (decisions.md 91). On other paths the wish is ignored, as
 * HTTP allows.
 */
export function refuseWebSockets(): Stage {
  return ({ raw, context }) => {
    if (!wantsWebSocket(raw) || upgrades.has(raw) || !RESPONSES_PATH.test(context.routedPath)) return
    throw new GatewayError('upgrade_required')
  }
}

/** Whether the head of a request begins a WebSocket. */
export function wantsWebSocket({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  const { upgrade } = headers
  if (upgrade === undefined || method !== 'GET') return false
  return upgrade.split(',').some(name => name.trim().toLowerCase() === 'websocket')
}

export interface UpgradeOptions {
  /** Whether the upgrade is a route's to decide on. */
  isServed: (incoming: IncomingMessage) => boolean
  handle: (incoming: IncomingMessage, outgoing: ServerResponse) => void
  connect: ConnectLocally
}

/** The listener of the event `upgrade`: node has given the connection up. */
export function createUpgradeHandler({ isServed, handle, connect }: UpgradeOptions) {
  return function onUpgrade(incoming: IncomingMessage, stream: Duplex, head: Buffer): void {
    const socket = stream as Socket
    socket.on('error', () => socket.destroy())
    // Responses before this one are still being written.
    if ((findConnection(socket)?.openCount ?? 0) > 0) {
      socket.destroySoon()
      return
    }
    if (isServed(incoming)) serve({ incoming, socket, head }, handle)
    else passOn({ incoming, socket, head }, connect)
  }
}

interface Received extends Upgrade {
  readonly incoming: IncomingMessage
}

/** The stages and the route respond like to any request; the route may take the connection over instead. */
function serve({ incoming, socket, head }: Received, handle: UpgradeOptions['handle']): void {
  upgrades.set(incoming, { socket, head })
  const outgoing = new http.ServerResponse(incoming)
  outgoing.shouldKeepAlive = false
  outgoing.assignSocket(socket)
  outgoing.once('finish', () => {
    endResponse(outgoing, socket)
    socket.destroySoon()
  })
  handle(incoming, outgoing)
}

/** Ends a response whose connection serves something else from now on, or nothing. */
export function endResponse(outgoing: ServerResponse, socket: Socket): void {
  if (outgoing.socket !== null) outgoing.detachSocket(socket)
  outgoing.destroyed = true
  outgoing.emit('close')
}

/**
 * Serves the connection as if the upgrade had not been asked for, as a server without upgrades does. Only an older node gives up such a
 * connection, and then the body of its request comes behind the head.
 */
function passOn({ incoming, socket, head }: Received, connect: ConnectLocally): void {
  const { method, url, httpVersion, rawHeaders } = incoming
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let index = 0; index < rawHeaders.length; index += 2)
    lines.push(`${rawHeaders[index]}: ${rawHeaders[index + 1]}`)
  const near = connect(socket)
  near.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  near.write(head)
  socket.once('close', () => near.destroy())
  near.once('close', () => socket.destroySoon())
  socket.pipe(near).pipe(socket)
}
