// Brings a gateway into the state in which it refuses new model requests: it has no listener any more, and clients reach it over connections
// that they have opened before, as a balancer does.

import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'
import { waitUntil } from './processes.ts'
import type { ServingGateway } from './serving-gateway.ts'

/** Each response of a gateway that drains is the last one of its connection. */
const CONNECTIONS = 32

/** A model request without its body: it runs until its connection is closed. The response to its expectation says that it is admitted. */
const UNFINISHED =
  'POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\nexpect: 100-continue\r\n\r\n'

/**
 * Interrupts the gateway and resolves with one whose URL leads to the connections that were opened before. A model request runs until the
 * test ends, so that the drain does.
 */
export async function startDraining<Gateway extends ServingGateway>(
  t: Test,
  gateway: Gateway,
  { connections = CONNECTIONS }: { connections?: number } = {}
): Promise<Gateway> {
  const port = Number(new URL(gateway.url).port)
  const open = await Promise.all(Array.from({ length: connections }, () => openConnection(port)))
  const running = await openConnection(port)
  running.write(UNFINISHED)
  await once(running, 'data')
  const relay = createServer(client => {
    const kept = open.shift()
    if (kept === undefined) throw new Error('The test needs more connections.')
    for (const socket of [client, kept]) socket.on('error', () => undefined)
    client.pipe(kept).pipe(client)
  })
  relay.listen(0, '127.0.0.1')
  await once(relay, 'listening')
  t.teardown(() => {
    relay.close()
    for (const socket of [running, ...open]) socket.destroy()
  })
  // The teardown sends SIGTERM. A second SIGTERM within half a second would not count, and the gateway would drain until its deadline.
  gateway.interrupt()
  await waitUntil(() => isRefused(port), 'new connections are refused')
  const address = relay.address()
  if (address === null || typeof address === 'string') throw new Error('The relay has no port.')
  return { ...gateway, url: `http://127.0.0.1:${address.port}` }
}

/** Opens a connection that the gateway has accepted: it has served a request on it. */
async function openConnection(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write('GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await once(socket, 'data')
  return socket
}

/** Whether nothing listens on the port. */
export function isRefused(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => resolve(true))
    socket.on('connect', () => {
      socket.destroy()
      resolve(false)
    })
  })
}
