// The threads of a worker, with bounded queues in front of them. A task that cannot start in time is refused, so that a burst of large
// bodies delays its own senders only.

import { extname, join } from 'node:path'
import type { Piscina } from 'piscina'
import { hasOwnMemory } from '../../shared/bytes.ts'
import { createLanes } from '../../shared/semaphore.ts'
import { packFacts } from '../bridge/model-facts.ts'
import type { ChatConfiguration } from '../bridge/plan-chat.ts'
import { GatewayError } from '../normalized/index.ts'
import { raceAbort } from '../providers/http/abort.ts'
import { createGateOf, type Gate } from '../providers/http/gate.ts'
import { type Job, RELEASE_MEMORY, type Result, type TaskMessage, type TaskName } from './tasks.ts'
import type { TaskResult } from './types.ts'

/** How long an idle thread is kept: a burst of large bodies reuses it, and a worker without large bodies has none. */
const THREAD_IDLE_MS = 30_000

/**
 * So long after the last task the threads give back the memory that the tasks have left; tasks that come before reuse it. A thread that
 * ends with hundreds of megabytes gives them back at once, and the whole process waits for it: the event loop for up to 100 ms.
 */
const RELEASE_AFTER_MS = 10_000

/** A longer task is ended with its thread: every task is linear in its bytes, and those are bounded. */
const TASK_MS_MAX = 60_000

const MEBIBYTE = 1024 * 1024
/** Of a thread with a limited heap: it holds a few large values, which the old generation takes at once. */
const YOUNG_MEBIBYTES = 16

/**
 * What waits for a thread, by lane, with its bytes as its weight. The first lane goes first: a provider has been paid for a response, so
 * none waits behind a request. One worker holds about as much for waiting requests as eight of the largest need.
 */
const LANE_BOUNDS = {
  responses: { waitersMax: 256 * MEBIBYTE, waitMsMax: 30_000 },
  requests: { waitersMax: 64 * MEBIBYTE, waitMsMax: 10_000 },
  // Content of traffic records: no request waits for it, and what does not fit is left out of its record.
  records: { waitersMax: 32 * MEBIBYTE, waitMsMax: 10_000 }
} as const

export type Lane = keyof typeof LANE_BOUNDS

export interface Work<Job> {
  job: Job
  /** How expensive it is, as the length of a text. */
  weight: number
  /** What the job holds in memory while it waits. */
  bytes: number
  lane: Lane
}

export interface ThreadPool {
  /**
   * Runs a task in a thread. Bytes of the job are moved there, so the caller must not use them again. Rejects with `GatewayError`: that of
   * the task, `gateway_overloaded` when no thread became free in time, and the signal's; a task that has begun runs to its end.
   */
  run<Name extends TaskName>(name: Name, work: Work<Job<Name>>, signal: AbortSignal): Promise<Result<Name>>
  /** Tasks that run or wait. */
  readonly tasks: number
  /** Ends the threads. */
  close(): Promise<void>
}

export interface ThreadPoolOptions {
  settings: ChatConfiguration
  threads: number
  /** Largest heap of a thread; undefined for what the engine chooses. A task that needs more ends with its thread. */
  heapBytesMax?: number | undefined
  /** What the contents of records that wait may take, where the memory is limited. */
  recordBytesMax?: number | undefined
  /** Called with how long a task waited for a thread, when it gets one, for the metrics. */
  onWaited?: ((ms: number) => void) | undefined
}

/** Creates a pool without threads; the first task starts one. */
export function createThreadPool(options: ThreadPoolOptions): ThreadPool {
  const { settings, threads, heapBytesMax, recordBytesMax = LANE_BOUNDS.records.waitersMax, onWaited } = options
  const { records } = LANE_BOUNDS
  const bounds = { ...LANE_BOUNDS, records: { ...records, waitersMax: Math.min(records.waitersMax, recordBytesMax) } }
  let opening: Promise<OpenPool> | undefined
  // As many tasks as threads: what waits does so here, where its bound, its deadline and its turn are known.
  const lanes = createLanes(threads, bounds)
  const gates: Record<Lane, Gate> = {
    responses: createGateOf(lanes.responses),
    requests: createGateOf(lanes.requests),
    records: createGateOf(lanes.records)
  }

  let releaseTimer: NodeJS.Timeout | undefined

  function releaseMemoryLater(pool: Piscina): void {
    releaseTimer ??= setTimeout(releaseMemory, RELEASE_AFTER_MS, pool).unref()
    releaseTimer.refresh()
  }

  /** Each idle thread takes one of as many messages. */
  function releaseMemory(pool: Piscina): void {
    if (gates.requests.active > 0) return
    for (let thread = 0; thread < pool.threads.length; thread++) pool.run(RELEASE_MEMORY).catch(() => undefined)
  }

  /** A pool that could not be made, or whose thread could not start, does not stay: the next task makes another one. */
  async function open(): Promise<OpenPool> {
    opening ??= openPool(settings, { threads, heapBytesMax })
    const own = opening
    const forget = (): void => {
      if (opening === own) opening = undefined
    }
    try {
      const opened = await own
      opened.lost.addEventListener('abort', forget, { once: true })
      return opened
    } catch (error) {
      forget()
      throw new GatewayError('gateway_overloaded', { cause: error })
    }
  }

  async function runInThread<Name extends TaskName>(name: Name, job: Job<Name>): Promise<Result<Name>> {
    const { pool, lost } = await open()
    const signal = AbortSignal.any([lost, AbortSignal.timeout(TASK_MS_MAX)])
    const { message, transferList } = detachBytes(name, job)
    const facts = settings.routes.facts && packFacts(settings.routes.facts)
    if (facts !== undefined) message.facts = facts
    const result: TaskResult<Result<Name>> = await pool
      .run(message, { signal, transferList })
      .catch(thrown => {
        throw signal.aborted || isOutOfMemory(thrown) ? tooMuch(thrown) : thrown
      })
      .finally(() => releaseMemoryLater(pool))
    if (result.ok) return result.value
    const { code, ...description } = result.error
    throw new GatewayError(code, description)
  }

  async function run<Name extends TaskName>(
    name: Name,
    { job, bytes, lane }: Work<Job<Name>>,
    signal: AbortSignal
  ): Promise<Result<Name>> {
    const gate = gates[lane]
    const startedMs = performance.now()
    const release = gate.tryEnter() ?? (await gate.enter(signal, Math.min(bytes, bounds[lane].waitersMax)))
    onWaited?.(performance.now() - startedMs)
    // The slot is free when the thread is, also after a client disconnect.
    return raceAbort<Result<Name>>(runInThread(name, job).finally(release), signal)
  }

  return {
    run,
    get tasks() {
      return Object.values(gates).reduce((sum, { waiting }) => sum + waiting, gates.requests.active)
    },
    async close() {
      clearTimeout(releaseTimer)
      const opened = await opening?.catch(() => undefined)
      await opened?.pool.destroy()
    }
  }
}

/** A thread whose heap was full has ended, and nothing else with it. */
function isOutOfMemory(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === 'ERR_WORKER_OUT_OF_MEMORY'
}

function tooMuch(cause: unknown): GatewayError {
  return new GatewayError('gateway_overloaded', { retryAfter: '1', cause })
}

interface OpenPool {
  readonly pool: Piscina
  /** Aborted when a thread could not start, for a lack of descriptors, say: the library would let its tasks wait without end. */
  readonly lost: AbortSignal
}

/** Loads the pool library on first use: most workers never receive a body that is large enough. */
async function openPool(
  settings: ChatConfiguration,
  { threads, heapBytesMax }: Pick<ThreadPoolOptions, 'threads' | 'heapBytesMax'>
): Promise<OpenPool> {
  const { Piscina } = await import('piscina')
  const pool = new Piscina({
    filename: join(import.meta.dirname, `thread${extname(import.meta.filename)}`),
    minThreads: 0,
    maxThreads: threads,
    idleTimeout: THREAD_IDLE_MS,
    workerData: { settings },
    ...(heapBytesMax !== undefined && {
      resourceLimits: {
        maxOldGenerationSizeMb: Math.floor(heapBytesMax / MEBIBYTE),
        maxYoungGenerationSizeMb: YOUNG_MEBIBYTES
      }
    })
  })
  const losing = new AbortController()
  pool.on('error', (error: unknown) => {
    losing.abort(error)
    void pool.destroy().catch(() => undefined)
  })
  return { pool, lost: losing.signal }
}

/** The message to a thread, with the bytes of its job in an ArrayBuffer of their own that is moved instead of being copied. */
function detachBytes<Name extends TaskName>(
  name: Name,
  job: Job<Name>
): { message: TaskMessage; transferList: ArrayBuffer[] } {
  if (!('bytes' in job)) return { message: { name, job } as TaskMessage, transferList: [] }
  const bytes = takeWholeBuffer(job.bytes)
  return { message: { name, job: { ...job, bytes } } as TaskMessage, transferList: [bytes.buffer] }
}

/** The bytes in an ArrayBuffer that holds no other bytes in use, so that transferring it detaches only these. */
function takeWholeBuffer(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, byteLength } = bytes
  if (hasOwnMemory(bytes) && buffer instanceof ArrayBuffer) return new Uint8Array(buffer, byteOffset, byteLength)
  return new Uint8Array(bytes)
}
