// The connection of a worker to the writer: keeps it open, moves the outbox's batches over it, and asks questions.
import type { Socket } from 'node:net'
import { connectPrivately } from '../../shared/private-folder.ts'
import { LineSplitter } from '../../shared/traffic/lines.ts'
import {
  type Answer,
  LINE_BYTES_MAX,
  type Question,
  type QuestionFailure,
  type QuestionName,
  readWriterLine,
  TRAFFIC_PROTOCOL_VERSION,
  type WorkerLine,
  type WriterLine,
  writeLine
} from '../../shared/traffic/messages.ts'
import type { TrafficSummary } from '../../shared/traffic/query.ts'
import type { Outbox } from './outbox.ts'

/** How a question ended. `disconnected`: there is no writer now. */
export type AskResult<Name extends QuestionName> =
  | { readonly ok: true; readonly answer: Answer<Name> }
  | { readonly ok: false; readonly failure: QuestionFailure | 'disconnected' | 'timeout' }

export interface WriterConnection {
  readonly isConnected: boolean
  /** Asks the writer, and connects first where the next attempt to do so is still to come; never rejects. */
  ask<Name extends QuestionName>(name: Name, question: Question<Name>): Promise<AskResult<Name>>
  /**
   * Calls `listener` with the summaries of new records, and how many were left out before them. Calls `onReconnected` when a lost connection
   * is there again: records of the meantime are stored and were not passed on. Returns the function that ends both.
   */
  follow(listener: Follower['listener'], onReconnected?: Follower['onReconnected']): () => void
  /** Has the writer store what it has at once, so that the acknowledgements come soon. */
  requestFlush(): void
  /** Ends the connection and every wait. */
  close(): void
}

export interface WriterConnectionOptions {
  readonly path: string
  readonly workerId: number
  readonly outbox: Outbox | undefined
  readonly askTimeoutMs: number
  /** Pauses between attempts to connect: the first, and the longest. */
  readonly retryMinMs: number
  readonly retryMaxMs: number
}

interface Follower {
  readonly listener: (summaries: readonly TrafficSummary[], skipped: number) => void
  readonly onReconnected: (() => void) | undefined
}

interface Pending {
  readonly end: (result: AskResult<QuestionName>) => void
  readonly timer: NodeJS.Timeout
}

/** Connects now, and again whenever the connection is lost, until it is closed. */
export function connectToWriter(options: WriterConnectionOptions): WriterConnection {
  const { path, outbox } = options
  const pending = new Map<number, Pending>()
  const followers = new Set<Follower>()
  let socket: Socket | undefined
  let lastRequestId = 0
  let failures = 0
  let isClosed = false
  let isFlushWanted = false
  let retry: NodeJS.Timeout | undefined
  /** The attempt to connect that is under way; resolves with whether it succeeded. */
  let attempt: Promise<boolean> | undefined

  const send = (line: WorkerLine) => socket?.write(writeLine(line))

  function connect(): Promise<boolean> {
    clearTimeout(retry)
    const { promise, resolve } = Promise.withResolvers<boolean>()
    attempt = promise
    const opening = connectPrivately(path)
    const splitter = new LineSplitter(LINE_BYTES_MAX)
    opening.once('connect', () => {
      if (isClosed) {
        opening.destroy()
        return
      }
      failures = 0
      socket = opening
      attempt = undefined
      resolve(true)
      send({ kind: 'hello', version: TRAFFIC_PROTOCOL_VERSION, workerId: options.workerId })
      if (followers.size > 0) send({ kind: 'follow' })
      outbox?.connected({ send: line => void opening.write(line) })
      if (isFlushWanted) send({ kind: 'flush' })
      for (const { onReconnected } of followers) onReconnected?.()
    })
    opening.on('data', chunk => {
      try {
        for (const bytes of splitter.push(chunk)) {
          const line = readWriterLine(bytes)
          if (line !== undefined) take(line)
        }
      } catch {
        opening.destroy()
      }
    })
    // The reason is of no use: the connection is opened again.
    opening.on('error', () => undefined)
    opening.once('close', () => {
      socket = undefined
      attempt = undefined
      resolve(false)
      outbox?.disconnected()
      for (const requestId of [...pending.keys()]) end(requestId, { ok: false, failure: 'disconnected' })
      if (isClosed) return
      failures += 1
      const delayMs = Math.min(options.retryMaxMs, options.retryMinMs * 2 ** Math.min(failures - 1, 16))
      retry = setTimeout(() => void connect(), delayMs).unref()
    })
    opening.unref()
    return promise
  }

  /** The writer may listen already while this worker waits for its next attempt, as at the start of both. */
  async function isConnectedNow(): Promise<boolean> {
    if (socket !== undefined) return true
    return !isClosed && (attempt ?? connect())
  }

  function take(line: WriterLine): void {
    switch (line.kind) {
      case 'acknowledged':
        outbox?.acknowledged(line.sequence)
        break
      case 'answer':
        end(line.requestId, { ok: true, answer: line.answer })
        break
      case 'failed':
        end(line.requestId, { ok: false, failure: line.failure })
        break
      case 'stored':
        for (const { listener } of followers) listener(line.summaries, line.skipped)
        break
    }
  }

  function end(requestId: number, result: AskResult<QuestionName>): void {
    const waiting = pending.get(requestId)
    if (waiting === undefined) return
    pending.delete(requestId)
    clearTimeout(waiting.timer)
    waiting.end(result)
  }

  void connect()
  return {
    get isConnected() {
      return socket !== undefined
    },
    async ask<Name extends QuestionName>(name: Name, question: Question<Name>): Promise<AskResult<Name>> {
      if (!(await isConnectedNow())) return { ok: false, failure: 'disconnected' }
      lastRequestId += 1
      const requestId = lastRequestId
      return new Promise(resolve => {
        const timer = setTimeout(() => end(requestId, { ok: false, failure: 'timeout' }), options.askTimeoutMs).unref()
        // The answer belongs to this question, because the writer repeats its id.
        pending.set(requestId, { end: result => resolve(result as AskResult<Name>), timer })
        send({ kind: 'ask', requestId, name, question })
      })
    },
    follow(listener, onReconnected) {
      const follower = { listener, onReconnected }
      followers.add(follower)
      if (followers.size === 1) send({ kind: 'follow' })
      return () => {
        if (followers.delete(follower) && followers.size === 0) send({ kind: 'unfollow' })
      }
    },
    requestFlush() {
      isFlushWanted = true
      send({ kind: 'flush' })
    },
    close() {
      isClosed = true
      clearTimeout(retry)
      socket?.destroy()
    }
  }
}
