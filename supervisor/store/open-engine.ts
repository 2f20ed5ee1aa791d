// Chooses the engine of a DSN. Only that engine and its driver are loaded.
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { readStoreDsn, type StoreDsn } from '../../shared/memory/dsn.ts'
import { type OpenEngine, type OpenStore, type StoreEngineOptions, StoreOpenError } from './engine.ts'

/** One line for each kind of database. */
const engines: Readonly<Record<StoreDsn['kind'], () => Promise<OpenEngine>>> = {
  sqlite: async () => (await import('./sqlite/open.ts')).openSqliteStore,
  postgres: async () => (await import('./postgres/open.ts')).openPostgresStore
}

/** Opens the database. Rejects with `StoreOpenError`, or with an error of the driver. */
export async function openEngine(options: StoreEngineOptions): Promise<OpenStore> {
  const dsn = readStoreDsn(options.dsn)
  const load = dsn && engines[dsn.kind]
  // The preflight has refused every DSN of another kind.
  if (load === undefined) throw new StoreOpenError('dsn_invalid', 'GATEWAY_RESPONSES_STORE_DSN has no engine')
  if (dsn?.kind === 'sqlite') await makeFolder(dirname(dsn.location))
  const open = await load()
  return await open(options)
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true })
  } catch (error) {
    throw new StoreOpenError('not_writable', 'the folder of GATEWAY_RESPONSES_STORE_DSN cannot be made', error)
  }
}
