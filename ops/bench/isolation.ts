// Isolation: what small requests and the event loop of a worker feel while one client sends what is expensive, eight at a time. Undisturbed
// and disturbed phases alternate, so that a slow moment of the machine meets both.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeRequest } from './bodies.ts'
import { type Disturbance, disturbances, listModels } from './disturbances.ts'
import type { DisturbingOrder, Endings } from './disturbing-client.ts'
import { writeHttpRequest } from './http-exchange.ts'
import { judgeIsolation, type Measurement, type Phase, printHeader, printMeasurement } from './isolation-report.ts'
import { runLoad } from './load.ts'
import { listenForProbes, type Probes } from './probes.ts'
import { SMALL_ALIAS, SMALL_MODEL } from './split-profile.ts'
import { type SteadyResult, startSteadyLoad } from './steady-load.ts'
import { startTargets } from './targets.ts'

export interface IsolationOptions {
  checkout: string
  /** Much shorter: only a check that it runs. */
  isQuick: boolean
  /** Also lists the functions in which blocks were spent; the profile itself makes them longer. */
  hasProfile: boolean
  /** Only disturbances whose names contain this text. */
  only: string
}

const CONNECTIONS = 8
const SMALL_PER_SECOND = 150
const SMALL_CONNECTIONS = 6
const HEALTH_PER_SECOND = 50
const UPSTREAM_PER_SECOND = 25
const WARM_UP_REQUESTS = 6_000
/** A gateway that has not finished the work of a phase by then is measured on as it is. */
const CALM_DEADLINE_MS = 20_000
const CALM_MS = 50
const SINGLE_EXCHANGES = 2
const SINGLE_EXCHANGE_MS_MAX = 3_000
/** Measured work must not wait for the processor time of the client that disturbs. */
const DISTURBING_NICENESS = 10

interface PhasePlan {
  rounds: number
  undisturbedMs: number
  disturbedMs: number
}

/** The tail of small requests is judged by the median over rounds, so those that are judged get more and longer ones. */
const plans = {
  judged: { rounds: 9, undisturbedMs: 1_000, disturbedMs: 1_500 },
  other: { rounds: 2, undisturbedMs: 300, disturbedMs: 700 },
  quick: { rounds: 1, undisturbedMs: 200, disturbedMs: 300 }
} satisfies Record<string, PhasePlan>

/** What every phase needs. */
interface Bench {
  port: number
  upstreamPort: number
  probes: Probes
  client: ChildProcess
  options: IsolationOptions
}

/** Prints a line for each disturbance and a verdict for each goal; false when one of them is missed. */
export async function measureIsolation(options: IsolationOptions): Promise<boolean> {
  const chosen = disturbances.filter(({ name }) => name.includes(options.only))
  if (chosen.length === 0) throw new Error(`no disturbance has this text in its name: ${options.only}`)
  const folder = mkdtempSync(join(tmpdir(), 'gateway-isolation-'))
  const probes = await listenForProbes(join(folder, 'probe.sock'))
  const targets = await startTargets({
    products: { product: options.checkout },
    hasRelay: false,
    largeModels: listModels(chosen),
    nodeOptions: [probes.nodeOption],
    // The pool gets as many threads as by default on this machine.
    isPinned: false
  })
  const client = fork(join(import.meta.dirname, 'disturbing-client.ts'))
  async function close(): Promise<void> {
    client.disconnect()
    probes.close()
    await targets.close()
    rmSync(folder, { recursive: true, force: true })
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void close().finally(() => process.exit(1)))
  }
  try {
    const port = targets.all[0]?.instance.port ?? 0
    const bench = { port, upstreamPort: targets.upstreamPort, probes, client, options }
    setNiceness(client)
    console.log(`${targets.placement}, Node ${process.version}; ${CONNECTIONS} disturbing exchanges at a time`)
    if (options.isQuick) console.log('quick: too short to judge by, only a check that the benchmark runs')
    await runLoad({ port, connections: 16, requests: WARM_UP_REQUESTS, ...smallRequest })
    printHeader()
    const measurements: Measurement[] = []
    for (const disturbance of chosen) {
      const measurement = await measure(bench, disturbance)
      printMeasurement(measurement)
      measurements.push(measurement)
    }
    return judgeIsolation(measurements)
  } finally {
    await close()
  }
}

const small = { bytes: 2048, isStream: false }
const smallRequest = writeRequest('completions', { ...small, model: SMALL_ALIAS })
const upstreamRequest = writeRequest('completions', { ...small, model: SMALL_MODEL })

async function measure(bench: Bench, disturbance: Disturbance): Promise<Measurement> {
  const { isQuick } = bench.options
  const { rounds, ...durations } = isQuick ? plans.quick : disturbance.isLatencyJudged ? plans.judged : plans.other
  const connectedBefore = bench.probes.connected
  const singles = await measureSingles(bench, disturbance)
  const measurement: Measurement = { disturbance, singles, undisturbed: [], disturbed: [], endings: {}, respawns: 0 }
  for (let round = 0; round < rounds; round++) {
    measurement.undisturbed.push(await runPhase(bench, durations.undisturbedMs))
    await order(bench, { kind: 'start', name: disturbance.name, port: bench.port, connections: CONNECTIONS })
    const stop = async () => {
      const endings = await order(bench, { kind: 'stop' })
      for (const [ending, count] of Object.entries(endings)) {
        measurement.endings[ending] = (measurement.endings[ending] ?? 0) + count
      }
    }
    measurement.disturbed.push(await runPhase(bench, durations.disturbedMs, stop))
  }
  measurement.respawns = bench.probes.connected - connectedBefore
  return measurement
}

/** Single exchanges after one that warms up: what one of them costs in memory does not depend on how many are sent at a time. */
async function measureSingles(bench: Bench, { name }: Disturbance): Promise<Measurement['singles']> {
  const singles: Measurement['singles'] = { endings: {}, reports: [] }
  const send = () => order(bench, { kind: 'once', name, port: bench.port })
  const startedMs = performance.now()
  await send()
  const isLong = performance.now() - startedMs > SINGLE_EXCHANGE_MS_MAX
  await waitUntilCalm(bench.port)
  for (let index = 0; index < (isLong ? 1 : SINGLE_EXCHANGES); index++) {
    await bench.probes.begin({ hasProfile: false })
    const [ending = ''] = Object.keys(await send())
    singles.endings[ending] = (singles.endings[ending] ?? 0) + 1
    const report = await bench.probes.end()
    if (report !== undefined) singles.reports.push(report)
  }
  return singles
}

/** Small requests of three kinds for a time. `stop` ends the disturbance, if there is one, before the last of them are waited for. */
async function runPhase(bench: Bench, durationMs: number, stop?: () => Promise<void>): Promise<Phase> {
  const { port, upstreamPort, probes } = bench
  await probes.begin({ hasProfile: bench.options.hasProfile && stop !== undefined })
  const small = writeHttpRequest({ port, ...smallRequest })
  const health = writeHttpRequest({ method: 'GET', port, path: '/health' })
  const alone = writeHttpRequest({ ...upstreamRequest, port: upstreamPort, path: `/api${upstreamRequest.path}` })
  const loads = [
    startSteadyLoad({ port, request: small, perSecond: SMALL_PER_SECOND, connections: SMALL_CONNECTIONS }),
    startSteadyLoad({ port, request: health, perSecond: HEALTH_PER_SECOND, connections: 2 }),
    startSteadyLoad({ port: upstreamPort, request: alone, perSecond: UPSTREAM_PER_SECOND, connections: 1 })
  ]
  await wait(durationMs)
  const results = loads.map(load => load.stop())
  await stop?.()
  const [ofSmall, ofHealth, ofUpstream] = await Promise.all(results)
  // What was begun for an abandoned exchange may still keep the event loop busy, and counts too.
  if (stop !== undefined) await waitUntilCalm(port)
  const report = await probes.end()
  return { small: ofSmall ?? NONE, health: ofHealth ?? NONE, upstream: ofUpstream ?? NONE, report }
}

const NONE: SteadyResult = { latenciesMs: [], lost: {} }

async function order({ client }: Bench, what: DisturbingOrder): Promise<Endings> {
  client.send(what)
  const [endings] = await once(client, 'message')
  return endings as Endings
}

/** Waits until the gateway has finished what an abandoned exchange has begun. */
async function waitUntilCalm(port: number): Promise<void> {
  const deadlineMs = performance.now() + CALM_DEADLINE_MS
  for (let calm = 0; calm < 3 && performance.now() < deadlineMs; ) {
    const startedMs = performance.now()
    const response = await fetch(`http://127.0.0.1:${port}/health`, {
      signal: AbortSignal.timeout(CALM_DEADLINE_MS)
    }).catch(() => undefined)
    await response?.arrayBuffer()
    calm = response?.status === 200 && performance.now() - startedMs < CALM_MS ? calm + 1 : 0
    await wait(10)
  }
}

function wait(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}

function setNiceness({ pid }: ChildProcess): void {
  if (pid !== undefined) setPriority(pid, DISTURBING_NICENESS)
}
