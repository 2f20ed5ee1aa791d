// Requests of the gateway to itself over a connection in memory: they pass the same stages, limits and observers as those of clients.

import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { type Duplex, duplexPair } from 'node:stream'
import type { ResponseTurn } from '../../normalized/index.ts'

/** What the sender of a request knows beside its head and its body. */
export interface LocalFacts {
  /** What the response repeats of a state that the sender keeps. */
  readonly turn?: ResponseTurn | undefined
  /** The response is only prepared: its provider is not called. */
  readonly isPreparation?: boolean
}

const FACTS = Symbol('local facts')

interface LocalSide extends Duplex {
  [FACTS]?: LocalFacts
}

/** The facts of a request that came over a connection in memory. */
export function findLocalFacts({ socket }: Pick<IncomingMessage, 'socket'>): LocalFacts | undefined {
  return (socket as LocalSide)[FACTS]
}

/**
 * Opens a connection to a server in the name of another connection's client: it has that client's address. Returns the side of the client.
 */
export function connectLocally(server: Server, peer: Socket, facts?: LocalFacts): Duplex {
  const [near, far] = duplexPair()
  const { remoteAddress, remotePort, remoteFamily } = peer
  let bytesWritten = 0
  const write = far._write
  far._write = (chunk: Uint8Array, encoding, done) => {
    bytesWritten += chunk.byteLength
    write.call(far, chunk, encoding, done)
  }
  const own = {
    remoteAddress,
    remotePort,
    remoteFamily,
    [FACTS]: facts,
    // The connection of the client has bounds of its own for a client that reads nothing.
    setTimeout: () => far,
    setNoDelay: () => far,
    setKeepAlive: () => far,
    destroySoon: () => far.end(() => far.destroy())
  }
  Object.assign(far, own)
  Object.defineProperty(far, 'bytesWritten', { get: () => bytesWritten })
  near.once('close', () => far.destroy())
  // What was written before can still be read.
  far.once('close', () => {
    if (!near.readableEnded && !near.destroyed) near.push(null)
  })
  far.on('error', () => undefined)
  near.on('error', () => undefined)
  server.emit('connection', far)
  return near
}
