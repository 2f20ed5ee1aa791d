// The socket of the writer: receives records and queries of workers, and sends acknowledgements and
// results. What happens to them is the `TrafficService`'s.
import type { Socket } from 'node:net'
import type { Logger } from '../../shared/logging.ts'
import { restoreRecords } from '../../shared/traffic/batch.ts'
import { LineSplitter } from '../../shared/traffic/lines.ts'
import {
  type Answer,
  LINE_BYTES_MAX,
  type Question,
  type QuestionFailure,
  type QuestionName,
  readWorkerLine,
  TRAFFIC_PROTOCOL_VERSION,
  type WorkerLine,
  type WriterLine,
  writeLine
} from '../../shared/traffic/messages.ts'
import type { TrafficSummary } from '../../shared/traffic/query.ts'
import type { TrafficRecord } from '../../shared/traffic/record.ts'
import { createSocketServer, type SocketServer } from '../processes/socket-server.ts'

/** A question that has no answer. */
export class QuestionFailedError extends Error {
  readonly failure: QuestionFailure

  constructor(failure: QuestionFailure, cause?: unknown) {
    super(failure, { cause })
    this.name = 'QuestionFailedError'
    this.failure = failure
  }
}

export interface TrafficService {
  /** Takes records, their approximate size in bytes, and the connection that they came over. Resolves when their worker may drop them. */
  store(records: readonly TrafficRecord[], bytes: number, source: object): Promise<void>
  /**
   * Stores everything without waiting for further records. Afterwards the worker of this connection, which is closing, may also drop records
   * that could not be stored.
   */
  flush(source: object): Promise<void>
  /** The connection has ended: its worker may have exited, and then only this process has what came over it. */
  release(source: object): void
  /** Rejects with `QuestionFailedError`; every other error counts as `query_store_unavailable`. */
  answer(name: QuestionName, question: Question): Promise<Answer>
  /** Calls the listener with records that were stored; returns the function that ends it. */
  follow(listener: (summaries: readonly TrafficSummary[]) => void): () => void
}

/** Questions of one worker at a time: an admin API that is called too often must not fill the writer's memory. */
const QUESTIONS_MAX = 64
/** Unread bytes above which a worker gets no further records of a tail. */
const UNREAD_BYTES_MAX = 4 * 1024 * 1024

/** The socket of the writer; it does not listen yet. */
export function createTrafficServer(service: TrafficService, log: Logger): SocketServer {
  return createSocketServer({ log, serve: socket => serve(socket, service, log) })
}

function serve(socket: Socket, service: TrafficService, log: Logger): void {
  const splitter = new LineSplitter(LINE_BYTES_MAX)
  let runningQuestions = 0
  let skipped = 0
  let unfollow: (() => void) | undefined
  let isWorkerClosing = false
  const send = (line: WriterLine) => {
    if (socket.writable) socket.write(writeLine(line))
  }

  async function store(sequence: number, records: readonly TrafficRecord[], bytes: number): Promise<void> {
    await service.store(records, bytes, socket)
    acknowledge(sequence)
  }

  /** Batches may be settled out of order, but a worker expects acknowledgements in order. */
  const settled = new Set<number>()
  const waiting: number[] = []
  function acknowledge(sequence: number): void {
    settled.add(sequence)
    let last: number | undefined
    while (waiting[0] !== undefined && settled.delete(waiting[0])) last = waiting.shift()
    if (last !== undefined) send({ kind: 'acknowledged', sequence: last })
  }

  async function answer(requestId: number, name: QuestionName, question: Question): Promise<void> {
    if (runningQuestions >= QUESTIONS_MAX) {
      send({ kind: 'failed', requestId, failure: 'too_many_questions' })
      return
    }
    runningQuestions += 1
    try {
      send({ kind: 'answer', requestId, answer: await service.answer(name, question) })
    } catch (error) {
      const failure = error instanceof QuestionFailedError ? error.failure : 'query_store_unavailable'
      if (failure === 'query_store_unavailable') {
        log.warn({ event: 'traffic_query_failed', question: name, err: error }, 'The traffic log could not be asked')
      }
      send({ kind: 'failed', requestId, failure })
    } finally {
      runningQuestions -= 1
    }
  }

  function passOn(summaries: readonly TrafficSummary[]): void {
    if (socket.writableLength > UNREAD_BYTES_MAX) {
      skipped += summaries.length
      return
    }
    send({ kind: 'stored', summaries, skipped })
    skipped = 0
  }

  function take(line: WorkerLine, bytes: number): void {
    switch (line.kind) {
      case 'hello':
        if (line.version !== TRAFFIC_PROTOCOL_VERSION) throw new Error('The worker is of another version.')
        break
      case 'batch':
        waiting.push(line.sequence)
        // Members that records share are sent once but stored with each record.
        void store(line.sequence, restoreRecords(line), Math.max(bytes, line.characters))
        if (isWorkerClosing) void service.flush(socket)
        break
      case 'flush':
        isWorkerClosing = true
        void service.flush(socket)
        break
      case 'ask':
        void answer(line.requestId, line.name, line.question)
        break
      case 'follow':
        unfollow ??= service.follow(passOn)
        break
      case 'unfollow':
        unfollow?.()
        unfollow = undefined
        break
    }
  }

  socket.on('data', chunk => {
    try {
      for (const bytes of splitter.push(chunk)) {
        const line = readWorkerLine(bytes)
        if (line !== undefined) take(line, bytes.length)
        else log.warn({ event: 'traffic_line_dropped' }, 'A line of a worker was malformed and dropped')
      }
    } catch (error) {
      log.warn({ event: 'traffic_connection_refused', err: error }, 'A worker does not follow the protocol')
      socket.destroy()
    }
  })
  // The connection closes when its worker exits or reconnects; unacknowledged records are sent
  // again only by a running worker.
  socket.on('error', () => undefined)
  socket.on('close', () => {
    unfollow?.()
    service.release(socket)
  })
}
