// Counts the model requests that run, and refuses new ones once the worker is told to stop (operations contract, section 3.8;
// bridge contract, section 9.3). Waiting is on the real count, never on a fixed time (field lesson I3).
import { GatewayError } from '../normalized/index.ts'
import type { RequestContext } from './request-context.ts'

export interface DrainGate {
  readonly isDraining: boolean
  /** Admitted model requests whose answer is not complete yet, streams included. */
  readonly activeRequests: number
  /** Takes a model request in. Raises `gateway_not_ready` while draining. */
  admit(context: RequestContext): void
  /** A request is over; nothing happens for one that was never admitted. */
  release(context: RequestContext): void
  /** From now on model requests are refused. */
  startDraining(): void
  /** Resolves when no admitted request runs. */
  whenIdle(): Promise<void>
  /** The deadline is over: ends the upstream work of every admitted request, so that each can answer. */
  cancelActive(): void
}

export function createDrainGate(): DrainGate {
  // A list in which each request knows its place. A set would rebuild its table every few requests, and each table that has grown old
  // keeps the next one alive, with all requests in it, until the whole heap is collected.
  const active: RequestContext[] = []
  let idleWaiters: Array<() => void> = []
  let isDraining = false

  return {
    get isDraining() {
      return isDraining
    },
    get activeRequests() {
      return active.length
    },
    admit(context) {
      if (isDraining) throw shuttingDown()
      context.gatePlace = active.push(context) - 1
    },
    release(context) {
      if (context.gatePlace === undefined) return
      const last = active.pop()
      if (last !== undefined && last !== context) {
        active[context.gatePlace] = last
        last.gatePlace = context.gatePlace
      }
      context.gatePlace = undefined
      if (active.length > 0) return
      const waiters = idleWaiters
      idleWaiters = []
      for (const resolve of waiters) resolve()
    },
    startDraining() {
      isDraining = true
    },
    whenIdle() {
      if (active.length === 0) return Promise.resolve()
      return new Promise(resolve => idleWaiters.push(resolve))
    },
    cancelActive() {
      for (const context of [...active]) context.abort(shuttingDown())
    }
  }
}

/** The refusal and the cancellation look the same to a client: come back in a second, somebody else will answer. */
function shuttingDown(): GatewayError {
  return new GatewayError('gateway_not_ready', { reason: 'gateway_shutting_down' })
}

const MODEL_OPERATIONS = [
  '/chat/completions',
  '/embeddings',
  '/messages',
  '/messages/count_tokens',
  '/responses',
  ':generateContent',
  ':streamGenerateContent',
  ':countTokens',
  ':embedContent',
  ':batchEmbedContents'
]

/** Whether a path asks for model work, served or not: while draining such a path is refused before it is looked up. */
export function isModelPath(path: string): boolean {
  const bare = path.endsWith('/') ? path.slice(0, -1) : path
  return MODEL_OPERATIONS.some(ending => bare.endsWith(ending))
}
