// The engine of `sqlite:<path>` (decisions.md 89). The driver is synchronous: it belongs into the store process, which is the only one that
// opens the file.
import { chmodSync, closeSync, openSync } from 'node:fs'
import { clearTimeout, setTimeout } from 'node:timers'
import Database from 'better-sqlite3'
import { readStoreDsn } from '../../../shared/memory/dsn.ts'
import { ANSWER_BYTES_MAX } from '../answer-size.ts'
import { type OpenStore, type StoreEngineOptions, StoreOpenError } from '../engine.ts'
import { createSealing, type Sealing } from '../sealing.ts'
import type { SqliteContext } from './context.ts'
import { createConversations } from './conversations.ts'
import { createEvents } from './events.ts'
import { createItems } from './items.ts'
import { createLedger } from './ledger.ts'
import { createOwners } from './owners.ts'
import { createRemoval } from './removal.ts'
import { createResponseRows } from './response-rows.ts'
import { createResponses } from './responses.ts'
import { migrate, openMeta, readVersion } from './schema.ts'
import { createSpend } from './spend.ts'
import { createThreads } from './threads.ts'
import { createTransactions, isBusy } from './transactions.ts'

const PRIVATE = 0o600
/** The event loop waits so long for a lock at most; what is longer is waited for asynchronously. */
const BUSY_MS = 5
/** Of a question that waits for a lock. Workers wait for 5 s. */
const PATIENCE_MS = 4500
const DAY_MS = 24 * 60 * 60 * 1000
const JOURNAL_BYTES_MAX = 64 * 1024 * 1024
/** Deletions that follow each other share one checkpoint. */
const CHECKPOINT_DELAY_MS = 200
const CHECKPOINT_RETRY_MS = 1000
const SWEEP_DELAY_MS = 10
/** Pages that one checkpoint gives back to the file system. */
const RELEASED_PAGES = 500
/**
 * Pages are read from the file's mapping and kept in 64 MiB beside it. Among 120,000 responses a continuation of 20 turns cost 1.6 times as
 * much as among 1000 with the driver's defaults, and 1.2 times with these; the driver maps no more.
 */
const MAPPED_BYTES = 0x7f_ff_00_00
const CACHE_KIB = 65_536
const KEY_CHECK = Buffer.from('responses store')

export interface SqliteStoreOptions extends StoreEngineOptions {
  /** How long a question waits for a locked database. */
  readonly patienceMs?: number
  /** Content of one answer: a longer history is refused, longer lists come in more pages. */
  readonly answerBytesMax?: number
}

export interface SqliteStore extends OpenStore {
  /** Moves what was written into the file and empties the write-ahead log; false where another connection keeps it from that. */
  checkpoint(): boolean
}

/** Opens or creates the file. Rejects with `StoreOpenError`. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<SqliteStore> {
  const {
    nowMs,
    maxBytes,
    maxBytesPerOwner,
    retentionDays,
    log,
    patienceMs = PATIENCE_MS,
    answerBytesMax = ANSWER_BYTES_MAX
  } = options
  const path = readPath(options.dsn)
  const sealing = createSealing(options)
  const database = openFile(path, { isAllowed: options.autoMigrate, sealing })
  const secret = openMeta(database).read('secret')
  if (secret === undefined) throw new StoreOpenError('not_a_store', 'The store of responses has no secret.')
  const context: SqliteContext = {
    database,
    sealing,
    ledger: createLedger(database),
    ownerSecret: secret,
    nodeSecret: sealing.derive(secret, 'nodes'),
    nowMs,
    maxBytes,
    maxBytesPerOwner,
    retentionMs: retentionDays * DAY_MS,
    answerBytesMax
  }
  const { ledger } = context
  const [owners, threads, items] = [createOwners(context), createThreads(context), createItems(context)]
  const rows = createResponseRows({ context, owners, threads, items })
  const removal = createRemoval({ context, owners, threads, items, rows })
  const conversations = createConversations({ context, owners, threads, items, removal })
  const events = createEvents(context, rows)
  const responses = createResponses({ context, owners, threads, items, rows, events, conversations, removal })
  const spend = createSpend(context)
  const selectTotals = database.prepare<[], { responses: number; conversations: number; bytes: number }>(
    `SELECT coalesce(sum(responses), 0) AS responses, coalesce(sum(conversations), 0) AS conversations,
     coalesce(sum(bytes), 0) AS bytes FROM owners`
  )
  const transactions = createTransactions({
    database,
    patienceMs,
    finish: isUndone => (isUndone ? ledger.clear() : ledger.flush())
  })
  const { read } = transactions
  let checkpointTimer: NodeJS.Timeout | undefined
  let sweepTimer: NodeJS.Timeout | undefined
  let isClosing = false

  /**
   * Deleted content leaves the write-ahead log, and the file system gets pages back. False: another connection, such as that of a backup,
   * reads the log.
   */
  function checkpoint(): boolean {
    try {
      database.pragma(`incremental_vacuum(${RELEASED_PAGES})`)
      return database.pragma('wal_checkpoint(TRUNCATE)', { simple: true }) === 0
    } catch (error) {
      if (!isBusy(error)) log.warn({ err: error }, 'The store of responses could not empty its write-ahead log')
      return false
    }
  }

  function scheduleCheckpoint(delayMs: number): void {
    if (isClosing) return
    checkpointTimer ??= setTimeout(() => {
      checkpointTimer = undefined
      if (!checkpoint()) scheduleCheckpoint(CHECKPOINT_RETRY_MS)
    }, delayMs)
  }

  function sweep(): void {
    sweepTimer = undefined
    // A failure is reported where it concerns a question; the next purge removes the rest.
    purge().catch(error => log.debug({ err: error }, 'The store of responses could not remove old content'))
  }

  const purge = () => write(() => removal.purge() || spend.purge())

  async function write<Answer>(work: () => Answer): Promise<Answer> {
    const answer = await transactions.write(work)
    if (removal.takeRemoved()) scheduleCheckpoint(CHECKPOINT_DELAY_MS)
    if (removal.hasLeft() && !isClosing) sweepTimer ??= setTimeout(sweep, SWEEP_DELAY_MS)
    return answer
  }

  return {
    saveResponse: save => write(() => responses.save(save)),
    readResponse: id => read(() => responses.read(id)),
    readHistory: question => read(() => responses.readHistory(question)),
    deleteResponse: id => write(() => responses.remove(id)),
    listInputItems: ({ page, ...id }) => read(() => responses.listInput(id, page)),
    appendEvents: append => write(() => events.append(append)),
    readEvents: question => read(() => events.read(question)),
    cancelResponse: id => write(() => events.cancel(id)),
    createConversation: create => write(() => conversations.create(create)),
    readConversation: id => read(() => conversations.read(id)),
    updateConversation: update => write(() => conversations.update(update)),
    deleteConversation: id => write(() => conversations.remove(id)),
    addConversationItems: add => write(() => conversations.addItems(add)),
    listConversationItems: ({ page, ...id }) => read(() => conversations.list(id, page)),
    readConversationItem: item => read(() => conversations.readItem(item)),
    deleteConversationItem: item => write(() => conversations.removeItem(item)),
    acquireConversation: acquire => write(() => conversations.acquire(acquire)),
    releaseConversation: release => write(() => conversations.release(release)),
    listThreads: list => read(() => threads.list(list, owners.openName)),
    readThread: ({ id, limit }) => read(() => responses.readThread(id, limit)),
    addSpend: exchange => write(() => spend.add(exchange)),
    totals: () => read(() => selectTotals.get() ?? { responses: 0, conversations: 0, bytes: 0 }),
    purge,
    checkpoint,
    async close() {
      isClosing = true
      clearTimeout(sweepTimer)
      clearTimeout(checkpointTimer)
      await transactions.close()
      if (!database.open) return
      // The file then stands alone, without its write-ahead log.
      checkpoint()
      database.close()
    }
  }
}

function readPath(dsn: string): string {
  const read = readStoreDsn(dsn)
  if (read?.kind !== 'sqlite') {
    throw new StoreOpenError('dsn_invalid', 'The DSN of a SQLite store is `sqlite:` and the path of a file.')
  }
  return read.location
}

/** Opens the one connection, with the current schema and a key that fits. */
function openFile(path: string, { isAllowed, sealing }: { isAllowed: boolean; sealing: Sealing }): Database.Database {
  let database: Database.Database | undefined
  try {
    // The driver would create it with the rights that the umask leaves.
    closeSync(openSync(path, 'a', PRIVATE))
    database = new Database(path, { timeout: BUSY_MS })
    // A database of something else stays as it is.
    readVersion(database)
    chmodSync(path, PRIVATE)
    // Takes effect only before the first table exists.
    database.pragma('auto_vacuum = INCREMENTAL')
    database.pragma('journal_mode = WAL')
    database.pragma('synchronous = NORMAL')
    database.pragma('secure_delete = ON')
    database.pragma(`mmap_size = ${MAPPED_BYTES}`)
    database.pragma(`cache_size = -${CACHE_KIB}`)
    database.pragma(`journal_size_limit = ${JOURNAL_BYTES_MAX}`)
    // Undone content would otherwise get into files beside the database.
    database.pragma('temp_store = MEMORY')
    migrate(database, { isAllowed })
    checkKey(database, sealing)
    return database
  } catch (error) {
    database?.close()
    throw readOpenError(error)
  }
}

/** Refuses keys that do not open what was sealed last, and remembers the present key. */
function checkKey(database: Database.Database, sealing: Sealing): void {
  const meta = openMeta(database)
  const last = meta.read('key')
  if (last !== undefined) {
    try {
      sealing.open(last, 'key')
    } catch (error) {
      throw new StoreOpenError(
        'key_wrong',
        'The content of the store of responses was encrypted with another key. Set that key as GATEWAY_RESPONSES_STORE_KEY, or as GATEWAY_RESPONSES_STORE_KEY_PREVIOUS beside a new one.',
        error
      )
    }
  }
  if (sealing.keyId !== undefined) meta.write('key', sealing.seal(KEY_CHECK, 'key'))
}

function readOpenError(error: unknown): StoreOpenError {
  if (error instanceof StoreOpenError) return error
  if (isBusy(error)) {
    return new StoreOpenError('unreachable', 'Another process has locked the file of the store of responses.', error)
  }
  if (error instanceof Database.SqliteError && /^SQLITE_(NOTADB|CORRUPT)/.test(error.code)) {
    return new StoreOpenError('not_a_store', 'The file is no SQLite database, or a damaged one.', error)
  }
  return new StoreOpenError(
    'not_writable',
    'The file of the store of responses cannot be created or written. Its folder must belong to the user of the gateway.',
    error
  )
}
