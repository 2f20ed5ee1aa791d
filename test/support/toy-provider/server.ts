// The toy provider itself: an HTTP server that answers only requests with the right signature.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'
import { createToySignature } from './signer.ts'
import { answerToyRequest, TOY_KEY, TOY_MARK, TOY_STREAM, TOY_WHOLE, type ToyRequest } from './wire.ts'

export interface ToyServer {
  baseUrl: string
  /** Every request with the right signature, in order of arrival. */
  received: ToyRequest[]
}

/** Starts the provider on a free port of this machine; it closes with the test. */
export async function startToyServer(t: Test): Promise<ToyServer> {
  const received: ToyRequest[] = []
  const server = createServer((incoming, response) => {
    void answer(origin, incoming, response, received).catch(thrown => response.destroy(thrown))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return { baseUrl: `${origin}/toy`, received }
}

async function answer(
  origin: string,
  incoming: IncomingMessage,
  response: ServerResponse,
  received: ToyRequest[]
): Promise<void> {
  const body = await buffer(incoming)
  const { method = '', url = '', headers } = incoming
  const signature = createToySignature(TOY_KEY, { method, url: origin + url, headers, body })
  if (headers['x-toy-signature'] !== signature) return refuse(response, 401, 'The signature is wrong.')
  const text = body.toString('utf8')
  if (url !== '/toy/ask' || !text.startsWith(TOY_MARK)) return refuse(response, 400, 'That is not the wire of the toy.')
  const request = JSON.parse(text.slice(TOY_MARK.length)) as ToyRequest
  received.push(request)
  const lines = answerToyRequest(request)
  const [first] = lines
  if (first !== undefined && 'trouble' in first) return refuse(response, first.status, first.trouble)
  response.writeHead(200, { 'content-type': request.stream ? TOY_STREAM : TOY_WHOLE })
  for (const line of lines) response.write(`${JSON.stringify(line)}\n`)
  response.end()
}

function refuse(response: ServerResponse, status: number, trouble: string): void {
  response.writeHead(status, { 'content-type': TOY_WHOLE })
  response.end(`${JSON.stringify({ trouble, status })}\n`)
}
