import { EventEmitter } from 'node:events'
import t from 'tap'
import type { WebSocket } from 'ws'
import {
  type ConnectionOptions,
  type ConnectionTimes,
  SocketConnection
} from '../../../../worker/routes/responses-websocket/connection.ts'

/** A client whose network the test is. */
class Network extends EventEmitter {
  readonly OPEN = 1
  readyState = 1
  bufferedAmount = 0
  readonly sent: Array<{ error: { code: string } }> = []
  readonly ended = Promise.withResolvers<number | 'terminated'>()
  isResponding = true
  pings = 0

  send(data: string, done: () => void): void {
    this.sent.push(JSON.parse(data))
    done()
  }

  ping(): void {
    this.pings += 1
    if (this.isResponding) this.emit('pong')
    if (this.pings === 3) this.emit('third ping')
  }

  close(code: number): void {
    this.#end(code)
  }

  terminate(): void {
    this.#end('terminated')
  }

  #end(how: number | 'terminated'): void {
    if (this.readyState !== this.OPEN) return
    this.readyState = 3
    this.emit('close')
    this.ended.resolve(how)
  }
}

const LONG: ConnectionTimes = { pingMs: 60_000, idleMs: 60_000, lifetimeMs: 60_000 }

function connect(times: Partial<ConnectionTimes>): { network: Network; connection: SocketConnection } {
  const network = new Network()
  const connection = new SocketConnection({
    webSocket: network as unknown as WebSocket,
    upgraded: { url: '/v1/responses', rawHeaders: [] } as unknown as ConnectionOptions['upgraded'],
    connect: () => {
      throw new Error('No request is expected.')
    },
    keptBytesMax: 1000,
    times: { ...LONG, ...times },
    onClosed: () => undefined
  })
  return { network, connection }
}

t.test('memory 19: an idle connection is closed with 1001', async t => {
  t.equal(await connect({ idleMs: 5 }).network.ended.promise, 1001)
})

t.test('memory 19: a connection that has lived for an hour says so, and is closed', async t => {
  const { network } = connect({ lifetimeMs: 5 })
  t.equal(await network.ended.promise, 1001)
  t.match(network.sent, [{ type: 'error', status: 400, error: { code: 'websocket_connection_limit_reached' } }])
})

t.test('memory 19: a client that responds to no ping is gone at the next one', async t => {
  const { network } = connect({ pingMs: 5 })
  await new Promise(resolve => network.once('third ping', resolve))
  network.isResponding = false
  t.equal(await network.ended.promise, 'terminated')
})

t.test('memory 19: a drained connection takes no message any more', async t => {
  const { network, connection } = connect({})
  connection.drain()
  t.equal(await network.ended.promise, 1001)
  network.emit('message', Buffer.from('{}'))
  t.strictSame(network.sent, [])
})
