// The upstream of the benchmark: the native v1 wire at the lowest cost that Node allows, so that what is measured is the gateway.
// The model's name says how to answer: `bench-L<first byte ms>-N<events>-G<gap ms>`.

import { createServer, type ServerResponse } from 'node:http'

const ANSWER_TEXT = 'x'.repeat(700)
const answer = JSON.stringify({
  choices: [{ message: { content: ANSWER_TEXT, role: 'assistant' }, index: 0, finish_reason: 'stop' }],
  created: 1767225600,
  model: 'bench:1',
  object: 'chat.completion',
  usage: { prompt_tokens: 500, completion_tokens: 150, total_tokens: 650, precached_prompt_tokens: 2 }
})
const answerHeaders = { 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(answer) }

const firstEvent = writeFrame({ delta: { content: 'Hello', role: 'assistant' }, index: 0 })
const event = writeFrame({ delta: { content: ' token' }, index: 0 })
const lastEvents = `${writeFrame(
  { delta: { content: '' }, index: 0, finish_reason: 'stop' },
  { usage: { prompt_tokens: 500, completion_tokens: 150, total_tokens: 650, precached_prompt_tokens: 2 } }
)}data: [DONE]\n\n`

function writeFrame(choice: object, more: object = {}): string {
  const head = { created: 1767225600, model: 'bench:1', object: 'chat.completion' }
  return `data: ${JSON.stringify({ choices: [choice], ...head, ...more })}\n\n`
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    if (request.url?.endsWith('/models')) {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end('{"object":"list","data":[{"id":"bench","object":"model","owned_by":"bench","type":"chat"}]}')
      return
    }
    const body = Buffer.concat(chunks).toString('latin1')
    const { latencyMs, events, gapMs } = readShape(body)
    const send = () => (body.includes('"stream":true') ? stream(response, events, gapMs) : answerWhole(response))
    if (latencyMs === 0) send()
    else setTimeout(send, latencyMs)
  })
})

function answerWhole(response: ServerResponse): void {
  response.writeHead(200, answerHeaders)
  response.end(answer)
}

function stream(response: ServerResponse, events: number, gapMs: number): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  if (gapMs === 0) {
    // Ten events to a write, as a fast model behind a real network delivers them.
    response.write(firstEvent)
    for (let sent = 1; sent < events; sent += 10) response.write(event.repeat(Math.min(10, events - sent)))
    response.end(lastEvents)
    return
  }
  let sent = 1
  response.write(firstEvent)
  const timer = setInterval(() => {
    if (sent++ < events) response.write(event)
    else {
      clearInterval(timer)
      response.end(lastEvents)
    }
  }, gapMs)
}

function readShape(body: string): { latencyMs: number; events: number; gapMs: number } {
  const shape = /bench-L(\d+)-N(\d+)-G(\d+)/.exec(body)
  return { latencyMs: Number(shape?.[1] ?? 0), events: Number(shape?.[2] ?? 200), gapMs: Number(shape?.[3] ?? 0) }
}

server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.({ port: typeof address === 'object' && address !== null ? address.port : 0 })
})
process.on('disconnect', () => process.exit(0))
