// A store of responses in a temporary file, for tests that hand an engine to a worker in their own process.
import { join } from 'node:path'
import { pino } from 'pino'
import type { Test } from 'tap'
import type { OpenStore, StoreEngineOptions } from '../../supervisor/store/engine.ts'
import { openSqliteStore, type SqliteStore, type SqliteStoreOptions } from '../../supervisor/store/sqlite/open.ts'
import { createTemporaryFolder } from './temporary.ts'

/** The defaults of the settings, with the system's clock. */
export function createStoreOptions(dsn: string, changes: Partial<StoreEngineOptions> = {}): StoreEngineOptions {
  return {
    dsn,
    key: undefined,
    previousKey: undefined,
    maxBytes: 20_971_520,
    maxBytesPerOwner: 1_073_741_824,
    retentionDays: 30,
    autoMigrate: true,
    workers: 1,
    nowMs: Date.now,
    log: pino({ level: 'silent' }),
    ...changes
  }
}

/** Opens an empty SQLite store that is closed with the test. */
export async function openTemporaryStore(t: Test, changes: Partial<SqliteStoreOptions> = {}): Promise<SqliteStore> {
  const path = join(createTemporaryFolder(t, 'responses-'), 'responses.sqlite')
  return closeWithTest(t, await openSqliteStore({ ...createStoreOptions(`sqlite:${path}`), ...changes }))
}

export function closeWithTest<Store extends OpenStore>(t: Test, store: Store): Store {
  t.teardown(() => store.close())
  return store
}
