// The provider of the suite: every answer is derived from the question, so that a client knows whether it got its own and all of it. Words in
// the question make it answer wrongly in a chosen way.

import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { Owner } from '../support/owner.ts'
import { findFault } from './upstream-faults.ts'

const PIECES = 8

/** The pieces of the answer to a question; each has letters of two and three bytes. */
export function piecesOf(question: string): string[] {
  const digest = createHash('sha256').update(question).digest('hex')
  return Array.from({ length: PIECES }, (_, index) => `${digest.slice(index * 8, index * 8 + 8)} é日 `)
}

export interface Provider {
  readonly port: number
  /** Token calls so far. */
  readonly tokenCalls: number
  /** Chats that run now. */
  readonly running: number
  /** The one that is taken now. */
  readonly token: string
  /** No token that was given before is taken any more. */
  revokeTokens(): void
  /** Closes every connection. */
  dropConnections(): void
  /** Answers the token calls in place of the server; undefined ends that. */
  answerTokens(answer: ((response: ServerResponse) => void) | undefined): void
}

/** Starts a provider on loopback. It closes with its owner. */
export async function startProvider(owner: Owner): Promise<Provider> {
  let tokenCalls = 0
  let generation = 0
  let running = 0
  let answerToken: ((response: ServerResponse) => void) | undefined
  const server = createServer((incoming, response) => {
    response.on('error', () => undefined)
    const path = incoming.url ?? ''
    if (path.endsWith('/oauth')) {
      tokenCalls += 1
      incoming.resume()
      if (answerToken === undefined)
        sendJson(response, { access_token: tokenOf(generation), expires_at: Date.now() + 1_800_000 })
      else answerToken(response)
    } else if (path.endsWith('/models')) {
      incoming.resume()
      sendJson(response, {
        object: 'list',
        data: [{ id: 'faults', object: 'model', owned_by: 'faults', type: 'chat' }]
      })
    } else if (path.includes('/api/') && incoming.headers.authorization !== `Bearer ${tokenOf(generation)}`) {
      incoming.resume()
      response.writeHead(401, { 'content-type': 'application/json' })
      response.end('{"status":401,"message":"Token has expired"}')
    } else {
      running += 1
      response.once('close', () => {
        running -= 1
      })
      void answerChat(incoming, response)
    }
  })
  server.keepAliveTimeout = 65_000
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', 4096, resolve))
  owner.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port,
    get tokenCalls() {
      return tokenCalls
    },
    get running() {
      return running
    },
    get token() {
      return tokenOf(generation)
    },
    revokeTokens() {
      generation += 1
    },
    dropConnections: () => server.closeAllConnections(),
    answerTokens(answer) {
      answerToken = answer
    }
  }
}

const tokenOf = (generation: number): string => `faults-${generation}`

interface Chat {
  readonly messages: ReadonlyArray<{ readonly role: string; readonly content: string }>
  readonly stream?: boolean
}

async function answerChat(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
  } catch {
    return
  }
  const { messages, stream = false } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Chat
  const question = messages.findLast(({ role }) => role === 'user')?.content ?? ''
  const fault = findFault(question)
  const paceMs = Number(/\[pace (\d+)\]/.exec(question)?.[1] ?? 0)
  const answer = { response, pieces: piecesOf(question), isStream: stream }
  if (fault !== undefined)
    await fault.answer({ ...answer, frames: framesOf(answer.pieces), whole: wholeOf(answer.pieces) })
  else if (stream) await sendStream(answer, paceMs)
  else {
    if (paceMs > 0) await wait(paceMs * PIECES)
    sendJson(response, wholeOf(answer.pieces))
  }
}

const HEAD = { id: 'chatcmpl-faults', created: 1_767_225_600, model: 'faults:1', object: 'chat.completion' }
const USAGE = { prompt_tokens: 20, completion_tokens: PIECES, total_tokens: 20 + PIECES, precached_prompt_tokens: 0 }

function wholeOf(pieces: readonly string[]): object {
  const message = { content: pieces.join(''), role: 'assistant' }
  return { choices: [{ message, index: 0, finish_reason: 'stop' }], ...HEAD, usage: USAGE }
}

/** The events of a stream as bytes, the end mark included. */
function framesOf(pieces: readonly string[]): string[] {
  const frame = (choice: object, more: object = {}) =>
    `data: ${JSON.stringify({ choices: [choice], ...HEAD, ...more })}\n\n`
  return [
    ...pieces.map((content, index) =>
      frame({ delta: { content, ...(index === 0 && { role: 'assistant' }) }, index: 0 })
    ),
    frame({ delta: { content: '' }, index: 0, finish_reason: 'stop' }, { usage: USAGE }),
    'data: [DONE]\n\n'
  ]
}

async function sendStream(
  { response, pieces }: { response: ServerResponse; pieces: readonly string[] },
  paceMs: number
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const frame of framesOf(pieces)) {
    if (response.destroyed) return
    response.write(frame)
    if (paceMs > 0) await wait(paceMs)
  }
  response.end()
}

function sendJson(response: ServerResponse, body: object): void {
  const text = JSON.stringify(body)
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
  response.end(text)
}
