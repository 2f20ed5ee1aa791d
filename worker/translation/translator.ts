// Decides where a body is translated: inline, or in the pool when it is so large that parsing it would delay every other request of this
// worker. The pool costs more processor time in total, so small bodies stay inline (ADR 2026-11-21-translation-pool).

import { extname, join } from 'node:path'
import type { Piscina } from 'piscina'
import { GatewayError } from '../normalized/index.ts'
import { type CancelSignal, toAbortSignal } from '../performance/cancel-source.ts'
import type { ProviderFaces } from '../protocols/registry.ts'
import type { ChatCall } from '../providers/types.ts'
import { decodeTokens } from './token-decoding.ts'
import { type TranslationSettings, translateChat } from './translate.ts'
import type { PoolResult, PoolTask, TokenDecodingJob, TranslationJob } from './types.ts'

/** How long an idle thread lives: a burst of large bodies reuses it, and a worker without large bodies has none. */
const THREAD_IDLE_MS = 30_000

export interface Translator {
  /** Translates a chat body. Rejects with `GatewayError`. */
  translate(job: TranslationJob, signal: CancelSignal): Promise<ChatCall>
  /** Decodes token ids into texts. Rejects with `GatewayError`. */
  decodeTokens(job: TokenDecodingJob, signal: CancelSignal): Promise<string[]>
  /** Ends the threads. */
  close(): Promise<void>
}

export interface TranslatorOptions {
  settings: TranslationSettings
  /** The faces for inline translation; pool threads have those of the registry. */
  faces: ProviderFaces
  /** 0 translates everything inline. */
  threads: number
  /** Bodies from this size on go to the pool. */
  thresholdBytes: number
}

export function createTranslator(options: TranslatorOptions): Translator {
  const { settings, faces, threads, thresholdBytes } = options
  const queueMax = 2 * threads
  let opening: Promise<Piscina> | undefined

  /** The pool, or undefined when its queue is full: then the work is done inline, so that the queue stays bounded. */
  async function findRoom(): Promise<Piscina | undefined> {
    if (threads === 0) return undefined
    opening ??= openPool(options, queueMax)
    const pool = await opening
    return pool.queueSize < queueMax ? pool : undefined
  }

  async function translateInPool(job: TranslationJob, signal: CancelSignal): Promise<ChatCall> {
    const pool = await findRoom()
    if (pool === undefined) return translateChat(job, settings, faces)
    const bytes = takeWholeBuffer(job.bytes)
    return runTask(pool, { type: 'translate', job: { ...job, bytes } }, { signal, transfer: [bytes.buffer] })
  }

  return {
    async translate(job, signal) {
      const isLarge = threads > 0 && job.bytes.byteLength >= thresholdBytes
      return isLarge ? translateInPool(job, signal) : translateChat(job, settings, faces)
    },
    async decodeTokens(job, signal) {
      const pool = await findRoom()
      return pool === undefined
        ? decodeTokens(job)
        : runTask(pool, { type: 'decode-tokens', job }, { signal, transfer: [] })
    },
    async close() {
      const pool = await opening
      await pool?.destroy()
    }
  }
}

/** Loads the pool library on first use: most workers never receive a body that is large enough. */
async function openPool(options: TranslatorOptions, queueMax: number): Promise<Piscina> {
  const { Piscina } = await import('piscina')
  return new Piscina({
    filename: join(import.meta.dirname, `thread${extname(import.meta.filename)}`),
    minThreads: 0,
    maxThreads: options.threads,
    maxQueue: queueMax,
    idleTimeout: THREAD_IDLE_MS,
    workerData: { settings: options.settings }
  })
}

async function runTask<Value>(
  pool: Piscina,
  task: PoolTask,
  options: { signal: CancelSignal; transfer: ArrayBuffer[] }
): Promise<Value> {
  const run = pool.run(task, { signal: toAbortSignal(options.signal), transferList: options.transfer })
  const result: PoolResult<Value> = await run.catch((thrown: unknown) => {
    throw options.signal.aborted ? options.signal.reason : thrown
  })
  if (result.ok) return result.value
  const { code, ...description } = result.error
  throw new GatewayError(code, description)
}

/** The bytes in an ArrayBuffer that holds nothing else, so that transferring it detaches no other bytes. */
function takeWholeBuffer(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes
  const isWhole = bytes.byteOffset === 0 && bytes.byteLength === buffer.byteLength && buffer instanceof ArrayBuffer
  return isWhole ? new Uint8Array(buffer) : new Uint8Array(bytes)
}
