// A client process that disturbs: it sends the same request without pause over several connections and counts how each exchange ended.
// A process of its own, because writing large bodies would delay the requests that are measured.

import type { Socket } from 'node:net'
import { disturbances } from './disturbances.ts'
import { exchange, openSocket, writeHttpRequest } from './http-exchange.ts'

export type DisturbingOrder =
  /** Sends until `stop`, answered once all connections send. */
  | { kind: 'start'; name: string; port: number; connections: number }
  /** Answered with the endings since `start`. */
  | { kind: 'stop' }
  /** One exchange, answered with its ending when it is over or takes too long. */
  | { kind: 'once'; name: string; port: number }

/** How often exchanges ended in each way: a status, with the code of the error where there is one, or `closed`. */
export type Endings = Record<string, number>

const ONCE_DEADLINE_MS = 8_000
const REOPEN_PAUSE_MS = 20
const TAIL_BYTES = 2048
const CODES = [
  'gateway_overloaded',
  'provider_protocol_error',
  'request_entity_too_large',
  'invalid_request',
  'INVALID_ARGUMENT',
  'internal_error'
]

let prepared: { key: string; request: Buffer } | undefined
let run: { isOver: boolean; sockets: Set<Socket>; endings: Endings } | undefined

process.on('message', (order: DisturbingOrder) => {
  void obey(order).then(endings => process.send?.(endings))
})
process.on('disconnect', () => process.exit(0))

async function obey(order: DisturbingOrder): Promise<Endings> {
  switch (order.kind) {
    case 'start': {
      const request = prepare(order.name, order.port)
      const started = { isOver: false, sockets: new Set<Socket>(), endings: {} }
      run = started
      for (let index = 0; index < order.connections; index++) void sendOn(started, order.port, request)
      return {}
    }
    case 'stop': {
      if (run === undefined) return {}
      run.isOver = true
      for (const socket of run.sockets) socket.destroy()
      return run.endings
    }
    case 'once':
      return { [await sendOnce(order.port, prepare(order.name, order.port))]: 1 }
  }
}

function prepare(name: string, port: number): Buffer {
  const key = `${name} ${port}`
  if (prepared?.key !== key) {
    const disturbance = disturbances.find(one => one.name === name)
    if (disturbance === undefined) throw new Error(`There is no disturbance ${name}.`)
    prepared = { key, request: writeHttpRequest({ port, ...disturbance.write() }) }
  }
  return prepared.request
}

async function sendOn(current: NonNullable<typeof run>, port: number, request: Buffer): Promise<void> {
  while (!current.isOver) {
    const socket = await openSocket(port).catch(() => undefined)
    if (socket === undefined) {
      // The gateway's worker is being replaced.
      await new Promise(resolve => setTimeout(resolve, REOPEN_PAUSE_MS))
      continue
    }
    current.sockets.add(socket)
    let isReusable = true
    while (isReusable && !current.isOver) {
      const ended = await observe(socket, request)
      if (current.isOver) break
      current.endings[ended.ending] = (current.endings[ended.ending] ?? 0) + 1
      isReusable = ended.isReusable
    }
    current.sockets.delete(socket)
    socket.destroy()
  }
}

async function sendOnce(port: number, request: Buffer): Promise<string> {
  const socket = await openSocket(port)
  const deadline = setTimeout(() => socket.destroy(), ONCE_DEADLINE_MS)
  const { ending } = await observe(socket, request)
  clearTimeout(deadline)
  socket.destroy()
  return ending
}

async function observe(socket: Socket, request: Buffer): Promise<{ ending: string; isReusable: boolean }> {
  let last: Buffer = Buffer.alloc(0)
  try {
    const { status, isReusable } = await exchange(socket, request, bytes => {
      last = bytes.length >= TAIL_BYTES ? bytes : Buffer.concat([last.subarray(-TAIL_BYTES), bytes])
    })
    const tail = last.subarray(-TAIL_BYTES).toString('latin1')
    // A response that came before the whole request was written leaves a socket in the middle of a body.
    return { ending: describe(status, tail), isReusable: isReusable && socket.writableLength === 0 }
  } catch {
    return { ending: describeCut(last.subarray(-TAIL_BYTES).toString('latin1')), isReusable: false }
  }
}

/** A content stream that fails closes its connection behind the error (decisions.md 52). */
function describeCut(tail: string): string {
  const ending = describe(200, tail)
  return ending === '200' ? 'closed' : ending
}

/** The status, and the code of the error where the body has one, also at the end of a stream. */
function describe(status: number, tail: string): string {
  const at = tail.indexOf('"error":{')
  const code = at < 0 ? undefined : CODES.find(one => tail.includes(one, at))
  if (code !== undefined) return `${status} ${code}`
  return at < 0 ? String(status) : `${status} with an error`
}
