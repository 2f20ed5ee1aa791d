// Sends a request through the whole stack of this worker, over a connection in memory: the stages,
// the routes and the observers treat it like any other (operations.md 9.5).
import type { IncomingHttpHeaders, RequestListener } from 'node:http'
import { type Duplex, duplexPair } from 'node:stream'
import { http } from '../../shared/net/node-http.ts'
import { markReplay, type Replay } from '../http/request/replay-mark.ts'

export interface DispatchedRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly replay: Replay
}

export interface DispatchedResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** At most `bytesMax`. */
  readonly body: Buffer
  /** The response had more than `bytesMax` bytes and was cut. */
  readonly isCut: boolean
}

export interface DispatchOptions {
  readonly bytesMax: number
  readonly timeoutMs: number
  /** Ends the request, as a client disconnect does. */
  readonly signal: AbortSignal
}

/**
 * Resolves with the response, also with one of an error status. Rejects when the connection breaks,
 * the time is up, or `signal` aborts.
 */
export async function dispatch(
  handle: RequestListener,
  { path, headers, body, replay }: DispatchedRequest,
  { bytesMax, timeoutMs, signal }: DispatchOptions
): Promise<DispatchedResponse> {
  const [clientSide, serverSide] = duplexPair()
  actAsSocket(serverSide)
  markReplay(serverSide, replay)
  const served = Promise.withResolvers<void>()
  // It never listens: its only connection is the one in memory. The caller sets the deadline.
  const server = http.createServer({ requestTimeout: 0, headersTimeout: 0 }, (incoming, outgoing) => {
    outgoing.once('close', served.resolve)
    handle(incoming, outgoing)
  })
  const end = () => {
    clientSide.destroy()
    serverSide.destroy()
  }
  const timer = setTimeout(end, timeoutMs)
  signal.addEventListener('abort', end)
  if (signal.aborted) end()
  try {
    server.emit('connection', serverSide)
    const response = await exchange(clientSide, { path, headers, body, bytesMax })
    // The response was read before the server has noticed that it is sent; a connection that closes
    // now would look like a disconnect.
    await served.promise
    return response
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
    end()
  }
}

function exchange(
  connection: Duplex,
  { path, headers, body, bytesMax }: Pick<DispatchedRequest, 'path' | 'headers' | 'body'> & { bytesMax: number }
): Promise<DispatchedResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<DispatchedResponse>()
  const outgoing = http.request({ method: 'POST', path, headers, createConnection: () => connection })
  outgoing.on('error', reject)
  outgoing.on('response', response => {
    const chunks: Buffer[] = []
    let bytes = 0
    response.on('data', (chunk: Buffer) => {
      // What is beyond the bound is read and dropped: the request is to end as it would for a
      // client.
      if (bytes < bytesMax) chunks.push(chunk.subarray(0, bytesMax - bytes))
      bytes += chunk.length
    })
    response.on('end', () => {
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        body: Buffer.concat(chunks),
        isCut: bytes > bytesMax
      })
    })
    response.on('error', reject)
  })
  connection.on('close', () => reject(new Error('The connection of a replay was closed.')))
  // As bytes: a text would be joined with the head and encoded once more, with a key that is not
  // ASCII in it.
  outgoing.end(Buffer.from(body))
  return promise
}

const LOOPBACK = '127.0.0.1'

/** The members of a socket that the HTTP side reads. Its bytes are not counted. */
function actAsSocket(side: Duplex): void {
  Object.assign(side, {
    remoteAddress: LOOPBACK,
    localAddress: LOOPBACK,
    bytesWritten: 0,
    setTimeout: () => side,
    setNoDelay: () => side,
    setKeepAlive: () => side,
    destroySoon: () => side.end(() => side.destroy())
  })
}
