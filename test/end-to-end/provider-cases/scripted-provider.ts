// A provider of every external wire whose next answer a test scripts. Without a script the embedded
// upstream answers, which is as strict as the services of the wire.

import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import type { Loose } from '../bridge/families.ts'

/** An answer, as the recorded cases write it. */
export interface Script {
  status?: number
  headers?: Record<string, string>
  body?: unknown
  /** Events of a stream: JSON data, or the bytes of frames. */
  stream?: ReadonlyArray<{ data?: unknown; raw?: string }>
}

export interface Received {
  path: string
  raw: string
  body: Loose
}

/** Looks at a request and answers it in its own way; undefined for an answer of the embedded upstream. */
export type Behaviour = (request: Received) => Script | undefined

export interface ScriptedProvider {
  /** Such as `http://127.0.0.1:41234`; a wire is a folder below it. */
  url: string
  received: Received[]
  /** Decides on every answer from now on. */
  behave(behaviour: Behaviour): void
}

/** @param upstreams what answers without a script, by the first folder of the path. */
export async function startScriptedProvider(
  t: Test,
  upstreams: Readonly<Record<string, string>>
): Promise<ScriptedProvider> {
  const received: Received[] = []
  let behaviour: Behaviour = () => undefined
  const server = createServer((incoming, outgoing) => void answer(incoming, outgoing))
  async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const pieces: Uint8Array[] = []
    for await (const piece of incoming) pieces.push(piece)
    const raw = Buffer.concat(pieces).toString('utf8')
    const seen = { path: incoming.url ?? '', raw, body: raw === '' ? undefined : JSON.parse(raw) }
    received.push(seen)
    const script = behaviour(seen)
    if (script !== undefined) return write(outgoing, script)
    const [, wire = '', ...rest] = seen.path.split('/')
    passOn(`${upstreams[wire]}/${rest.join('/')}`, incoming, outgoing, raw)
  }
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const behave = (next: Behaviour) => {
    behaviour = next
  }
  return { url: `http://127.0.0.1:${port}`, received, behave }
}

function write(outgoing: ServerResponse, { status = 200, headers = {}, body, stream }: Script): void {
  if (stream === undefined) {
    outgoing.writeHead(status, { 'content-type': 'application/json', ...headers })
    outgoing.end(JSON.stringify(body))
    return
  }
  outgoing.writeHead(status, { 'content-type': 'text/event-stream', ...headers })
  outgoing.end(stream.map(({ data, raw }) => raw ?? `data: ${JSON.stringify(data)}\n\n`).join(''))
}

/** Passes a request on to the embedded upstream, and its answer back as it comes. */
function passOn(url: string, incoming: IncomingMessage, outgoing: ServerResponse, body: string): void {
  const { connection: _connection, host: _host, ...headers } = incoming.headers
  const passed = request(url, { method: incoming.method, headers }, answer => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.on('error', () => outgoing.destroy())
    answer.pipe(outgoing)
  })
  passed.on('error', () => outgoing.destroy())
  outgoing.on('close', () => passed.destroy())
  passed.end(body)
}

/** An ordinary answer of the wire, whole or streamed, where the embedded upstream would be too strict. */
export function answerPlainly({ path, body }: Received): Script {
  if (path.includes('/v1beta/'))
    return path.includes('stream') ? { stream: [{ data: contentAnswer }] } : { body: contentAnswer }
  if (path.endsWith('/v1/messages')) return body.stream === true ? { stream: messageEvents } : { body: message }
  if (body.stream !== true) return { body: completion }
  const head = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'up' }
  const choices = [{ index: 0, delta: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }]
  return { stream: [{ data: { ...head, choices } }, { raw: 'data: [DONE]\n\n' }] }
}

const completion = {
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'up',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
}
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'up',
  content: [{ type: 'text', text: 'hi' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 3, output_tokens: 2 }
}
const messageEvents = [
  { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } },
  { type: 'message_stop' }
].map(event => ({ raw: `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n` }))
const contentAnswer = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'hi' }] }, finishReason: 'STOP', index: 0 }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
  modelVersion: 'up',
  responseId: 'r1'
}
