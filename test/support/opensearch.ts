// A search server for tests: the part of OpenSearch's API that the traffic log uses, with the server's own strictness. It keeps the
// documents, finds them only after a refresh, and fails as a test tells it.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { Test } from 'tap'
import { findFreePort } from '../../ops/net/free-port.ts'
import { type SearchServerFakeOptions, SearchStore } from './opensearch/store.ts'

export type { SearchServerFakeOptions } from './opensearch/store.ts'

/**
 * How a call fails, besides a status. `cut`: the connection breaks before the server does anything; `lost`: after it has done the call;
 * `half`: in the middle of the response. `silent`: no response. `garbage`: broken JSON. `text`: the page of another server. `endless`: JSON
 * that goes on as long as it is read; `bomb`: the same in few compressed bytes.
 */
export type CallFailure = number | 'cut' | 'lost' | 'half' | 'silent' | 'garbage' | 'text' | 'endless' | 'bomb'

export interface Call {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
  readonly compressedBytes: number
}

interface ServerControls {
  readonly url: string
  readonly calls: readonly Call[]
  /** The next calls whose path contains the text fail, one after the other. */
  failNext(path: string, ...failures: CallFailure[]): void
  /** Stops listening and breaks all connections; `start` listens on the same port again. */
  stop(): Promise<void>
  start(): Promise<void>
}

export type SearchServerFake = SearchStore & ServerControls

function* spaces(): Generator<Buffer> {
  for (;;) yield Buffer.alloc(1024 * 1024, ' ')
}

/** Starts a server that stops with the test, which fails if the server was sent what it must not be sent. */
export async function startSearchServer(t: Test, options: SearchServerFakeOptions = {}): Promise<SearchServerFake> {
  const store = new SearchStore(options)
  const sockets = new Set<Socket>()
  const calls: Call[] = []
  const failures: Array<{ path: string; failure: CallFailure }> = []
  // The same one after a stop.
  const port = await findFreePort()

  const server = createServer((request, response) => void serve(request, response))
  server.on('connection', socket => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const bytes = await buffer(request)
      const isCompressed = request.headers['content-encoding'] === 'gzip'
      const body = (isCompressed ? gunzipSync(bytes) : bytes).toString('utf8')
      const { method = '', url = '', headers } = request
      calls.push({ method, path: url, headers, body, compressedBytes: bytes.length })
      const failure = takeFailure(url)
      if (failure === 'cut') return void request.socket.destroy()
      if (failure === 'silent') return
      if (typeof failure === 'number')
        return answer(response, failure, { error: { type: 'unavailable' }, status: failure })
      const { status, body: content } = store.answer({ method, url: new URL(url, 'http://fake'), headers, body })
      if (failure === 'lost') return void request.socket.destroy()
      if (failure === 'half') {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
        return void response.write('{"items":[', () => request.socket.destroy())
      }
      if (failure === 'garbage') return void response.setHeader('content-type', 'application/json').end('{"items":[')
      if (failure === 'endless')
        return void Readable.from(spaces()).pipe(response.setHeader('content-type', 'application/json'))
      if (failure === 'bomb') {
        response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
        return void response.end(gzipSync(Buffer.alloc(80 * 1024 * 1024, ' ')))
      }
      if (failure === 'text') return void response.setHeader('content-type', 'text/html').end('<p>welcome</p>')
      answer(response, status, content)
    } catch (error) {
      // A client that has left.
      if (!request.destroyed) throw error
    }
  }

  function takeFailure(url: string): CallFailure | undefined {
    const index = failures.findIndex(({ path }) => url.includes(path))
    return index === -1 ? undefined : failures.splice(index, 1)[0]?.failure
  }

  function answer(response: ServerResponse, status: number, body: unknown): void {
    response.writeHead(status, { 'content-type': 'application/json; charset=UTF-8' }).end(JSON.stringify(body))
  }

  const start = () =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, '127.0.0.1', () => resolve())
    })
  const stop = () =>
    new Promise<void>(resolve => {
      if (!server.listening) return resolve()
      server.close(() => resolve())
      for (const socket of sockets) socket.destroy()
    })
  await start()
  t.teardown(async () => {
    await stop()
    if (store.violations.length > 0) throw new Error(`The search server was sent: ${store.violations.join('; ')}`)
  })

  const controls: ServerControls = {
    url: `http://127.0.0.1:${port}`,
    calls,
    failNext: (path, ...next) => failures.push(...next.map(failure => ({ path, failure }))),
    start,
    stop
  }
  return Object.assign(store, controls)
}
