// The client of the suite: sends requests over connections that it keeps, or bytes over a connection of their own.

import { Agent, type IncomingMessage, request as openRequest } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { readWholeBody } from '../net/whole-body.ts'
import { EXCHANGE_DEADLINE_MS, type WireResponse } from './wire-response.ts'

export interface ClientRequest {
  method: string
  path: string
  headers: Record<string, string>
  body: Buffer | undefined
}

/** Why there is no response. */
export class ExchangeError extends Error {}

export interface Client {
  /** Rejects with `ExchangeError` when no response begins, and when it does not end before the deadline. */
  send(request: ClientRequest): Promise<WireResponse>
  close(): void
}

/** A client of the gateway on `port` that reuses its connections, as SDKs do. */
export function createClient(port: number): Client {
  const agent = new Agent({ keepAlive: true })
  return {
    async send(request) {
      try {
        return await sendOnce(port, agent, request)
      } catch (error) {
        // The gateway may close an idle connection at the moment the next request is sent on it.
        if (error instanceof ReusedConnectionError) return await sendOnce(port, new Agent(), request)
        throw error
      }
    },
    close: () => agent.destroy()
  }
}

class ReusedConnectionError extends Error {}

function sendOnce(port: number, agent: Agent, { method, path, headers, body }: ClientRequest): Promise<WireResponse> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': String(body.length) }
    const call = openRequest({ host: '127.0.0.1', port, agent, path, method, headers: { ...headers, ...length } })
    const timer = setTimeout(() => {
      reject(new ExchangeError(`no end within ${EXCHANGE_DEADLINE_MS} ms`))
      call.destroy()
    }, EXCHANGE_DEADLINE_MS)
    let isResponding = false
    call.on('response', incoming => {
      isResponding = true
      void readResponse(incoming).then(resolve)
    })
    call.on('error', error => {
      if (isResponding) return
      reject(call.reusedSocket ? new ReusedConnectionError() : new ExchangeError(`no response: ${error.message}`))
    })
    call.on('close', () => clearTimeout(timer))
    call.end(body)
  })
}

async function readResponse(incoming: IncomingMessage): Promise<WireResponse> {
  const { bytes, end } = await readWholeBody(incoming)
  const headers = new Headers()
  for (let index = 0; index < incoming.rawHeaders.length; index += 2) {
    headers.append(incoming.rawHeaders[index] ?? '', incoming.rawHeaders[index + 1] ?? '')
  }
  return { status: incoming.statusCode ?? 0, headers, bytes, end }
}

export interface ByteExchange {
  pieces: readonly Buffer[]
  /** Pause between two pieces. */
  pauseMs: number
  /** What the client does after the last piece. */
  ending: 'half-close' | 'wait' | 'destroy'
  /** With `wait`: how long the connection may be silent before the client closes its side. */
  silenceMs: number
  /** With `wait`: whether what has come is all that will come; the client then closes its side at once. */
  isComplete(received: Buffer): boolean
}

/**
 * Sends bytes and reads until the gateway closes the connection. Rejects with `ExchangeError` when it cannot be opened, and when it is
 * still open at the deadline, although the client has closed its side.
 */
export async function exchangeBytes(port: number, exchange: ByteExchange): Promise<Buffer> {
  const { pieces, pauseMs, ending, silenceMs, isComplete } = exchange
  const received: Buffer[] = []
  const socket = connect({ port, host: '127.0.0.1' })
  socket.setNoDelay(true)
  let openError: Error | undefined
  let isOpened = false
  const closed = new Promise<void>(resolve => socket.once('close', () => resolve()))
  const opened = new Promise<void>(resolve => {
    socket.once('connect', () => {
      isOpened = true
      resolve()
    })
    socket.once('close', () => resolve())
  })
  socket.on('error', error => {
    openError = error
  })
  socket.on('data', chunk => received.push(chunk))
  await opened
  if (!isOpened) throw new ExchangeError(`no connection: ${openError?.message}`)
  for (const [index, piece] of pieces.entries()) {
    if (socket.destroyed) break
    if (index > 0) await wait(pauseMs)
    socket.write(piece)
  }
  if (ending === 'destroy') socket.destroy()
  if (ending === 'half-close') socket.end()
  if (ending === 'wait') {
    const timer = setTimeout(() => socket.end(), silenceMs)
    const look = (): void => {
      timer.refresh()
      if (isComplete(Buffer.concat(received))) socket.end()
    }
    look()
    socket.on('data', look)
    socket.once('close', () => clearTimeout(timer))
  }
  const deadline = setTimeout(() => socket.destroy(new ExchangeError()), EXCHANGE_DEADLINE_MS)
  await closed
  clearTimeout(deadline)
  if (openError instanceof ExchangeError) throw new ExchangeError(`still open after ${EXCHANGE_DEADLINE_MS} ms`)
  return Buffer.concat(received)
}
