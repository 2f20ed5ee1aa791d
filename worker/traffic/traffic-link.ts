// What a worker has of the traffic log: its outbox, while records are kept, and the connection to the writer.
import { withDeadline } from '../../shared/deadline.ts'
import type { Logger } from '../../shared/logging.ts'
import type { Settings } from '../../shared/settings.ts'
import type { MemoryShare } from '../performance/memory-room.ts'
import { reportAbsence } from './absence-report.ts'
import { type DropReason, Outbox } from './outbox.ts'
import { connectToWriter, type WriterConnection } from './writer-connection.ts'

/** Records of a worker that are not stored yet, by their length: with captured bodies one may have megabytes. */
const CHARACTERS_MAX = 64 * 1024 * 1024
/** Each batch wakes the writer, which may take the worker's processor. Earns, against batches of 50: 1 to 3 us of a request. */
const BATCH_RECORDS_MAX = 200
const BATCH_CHARACTERS_MAX = 16 * 1024 * 1024
/** Under a memory limit: the writer has a line several times while it reads and stores it. */
const SMALL_BATCH_CHARACTERS_MAX = 1024 * 1024
/** A batch costs nearly the same whether it holds one record or two hundred, and a tail of the log should not lag. */
const LINGER_MS = 100
/** The writer gathers for seconds before it stores, and acknowledges only then. */
const WINDOW_BATCHES = 256
const WINDOW_CHARACTERS = 16 * 1024 * 1024
const ASK_TIMEOUT_MS = 35_000
const RETRY_MIN_MS = 20
const RETRY_MAX_MS = 1_000

const DROP_TEXTS: Readonly<Record<DropReason, string>> = {
  queue_full: 'Traffic log queue is full; dropping event',
  too_large: 'A traffic record is too large; dropping event',
  closed: 'Traffic log is closed; dropping event'
}

export interface TrafficLink {
  /** Undefined while the traffic log is off: then the connection only asks. */
  readonly outbox: Outbox | undefined
  readonly connection: WriterConnection
  /**
   * Hands over what is left, within so many milliseconds, and ends the connection. What the writer does not take is counted as lost, and a line
   * says how many records it has taken and not stored: a writer that is stuck loses them when it is killed.
   */
  close(withinMs: number): Promise<void>
}

export interface TrafficLinkDependencies {
  readonly settings: Settings
  readonly workerId: number
  readonly log: Logger
  /** Called for each dropped record. */
  readonly onDropped: (reason: DropReason) => void
  /** What records may take of the memory of the worker, where that is limited, and where they take it from. */
  readonly memory?: { readonly recordBytes: number; readonly share: MemoryShare } | undefined
}

/** Connects to the writer that listens at this path. */
export function openTrafficLink(path: string, dependencies: TrafficLinkDependencies): TrafficLink {
  const { settings, workerId } = dependencies
  const outbox = settings.trafficLogEnabled ? createOutbox(dependencies) : undefined
  const connection = connectToWriter({
    path,
    workerId,
    outbox,
    askTimeoutMs: ASK_TIMEOUT_MS,
    retryMinMs: RETRY_MIN_MS,
    retryMaxMs: RETRY_MAX_MS
  })
  const { log, onDropped } = dependencies
  const endReport =
    outbox === undefined
      ? () => undefined
      : reportAbsence({ log, isConnected: () => connection.isConnected, waiting: () => outbox.size })
  return {
    outbox,
    connection,
    async close(withinMs) {
      endReport()
      if (outbox !== undefined) {
        const flushed = outbox.flush()
        connection.requestFlush()
        await withDeadline(flushed, withinMs)
        const { lost, unconfirmed } = outbox.close()
        for (let left = lost; left > 0; left -= 1) onDropped('closed')
        if (lost > 0) {
          const text = 'Traffic records are lost: the writer did not take them before this worker ended'
          log.warn({ event: 'traffic_records_lost', count: lost }, text)
        }
        if (unconfirmed > 0) {
          const text = 'The writer has traffic records of a worker that ends, and has not stored them yet'
          log.warn({ event: 'traffic_records_unconfirmed', count: unconfirmed }, text)
        }
      }
      connection.close()
    }
  }
}

function createOutbox({ settings, log, onDropped, memory }: TrafficLinkDependencies): Outbox {
  const charactersMax = Math.min(CHARACTERS_MAX, memory?.recordBytes ?? CHARACTERS_MAX)
  return new Outbox(
    {
      recordsMax: settings.trafficLogQueueSize,
      charactersMax,
      batchRecordsMax: Math.min(BATCH_RECORDS_MAX, settings.trafficLogBatchSize),
      recordCharactersMax: Math.min(BATCH_CHARACTERS_MAX, charactersMax / 2),
      batchCharactersMax: memory === undefined ? BATCH_CHARACTERS_MAX : SMALL_BATCH_CHARACTERS_MAX,
      lingerMs: LINGER_MS,
      dropsWhenFull: settings.trafficLogDropOnBackpressure,
      windowBatches: WINDOW_BATCHES,
      windowCharacters: Math.min(WINDOW_CHARACTERS, charactersMax / 4)
    },
    {
      onDropped(reason) {
        onDropped(reason)
        // The log itself bounds how often equal lines are written.
        log.warn({ event: 'traffic_record_dropped', reason }, DROP_TEXTS[reason])
      },
      memory: memory?.share
    }
  )
}
