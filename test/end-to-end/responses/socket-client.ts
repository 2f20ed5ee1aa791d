// A client of the WebSocket of Responses: one turn after another, each with its events up to its end.

import type { Loose } from './support.ts'

export interface SocketTurn {
  events: Loose[]
  /** The response of the terminal event; undefined where the turn ended with an error. */
  response?: Loose
  /** The event `error`. */
  error?: Loose
}

export interface ResponsesSocket {
  /** Sends `response.create` with these members and reads up to the end of the turn. */
  ask(request: object): Promise<SocketTurn>
  close(): Promise<void>
}

const TERMINAL = ['response.completed', 'response.incomplete', 'response.failed']

/** Connects to `/responses` under a base such as `http://127.0.0.1:8090/v1`. */
export async function openSocket(baseUrl: string): Promise<ResponsesSocket> {
  const socket = new WebSocket(`${baseUrl.replace(/^http/, 'ws')}/responses`)
  let turn: SocketTurn = { events: [] }
  let ended = Promise.withResolvers<SocketTurn>()
  const opened = Promise.withResolvers<void>()
  const closed = Promise.withResolvers<void>()
  socket.addEventListener('open', () => opened.resolve())
  socket.addEventListener('close', ({ code }) => {
    const error = new Error(`The connection closed with ${code}.`)
    opened.reject(error)
    ended.reject(error)
    closed.resolve()
  })
  socket.addEventListener('message', ({ data }) => {
    const event: Loose = JSON.parse(String(data))
    turn.events.push(event)
    if (event.type === 'error') turn.error = event
    if (TERMINAL.includes(event.type)) turn.response = event.response
    if (turn.error !== undefined || turn.response !== undefined) ended.resolve(turn)
  })
  // Between two turns no code waits for it.
  ended.promise.catch(() => undefined)
  await opened.promise
  return {
    ask(request) {
      turn = { events: [] }
      ended = Promise.withResolvers()
      socket.send(JSON.stringify({ type: 'response.create', ...request }))
      return ended.promise
    },
    async close() {
      socket.close()
      await closed.promise
    }
  }
}

/** Connects, sends these turns one after another and closes. */
export async function askOnSocket(baseUrl: string, ...requests: object[]): Promise<SocketTurn[]> {
  const socket = await openSocket(baseUrl)
  const turns: SocketTurn[] = []
  for (const request of requests) turns.push(await socket.ask(request))
  await socket.close()
  return turns
}
