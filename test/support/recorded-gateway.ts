// A started gateway that keeps traffic records, and what its sinks hold.

import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Test } from 'tap'
import type { Emulator, EmulatorOptions } from '../../ops/emulator/server.ts'
import type { TrafficRecord } from '../../shared/traffic/record.ts'
import {
  emulatorVariables,
  type GatewayOptions,
  type ServingGateway,
  startEmulator,
  startGateway
} from './in-process-gateway.ts'
import { waitUntil } from './processes.ts'
import { createTemporaryFolder } from './temporary.ts'

export interface TrafficFiles {
  readonly jsonl: string
  readonly sqlite: string
}

/** The row of a record, with its payload, as SQLite has them. */
export type StoredRow = Readonly<Record<string, string | number | null>>

export interface RecordedGateway extends ServingGateway {
  readonly emulator: Emulator
  readonly files: TrafficFiles
  /** The records of the JSONL file so far. */
  records(): TrafficRecord[]
  /** Resolves with the record of the request that this response belongs to. */
  recordOf(response: { headers: Headers }): Promise<TrafficRecord>
  /** Resolves with the first record that fits. */
  recordWhere(fits: (record: TrafficRecord) => boolean, what: string): Promise<TrafficRecord>
  /** Resolves with the row of the record of this response. */
  rowOf(response: { headers: Headers }): Promise<StoredRow>
}

/** Paths of sinks in a folder that is removed with the test. */
export function createTrafficFiles(t: Test): TrafficFiles {
  const folder = createTemporaryFolder(t)
  return { jsonl: join(folder, 'records', 'traffic.jsonl'), sqlite: join(folder, 'traffic.sqlite') }
}

/** Variables that record every request into both files at once. */
export function trafficVariables({ jsonl, sqlite }: TrafficFiles): Record<string, string> {
  return {
    GATEWAY_TRAFFIC_LOG_ENABLED: 'true',
    GATEWAY_TRAFFIC_LOG_SINKS: 'jsonl,sqlite',
    GATEWAY_TRAFFIC_LOG_JSONL_PATH: jsonl,
    GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: `sqlite:${sqlite}`,
    GATEWAY_TRAFFIC_LOG_FLUSH_INTERVAL_MS: '20'
  }
}

export interface RecordedGatewayOptions {
  env?: Record<string, string | undefined>
  emulator?: EmulatorOptions
  files?: TrafficFiles
  /** In place of a gateway in the process of the test. */
  start?: (t: Test, options: GatewayOptions) => Promise<ServingGateway>
}

/** Starts an emulator and a gateway that records into both files; they end with the test. */
export async function startRecordedGateway(t: Test, options: RecordedGatewayOptions = {}): Promise<RecordedGateway> {
  const emulator = await startEmulator(t, options.emulator)
  const files = options.files ?? createTrafficFiles(t)
  const gateway = await (options.start ?? startGateway)(t, {
    env: { ...emulatorVariables(emulator), ...trafficVariables(files), ...options.env }
  })
  const records = () => readRecords(files.jsonl)

  async function recordWhere(fits: (record: TrafficRecord) => boolean, what: string): Promise<TrafficRecord> {
    await waitUntil(() => records().some(fits), what)
    return records().find(fits) as TrafficRecord
  }

  const recordOf = (response: { headers: Headers }) => {
    const id = response.headers.get('x-request-id')
    return recordWhere(record => record.request_id === id, `the record of ${id} is there`)
  }

  return {
    ...gateway,
    emulator,
    files,
    records,
    recordOf,
    recordWhere,
    async rowOf(response) {
      const { id } = await recordOf(response)
      await waitUntil(() => readRow(files.sqlite, id) !== undefined, `the row of ${id} is there`)
      return readRow(files.sqlite, id) as StoredRow
    }
  }
}

/** The whole lines of a JSONL file; none while the file does not exist. */
export function readRecords(path: string): TrafficRecord[] {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return []
  const lines = readFileSync(path, 'utf8').split('\n')
  return lines.slice(0, -1).map(line => JSON.parse(line) as TrafficRecord)
}

function readRow(path: string, id: string): StoredRow | undefined {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined
  const database = new Database(path, { readonly: true })
  try {
    return database
      .prepare(
        `SELECT * FROM gateway_traffic_logs AS records
         LEFT JOIN (SELECT id AS payload_id, request_headers, request_body, response_body FROM gateway_traffic_payloads) AS payloads
         ON payloads.payload_id = records.id WHERE records.id = ?`
      )
      .get(id) as StoredRow | undefined
  } finally {
    database.close()
  }
}
