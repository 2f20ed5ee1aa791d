// Compares the product with a bare relay and with the upstream alone, side by side in one run. Absolute numbers belong to the
// machine; the ratios are what counts. `npm run bench`, or `npm run bench -- --quick`.

import { parseArgs } from 'node:util'
import { runLoad } from './load.ts'
import { startTargets, type Target } from './targets.ts'

interface Scenario {
  name: string
  unit: string
  body: string
  connections: number
  requests: number
  /** Requests to each target before anything is measured. */
  warmUpRequests: number
  /** Events per answer; 1 where the answer is whole. */
  events: number
  measure: 'cpu' | 'first-content'
  /** The most that product may be of relay. */
  ratioMax?: number
}

const { values: flags } = parseArgs({ options: { quick: { type: 'boolean', default: false } } })
const rounds = flags.quick ? 3 : 7
const scale = flags.quick ? 0.3 : 1

const scenarios: Scenario[] = [
  {
    name: 'whole answer, 2 KB in, 1 KB out, 32 connections',
    unit: 'CPU µs per request',
    body: writeBody({ model: 'bench-L0-N1-G0', bytes: 2048 }),
    connections: 32,
    requests: Math.round(12_000 * scale),
    // The compiler is at work for that long in the larger of the programs; a tenth of it would show mostly the compiler.
    warmUpRequests: 24_000,
    events: 1,
    measure: 'cpu',
    ratioMax: 1.7
  },
  {
    name: 'stream of 200 events without pause, each a chunk of its own as upstreams send them, 16 connections',
    unit: 'CPU µs per event',
    body: writeBody({ model: 'bench-L0-N200-G0', bytes: 2048, stream: true }),
    connections: 16,
    requests: Math.round(1_000 * scale),
    warmUpRequests: 2_000,
    events: 201,
    measure: 'cpu',
    ratioMax: 1.5
  },
  {
    // Without a goal: a relay does nothing per event, so here it has a tenth of the work and the product all of it.
    name: 'the same with ten events to a chunk',
    unit: 'CPU µs per event',
    body: writeBody({ model: 'bench-L0-N200-G0-P10', bytes: 2048, stream: true }),
    connections: 16,
    requests: Math.round(1_000 * scale),
    warmUpRequests: 500,
    events: 201,
    measure: 'cpu'
  },
  {
    name: 'first content of a paced stream, upstream latency 20 ms',
    unit: 'ms',
    body: writeBody({ model: 'bench-L20-N10-G5', bytes: 2048, stream: true }),
    connections: 2,
    requests: Math.round(150 * scale),
    warmUpRequests: 50,
    events: 11,
    measure: 'first-content'
  }
]

const targets = await startTargets()
let isMissed = false
try {
  console.log(`median of ${rounds} interleaved rounds, one process each, Node ${process.version}\n`)
  for (const scenario of scenarios) {
    for (const target of targets.all) await measure(target, { ...scenario, requests: scenario.warmUpRequests })
    const samples = new Map<string, number[]>(targets.all.map(({ name }) => [name, []]))
    for (let round = 0; round < rounds; round++) {
      for (const target of targets.all) samples.get(target.name)?.push(await measure(target, scenario))
    }
    report(scenario, samples)
  }
} finally {
  await targets.close()
}
if (isMissed) process.exitCode = 1

async function measure(target: Target, scenario: Scenario): Promise<number> {
  const before = target.cpuSeconds()
  const result = await runLoad({ ...scenario, port: target.port, path: target.path })
  if (result.failures > 0) throw new Error(`${target.name} refused ${result.failures} of ${result.requests} requests.`)
  if (scenario.measure === 'first-content') return median(result.firstContentMs)
  return ((target.cpuSeconds() - before) * 1e6) / (result.requests * scenario.events)
}

function report(scenario: Scenario, samples: Map<string, number[]>): void {
  const [direct = 0, relay = 0, product = 0] = ['direct', 'relay', 'product'].map(name =>
    median(samples.get(name) ?? [])
  )
  console.log(`${scenario.name} (${scenario.unit})`)
  console.log(`  direct ${direct.toFixed(2)}   relay ${relay.toFixed(2)}   product ${product.toFixed(2)}`)
  if (scenario.measure === 'first-content') {
    console.log(`  added by relay ${(relay - direct).toFixed(2)} ms, by product ${(product - direct).toFixed(2)} ms\n`)
    return
  }
  const ratios = (samples.get('product') ?? []).map(
    (value, round) => value / (samples.get('relay')?.[round] ?? Number.NaN)
  )
  const ratio = median(ratios)
  const isWithin = scenario.ratioMax === undefined || ratio <= scenario.ratioMax
  if (!isWithin) isMissed = true
  const [low, high] = [Math.min(...ratios), Math.max(...ratios)].map(value => value.toFixed(2))
  const goal =
    scenario.ratioMax === undefined ? '' : `, goal at most ${scenario.ratioMax}: ${isWithin ? 'met' : 'MISSED'}`
  console.log(`  product / relay ${ratio.toFixed(2)} (${low} to ${high} over the rounds)${goal}\n`)
}

function median(values: number[]): number {
  const sorted = values.toSorted((left, right) => left - right)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2
}

function writeBody(options: { model: string; bytes: number; stream?: boolean }): string {
  const sentence = 'The gateway translates requests between protocols. '
  const messages = [
    { role: 'system', content: 'You are a terse assistant.' },
    ...Array.from({ length: 6 }, (_, turn) => ({
      role: turn % 2 === 0 ? 'user' : 'assistant',
      content: sentence.repeat(Math.ceil(options.bytes / 6 / sentence.length)).slice(0, Math.round(options.bytes / 7))
    })),
    { role: 'user', content: 'And now?' }
  ]
  return JSON.stringify({
    model: options.model,
    messages,
    temperature: 0.7,
    ...(options.stream === true ? { stream: true } : {})
  })
}
