// Compares the product with a bare relay and with the upstream alone, side by side in one run, and judges it by its goals. Absolute
// numbers belong to the machine; the ratios count. `npm run bench`, `npm run bench -- --quick`, and `npm run bench -- --against
// <checkout>` for a comparison with the product of another checkout. `--only <text>` measures what has the text in its name. A quick run is
// too short to judge by: it ends with 0 whatever the figures are.
//
// `npm run bench -- --isolation` measures what small requests and the event loop of a worker feel while one client sends what is expensive,
// eight at a time: a line for each disturbance, a verdict for each goal. `--profile` lists the functions in which the event loop was busy
// for long (the blocks themselves are longer then).
//
// `npm run bench -- --observation` compares the product with metrics, access log and traces of 1 % of the requests to the product without.
//
// `npm run bench -- --traffic` compares the product with the traffic log to SQLite, without content, to the product without.
//
// `npm run bench -- --memory` compares Responses whose answers are stored in SQLite to the same without a store.
//
// `npm run bench -- --limits` compares the product with limits of the key and of its group to the product without.
//
// `npm run bench -- --stores` measures how many records the writer of the traffic log stores in a second, and how long the questions of the
// admin API take over many records with bodies (`--records`, a million by default; `--only postgres` for one store).
//
// `npm run bench -- --chains` measures what a continuation of 20 turns costs among a thousand stored responses and among a million
// (`--records` for another number, `--only sqlite` for one database).
//
// `npm run bench -- --outage` takes the database of the traffic log away for a minute under load, once as a server that is down and once as
// one that falls silent, and judges memory, requests and records.
//
// `npm run bench -- --scrape` measures how long a scrape of the metrics blocks the processes of a gateway with many series.

import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Family } from './bodies.ts'
import { type ComparedTargets, compareBuilds, type StartOrder } from './builds.ts'
import { measureChains } from './chains.ts'
import { findTarget, judgeGoals, planBridgeGoals, planGoals } from './goals.ts'
import { measureIsolation } from './isolation.ts'
import { LIMITS_RATIO_MAX, writeLimitedKeys } from './limits.ts'
import { OBSERVATION_RATIO_MAX, startObservation } from './observation.ts'
import { measureOutages } from './outage.ts'
import { bridgeScenarios, type Scenario, scenarios } from './scenarios.ts'
import { measureScrapes } from './scrape.ts'
import { measureStores } from './stores.ts'
import { startTargets, type Targets } from './targets.ts'

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    against: { type: 'string' },
    isolation: { type: 'boolean', default: false },
    chains: { type: 'boolean', default: false },
    limits: { type: 'boolean', default: false },
    memory: { type: 'boolean', default: false },
    observation: { type: 'boolean', default: false },
    outage: { type: 'boolean', default: false },
    scrape: { type: 'boolean', default: false },
    stores: { type: 'boolean', default: false },
    traffic: { type: 'boolean', default: false },
    records: { type: 'string' },
    only: { type: 'string', default: '' },
    profile: { type: 'boolean', default: false }
  }
})
/** A figure of this build may be this much of the other build's. */
const BUILD_RATIO_MAX = 1.05
/** What a request may cost with the traffic log, of what it costs without. */
const TRAFFIC_RATIO_MAX = 1.1
/** A stored response is reported and has no goal: it does what the other one does not. */
const MEMORY_RATIO_MAX = Number.POSITIVE_INFINITY
const root = join(import.meta.dirname, '..', '..')
if (flags.isolation) {
  const { quick: isQuick, profile: hasProfile, only } = flags
  end(await measureIsolation({ checkout: root, isQuick, hasProfile, only }))
}
if (flags.stores) {
  const records = Number(flags.records ?? (flags.quick ? 20_000 : 1_000_000))
  end(await measureStores({ records, only: flags.only }))
}
if (flags.chains) {
  const responses = Number(flags.records ?? (flags.quick ? 20_000 : 1_000_000))
  end(await measureChains({ only: flags.only, responses }))
}
if (flags.outage) {
  const { quick: isQuick, only } = flags
  end(await measureOutages({ checkout: root, isQuick, only }))
}
if (flags.scrape) end(await measureScrapes({ isQuick: flags.quick }))
// A start of a program costs up to a tenth more or less than the next for its whole life, and other work on the machine makes single
// rounds cost half as much again: several starts of each are compared, each by many short rounds in turn.
const observation = flags.observation ? await startObservation() : undefined
const limitedKeys = flags.limits ? writeLimitedKeys() : undefined
const comparison = planComparison()
const isComparison = comparison !== undefined
const starts = flags.quick ? 2 : 4
const rounds = flags.quick ? 4 : isComparison ? 8 : 12
const measured = select(scenarios)
const measuredBridge = select(bridgeScenarios)
if (measured.length === 0 && (isComparison || measuredBridge.length === 0)) {
  console.error(`--only ${flags.only}: no scenario has this text in its name`)
  process.exit(2)
}

/** The exit code is for goals that a run was long enough to judge. */
function end(isGood: boolean): never {
  process.exit(isGood || flags.quick ? 0 : 1)
}

/** Those that `--only` names, shorter for a quick run. */
function select<One extends Omit<Scenario, 'familyRatioMax'>>(all: One[]): One[] {
  const wanted = all.filter(({ name }) => name.includes(flags.only))
  if (!flags.quick) return wanted
  return wanted.map(one => ({
    ...one,
    warmUpRequests: Math.ceil(one.warmUpRequests / 8),
    requests: Math.ceil(one.requests / 2)
  }))
}

/** Two products that are compared with each other. */
interface Comparison {
  /** What they are called in the report, and in `products` and `variables`. */
  names: { old: string; new: string }
  /** The checkout of each, the old one first. */
  products: Record<string, string>
  variables: Record<string, Record<string, string>>
  ratioMax: number
  /** Absent: the families of each scenario. */
  families?: readonly Family[]
}

/** The comparison that the flags ask for; undefined for the goals against a relay. */
function planComparison(): Comparison | undefined {
  if (observation !== undefined) {
    const products = { off: root, on: root }
    const variables = { on: observation.variables }
    return { names: { old: 'off', new: 'on' }, products, variables, ratioMax: OBSERVATION_RATIO_MAX }
  }
  if (flags.traffic) {
    const variables = { on: { GATEWAY_TRAFFIC_LOG_ENABLED: 'true', GATEWAY_TRAFFIC_LOG_SINK: 'sqlite' } }
    const products = { off: root, on: root }
    return { names: { old: 'off', new: 'on' }, products, variables, ratioMax: TRAFFIC_RATIO_MAX }
  }
  if (flags.memory) {
    const variables = { on: { GATEWAY_RESPONSES_STORE_DSN: 'sqlite:responses.db' } }
    const products = { off: root, on: root }
    const names = { old: 'off', new: 'on' }
    return { names, products, variables, ratioMax: MEMORY_RATIO_MAX, families: ['responses'] }
  }
  if (limitedKeys !== undefined) {
    const products = { off: root, on: root }
    const variables = { on: limitedKeys.variables }
    return { names: { old: 'off', new: 'on' }, products, variables, ratioMax: LIMITS_RATIO_MAX }
  }
  if (flags.against === undefined) return undefined
  const products = { old: resolve(flags.against), new: root }
  return { names: { old: 'old', new: 'new' }, products, variables: {}, ratioMax: BUILD_RATIO_MAX }
}

/** Between two builds a few per cent count, so more starts are needed than for the goals. */
const pairs = flags.quick ? { pairsMin: 2, pairsMax: 2 } : { pairsMin: 6, pairsMax: 24 }

let starting: Promise<Targets> | undefined
// The products are processes of their own and would run on without the benchmark.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void endTargets().finally(() => process.exit(1)))
}

/** Also ends programs that are about to start. */
async function endTargets(): Promise<void> {
  await (await starting)?.close()
}

/** Products start in the order of their names in `products`. */
async function start(products: Record<string, string>): Promise<Targets> {
  const isFirst = starting === undefined
  starting = startTargets({
    products,
    variables: comparison?.variables ?? {},
    hasRelay: !isComparison,
    ...(isComparison ? {} : { bridgeShapes: bridgeScenarios.map(({ shape }) => shape) })
  })
  const targets = await starting
  if (isFirst) printConditions(targets)
  return targets
}

function printConditions({ placement }: Targets): void {
  const order = isComparison ? 'one pair of starts at a time' : `${starts} starts of each, one at a time`
  console.log(`${order}, ${rounds} interleaved rounds of each start, Node ${process.version}`)
  console.log(placement)
  if (flags.quick) console.log('quick: too short to judge by, only a check that the benchmark runs')
  console.log()
}

async function startBuilds({ names, products }: Comparison, { isNewFirst }: StartOrder): Promise<ComparedTargets> {
  const entries = Object.entries(products)
  const { all, close } = await start(Object.fromEntries(isNewFirst ? entries.toReversed() : entries))
  return { old: findTarget(all, names.old), new: findTarget(all, names.new), close }
}

function judgeAgainstRelay(): Promise<boolean> {
  const measurements = [...planGoals(measured), ...planBridgeGoals(measuredBridge)]
  return judgeGoals(measurements, { starts, rounds, start: () => start({ product: root }) })
}

const isGood =
  comparison === undefined
    ? await judgeAgainstRelay()
    : await compareBuilds({
        ...comparison,
        scenarios: measured,
        start: order => startBuilds(comparison, order),
        rounds,
        ...pairs
      })
await observation?.close()
limitedKeys?.close()
// Ended here, because a library that `stores.ts` imports ends a process that has nothing left to do with 0.
// Two builds are compared for a person to read: figures are guarded by a look at the table, not by an exit code.
end(isGood || flags.against !== undefined)
