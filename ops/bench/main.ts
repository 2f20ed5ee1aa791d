// Compares the product with a bare relay and with the upstream alone, side by side in one run. Absolute numbers belong to the
// machine; the ratios are what counts. `npm run bench`, or `npm run bench -- --quick`.

import { parseArgs } from 'node:util'
import { type BodyShape, type Family, type FamilyRequest, writeRequest } from './bodies.ts'
import { runLoad } from './load.ts'
import { type Instance, startTargets, type Target } from './targets.ts'

interface Scenario {
  name: string
  unit: string
  shape: BodyShape
  connections: number
  requests: number
  /** Requests to each target before anything is measured. */
  warmUpRequests: number
  /** Events per answer; 1 where the answer is whole. */
  events: number
  measure: 'cpu' | 'first-content'
  /** The most that product may be of relay. */
  ratioMax?: number
  /** The most that each other family may be of completions; absent: only completions is measured. */
  familyRatioMax?: number
}

const otherFamilies: Family[] = ['responses', 'messages', 'content']

const { values: flags } = parseArgs({ options: { quick: { type: 'boolean', default: false } } })
// One start of a program is up to a tenth dearer or cheaper than the next for its whole life, and neighbours on the machine make single
// rounds half as dear again. So some starts of each are compared, each by many short rounds in turn, of which the dearest and the
// cheapest quarter do not count.
const instances = flags.quick ? 2 : 4
const rounds = flags.quick ? 4 : 12

const scenarios: Scenario[] = [
  {
    name: 'whole answer, 2 KB in, 1 KB out, 32 connections',
    unit: 'CPU µs per request',
    shape: { model: 'bench-L0-N1-G0', bytes: 2048, isStream: false },
    connections: 32,
    requests: 3_000,
    // The compiler is at work for that long in the larger of the programs; a tenth of it would show mostly the compiler.
    warmUpRequests: 24_000,
    events: 1,
    measure: 'cpu',
    ratioMax: 1.7,
    familyRatioMax: 1.1
  },
  {
    name: 'stream of 200 events without pause, each a chunk of its own as upstreams send them, 16 connections',
    unit: 'CPU µs per event',
    shape: { model: 'bench-L0-N200-G0', bytes: 2048, isStream: true },
    connections: 16,
    requests: 250,
    warmUpRequests: 2_000,
    events: 201,
    measure: 'cpu',
    ratioMax: 1.5,
    familyRatioMax: 1.1
  },
  {
    // Without a goal: a relay does nothing per event, so here it has a tenth of the work and the product all of it.
    name: 'the same with ten events to a chunk',
    unit: 'CPU µs per event',
    shape: { model: 'bench-L0-N200-G0-P10', bytes: 2048, isStream: true },
    connections: 16,
    requests: 250,
    warmUpRequests: 500,
    events: 201,
    measure: 'cpu'
  },
  {
    name: 'first content of a paced stream, upstream latency 20 ms',
    unit: 'ms',
    shape: { model: 'bench-L20-N10-G5', bytes: 2048, isStream: true },
    connections: 2,
    requests: 25,
    warmUpRequests: 50,
    events: 11,
    measure: 'first-content'
  }
]

const targets = await startTargets(instances)
let isMissed = false
try {
  console.log(`${instances} starts of each, ${rounds} interleaved rounds of each start, Node ${process.version}`)
  console.log(`${targets.placement}\n`)
  for (const scenario of scenarios) await compareTargets(scenario)
  for (const scenario of scenarios) if (scenario.familyRatioMax !== undefined) await compareFamilies(scenario)
} finally {
  await targets.close()
}
if (isMissed) process.exitCode = 1

async function compareTargets(scenario: Scenario): Promise<void> {
  const request = writeRequest('completions', scenario.shape)
  const samples = await sample(
    scenario,
    targets.all.map(target => ({
      name: target.name,
      target,
      request: { ...request, path: target.prefix + request.path }
    }))
  )
  report(scenario, samples)
}

/** The same products, asked by every family in turn. */
async function compareFamilies(scenario: Scenario): Promise<void> {
  const product = targets.all.find(({ name }) => name === 'product')
  if (product === undefined) return
  const families: Family[] = ['completions', ...otherFamilies]
  const samples = await sample(
    scenario,
    families.map(family => ({ name: family, target: product, request: writeRequest(family, scenario.shape) }))
  )
  console.log(`${scenario.name}, by family (${scenario.unit})`)
  for (const name of otherFamilies) {
    const goal = scenario.familyRatioMax
    console.log(`  ${compare(samples, { name, base: 'completions', isSameProgram: true, goal })}`)
  }
  console.log()
}

interface Lane {
  name: string
  target: Target
  request: FamilyRequest
}

/** What was measured of a lane: for each start of its program the values of all rounds. */
type Samples = Map<string, number[][]>

/** Warms every start of every lane up, then measures them in turn, round by round. */
async function sample(scenario: Scenario, lanes: Lane[]): Promise<Samples> {
  const samples: Samples = new Map(lanes.map(({ name, target }) => [name, target.instances.map(() => [])]))
  for (const lane of lanes) {
    for (const instance of lane.target.instances) {
      await measure(lane, instance, { ...scenario, requests: scenario.warmUpRequests })
    }
  }
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < instances; turn++) {
      for (const lane of lanes) {
        const instance = lane.target.instances[turn]
        if (instance !== undefined) samples.get(lane.name)?.[turn]?.push(await measure(lane, instance, scenario))
      }
    }
  }
  return samples
}

async function measure({ name, request }: Lane, instance: Instance, scenario: Scenario): Promise<number> {
  const before = instance.cpuSeconds()
  const { connections, requests } = scenario
  const result = await runLoad({ connections, requests, port: instance.port, ...request })
  if (result.failures > 0) throw new Error(`${name} refused ${result.failures} of ${result.requests} requests.`)
  if (scenario.measure === 'first-content') return median(result.firstContentMs)
  return ((instance.cpuSeconds() - before) * 1e6) / (result.requests * scenario.events)
}

interface Comparison {
  name: string
  base: string
  /** Both lanes are the same starts of one program, so that each start is compared with itself. */
  isSameProgram: boolean
  goal: number | undefined
}

/** The ratio of two lanes, the same for single starts, and whether it is within its goal. */
function compare(samples: Samples, { name, base, isSameProgram, goal }: Comparison): string {
  const bases = valuesOf(samples, base)
  const ratios = valuesOf(samples, name).map(
    (value, turn) => value / (isSameProgram ? (bases[turn] ?? Number.NaN) : mean(bases))
  )
  const ratio = mean(ratios)
  const isWithin = goal === undefined || ratio <= goal
  if (!isWithin) isMissed = true
  const verdict = goal === undefined ? '' : `, goal at most ${goal}: ${isWithin ? 'met' : 'MISSED'}`
  const starts = ratios.map(value => value.toFixed(2)).join(' ')
  return `${name} / ${base} ${ratio.toFixed(2)} (single starts of ${isSameProgram ? 'product' : name}: ${starts})${verdict}`
}

/** A value for each start of a lane's program. */
function valuesOf(samples: Samples, name: string): number[] {
  return (samples.get(name) ?? []).map(middleMean)
}

function report(scenario: Scenario, samples: Samples): void {
  const [direct = 0, relay = 0, product = 0] = ['direct', 'relay', 'product'].map(name => mean(valuesOf(samples, name)))
  console.log(`${scenario.name} (${scenario.unit})`)
  console.log(`  direct ${direct.toFixed(2)}   relay ${relay.toFixed(2)}   product ${product.toFixed(2)}`)
  if (scenario.measure === 'first-content') {
    console.log(`  added by relay ${(relay - direct).toFixed(2)} ms, by product ${(product - direct).toFixed(2)} ms\n`)
    return
  }
  const comparison = { name: 'product', base: 'relay', isSameProgram: false, goal: scenario.ratioMax }
  console.log(`  ${compare(samples, comparison)}\n`)
}

/** The mean of the middle half. */
function middleMean(values: number[]): number {
  const sorted = values.toSorted((left, right) => left - right)
  const quarter = sorted.length >> 2
  return mean(sorted.slice(quarter, sorted.length - quarter))
}

function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function median(values: number[]): number {
  const sorted = values.toSorted((left, right) => left - right)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2
}
