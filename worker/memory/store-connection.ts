// The connection of a worker to the store process: keeps it open, asks questions within a deadline, and asks again what was asked over a
// connection that was lost. Every operation of the store may be repeated.
import type { Socket } from 'node:net'
import {
  FrameSplitter,
  FrameTooLargeError,
  readStoreFrame,
  STORE_PROTOCOL_VERSION,
  type StoreFrame,
  writeFrame
} from '../../shared/memory/frames.ts'
import {
  type ResponseStore,
  STORE_OPERATIONS,
  type StoreOperation,
  StoreUnavailable
} from '../../shared/memory/store.ts'
import { connectPrivately } from '../../shared/private-folder.ts'

export interface StoreConnection {
  readonly store: ResponseStore
  /** Whether the store process answers now. */
  readonly isConnected: boolean
  /** Ends the connection; questions without an answer reject. */
  close(): void
}

export interface StoreConnectionOptions {
  readonly path: string
  /** How long a question may wait for its answer. */
  readonly timeoutMs: number
  /** Pauses between attempts to connect: the first, and the longest. */
  readonly retryMinMs: number
  readonly retryMaxMs: number
  /** Questions that may wait for an answer, and those of them that may be sent. */
  readonly questionsMax: number
  readonly windowMax: number
  /** The clock of the host, which the store process has as well. */
  readonly nowMs: () => number
  /** Called for each question that has no answer. */
  readonly onFailed: (operation: StoreOperation, reason: StoreUnavailable['reason']) => void
  /** Called for each answer, with the time since its question. */
  readonly onAnswered: (operation: StoreOperation, durationMs: number) => void
}

interface Pending {
  readonly id: number
  readonly operation: StoreOperation
  readonly question: unknown
  readonly askedAtMs: number
  readonly timer: NodeJS.Timeout
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: StoreUnavailable) => void
  /** How many frames had come when it was sent; undefined while it is not. */
  framesBefore: number | undefined
}

/** Bytes of questions in the socket above which no further one is sent. */
const UNSENT_BYTES_MAX = 16 * 1024 * 1024

/** Connects now, and again whenever the connection is lost, until it is closed. */
export function connectToStore(options: StoreConnectionOptions): StoreConnection {
  const { path, timeoutMs, nowMs } = options
  /** In the order in which they were asked. */
  const pending = new Map<number, Pending>()
  /** Those of `pending` that are not sent, in the same order. */
  const unsent = new Set<Pending>()
  /** Answers the hello; undefined while there is no connection whose other end has done so. */
  let socket: Socket | undefined
  let opening: Socket | undefined
  let lastId = 0
  let failures = 0
  let isClosed = false
  /** Since when the store process gives no sign of life; undefined while it does. */
  let silentSinceMs: number | undefined = nowMs()
  let frames = 0
  let retry: NodeJS.Timeout | undefined

  function connect(): void {
    const splitter = new FrameSplitter()
    const current = connectPrivately(path)
    opening = current
    current.unref()
    current.once('connect', () => greet(current))
    current.on('drain', sendUnsent)
    current.on('data', chunk => {
      try {
        for (const bytes of splitter.push(chunk)) {
          const frame = readStoreFrame(bytes)
          if (frame === undefined) throw new Error('The frame has no known form.')
          take(frame, current)
        }
      } catch {
        current.destroy()
      }
    })
    // The reason is of no use: the connection is opened again.
    current.on('error', () => undefined)
    current.once('close', lose)
  }

  /** The system takes connections for a process that does not run, so only its own word counts. */
  function greet(current: Socket): void {
    current.write(writeFrame({ kind: 'hello', version: STORE_PROTOCOL_VERSION }))
  }

  function lose(): void {
    socket = undefined
    opening = undefined
    if (isClosed) return
    silentSinceMs ??= nowMs()
    unsent.clear()
    for (const question of pending.values()) {
      question.framesBefore = undefined
      unsent.add(question)
    }
    const delayMs = Math.min(options.retryMaxMs, options.retryMinMs * 2 ** Math.min(failures, 16))
    failures += 1
    retry = setTimeout(connect, delayMs).unref()
  }

  function take(frame: StoreFrame, current: Socket): void {
    failures = 0
    silentSinceMs = undefined
    frames += 1
    socket = current
    if (frame.kind === 'answer') answer(frame.id, frame.answer)
    else if (frame.kind === 'failure') fail(frame.id, frame.failure === 'expired' ? 'timeout' : 'failed')
    sendUnsent()
  }

  function answer(id: number, value: unknown): void {
    const question = forget(id)
    if (question === undefined) return
    options.onAnswered(question.operation, nowMs() - question.askedAtMs)
    question.resolve(value)
  }

  function fail(id: number, reason: StoreUnavailable['reason'], cause?: unknown): void {
    const question = forget(id)
    if (question === undefined) return
    options.onFailed(question.operation, reason)
    question.reject(new StoreUnavailable(reason, cause))
  }

  function forget(id: number): Pending | undefined {
    const question = pending.get(id)
    if (question === undefined) return undefined
    pending.delete(id)
    unsent.delete(question)
    clearTimeout(question.timer)
    return question
  }

  function sendUnsent(): void {
    for (const question of unsent) {
      if (socket === undefined || socket.writableLength > UNSENT_BYTES_MAX) return
      if (pending.size - unsent.size >= options.windowMax) return
      send(question, socket)
    }
  }

  function send(question: Pending, current: Socket): void {
    const { id, operation, askedAtMs } = question
    unsent.delete(question)
    try {
      const deadlineMs = askedAtMs + timeoutMs
      const frame = writeFrame({ kind: 'ask', id, operation, question: question.question, deadlineMs })
      question.framesBefore = frames
      current.write(frame)
    } catch (error) {
      if (error instanceof FrameTooLargeError && isWrite(operation)) answer(id, 'too_large')
      else fail(id, 'failed', error)
    }
  }

  function expire(question: Pending): void {
    const { id, framesBefore } = question
    const isSilent = framesBefore === frames
    // Nothing came for as long as the question waited: the process hangs, unless it says otherwise.
    if (socket !== undefined && isSilent && silentSinceMs === undefined) {
      silentSinceMs = nowMs() - timeoutMs
      greet(socket)
    }
    fail(id, socket === undefined ? 'disconnected' : 'timeout')
  }

  function ask(operation: StoreOperation, question: unknown): Promise<unknown> {
    const now = nowMs()
    const refusal = refuse(now)
    if (refusal !== undefined) {
      options.onFailed(operation, refusal)
      return Promise.reject(new StoreUnavailable(refusal))
    }
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    lastId += 1
    const asked: Pending = {
      id: lastId,
      operation,
      question,
      askedAtMs: now,
      timer: setTimeout(() => expire(asked), timeoutMs),
      resolve,
      reject,
      framesBefore: undefined
    }
    pending.set(asked.id, asked)
    unsent.add(asked)
    sendUnsent()
    return promise
  }

  /** A store that has been away for as long as a question may wait costs no further request that time. */
  function refuse(now: number): StoreUnavailable['reason'] | undefined {
    if (isClosed) return 'disconnected'
    if (silentSinceMs !== undefined && now - silentSinceMs >= timeoutMs)
      return socket === undefined ? 'disconnected' : 'timeout'
    return pending.size >= options.questionsMax ? 'overloaded' : undefined
  }

  connect()
  // Each operation takes its own question and gives its own answer; the store process has the same table.
  const store = Object.fromEntries(
    STORE_OPERATIONS.map(operation => [operation, (question: unknown) => ask(operation, question)])
  ) as unknown as ResponseStore
  return {
    store,
    get isConnected() {
      return socket !== undefined && silentSinceMs === undefined
    },
    close() {
      isClosed = true
      clearTimeout(retry)
      for (const id of [...pending.keys()]) fail(id, 'disconnected')
      opening?.destroy()
    }
  }
}

/** The operations that answer `too_large` for what is above the bounds of the store. */
function isWrite(operation: StoreOperation): boolean {
  return operation === 'saveResponse' || operation === 'createConversation' || operation === 'addConversationItems'
}
