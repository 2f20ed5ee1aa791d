// One message of a WebSocket as a request of the gateway to itself: `POST /responses` with the head of the upgrade, over a connection in memory
// (memory.md 5). So each response has the keys, limits, records and metrics of any other.

import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import type { Duplex } from 'node:stream'
import { asBuffer } from '../../../shared/bytes.ts'
import { findFrameData, isEndMark } from '../../protocols/shared/stream/frame-data.ts'
import { FrameSplitter } from '../../protocols/shared/stream/frame-splitter.ts'
import { type ResponseEnd, readEnd, writeErrorEvent, writeRefusal } from './messages.ts'

export interface ExchangeOptions {
  /** The request that was upgraded. */
  readonly upgraded: IncomingMessage
  readonly connection: Duplex
  readonly body: Uint8Array
  /** How many items of its input are of responses before. */
  readonly historyLength: number
  /** Sends an event. Resolves when there is room for more. */
  readonly send: (data: string) => Promise<void>
}

/** Headers of the upgrade that say nothing of the requests on its connection. */
const LEFT_OUT =
  /^(?:connection|upgrade|sec-websocket-.*|content-.*|transfer-encoding|expect|keep-alive|te|trailer|accept-encoding)$/i

/** A body of an error is not longer. */
const ERROR_BYTES_MAX = 1024 * 1024

export class Exchange {
  readonly #request: ClientRequest
  /** Resolves when nothing of the response will come any more; with its end, unless the response was refused. */
  readonly ended: Promise<ResponseEnd | undefined>

  constructor(options: ExchangeOptions) {
    const { upgraded, connection, body } = options
    this.#request = request({
      method: 'POST',
      path: upgraded.url ?? '/',
      headers: writeHeaders(upgraded, body),
      setHost: false,
      createConnection: () => connection
    })
    this.ended = this.#run(options)
  }

  /** The client has left: ends the call of the provider too. */
  abort(): void {
    this.#request.destroy()
  }

  async #run({ body, historyLength, send }: ExchangeOptions): Promise<ResponseEnd | undefined> {
    let end: ResponseEnd | undefined
    try {
      const response = await this.#send(body)
      if (response.statusCode !== 200) {
        const text = await readText(response)
        await send(writeRefusal(response.statusCode ?? 500, text, { headers: response.headers, historyLength }))
        return undefined
      }
      for await (const data of readEvents(response)) {
        end = readEnd(data) ?? end
        await send(data)
      }
    } catch {
      // A failed stream is cut behind its last event (decisions.md 108).
    }
    if (end === undefined && !this.#request.destroyed) await send(BROKEN)
    return end
  }

  #send(body: Uint8Array): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      this.#request.once('response', resolve)
      this.#request.on('error', reject)
      this.#request.end(body)
    })
  }
}

const BROKEN = writeErrorEvent(500, { code: 'server_error', message: 'The response broke off.' })

function writeHeaders({ rawHeaders }: IncomingMessage, body: Uint8Array): string[] {
  const headers: string[] = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    if (!LEFT_OUT.test(name)) headers.push(name, rawHeaders[index + 1] ?? '')
  }
  headers.push('content-type', 'application/json', 'content-length', String(body.byteLength), 'connection', 'close')
  return headers
}

async function readText(response: IncomingMessage): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of response as AsyncIterable<Uint8Array>) {
    bytes += piece.byteLength
    if (bytes <= ERROR_BYTES_MAX) pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

/** The data of the events, each as one line; their size has the bound of the response itself. Comments that keep a connection open are left out: a WebSocket has pings. */
async function* readEvents(response: IncomingMessage): AsyncGenerator<string> {
  const splitter = new FrameSplitter(Number.POSITIVE_INFINITY)
  for await (const bytes of response as AsyncIterable<Uint8Array>) {
    for (const frame of splitter.push(bytes)) {
      const data = isEndMark(asBuffer(frame)) ? undefined : findFrameData(frame)
      if (data !== undefined && data.length > 0) yield data.toString('utf8')
    }
  }
}
