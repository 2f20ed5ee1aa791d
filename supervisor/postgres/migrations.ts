// Brings the tables of a Postgres database to the version that this gateway knows, however many processes start at the same time.
import type { PoolClient, QueryConfig } from 'pg'

export interface Schema {
  /** The table that holds the version; it is created with the first step. */
  readonly versionTable: string
  /** Key of the advisory lock under which one process at a time changes the schema. */
  readonly lock: string
  /** Statements that lead from each version to the next one, the first from an empty database. */
  readonly steps: readonly string[]
}

/** What was found; after `current` the tables can be used. */
export type SchemaState =
  | { readonly kind: 'current' | 'missing' }
  | { readonly kind: 'newer'; readonly version: number }

const MIGRATION_STEP_MS_MAX = 60 * 60 * 1000

/** Checks the schema and, where `mayMigrate`, takes the missing steps in one transaction. Rejects with the driver's errors. */
export async function prepareSchema(
  client: PoolClient,
  schema: Schema,
  { mayMigrate }: { mayMigrate: boolean }
): Promise<SchemaState> {
  const { versionTable, lock, steps } = schema
  const version = await readVersion(client, versionTable)
  if (version > steps.length) return { kind: 'newer', version }
  if (version === steps.length) return { kind: 'current' }
  if (!mayMigrate) return { kind: 'missing' }
  await client.query('BEGIN')
  try {
    await client.query('SELECT pg_advisory_xact_lock($1)', [lock])
    await client.query(`CREATE TABLE IF NOT EXISTS ${versionTable} (version integer NOT NULL)`)
    await client.query('SET LOCAL statement_timeout = 0')
    // Another process may have been quicker.
    for (const text of steps.slice(await readVersion(client, versionTable))) await client.query(longQuery(text))
    await client.query(`DELETE FROM ${versionTable}`)
    await client.query(`INSERT INTO ${versionTable} (version) VALUES ($1)`, [steps.length])
    await client.query('COMMIT')
    return { kind: 'current' }
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined)
    throw error
  }
}

/** An index of many records takes longer than a question may; the start of the gateway has a bound of its own. */
function longQuery(text: string): QueryConfig {
  const query = { text, query_timeout: MIGRATION_STEP_MS_MAX }
  return query
}

async function readVersion(client: PoolClient, table: string): Promise<number> {
  const { rows } = await client.query('SELECT to_regclass($1) IS NOT NULL AS exists', [table])
  if (rows[0]?.exists !== true) return 0
  const { rows: versions } = await client.query(`SELECT version FROM ${table}`)
  return Number(versions[0]?.version ?? 0)
}
