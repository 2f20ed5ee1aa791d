// The client of a comparison: sends a request with exactly the given headers and keeps every byte of the response.

import { Agent, type IncomingMessage, request as openRequest } from 'node:http'
import { connect } from 'node:net'
import { readWholeBody } from '../net/whole-body.ts'
import type { CaseRequest, WireResponse } from './types.ts'

const DEADLINE_MS = 20_000
/** Longer than a gateway lingers after a refused body; a connection that it leaves open is then read to the end. */
const SILENCE_MS = 3_000

export interface Client {
  send(request: CaseRequest): Promise<WireResponse>
  /** Sends bytes over a connection of their own and reads until the gateway closes it. */
  sendBytes(bytes: string): Promise<WireResponse>
  close(): void
}

/** A client of the gateway on `port` that reuses its connections, as SDKs do. */
export function createClient(port: number): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return {
    send: request => send(port, agent, request),
    sendBytes: bytes => sendBytes(port, bytes),
    close: () => agent.destroy()
  }
}

function send(port: number, agent: Agent, { method, path, headers, body }: CaseRequest): Promise<WireResponse> {
  const bytes =
    body === undefined || Buffer.isBuffer(body)
      ? body
      : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const length = bytes === undefined ? {} : { 'content-length': String(bytes.length) }
  return new Promise((resolve, reject) => {
    const call = openRequest({
      host: '127.0.0.1',
      port,
      agent,
      path,
      method: method ?? (bytes === undefined ? 'GET' : 'POST'),
      headers: { ...(bytes === undefined ? {} : { 'content-type': 'application/json' }), ...length, ...headers }
    })
    let isAnswered = false
    call.on('response', incoming => {
      isAnswered = true
      void readResponse(incoming).then(resolve)
    })
    call.on('error', error => {
      if (!isAnswered) reject(error)
    })
    call.setTimeout(DEADLINE_MS, () => call.destroy(new Error(`No byte within ${DEADLINE_MS} ms.`)))
    call.end(bytes)
  })
}

async function readResponse(incoming: IncomingMessage): Promise<WireResponse> {
  const { bytes, end } = await readWholeBody(incoming)
  return { status: incoming.statusCode ?? 0, headers: incoming.rawHeaders, body: bytes, end }
}

/** The whole response, its head included, stands in the body. */
function sendBytes(port: number, bytes: string): Promise<WireResponse> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(bytes, 'latin1'))
    const finish = (end: WireResponse['end']) => {
      clearTimeout(timer)
      socket.destroy()
      resolve({ status: 0, headers: [], body: Buffer.concat(chunks), end })
    }
    const timer = setTimeout(() => finish('silent'), SILENCE_MS)
    socket.on('data', chunk => {
      chunks.push(chunk)
      timer.refresh()
    })
    socket.on('end', () => finish('complete'))
    socket.on('error', error => (chunks.length === 0 ? reject(error) : finish('broken')))
  })
}
