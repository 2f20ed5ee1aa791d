// The upstream of the suite: the embedded emulator behind a server that keeps every request as bytes, and responds itself where a case
// has a script. A case is recognised by a context header that the gateway forwards.

import { Agent, createServer, type IncomingMessage, request as openRequest, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createEmulator } from '../emulator/server.ts'

/** The header that carries the id of a case from the client to the upstream. */
export const CASE_HEADER = 'x-operation-id'

/** A response that the upstream sends instead of the emulator's own. */
export interface Script {
  /** End of the path of the calls that get it. */
  path: string
  status: number
  /** Names and values in turn. */
  headers: string[]
  pieces: Buffer[]
  ending: 'end' | 'destroy' | 'hang'
}

/** A request that the gateway sent. */
export interface UpstreamRequest {
  method: string
  path: string
  contentType: string
  body: Buffer
  /** Status of the response; 0 before its head. */
  status: number
}

export interface FuzzUpstream {
  port: number
  /** The tokens that were issued so far. */
  tokens: readonly string[]
  /** Keeps the requests of a case from now on, and responds to them with the script. */
  open(id: string, script?: Script): UpstreamRequest[]
  close(id: string): void
  shutDown(): Promise<void>
}

/** Stands in a script for the token of the request. */
export const TOKEN_MARK = '{{token}}'

export async function startUpstream(): Promise<FuzzUpstream> {
  const emulator = await createEmulator({ control: false })
  const agent = new Agent({ keepAlive: true })
  const cases = new Map<string, { requests: UpstreamRequest[]; script: Script | undefined }>()
  const tokens: string[] = []

  async function respond(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBytes(incoming)
    if (body === undefined) return
    const known = cases.get(String(incoming.headers[CASE_HEADER]))
    const path = (incoming.url ?? '').split('?')[0] ?? ''
    const request = {
      method: incoming.method ?? '',
      path,
      contentType: incoming.headers['content-type'] ?? '',
      body,
      status: 0
    }
    known?.requests.push(request)
    const script = known?.script
    if (script !== undefined && path.endsWith(script.path)) {
      request.status = script.status
      await play(script, incoming.headers.authorization ?? '', response)
      return
    }
    forward(incoming, request, response)
  }

  function forward(incoming: IncomingMessage, request: UpstreamRequest, response: ServerResponse): void {
    const { method, url, rawHeaders } = incoming
    const call = openRequest({ host: '127.0.0.1', port: emulator.port, agent, method, path: url, headers: rawHeaders })
    response.once('close', () => call.destroy())
    call.on('error', () => response.destroy())
    call.on('response', answer => {
      request.status = answer.statusCode ?? 0
      response.writeHead(request.status, answer.rawHeaders)
      response.flushHeaders()
      answer.on('error', () => response.destroy())
      if (!request.path.endsWith('/oauth')) {
        answer.pipe(response)
        return
      }
      void readBytes(answer).then(bytes => {
        const token = /"access_token":"([^"]+)"/.exec(bytes?.toString('latin1') ?? '')?.[1]
        if (token !== undefined) tokens.push(token)
        response.end(bytes)
      })
    })
    call.end(request.body)
  }

  const server = createServer((incoming, response) => void respond(incoming, response))
  server.keepAliveTimeout = 65_000
  server.requestTimeout = 0
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    tokens,
    open(id, script) {
      const requests: UpstreamRequest[] = []
      cases.set(id, { requests, script })
      return requests
    },
    close: id => void cases.delete(id),
    async shutDown() {
      agent.destroy()
      const closed = new Promise<void>(resolve => server.close(() => resolve()))
      server.closeAllConnections()
      await Promise.all([closed, emulator.close()])
    }
  }
}

async function play(script: Script, authorization: string, response: ServerResponse): Promise<void> {
  response.on('error', () => undefined)
  const token = authorization.replace(/^Bearer /i, '')
  const mark = Buffer.from(TOKEN_MARK)
  response.writeHead(script.status, script.headers)
  response.flushHeaders()
  for (const piece of script.pieces) {
    if (response.destroyed) return
    response.write(piece.includes(mark) ? piece.toString('latin1').replaceAll(TOKEN_MARK, token) : piece, 'latin1')
    // Gives each piece a segment of its own.
    await nextTurn()
  }
  if (script.ending === 'end') response.end()
  else if (script.ending === 'destroy') response.socket?.destroySoon()
}

/** Undefined when the connection breaks before the end. */
async function readBytes(incoming: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    return Buffer.concat(chunks)
  } catch {
    return undefined
  }
}
