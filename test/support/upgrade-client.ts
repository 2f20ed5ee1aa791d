// GET requests with the headers of a connection, which `fetch` does not send.

import { request } from 'node:http'
import type { HttpResponse } from './client.ts'

/** The head of an upgrade to a WebSocket, as RFC 6455 shows it. */
export const WEBSOCKET_HEADERS = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ=='
}

export function getWithAnyHeaders(url: string, headers: Record<string, string> = {}): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers }, async response => {
      const pieces: Uint8Array[] = []
      for await (const piece of response) pieces.push(piece)
      const text = Buffer.concat(pieces).toString('utf8')
      const named = Object.entries(response.headers).map(([name, value]) => [name, String(value)] as [string, string])
      const json = response.headers['content-type'] === 'application/json' ? JSON.parse(text) : undefined
      resolve({ status: response.statusCode ?? 0, headers: new Headers(named), text, json })
    })
    sent.on('error', reject)
    sent.on('upgrade', (_response, socket) => {
      socket.destroy()
      reject(new Error(`${url} was upgraded.`))
    })
    sent.end()
  })
}
