// The socket of the store process: receives the questions of workers and sends the answers. What an answer is, the `StoreService` knows.
import type { Socket } from 'node:net'
import type { Logger } from '../../shared/logging.ts'
import {
  FrameSplitter,
  FrameTooLargeError,
  readWorkerFrame,
  type StoreFrame,
  type StoreQuestion,
  type WorkerFrame,
  writeFrame
} from '../../shared/memory/frames.ts'
import type { StoreOperation } from '../../shared/memory/store.ts'
import { createSocketServer, type SocketServer } from '../processes/socket-server.ts'

/** Questions of one worker at a time. Further ones wait in the socket, then in the worker. */
const QUESTIONS_MAX = 64
/** Unread bytes of answers above which no further question of a worker is begun. */
const UNREAD_BYTES_MAX = 32 * 1024 * 1024

export interface StoreService {
  /** Rejects where there is no answer; it keeps the reason in its log. */
  answer(operation: StoreOperation, question: unknown): Promise<unknown>
}

export interface StoreServerDependencies {
  readonly service: StoreService
  readonly log: Logger
  /** The clock of the deadlines. */
  readonly nowMs: () => number
}

/** The socket of the store; it does not listen yet. */
export function createStoreServer(dependencies: StoreServerDependencies): SocketServer {
  return createSocketServer({ log: dependencies.log, serve: socket => serve(socket, dependencies) })
}

function serve(socket: Socket, { service, log, nowMs }: StoreServerDependencies): void {
  const splitter = new FrameSplitter()
  /** What one read brought beyond the bounds; the socket is not read while there is any. */
  const waiting: StoreQuestion[] = []
  let running = 0

  function send(frame: StoreFrame): void {
    if (socket.writable) socket.write(writeFrame(frame))
  }

  function take(frame: WorkerFrame): void {
    if (frame.kind === 'hello') send(frame)
    else waiting.push(frame)
  }

  function hasRoom(): boolean {
    return running < QUESTIONS_MAX && socket.writableLength <= UNREAD_BYTES_MAX
  }

  function advance(): void {
    while (hasRoom()) {
      const question = waiting.shift()
      if (question === undefined) break
      void answer(question)
    }
    if (waiting.length > 0) socket.pause()
    else socket.resume()
  }

  async function answer({ id, operation, question, deadlineMs }: StoreQuestion): Promise<void> {
    running += 1
    try {
      if (nowMs() >= deadlineMs) send({ kind: 'failure', id, failure: 'expired' })
      else send({ kind: 'answer', id, answer: await service.answer(operation, question) })
    } catch (error) {
      send({ kind: 'failure', id, failure: error instanceof FrameTooLargeError ? 'too_large' : 'failed' })
    } finally {
      running -= 1
    }
    advance()
  }

  socket.on('data', chunk => {
    try {
      for (const bytes of splitter.push(chunk)) {
        const frame = readWorkerFrame(bytes)
        if (frame === undefined) throw new Error('The frame has no known form.')
        take(frame)
      }
      advance()
    } catch (error) {
      log.warn({ event: 'store_connection_refused', err: error }, 'A worker does not follow the protocol of the store')
      socket.destroy()
    }
  })
  socket.on('drain', advance)
  // The worker has exited, or it connects again and asks again.
  socket.on('error', () => undefined)
}
