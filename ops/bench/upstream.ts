// The upstream of the benchmark: the native v1 wire at the lowest cost that Node allows, so that what is measured is the gateway.
// The model's name says how to respond: `bench-L<first byte ms>-N<events>-G<gap ms>`, with `-P<events>` for how many events go into one
// chunk of the response when there is no gap. `upstream-responses.ts` has the forms of large responses.

import { createServer, type ServerResponse } from 'node:http'
import { END_OF_CHUNKS, startChunks, writeChunk } from './http-chunks.ts'
import { TOKEN_PATH } from './split-profile.ts'
import { readResponseShape, sendPrepared } from './upstream-responses.ts'

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

const ANSWER_TEXT = 'x'.repeat(700)
const answer = JSON.stringify({
  choices: [{ message: { content: ANSWER_TEXT, role: 'assistant' }, index: 0, finish_reason: 'stop' }],
  created: 1767225600,
  model: 'bench:1',
  object: 'chat.completion',
  usage: { prompt_tokens: 500, completion_tokens: 150, total_tokens: 650, precached_prompt_tokens: 2 }
})
/** The same on the wire of chat completions, whose answers have an id. */
const openAiAnswer = JSON.stringify({ id: 'chatcmpl-bench', ...JSON.parse(answer) })
const openAiHeaders = {
  'content-type': 'application/json; charset=utf-8',
  'content-length': Buffer.byteLength(openAiAnswer)
}
const answerHeaders = { 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(answer) }

const firstEvent = writeFrame({ delta: { content: 'Hello', role: 'assistant' }, index: 0 })
const event = writeFrame({ delta: { content: ' token' }, index: 0 })
const lastEvents = `${writeFrame(
  { delta: { content: '' }, index: 0, finish_reason: 'stop' },
  { usage: { prompt_tokens: 500, completion_tokens: 150, total_tokens: 650, precached_prompt_tokens: 2 } }
)}data: [DONE]\n\n`

const lastChunks = writeChunk(lastEvents) + END_OF_CHUNKS
const fullChunks = new Map<number, string>()

function writeFrame(choice: object, more: object = {}): string {
  const head = { created: 1767225600, model: 'bench:1', object: 'chat.completion' }
  return `data: ${JSON.stringify({ choices: [choice], ...head, ...more })}\n\n`
}

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
    const shape = readShape(body)
    const { latencyMs } = shape
    const isOpenAi = request.url?.includes('/openai/') === true
    const send = () => (body.includes('"stream":true') ? stream(response, shape) : answerWhole(response, isOpenAi))
    if (latencyMs === 0) send()
    else setTimeout(send, latencyMs)
  })
})

function answerWhole(response: ServerResponse, isOpenAi: boolean): void {
  response.writeHead(200, isOpenAi ? openAiHeaders : answerHeaders)
  response.end(isOpenAi ? openAiAnswer : answer)
}

function stream(response: ServerResponse, { events, gapMs, perChunk }: Shape): void {
  startChunks(response, { 'content-type': 'text/event-stream' })
  response.write(writeChunk(firstEvent))
  if (gapMs === 0) {
    for (let sent = 1; sent < events; sent += perChunk) {
      const count = Math.min(perChunk, events - sent)
      response.write(count === perChunk ? fullChunk(perChunk) : writeChunk(event.repeat(count)))
    }
    response.end(lastChunks)
    return
  }
  let sent = 1
  const timer = setInterval(() => {
    if (sent++ < events) response.write(fullChunk(1))
    else {
      clearInterval(timer)
      response.end(lastChunks)
    }
  }, gapMs)
}

/** The chunk of so many events, put together once. */
function fullChunk(count: number): string {
  const known = fullChunks.get(count) ?? writeChunk(event.repeat(count))
  fullChunks.set(count, known)
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
