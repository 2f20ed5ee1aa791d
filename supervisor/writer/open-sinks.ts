// Opens the sinks that the settings ask for, each with its queue and its spill.
import { join } from 'node:path'
import type { Logger } from '../../shared/logging.ts'
import type { Settings } from '../../shared/settings.ts'
import { LINE_BYTES_MAX } from '../../shared/traffic/messages.ts'
import { planSinks, type SinkName } from '../../shared/traffic/sinks.ts'
import { ReopeningSink } from './reopening-sink.ts'
import type { RedactableSink, RelationalStore, Sink } from './sink.ts'
import { type SinkDropReason, SinkQueue } from './sink-queue.ts'
import { Spill } from './spill.ts'

const RETRY_MIN_MS = 100
const RETRY_MAX_MS = 30_000
/** Connections to Postgres: one writes, the others answer. */
const POSTGRES_CONNECTIONS = 4
const POSTGRES_TIMEOUT_MS = 30_000

export interface OpenSinks {
  readonly queues: readonly SinkQueue[]
  readonly store: ReopeningSink<RelationalStore> | undefined
  /** Further sinks that repeat a redaction. */
  readonly mirrors: ReadonlyArray<ReopeningSink<RedactableSink>>
  /** Closes the queues, which close their sinks, and what no queue owns. */
  close(): Promise<void>
}

export interface SinkCounters {
  readonly written: (sink: SinkName, count: number) => void
  readonly dropped: (sink: SinkName, reason: SinkDropReason | 'spill_full', count: number) => void
  readonly failed: (sink: SinkName) => void
}

/**
 * Opens local sinks now, so that a file that cannot be used stops the start; those on other machines may be down. Rejects with the error
 * of a local sink, and with `SchemaMissingError` or `NewerSchemaError` of a database that answers.
 */
export async function openSinks(
  settings: Settings,
  { log, counters }: { log: Logger; counters: SinkCounters }
): Promise<OpenSinks> {
  const plan = planSinks(settings)
  const store = plan.relational && openStore(plan.relational, settings)
  if (store !== undefined) await openNow(store)
  const queues: SinkQueue[] = []
  const mirrors: Array<ReopeningSink<RedactableSink>> = []
  for (const name of plan.sinks) {
    const mirror = name === 'opensearch' ? openMirror(settings, log) : undefined
    if (mirror !== undefined) mirrors.push(mirror)
    const sink: Sink = mirror ?? (name === store?.name ? store : await openSink(name, settings))
    queues.push(createQueue(sink, await openSpill(name, settings, counters), { settings, log, counters }))
  }
  const hasQueue = queues.some(({ name }) => name === store?.name)
  return {
    queues,
    store,
    mirrors,
    async close() {
      await Promise.all(queues.map(queue => queue.close()))
      if (!hasQueue) await store?.close()
    }
  }
}

function openStore(
  { name, location }: { name: RelationalStore['name']; location: string },
  settings: Settings
): ReopeningSink<RelationalStore> {
  return new ReopeningSink<RelationalStore>(name, async () => {
    if (name === 'sqlite') {
      const [{ openSqliteStore }, { createThreadedQueries }] = await Promise.all([
        import('./store/sqlite/sink.ts'),
        import('./store/sqlite/threaded-queries.ts')
      ])
      return openSqliteStore(location, createThreadedQueries)
    }
    const { connectToPostgres } = await import('./store/postgres/connect.ts')
    return connectToPostgres(location, {
      connections: POSTGRES_CONNECTIONS,
      timeoutMs: POSTGRES_TIMEOUT_MS,
      mayMigrate: settings.trafficLogAutoMigrate
    })
  })
}

/** Errors that only an operator can mend. */
const FATAL = new Set(['SchemaMissingError', 'NewerSchemaError'])

async function openNow(store: ReopeningSink<RelationalStore>): Promise<void> {
  try {
    await store.use()
  } catch (error) {
    const isRemote = store.name !== 'sqlite'
    if (!isRemote || (error instanceof Error && FATAL.has(error.name))) throw error
    // The queue meets the outage with the first records.
  }
}

/** The search server may be down; its client is loaded with the first records. */
function openMirror(settings: Settings, log: Logger): ReopeningSink<RedactableSink> {
  return new ReopeningSink<RedactableSink>('opensearch', async () => {
    const { connectToOpensearch } = await import('./store/opensearch/connect.ts')
    return connectToOpensearch(settings, log)
  })
}

async function openSink(name: SinkName, settings: Settings): Promise<Sink> {
  if (name !== 'jsonl') throw new Error(`The sink ${name} is not built.`)
  const { openJsonlSink } = await import('./store/jsonl.ts')
  return openJsonlSink(settings.trafficLogJsonlPath)
}

/** Sinks on other machines spill; a local one fails for a reason that the spill's disk shares. */
async function openSpill(name: SinkName, settings: Settings, counters: SinkCounters): Promise<Spill | undefined> {
  const directory = settings.trafficLogSpillDir
  if (directory === undefined || name === 'jsonl' || name === 'sqlite') return undefined
  return Spill.open({
    directory: join(directory),
    name,
    bytesMax: settings.trafficLogSpillMaxBytes,
    recordBytesMax: LINE_BYTES_MAX,
    onDropped: count => counters.dropped(name, 'spill_full', count)
  })
}

function createQueue(
  sink: Sink,
  spill: Spill | undefined,
  { settings, log, counters }: { settings: Settings; log: Logger; counters: SinkCounters }
): SinkQueue {
  const { name } = sink
  const isSearch = name === 'opensearch'
  return new SinkQueue(
    sink,
    {
      recordsMax: settings.trafficLogQueueSize,
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
      onWritten: count => counters.written(name, count),
      onDropped: (reason, count) => counters.dropped(name, reason, count),
      onWriteError: () => counters.failed(name)
    }
  )
}
