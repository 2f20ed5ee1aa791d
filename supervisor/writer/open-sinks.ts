// Opens the sinks that the settings ask for, each with its queue and its spill.
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Logger } from '../../shared/logging.ts'
import { planWriterRecords, readMemoryLimit } from '../../shared/memory-plan.ts'
import type { WriterSettings } from '../../shared/settings/writer-settings.ts'
import { LINE_BYTES_MAX } from '../../shared/traffic/messages.ts'
import { planSinks, type SinkName } from '../../shared/traffic/sinks.ts'
import { ReopeningSink } from './reopening-sink.ts'
import type { RedactableSink, RelationalStore, Sink } from './sink.ts'
import { type SinkDropReason, SinkQueue } from './sink-queue.ts'
import { Spill } from './spill.ts'
import { SchemaError } from './store/schema-errors.ts'

const RETRY_MIN_MS = 100
const RETRY_MAX_MS = 30_000
const SLOW_WRITE_MS = 5_000
const REPORT_INTERVAL_MS = 60_000
const BATCH_BYTES_MAX = 16 * 1024 * 1024
/** Of one file of lines: an editor still opens it. */
const JSONL_BYTES_MAX = 256 * 1024 * 1024
/**
 * Two batches at a time: one is prepared while the other waits for the server, which can use two
 * processors.
 */
const POSTGRES_BATCHES_AT_ONCE = 2
/** Connections to Postgres for everything but writes, of which each batch has its own. */
const POSTGRES_ASK_CONNECTIONS = 2
const POSTGRES_TIMEOUT_MS = 30_000

export interface OpenSinks {
  readonly queues: readonly SinkQueue[]
  readonly store: ReopeningSink<RelationalStore> | undefined
  /** Further sinks that repeat a redaction. */
  readonly mirrors: ReadonlyArray<ReopeningSink<RedactableSink>>
  /** The file of a store that is SQLite. */
  readonly sqliteFile: string | undefined
  /** Closes the queues with their sinks, and the resources that no queue owns. */
  close(): Promise<void>
}

export interface SinkCounters {
  readonly written: (sink: SinkName, count: number, durationMs: number) => void
  readonly dropped: (sink: SinkName, reason: SinkDropReason, count: number) => void
  readonly failed: (sink: SinkName) => void
  /** So many records only this process has. */
  readonly held: (sink: SinkName, count: number) => void
}

/** A sink cannot be used as it is configured. The message says which setting to look at and holds no secret. */
export class SinkOpenError extends Error {
  /** Of the cause; empty where it has none. */
  readonly code: string
  /** The value itself is wrong, so a later start fails as well. */
  readonly isOfValue: boolean

  constructor(setting: string, explanation: string, cause: unknown, isOfValue = false) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
    super(code === '' ? `${setting} ${explanation}` : `${setting} ${explanation} (${code})`, { cause })
    this.name = 'SinkOpenError'
    this.code = code
    this.isOfValue = isOfValue
  }
}

interface Context {
  readonly settings: WriterSettings
  readonly log: Logger
  readonly counters: SinkCounters
  readonly isMirrored: boolean
}

/**
 * Opens local sinks now, so that an unusable file stops the start; sinks on other machines may be
 * down. Rejects with `SinkOpenError`, or with `SchemaMissingError` or `NewerSchemaError` of a
 * reachable database, with nothing left open.
 */
export async function openSinks(
  settings: WriterSettings,
  { log, counters }: { log: Logger; counters: SinkCounters }
): Promise<OpenSinks> {
  const plan = planSinks(settings)
  const context: Context = { settings, log, counters, isMirrored: plan.sinks.length > 1 }
  const store = plan.relational && openStore(plan.relational, settings)
  const queues: SinkQueue[] = []
  const mirrors: Array<ReopeningSink<RedactableSink>> = []
  const hasQueue = () => queues.some(({ name }) => name === store?.name)
  async function close(): Promise<void> {
    const closing = [...queues, ...(hasQueue() || store === undefined ? [] : [store])]
    const results = await Promise.allSettled(closing.map(part => part.close()))
    for (const result of results) if (result.status === 'rejected') throw result.reason
  }
  try {
    if (store !== undefined) await openNow(store)
    for (const name of plan.sinks) {
      const mirror = name === 'opensearch' ? openMirror(context) : undefined
      if (mirror !== undefined) mirrors.push(mirror)
      const sink: Sink = mirror ?? (name === store?.name ? store : await openSink(name, context))
      queues.push(createQueue(sink, await openSpill(name, context), context))
    }
  } catch (error) {
    await close()
    throw error
  }
  const sqliteFile = plan.relational?.name === 'sqlite' ? plan.relational.location : undefined
  return { queues, store, mirrors, sqliteFile, close }
}

function openStore(
  { name, location }: { name: RelationalStore['name']; location: string },
  settings: WriterSettings
): ReopeningSink<RelationalStore> {
  return new ReopeningSink<RelationalStore>(name, async () => {
    if (name === 'sqlite') {
      const [{ openSqliteStore }, { createThreadedQueries }] = await Promise.all([
        import('./store/sqlite/sink.ts'),
        import('./store/sqlite/threaded-queries.ts')
      ])
      await mkdir(dirname(location), { recursive: true })
      return openSqliteStore(location, createThreadedQueries)
    }
    const [{ checkDsn }, { explainAddressError }, { connectToPostgres }] = await Promise.all([
      import('../postgres/pool.ts'),
      import('../postgres/address.ts'),
      import('./store/postgres/connect.ts')
    ])
    try {
      checkDsn(location)
    } catch (error) {
      const explanation = `must be an address that can be used${explainAddressError(error)}`
      throw new SinkOpenError('GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN', explanation, error, true)
    }
    return connectToPostgres(location, {
      writeConnections: POSTGRES_BATCHES_AT_ONCE,
      askConnections: POSTGRES_ASK_CONNECTIONS,
      timeoutMs: POSTGRES_TIMEOUT_MS,
      mayMigrate: settings.trafficLogAutoMigrate
    })
  })
}

async function openNow(store: ReopeningSink<RelationalStore>): Promise<void> {
  try {
    await store.use()
  } catch (error) {
    const isRemote = store.name !== 'sqlite'
    if (error instanceof SchemaError || error instanceof SinkOpenError) throw error
    if (!isRemote)
      throw new SinkOpenError('GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN', 'must name a file that can be used', error)
    // The queue meets the outage with the first records.
  }
}

/** The search server may be down; its client is loaded with the first records. */
function openMirror({ settings, log }: Context): ReopeningSink<RedactableSink> {
  return new ReopeningSink<RedactableSink>('opensearch', async () => {
    const { connectToOpensearch } = await import('./store/opensearch/connect.ts')
    return connectToOpensearch(settings, log)
  })
}

async function openSink(name: SinkName, { settings, log }: Context): Promise<Sink> {
  if (name !== 'jsonl') throw new Error(`The sink ${name} is not built.`)
  const { openJsonlSink } = await import('./store/jsonl.ts')
  const onFailed = (error: unknown) =>
    log.warn({ event: 'traffic_rotation_failed', sink: name, err: error }, 'A file of the traffic log was not rotated')
  const rotation = {
    bytesMax: JSONL_BYTES_MAX,
    retentionDays: settings.trafficLogRetentionDays,
    nowMs: Date.now,
    onFailed
  }
  return openJsonlSink(settings.trafficLogJsonlPath, rotation).catch((error: unknown) => {
    throw new SinkOpenError('GATEWAY_TRAFFIC_LOG_JSONL_PATH', 'must name a file that can be written', error)
  })
}

/** Sinks on other machines spill; a local one fails for a reason that the spill's disk shares. */
async function openSpill(name: SinkName, { settings, log, counters }: Context): Promise<Spill | undefined> {
  const directory = settings.trafficLogSpillDir
  if (directory === undefined || name === 'jsonl' || name === 'sqlite') return undefined
  const spilling = Spill.open({
    directory,
    name,
    bytesMax: settings.trafficLogSpillMaxBytes,
    recordBytesMax: LINE_BYTES_MAX,
    onDropped: count => counters.dropped(name, 'spill_full', count),
    onFailure(error, lost) {
      log.warn({ event: 'traffic_spill_failed', sink: name, lost, err: error }, 'A file of the spill cannot be used')
      if (lost > 0) counters.dropped(name, 'spill_failed', lost)
    }
  })
  return spilling.catch((error: unknown) => {
    throw new SinkOpenError('GATEWAY_TRAFFIC_LOG_SPILL_DIR', 'must name a directory that can be written', error)
  })
}

function createQueue(
  sink: Sink,
  spill: Spill | undefined,
  { settings, log, counters, isMirrored }: Context
): SinkQueue {
  const { name } = sink
  const isSearch = name === 'opensearch'
  // As the JSON texts of the records have it.
  const bytesMax = planWriterRecords(readMemoryLimit())
  return new SinkQueue(
    sink,
    {
      recordsMax: settings.trafficLogQueueSize,
      bytesMax,
      batchBytesMax: Math.min(BATCH_BYTES_MAX, bytesMax / 8),
      // Without drops requests wait until every sink has room, as the operator chose.
      releasesInOutage: isMirrored && settings.trafficLogDropOnBackpressure,
      slowWriteMs: SLOW_WRITE_MS,
      isSynchronous: name === 'sqlite',
      reportIntervalMs: REPORT_INTERVAL_MS,
      batchesAtOnce: name === 'postgres' ? POSTGRES_BATCHES_AT_ONCE : 1,
      batchRecordsMax: isSearch ? settings.opensearchBulkSize : settings.trafficLogBatchSize,
      flushIntervalMs: isSearch ? settings.opensearchFlushIntervalMs : settings.trafficLogFlushIntervalMs,
      dropsWhenFull: settings.trafficLogDropOnBackpressure,
      spill,
      retryMinMs: RETRY_MIN_MS,
      retryMaxMs: RETRY_MAX_MS
    },
    {
      log,
      random: Math.random,
      nowMs: () => performance.now(),
      onWritten: (count, durationMs) => counters.written(name, count, durationMs),
      onDropped: (reason, count) => counters.dropped(name, reason, count),
      onWriteError: () => counters.failed(name),
      onHeld: count => counters.held(name, count)
    }
  )
}
