// The traffic log while its database is away: a gateway under a steady load, whose Postgres is taken away for a minute and comes back.
// Requests must be served as before, memory must stay flat, and then every finished request must have exactly one record.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { writeRequest } from './bodies.ts'
import { writeHttpRequest } from './http-exchange.ts'
import { type MemorySampler, sampleMemory } from './process-memory.ts'
import { type SteadyResult, startSteadyLoad } from './steady-load.ts'
import { startPostgres } from './stores.ts'
import { startTargets } from './targets.ts'
import { type Outage, startTcpSwitch, type TcpSwitch } from './tcp-switch.ts'

export interface OutageOptions {
  readonly checkout: string
  /** Much shorter: only a check that it runs. */
  readonly isQuick: boolean
  /** Only outages whose names contain this text. */
  readonly only: string
}

const OUTAGES: readonly Outage[] = ['refused', 'silent']
const PER_SECOND = 200
const CONNECTIONS = 16
/** Records hold the conversation, so about 3 MB of them come in a second. */
const request = writeRequest('completions', { model: 'bench-L0-N1-G0', bytes: 16 * 1024, isStream: false })
/**
 * Garbage that is not collected yet would hide what a queue keeps: with heaps of the usual size, a queue without bounds adds no more than
 * 30 MB of resident memory. It keeps at least the text of 60 seconds of records, 190 MB, for which this heap is too small.
 */
const HEAP_OPTIONS = ['--max-old-space-size=128']
const GROWTH_MB_MAX = 64
const ARRIVAL_DEADLINE_MS = 120_000

/** The load before is the same, so that no larger heap of an earlier burst hides what the outage adds. */
const plans = {
  full: { beforeMs: 30_000, outageMs: 60_000, settledMs: 15_000, afterMs: 5_000 },
  quick: { beforeMs: 3_000, outageMs: 8_000, settledMs: 4_000, afterMs: 1_000 }
}

interface Bench {
  readonly port: number
  readonly memory: MemorySampler
  readonly network: TcpSwitch
  readonly countRecords: () => Promise<Counts>
  readonly options: OutageOptions
}

interface Counts {
  readonly records: number
  readonly requests: number
}

/** Prints the figures of each kind of outage and a verdict for each goal; false when one of them is missed. */
export async function measureOutages(options: OutageOptions): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-bench-'))
  const closers: Array<() => unknown> = [() => rmSync(folder, { recursive: true, force: true })]
  async function close(): Promise<void> {
    for (const closer of closers.splice(0).reverse()) await closer()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void close().finally(() => process.exit(1)))
  }
  try {
    const postgres = await startPostgres(folder)
    closers.push(postgres.stop)
    const network = await startTcpSwitch(postgres.port)
    closers.push(network.close)
    const targets = await startTargets({
      products: { product: options.checkout },
      variables: { product: listVariables(postgres.dsn.replace(`:${postgres.port}/`, `:${network.port}/`), folder) },
      hasRelay: false,
      nodeOptions: HEAP_OPTIONS,
      isPinned: false
    })
    closers.push(targets.close)
    const gateway = targets.all[0]?.instance
    if (gateway === undefined) throw new Error('The gateway was not started.')
    const memory = sampleMemory(gateway.pid)
    closers.push(memory.stop)
    const countRecords = () => countIn(postgres.dsn)
    const bench: Bench = { port: gateway.port, memory, network, countRecords, options }
    console.log(`${PER_SECOND} requests a second of ${request.body.length} bytes, Node ${process.version}`)
    if (options.isQuick) console.log('quick: too short to judge by, only a check that the benchmark runs')
    let finished = 0
    let isGood = true
    for (const outage of OUTAGES.filter(name => name.includes(options.only))) {
      const result = await measure(bench, { outage, finished })
      finished = result.finished
      isGood = result.isGood && isGood
    }
    return isGood
  } finally {
    await close()
  }
}

function listVariables(dsn: string, folder: string): Record<string, string> {
  return {
    GATEWAY_TRAFFIC_LOG_ENABLED: 'true',
    GATEWAY_TRAFFIC_LOG_SINK: 'postgres',
    GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: dsn,
    GATEWAY_TRAFFIC_LOG_AUTO_MIGRATE: 'true',
    GATEWAY_TRAFFIC_LOG_CAPTURE_CONTENT: 'true',
    GATEWAY_TRAFFIC_LOG_SPILL_DIR: join(folder, 'spill')
  }
}

/** One outage of a kind under load, after which `finished` counts all requests that have a response. */
async function measure(
  bench: Bench,
  { outage, finished }: { outage: Outage; finished: number }
): Promise<{ isGood: boolean; finished: number }> {
  const { port, memory, network, countRecords, options } = bench
  const { beforeMs, outageMs, settledMs, afterMs } = options.isQuick ? plans.quick : plans.full
  const steady = {
    port,
    request: writeHttpRequest({ port, ...request }),
    perSecond: PER_SECOND,
    connections: CONNECTIONS
  }
  const results: SteadyResult[] = []
  const run = async (ms: number) => {
    const load = startSteadyLoad(steady)
    await wait(ms)
    results.push(await load.stop())
  }
  await run(beforeMs)
  network.cut(outage)
  memory.reset()
  await run(outageMs)
  const growths = memory.growthAfter(settledMs)
  const stored = await countRecords()
  await network.restore()
  const restoredMs = performance.now()
  await run(afterMs)
  const expected = finished + results.reduce((sum, { latenciesMs }) => sum + latenciesMs.length, 0)
  const counts = await waitForRecords(countRecords, expected)
  const arrivalSeconds = (performance.now() - restoredMs) / 1000

  console.log(`${outage} for ${outageMs / 1000} s`)
  for (const [index, name] of ['before', 'during', 'after'].entries()) {
    console.log(`  requests ${name}: ${describe(results[index])}`)
  }
  console.log(
    `  waiting at the end of the outage: ${expected - (results[2]?.latenciesMs.length ?? 0) - stored.records}`
  )
  console.log(`  all stored ${arrivalSeconds.toFixed(1)} s after its end`)
  const verdicts = Object.entries(growths).map(([name, { beforeMb, growthMb }]) =>
    judge(`${name}: growth above ${beforeMb.toFixed(0)} MB, MB`, growthMb, GROWTH_MB_MAX)
  )
  const failed = results.flatMap(({ lost }) => Object.values(lost)).reduce((sum, count) => sum + count, 0)
  verdicts.push(
    judge('requests without a good response', failed, 0),
    judge('finished requests without a record', expected - counts.requests, 0),
    judge('records more than finished requests', counts.records - expected, 0)
  )
  return { isGood: verdicts.every(isMet => isMet), finished: expected }
}

/** Waits until there are so many records; returns how many there are at the deadline otherwise. */
async function waitForRecords(countRecords: Bench['countRecords'], expected: number): Promise<Counts> {
  const deadlineMs = performance.now() + ARRIVAL_DEADLINE_MS
  let counts = await countRecords()
  while (counts.records < expected && performance.now() < deadlineMs) {
    await wait(250)
    counts = await countRecords()
  }
  return counts
}

async function countIn(dsn: string): Promise<Counts> {
  const client = new pg.Client({ connectionString: dsn })
  await client.connect()
  try {
    const sql = `SELECT count(*) AS records, count(DISTINCT request_id) AS requests
      FROM gateway_traffic_logs WHERE route = '/v1/chat/completions'`
    const { rows } = await client.query<Record<keyof Counts, string>>(sql)
    return { records: Number(rows[0]?.records), requests: Number(rows[0]?.requests) }
  } finally {
    await client.end()
  }
}

function describe({ latenciesMs, lost }: SteadyResult = { latenciesMs: [], lost: {} }): string {
  const sorted = latenciesMs.toSorted((left, right) => left - right)
  const at = (share: number) => (sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN).toFixed(1)
  const others = Object.entries(lost).map(([ending, count]) => `, ${count} ${ending}`)
  return `${latenciesMs.length} answered${others.join('')}, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms`
}

function judge(name: string, value: number, goal: number): boolean {
  const isMet = value <= goal
  console.log(`  ${name}: ${Number(value.toFixed(1))}; goal at most ${goal}: ${isMet ? 'met' : 'MISSED'}`)
  return isMet
}

function wait(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}
