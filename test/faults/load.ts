// Clients that ask one question after the other while a fault goes on, and what became of each question.

import { Agent, request } from 'node:http'
import { endsWithError } from '../support/client.ts'
import { createQuestion, type Question, type QuestionOptions } from './questions.ts'

export interface Outcome {
  readonly kind: 'right' | 'refused' | 'lost' | 'wrong'
  readonly question: string
  /** Of the client's side of the connection; 0 where there was none. */
  readonly port: number
  /** No answer had come over the connection before. */
  readonly isFirst: boolean
  readonly startedAtMs: number
  readonly connectedAtMs: number
  readonly endedAtMs: number
  readonly why: string
}

/** A question without an answer for so long is lost: no wait of the gateways of the suite is longer. */
const ANSWER_MS_MAX = 60_000

const connectedAt = new WeakMap<object, number>()
const answered = new WeakSet<object>()

/** Asks one question. */
export function ask(url: string, question: Question, agent: Agent, key?: string): Promise<Outcome> {
  return new Promise(resolve => {
    let port = 0
    const startedAtMs = performance.now()
    let connectedAtMs = startedAtMs
    let isFirst = true
    let socketKey: object | undefined
    const end = (kind: Outcome['kind'], why = ''): void => {
      clearTimeout(deadline)
      if (socketKey !== undefined && kind !== 'lost') answered.add(socketKey)
      resolve({
        kind,
        question: question.kind,
        port,
        isFirst,
        startedAtMs,
        connectedAtMs,
        endedAtMs: performance.now(),
        why
      })
    }
    const sent = request(url + question.path, {
      method: 'POST',
      agent,
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(question.body),
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` })
      }
    })
    const deadline = setTimeout(() => {
      end('lost', `no answer within ${ANSWER_MS_MAX / 1000} s`)
      sent.destroy()
    }, ANSWER_MS_MAX)
    sent.on('socket', socket => {
      socketKey = socket
      const note = (): void => {
        port = socket.localPort ?? 0
        if (!connectedAt.has(socket)) connectedAt.set(socket, performance.now())
        connectedAtMs = connectedAt.get(socket) ?? 0
        isFirst = !answered.has(socket)
      }
      if (socket.connecting) socket.once('connect', note)
      else note()
    })
    sent.on('response', response => {
      const chunks: Buffer[] = []
      response.on('data', chunk => chunks.push(chunk))
      const read = (): string => Buffer.concat(chunks).toString('utf8')
      response.on('end', () => {
        const judgement = question.judge(response.statusCode ?? 0, read())
        end(judgement.kind, judgement.why)
      })
      // A stream that ends with an error closes its connection in the middle of the body (decisions.md 108).
      response.on('error', error =>
        endsWithError(read()) ? end('refused', read().slice(-300)) : end('lost', `in the answer: ${error.message}`)
      )
    })
    sent.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNREFUSED' ? end('refused', error.code) : end('lost', error.code ?? error.message)
    )
    sent.end(question.body)
  })
}

export interface LoadOptions extends QuestionOptions {
  readonly url: string
  readonly clients: number
  /** Every question on a connection of its own. */
  readonly isUnkept?: boolean
  /** Of the gateway. */
  readonly key?: string | undefined
}

export interface Load {
  readonly outcomes: readonly Outcome[]
  /** Resolves when so many more questions have their answer. */
  more(count: number): Promise<void>
  /** Lets the running questions end. */
  stop(): Promise<readonly Outcome[]>
}

/** Starts clients that ask until they are stopped. */
export function startLoad({ url, clients, isUnkept = false, key, ...questions }: LoadOptions): Load {
  const outcomes: Outcome[] = []
  const waits: Array<{ count: number; resolve: () => void }> = []
  let isRunning = true
  let number = 0

  async function client(): Promise<void> {
    const agent = new Agent({ keepAlive: !isUnkept, maxSockets: 1 })
    while (isRunning) {
      const outcome = await ask(url, createQuestion(number++, questions), agent, key)
      outcomes.push(outcome)
      for (const wait of waits) if (outcomes.length >= wait.count) wait.resolve()
      // Nothing listens at the moment.
      if (outcome.why === 'ECONNREFUSED') await new Promise(resolve => setTimeout(resolve, 50))
    }
    agent.destroy()
  }
  const ended = Promise.all(Array.from({ length: clients }, client))
  return {
    outcomes,
    more: count => new Promise(resolve => waits.push({ count: outcomes.length + count, resolve })),
    async stop() {
      isRunning = false
      await ended
      return outcomes
    }
  }
}

/** Asks so many questions, with so many clients at a time. */
export async function askAll(
  { url, clients, isUnkept = false, key, ...questions }: LoadOptions,
  count: number
): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  let number = 0
  async function client(): Promise<void> {
    const agent = new Agent({ keepAlive: !isUnkept, maxSockets: 1 })
    while (number < count) outcomes.push(await ask(url, createQuestion(number++, questions), agent, key))
    agent.destroy()
  }
  await Promise.all(Array.from({ length: clients }, client))
  return outcomes
}
