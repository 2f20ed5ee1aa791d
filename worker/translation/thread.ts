// Entry of a pool thread: bytes in, bytes out. Bodies that are sent here are never parsed on the event loop.

import { flushCompileCache } from 'node:module'
import { setPriority } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { move, transferableSymbol, valueSymbol, workerData } from 'piscina'
import { hasOwnMemory, releaseMemory } from '../../shared/bytes.ts'
import { unpackFacts } from '../bridge/model-facts.ts'
import type { ChatConfiguration } from '../bridge/plan-chat.ts'
import { toGatewayError } from '../normalized/index.ts'
import { providerFaces } from '../protocols/registry.ts'
import { summarizeRequest } from './request-summary.ts'
import { RELEASE_MEMORY, runTask, type TaskMessage } from './tasks.ts'
import { decodeTokens } from './token-decoding.ts'
import { estimateTokens } from './token-estimate.ts'
import type { TaskEnvironment, TaskResult, TransferredError } from './types.ts'

/** The event loop goes first: a thread gets about a tenth of a processor that an event loop wants as well. */
const NICENESS = 10

// Linux gives each thread a priority of its own; elsewhere this would change that of the whole process.
if (process.platform === 'linux') setPriority(NICENESS)

const { settings } = workerData as { settings: ChatConfiguration }
const environment: TaskEnvironment = { settings, faces: providerFaces, decodeTokens, estimateTokens }

export default async function run(message: TaskMessage | typeof RELEASE_MEMORY): Promise<unknown> {
  if (message === RELEASE_MEMORY) return collectGarbage()
  const received = 'bytes' in message.job ? message.job.bytes : undefined
  try {
    if (message.facts !== undefined && settings.routes.facts !== undefined)
      unpackFacts(settings.routes.facts, message.facts)
    const value = await runMessage(message)
    const transfers: ArrayBuffer[] = []
    const detached = detachBytes(value, transfers, received?.buffer)
    return move({ [transferableSymbol]: transfers, [valueSymbol]: { ok: true, value: detached } })
  } catch (thrown) {
    return { ok: false, error: writeTransferredError(thrown) } satisfies TaskResult<never>
  } finally {
    // They were moved here, and the result has bytes of its own.
    if (received !== undefined) releaseMemory(received)
  }
}

/** An idle thread of the pool is blocked, so that the engine's own timers for idle times do not run in it. */
function collectGarbage(): void {
  // Otherwise it is written when the thread ends, which a stop of the gateway would wait for.
  flushCompileCache()
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options: object) => void
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}

async function runMessage(message: TaskMessage): Promise<unknown> {
  if (message.name !== 'translate-chat') return runTask(message.name, message.job, environment)
  const translated = await runTask(message.name, message.job, environment)
  return { ...translated, request: summarizeRequest(translated.request, message.job.protocol) }
}

/** A body of a result: text or bytes, in the result itself or in its call. */
interface WithBody {
  body?: unknown
  ownMemory?: Uint8Array
  call?: WithBody
  calls?: WithBody[]
}

/**
 * The result with its bodies as bytes of their own that are moved to the event loop instead of being copied there.
 * @param received the memory of the job, which is given back here.
 */
function detachBytes(value: unknown, transfers: ArrayBuffer[], received: ArrayBufferLike | undefined): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const { body, call, calls } = value as WithBody
  const detached: WithBody = { ...value }
  if (call !== undefined) detached.call = detachBytes(call, transfers, received) as WithBody
  if (calls !== undefined) detached.calls = calls.map(one => detachBytes(one, transfers, received) as WithBody)
  if (typeof body === 'string' || body instanceof Uint8Array) {
    const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : takeBytes(body, received)
    transfers.push(bytes.buffer)
    detached.body = bytes
    detached.ownMemory = bytes
  }
  return detached
}

/** Smaller bytes may be kept by who wrote them, and a copy costs next to nothing. */
const TAKEN_BYTES_MIN = 64 * 1024

/** The bytes, copied where others are in the same memory: transferring it would detach those. */
function takeBytes(bytes: Uint8Array, received: ArrayBufferLike | undefined): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, byteLength } = bytes
  const isTaken =
    byteLength >= TAKEN_BYTES_MIN && hasOwnMemory(bytes) && buffer instanceof ArrayBuffer && buffer !== received
  return isTaken ? new Uint8Array(buffer, byteOffset, byteLength) : new Uint8Array(bytes)
}

function writeTransferredError(thrown: unknown): TransferredError {
  const error = toGatewayError(thrown)
  // An internal error is rethrown unchanged, because its stack is needed.
  if (error.code === 'internal_error') throw thrown
  const { code, message, status, upstreamStatus, kind, param, reason, retryAfter, errors, model, cause } = error
  const { providerCode, providerParam, providerText, ownText } = error
  // A cause is for the log only, and not every object can be transferred.
  return {
    code,
    message,
    status,
    upstreamStatus,
    providerCode,
    providerParam,
    providerText,
    ownText,
    kind,
    param,
    reason,
    retryAfter,
    errors,
    model,
    cause: cause === undefined ? undefined : String(cause)
  }
}
