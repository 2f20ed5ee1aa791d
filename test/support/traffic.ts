// Gateways that keep a traffic log, requests to them, and what their sinks hold.
import { existsSync, readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import type { Test } from 'tap'
import { type GatewayOptions, readLog, type ServingGateway, type StartedGateway, startGateway } from './gateway.ts'
import { waitUntil } from './processes.ts'
import { scrapeUntil } from './scrape.ts'

export interface TrafficGateway extends StartedGateway {
  /** Files of the sinks `jsonl` and `sqlite`. */
  readonly jsonlPath: string
  readonly sqlitePath: string
}

/** Starts a gateway with two workers, metrics and these sinks; files are in its folder. */
export async function startTrafficGateway(
  t: Test,
  sinks: string,
  { env, ...options }: GatewayOptions = {}
): Promise<TrafficGateway> {
  const gateway = await startGateway(t, {
    ...options,
    env: {
      GATEWAY_WORKERS: '2',
      GATEWAY_METRICS_ENABLED: 'true',
      GATEWAY_TRAFFIC_LOG_ENABLED: 'true',
      // The cheapest request counts too.
      GATEWAY_TRAFFIC_LOG_EXCLUDE_ROUTES: '[]',
      GATEWAY_TRAFFIC_LOG_SINKS: sinks,
      GATEWAY_TRAFFIC_LOG_JSONL_PATH: 'traffic.jsonl',
      GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: 'sqlite:traffic.sqlite',
      ...env
    }
  })
  const inFolder = (name: string) => join(gateway.folder, name)
  return { ...gateway, jsonlPath: inFolder('traffic.jsonl'), sqlitePath: inFolder('traffic.sqlite') }
}

/** The process ids of the writers so far, in the order in which they became ready. */
export function readWriterPids(gateway: ServingGateway): number[] {
  const lines = readLog(gateway).filter(({ event }) => event === 'writer_ready')
  return lines.map(({ writer_pid }) => Number(writer_pid))
}

/** Kills the writer without its cooperation and waits for the next one. */
export async function killWriter(gateway: ServingGateway): Promise<void> {
  const before = readWriterPids(gateway)
  const writer = before.at(-1) ?? process.pid
  if (writer === process.pid) throw new Error('The writer has no process of its own.')
  process.kill(writer, 'SIGKILL')
  await waitUntil(() => readWriterPids(gateway).length > before.length, 'a new writer is ready')
}

/** Sends requests that cost the gateway little; returns the ids of all, each answered with 200. */
export async function sendPings(url: string, count: number): Promise<string[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 })
  const ids: string[] = []
  let started = 0
  async function client(): Promise<void> {
    while (started < count) {
      started += 1
      ids.push(await sendPing(url, agent))
    }
  }
  try {
    await Promise.all(Array.from({ length: 16 }, client))
  } finally {
    agent.destroy()
  }
  return ids
}

function sendPing(url: string, agent: Agent): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/ping`, { agent }, response => {
      response.resume()
      const id = String(response.headers['x-request-id'])
      response.on('end', () =>
        response.statusCode === 200 ? resolve(id) : reject(new Error(`A ping got ${response.statusCode}.`))
      )
    })
    sent.on('error', reject)
    sent.end()
  })
}

export interface StoredRecord {
  readonly id: string
  readonly request_id: string
  readonly status_code: number
  readonly error_type?: string | null
  readonly has_request_body?: number
  readonly metadata?: unknown
}

export function readJsonl(path: string): StoredRecord[] {
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
  return lines.map(line => JSON.parse(line) as StoredRecord)
}

export function readSqlite(path: string): StoredRecord[] {
  const database = new Database(path, { readonly: true, fileMustExist: true })
  try {
    return database.prepare('SELECT * FROM gateway_traffic_logs').all() as StoredRecord[]
  } finally {
    database.close()
  }
}

export async function readPostgres(dsn: string): Promise<StoredRecord[]> {
  const client = new pg.Client({ connectionString: dsn })
  await client.connect()
  try {
    return (await client.query('SELECT * FROM gateway_traffic_logs')).rows as StoredRecord[]
  } finally {
    await client.end()
  }
}

/** Which of the requests have no record, and which have several. */
export function compareRecords(
  records: readonly StoredRecord[],
  requestIds: readonly string[]
): { missing: number; repeated: number } {
  const counts = new Map<string, number>()
  for (const { request_id } of records) counts.set(request_id, (counts.get(request_id) ?? 0) + 1)
  return {
    missing: requestIds.filter(id => !counts.has(id)).length,
    repeated: [...counts.values()].filter(count => count > 1).length
  }
}

/** Records wait until a test wants them stored. */
export const gathering = { GATEWAY_TRAFFIC_LOG_BATCH_SIZE: '100000', GATEWAY_TRAFFIC_LOG_FLUSH_INTERVAL_MS: '3600000' }
/** Records are stored soon. */
export const prompt = { GATEWAY_TRAFFIC_LOG_FLUSH_INTERVAL_MS: '100' }

/** Kills the writer while it has a thousand records that no sink has, and again under load. Returns the ids of all requests. */
export async function killUnderLoad(gateway: TrafficGateway, sink: string): Promise<string[]> {
  const ids = await sendPings(gateway.url, 1_000)
  await scrapeUntil(
    gateway,
    'the writer has a thousand records that no sink has',
    metrics => metrics.sum(`gateway_traffic_log_${sink}_queue_depth`) >= 1_000
  )
  await killWriter(gateway)
  const loading = sendPings(gateway.url, 2_000)
  await killWriter(gateway)
  ids.push(...(await loading))
  return ids
}
