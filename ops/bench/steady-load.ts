// Small requests at a fixed rate. The time of each counts from the moment at which it is due, also while it waits for a free
// connection: a client that waited for the slow ones before it sends the next would leave out what they delay.

import type { Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { exchange, openSocket } from './http-exchange.ts'

export interface SteadyLoadOptions {
  port: number
  request: Buffer
  perSecond: number
  connections: number
}

export interface SteadyResult {
  latenciesMs: number[]
  /** Requests without a response of status 200 within the deadline, by how they ended. */
  lost: Record<string, number>
}

export interface SteadyLoad {
  /** Sends nothing more and resolves when every request has its response or the deadline has passed. */
  stop(): Promise<SteadyResult>
}

const DEADLINE_MS = 10_000
const TICK_MS = 2
const REOPEN_PAUSE_MS = 20

export function startSteadyLoad({ port, request, perSecond, connections }: SteadyLoadOptions): SteadyLoad {
  const result: SteadyResult = { latenciesMs: [], lost: {} }
  /** Moments at which requests were due that are still to be sent. */
  const due: number[] = []
  const idle: Array<Socket | undefined> = Array.from({ length: connections }, () => undefined)
  const sockets = new Set<Socket>()
  let inFlight = 0
  let isClosed = false
  let onIdle: (() => void) | undefined
  const gapMs = 1000 / perSecond
  let nextMs = performance.now() + gapMs

  const timer = setInterval(() => {
    const nowMs = performance.now()
    // A request that this process sends late has not waited for the gateway, so it counts from now.
    for (; nextMs <= nowMs; nextMs += gapMs) due.push(nowMs)
    sendDue()
  }, TICK_MS)

  function lose(ending: string, count: number): void {
    result.lost[ending] = (result.lost[ending] ?? 0) + count
  }

  function sendDue(): void {
    while (due.length > 0 && idle.length > 0) {
      inFlight++
      void send(due.shift() ?? 0, idle.pop()).then(socket => {
        inFlight--
        idle.push(socket)
        if (!isClosed) sendDue()
        if (due.length === 0 && inFlight === 0) onIdle?.()
      })
    }
  }

  /** Returns the socket when it can be used again. */
  async function send(dueMs: number, kept: Socket | undefined): Promise<Socket | undefined> {
    const socket = kept?.destroyed === false ? kept : await open()
    const ended = socket === undefined ? undefined : await exchange(socket, request).catch(() => undefined)
    if (isClosed) return undefined
    if (ended?.status === 200) result.latenciesMs.push(performance.now() - dueMs)
    else lose(String(ended?.status ?? 'closed'), 1)
    if (ended?.isReusable === true) return socket
    socket?.destroy()
    if (ended === undefined) await new Promise(resolve => setTimeout(resolve, REOPEN_PAUSE_MS))
    return undefined
  }

  async function open(): Promise<Socket | undefined> {
    const socket = await openSocket(port).catch(() => undefined)
    if (socket === undefined) return undefined
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    return socket
  }

  return {
    async stop() {
      clearInterval(timer)
      let deadline: NodeJS.Timeout | undefined
      if (due.length > 0 || inFlight > 0) {
        await new Promise<void>(resolve => {
          onIdle = resolve
          deadline = setTimeout(resolve, DEADLINE_MS)
        })
      }
      clearTimeout(deadline)
      isClosed = true
      if (due.length + inFlight > 0) lose('none', due.length + inFlight)
      for (const socket of sockets) socket.destroy()
      return result
    }
  }
}
