// The upstream of the benchmark: the native v1 wire and those of external providers at the lowest cost that Node allows, so that what is
// measured is the gateway.
// The model's name says how to respond: `bench-L<first byte ms>-N<events>-G<gap ms>`, with `-P<events>` for how many events go into one
// chunk of the response when there is no gap. `upstream-responses.ts` has the forms of large responses.

import { createServer, type ServerResponse } from 'node:http'
import { END_OF_CHUNKS, startChunks, writeChunk } from './http-chunks.ts'
import { TOKEN_PATH } from './split-profile.ts'
import { readResponseShape, sendPrepared } from './upstream-responses.ts'
import { findWire, type UpstreamWire, wireResponses } from './upstream-wires.ts'

/** The model stands at the beginning of a body and the wish for a stream at its end; nothing else is kept of a large one. */
const KEPT_BYTES = 64 * 1024
/**
 * Behind a chunk of this size the others wait for the next turn of the event loop: a socket hands over megabytes in one turn, and small
 * requests would be measured with what they wait here.
 */
const LARGE_CHUNK_BYTES = 32 * 1024
/** A native profile has a key for which a token is fetched. */
const TOKEN_MS = 30 * 60 * 1000
const image = Buffer.alloc(10_000, 0xff)

/** The chunks of streams, put together once. */
const fullChunks = new Map<string, string>()

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  let keptBytes = 0
  request.on('data', (chunk: Buffer) => {
    if (keptBytes > KEPT_BYTES) chunks.pop()
    else keptBytes += chunk.length
    chunks.push(chunk)
    if (chunk.length < LARGE_CHUNK_BYTES) return
    request.pause()
    setImmediate(() => request.resume())
  })
  request.on('end', () => {
    if (request.url === TOKEN_PATH) {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ access_token: 'bench', expires_at: Date.now() + TOKEN_MS }))
      return
    }
    if (request.url?.endsWith('/models')) {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end('{"object":"list","data":[{"id":"bench","object":"model","owned_by":"bench","type":"chat"}]}')
      return
    }
    if (request.url?.endsWith('/content')) {
      response.writeHead(200, { 'content-type': 'image/jpeg', 'content-length': image.length })
      response.end(image)
      return
    }
    const body = Buffer.concat(chunks).toString('latin1')
    const large = readResponseShape(body, request.headers.accept === 'text/event-stream')
    if (large !== undefined) {
      void sendPrepared(response, large)
      return
    }
    const path = request.url ?? ''
    // The path of the content wire has the model and the wish for a stream.
    const shape = readShape(path.includes('bench-') ? path : body)
    const { latencyMs } = shape
    const wire = findWire(path)
    const isStream = path.includes(':streamGenerateContent') || body.includes('"stream":true')
    const send = () => (isStream ? stream(response, wire, shape) : answerWhole(response, wire))
    if (latencyMs === 0) send()
    else setTimeout(send, latencyMs)
  })
})

function answerWhole(response: ServerResponse, wire: UpstreamWire): void {
  const { whole } = wireResponses[wire]
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': whole.length })
  response.end(whole)
}

function stream(response: ServerResponse, wire: UpstreamWire, { events, gapMs, perChunk }: Shape): void {
  const { first, token, last } = wireResponses[wire]
  startChunks(response, { 'content-type': 'text/event-stream' })
  response.write(writeChunk(first))
  if (gapMs === 0) {
    for (let sent = 1; sent < events; sent += perChunk) {
      const count = Math.min(perChunk, events - sent)
      response.write(count === perChunk ? fullChunk(wire, perChunk) : writeChunk(token.repeat(count)))
    }
    response.end(writeChunk(last) + END_OF_CHUNKS)
    return
  }
  let sent = 1
  const timer = setInterval(() => {
    if (sent++ < events) response.write(fullChunk(wire, 1))
    else {
      clearInterval(timer)
      response.end(writeChunk(last) + END_OF_CHUNKS)
    }
  }, gapMs)
}

/** The chunk of so many events. */
function fullChunk(wire: UpstreamWire, count: number): string {
  const key = `${wire} ${count}`
  const known = fullChunks.get(key) ?? writeChunk(wireResponses[wire].token.repeat(count))
  fullChunks.set(key, known)
  return known
}

interface Shape {
  latencyMs: number
  events: number
  gapMs: number
  perChunk: number
}

function readShape(body: string): Shape {
  const shape = /bench-L(\d+)-N(\d+)-G(\d+)(?:-P(\d+))?/.exec(body)
  const [latencyMs = 0, events = 200, gapMs = 0, perChunk = 1] = (shape ?? []).slice(1).map(text => Number(text ?? 1))
  return { latencyMs, events, gapMs, perChunk }
}

server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.({ port: typeof address === 'object' && address !== null ? address.port : 0 })
})
process.on('disconnect', () => process.exit(0))
