// The engine of `postgres://…` (decisions.md 89), for several hosts on one database.
import type { PoolClient } from 'pg'
import { explainAddressError } from '../../postgres/address.ts'
import { checkDsn } from '../../postgres/pool.ts'
import { ANSWER_BYTES_MAX } from '../answer-size.ts'
import { type OpenStore, type StoreEngineOptions, StoreOpenError } from '../engine.ts'
import { createSealing, type Sealing } from '../sealing.ts'
import type { PostgresContext } from './context.ts'
import { createConversations } from './conversations.ts'
import { createDatabase, type Database, readCode } from './database.ts'
import { createEvents } from './events.ts'
import { createReading } from './history.ts'
import { createRemoval } from './removal.ts'
import { createSave } from './save.ts'
import { createSecret, ensureMeta, openSchema, replaceMeta } from './schema.ts'
import { createSpend } from './spend.ts'
import { createThreads } from './threads.ts'

const CONNECTIONS_PER_WORKER = 4
const CONNECTIONS_MAX = 32
const DAY_MS = 24 * 60 * 60 * 1000
const KEY_CHECK = Buffer.from('responses store')
const KEY_PLACE = 'key'

export interface PostgresStoreOptions extends StoreEngineOptions {
  /** Content of one answer: a longer history is refused, longer lists come in more pages. */
  readonly answerBytesMax?: number
}

/** Connects and prepares the tables. Rejects with `StoreOpenError`; nothing stays open then. */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<OpenStore> {
  const { dsn, workers, nowMs, maxBytes, maxBytesPerOwner, retentionDays } = options
  const database = createChecked(dsn, Math.min(CONNECTIONS_MAX, Math.max(1, workers) * CONNECTIONS_PER_WORKER))
  const sealing = createSealing(options)
  const secret = await prepare(database, { sealing, mayMigrate: options.autoMigrate }).catch(async (error: unknown) => {
    await database.close()
    throw readOpenError(error)
  })
  const context: PostgresContext = {
    database,
    sealing,
    ownerSecret: secret,
    itemSecret: sealing.derive(secret, 'nodes'),
    nowMs,
    maxBytes,
    maxBytesPerOwner,
    retentionMs: retentionDays * DAY_MS,
    answerBytesMax: options.answerBytesMax ?? ANSWER_BYTES_MAX
  }
  const removal = createRemoval(context)
  const { addSpend, purgeSpend } = createSpend(context)
  return {
    ...createReading(context),
    ...createEvents(context),
    ...createConversations(context, removal),
    ...createThreads(context),
    saveResponse: createSave(context, removal),
    deleteResponse: removal.removeResponse,
    addSpend,
    purge: async () => (await removal.purge()) || (await purgeSpend()),
    close: database.close
  }
}

const FORM = ': postgres://user:password@host:port/database'

function createChecked(dsn: string, connections: number): Database {
  try {
    checkDsn(dsn)
    return createDatabase(dsn, connections)
  } catch (error) {
    throw new StoreOpenError(
      'dsn_invalid',
      `GATEWAY_RESPONSES_STORE_DSN must be an address that can be used${explainAddressError(error) || FORM}.`,
      error
    )
  }
}

/** Returns the secret of the database. */
async function prepare(
  database: Database,
  { sealing, mayMigrate }: { readonly sealing: Sealing; readonly mayMigrate: boolean }
): Promise<Buffer> {
  const connection = await database.connect()
  try {
    await openSchema(connection, { mayMigrate })
    const secret = await ensureMeta(connection, 'secret', createSecret)
    await checkKey(connection, sealing)
    return secret
  } finally {
    connection.release()
  }
}

/** Refuses keys that do not open what was sealed last, and remembers the present key. */
async function checkKey(connection: PoolClient, sealing: Sealing): Promise<void> {
  const seal = () => sealing.seal(KEY_CHECK, KEY_PLACE)
  const last = await ensureMeta(connection, 'key', seal)
  try {
    sealing.open(last, KEY_PLACE)
  } catch (error) {
    throw new StoreOpenError(
      'key_wrong',
      'The content of the store of responses was encrypted with another key. Set that key as GATEWAY_RESPONSES_STORE_KEY, or as GATEWAY_RESPONSES_STORE_KEY_PREVIOUS beside a new one.',
      error
    )
  }
  if (sealing.keyId !== undefined) await replaceMeta(connection, 'key', seal())
}

/** Classes of errors with which a server refuses a user, a password or a database. */
const DENIED = new Set(['28P01', '28000', '3D000', '42501'])

function readOpenError(error: unknown): StoreOpenError {
  if (error instanceof StoreOpenError) return error
  const code = readCode(error)
  if (code !== undefined && DENIED.has(code)) {
    return new StoreOpenError(
      'access_denied',
      `The server of the store of responses refuses the user, the password or the database of GATEWAY_RESPONSES_STORE_DSN (${code}).`,
      error
    )
  }
  return new StoreOpenError(
    'unreachable',
    code === undefined
      ? 'The server of the store of responses does not answer.'
      : `The server of the store of responses answers with an error (${code}).`,
    error
  )
}
