// Divides the memory limit of a container among the processes of a gateway, so that the kernel never has to kill one: how many workers there
// are, how far their heaps grow, and how much the large bodies of a worker may take together (ADR 2026-11-30-memory-of-a-container).
import { totalmem } from 'node:os'

const MEBIBYTE = 1024 * 1024

/** One worker for each share of this size (decisions.md 99). */
export const WORKER_SHARE_BYTES = 192 * MEBIBYTE

/** Of the limit; the rest is for what is charged to no process: page tables, buffers of sockets. */
const USABLE_SHARE = 0.95
/** What the supervisor takes at most, measured. */
const SUPERVISOR_BYTES = 56 * MEBIBYTE
/** The same for the writer, the store and the process of shared limits. */
const SERVICE_BYTES = 56 * MEBIBYTE
/** A worker without its heap: code, native memory, connections. */
const WORKER_BYTES = 48 * MEBIBYTE
/** A thread without its old generation. */
const THREAD_BYTES = 20 * MEBIBYTE
/** The engine holds up to three semi-spaces. */
const SEMI_SPACES = 3
/** Records with content that wait in the writer for one sink. */
const WRITER_RECORD_BYTES_MAX = 128 * MEBIBYTE
const WRITER_RECORD_BYTES_MIN = 8 * MEBIBYTE
/** Of the limit. */
const WRITER_RECORD_SHARE = 1 / 64
/** The heap of a worker that serves small requests. */
const WORKER_HEAP_BYTES = 40 * MEBIBYTE

/** Bodies of ordinary requests are accepted under any limit. */
const LARGE_BYTES_MIN = 8 * MEBIBYTE
/** Heaps below these collect garbage more than they work. */
const WORKER_HEAP_BYTES_MIN = 56 * MEBIBYTE
const THREAD_HEAP_BYTES_MIN = 32 * MEBIBYTE

/** Semi-spaces by the share of a worker: large ones save processor time, and a small share has no room for them. */
const SEMI_SPACE_STEPS = [
  { shareBytes: 384 * MEBIBYTE, bytes: 32 * MEBIBYTE },
  { shareBytes: 320 * MEBIBYTE, bytes: 16 * MEBIBYTE }
]
const SEMI_SPACE_BYTES_MIN = 8 * MEBIBYTE

/**
 * A body, the text and the values that are read from it, and the body for the provider: measured at bodies of 20 MB, with the thread that
 * translates them.
 */
export const BODY_COPIES = 4

export interface MemoryUse {
  /** Of the container; undefined without one. */
  readonly limitBytes: number | undefined
  readonly workers: number
  /** Processes beside the workers and the supervisor. */
  readonly services: number
  readonly threadsPerWorker: number
  /** Records have the bodies of their requests. */
  readonly keepsContent: boolean
}

export interface MemoryPlan {
  /** Largest old generation of a worker. */
  readonly workerHeapBytes: number
  readonly semiSpaceBytes: number
  /** Largest old generation of a thread of a worker. */
  readonly threadHeapBytes: number
  /** What the large bodies and responses of a worker may take together, with all copies that are made of them. */
  readonly largeBytes: number
  /** Of these: what records of a worker may take that wait for redaction or for the writer. */
  readonly recordBytes: number
  /** The largest body that is accepted while no other one is served. */
  readonly bodyBytesMax: number
  /** The processes fit into the limit before any body is read. */
  readonly fits: boolean
}

/** The memory limit of this process in bytes; undefined where it has none below the memory of the machine. */
export function readMemoryLimit(): number | undefined {
  const limit = process.constrainedMemory()
  return limit > 0 && limit < totalmem() ? limit : undefined
}

/** As many workers as there are processors, and not more than the memory holds. */
export function countWorkers(processors: number, limitBytes: number | undefined): number {
  if (limitBytes === undefined) return processors
  return Math.max(1, Math.min(processors, Math.floor(limitBytes / WORKER_SHARE_BYTES)))
}

/** The threads of each worker: those of its processors, and not more than its share of the memory holds. */
export function countThreads(processors: number, workers: number, limitBytes: number | undefined): number {
  const threads = Math.floor(processors / workers)
  if (limitBytes === undefined) return Math.max(1, threads)
  return Math.max(1, Math.min(threads, Math.floor(limitBytes / workers / WORKER_SHARE_BYTES)))
}

/** What the records of one sink may take that wait in the writer. A sink that is down fills it. */
export function planWriterRecords(limitBytes: number | undefined): number {
  if (limitBytes === undefined) return WRITER_RECORD_BYTES_MAX
  const share = Math.floor(limitBytes * WRITER_RECORD_SHARE)
  return Math.min(WRITER_RECORD_BYTES_MAX, Math.max(WRITER_RECORD_BYTES_MIN, share))
}

/** Undefined without a limit: then the engine's own defaults hold, and bodies are bounded one by one. */
export function planMemory(use: MemoryUse): MemoryPlan | undefined {
  const { limitBytes, workers, services, threadsPerWorker, keepsContent } = use
  if (limitBytes === undefined) return undefined
  const shareBytes = limitBytes / workers
  const semiSpaceBytes = SEMI_SPACE_STEPS.find(step => shareBytes >= step.shareBytes)?.bytes ?? SEMI_SPACE_BYTES_MIN
  const heldBytes = WORKER_BYTES + WORKER_HEAP_BYTES + SEMI_SPACES * semiSpaceBytes + threadsPerWorker * THREAD_BYTES
  const recordBytes = keepsContent ? planWriterRecords(limitBytes) : 0
  const sharedBytes = limitBytes * USABLE_SHARE - SUPERVISOR_BYTES - services * SERVICE_BYTES - recordBytes
  const restBytes = Math.floor(sharedBytes / workers - heldBytes)
  const largeBytes = Math.max(LARGE_BYTES_MIN, restBytes)
  return {
    // Half of the large bodies are in the worker, half in its threads.
    workerHeapBytes: Math.max(WORKER_HEAP_BYTES_MIN, WORKER_HEAP_BYTES + Math.floor(largeBytes / 2)),
    semiSpaceBytes,
    threadHeapBytes: Math.max(THREAD_HEAP_BYTES_MIN, Math.floor(largeBytes / 2 / Math.max(1, threadsPerWorker))),
    largeBytes,
    recordBytes: Math.floor(largeBytes / 4),
    bodyBytesMax: Math.floor(largeBytes / BODY_COPIES),
    fits: restBytes >= LARGE_BYTES_MIN
  }
}
