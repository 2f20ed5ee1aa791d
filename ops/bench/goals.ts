// Judges the product by its goals: against a bare relay, and its families against completions. One start of each program is alive at a time:
// idle ones beside them make what is measured cost up to a fifth more.

import { type Family, writeRequest } from './bodies.ts'
import { benchWires, nameAlias } from './bridge-profile.ts'
import { type Lane, type MeasuredScenario, mean, ratiosByStart, type Samples, sample, valuesOf } from './samples.ts'
import { type BridgeScenario, otherFamilies, ownFamilies, type Scenario } from './scenarios.ts'
import type { Target, Targets } from './targets.ts'

/** What is measured in each start, and what is said of all of them. */
export interface Measurement {
  scenario: MeasuredScenario
  lanes(targets: Target[]): Lane[]
  /** Prints every ratio; false when one of them misses its goal. */
  judge(samples: Samples): boolean
}

export interface JudgeOptions {
  starts: number
  rounds: number
  /** Starts every program once. */
  start(): Promise<Targets>
}

/** Measures all in start after start, then prints and judges; false when a goal is missed. */
export async function judgeGoals(
  measurements: Measurement[],
  { starts, rounds, start }: JudgeOptions
): Promise<boolean> {
  const samples = measurements.map((): Samples => new Map())
  for (let index = 0; index < starts; index++) {
    const { all, close } = await start()
    try {
      for (const [at, { scenario, lanes }] of measurements.entries()) {
        const fresh = await sample(scenario, lanes(all), rounds)
        const gathered = samples[at]
        for (const [name, values] of fresh) gathered?.set(name, [...(gathered.get(name) ?? []), ...values])
      }
    } finally {
      await close()
    }
  }
  return measurements.map(({ judge }, at) => judge(samples[at] ?? new Map())).every(isMet => isMet)
}

/** The product against relay and upstream, and its families against completions. */
export function planGoals(scenarios: Scenario[]): Measurement[] {
  return [...scenarios.map(compareTargets), ...scenarios.flatMap(compareFamilies)]
}

/** The product as a bridge: what it relays and what it translates, both against the bare relay. */
export function planBridgeGoals(scenarios: BridgeScenario[]): Measurement[] {
  return scenarios.map(compareBridge)
}

function compareBridge(scenario: BridgeScenario): Measurement {
  const { shape, ratioMax, translated = {}, wire } = scenario
  const own = ownFamilies[wire]
  const plain = writeRequest(own, shape)
  const aliased = { ...shape, model: nameAlias(shape.model, wire) }
  const families: Family[] = [own, ...(Object.keys(translated) as Family[])]
  return {
    scenario,
    lanes: targets => [
      // The upstream finds the wire in the path.
      {
        name: 'relay',
        target: findTarget(targets, 'relay'),
        request: { ...plain, path: benchWires[wire].prefix + plain.path }
      },
      ...families.map(name => ({ name, target: findTarget(targets, 'bridge'), request: writeRequest(name, aliased) }))
    ],
    judge(samples) {
      console.log(`${scenario.name} (${scenario.unit})`)
      console.log(
        `  ${[...samples.keys()].map(name => `${name} ${mean(valuesOf(samples, name)).toFixed(2)}`).join('   ')}`
      )
      const verdicts = families.map(name => {
        const ratios = ratiosByStart(samples, name, 'relay')
        const isOwn = name === own
        const goal = isOwn ? ratioMax : readGoal(translated[name])
        return report({ name: `${name}, ${isOwn ? 'own wire' : 'translated'} / relay`, ratios, goal })
      })
      console.log()
      return verdicts.every(isMet => isMet)
    }
  }
}

function readGoal(goal: number | 'no goal' | undefined): number | undefined {
  return typeof goal === 'number' ? goal : undefined
}

/** The target of this name; throws for one that was not started. */
export function findTarget(targets: Target[], name: string): Target {
  const target = targets.find(one => one.name === name)
  if (target === undefined) throw new Error(`The target ${name} was not started.`)
  return target
}

function compareTargets(scenario: Scenario): Measurement {
  const request = writeRequest('completions', scenario.shape)
  return {
    scenario,
    lanes: targets =>
      ['direct', 'relay', 'product']
        .map(name => findTarget(targets, name))
        .map(target => ({ name: target.name, target, request: { ...request, path: target.prefix + request.path } })),
    judge(samples) {
      const averages = ['direct', 'relay', 'product'].map(name => mean(valuesOf(samples, name)))
      const [direct = 0, relay = 0, product = 0] = averages
      console.log(`${scenario.name} (${scenario.unit})`)
      console.log(`  direct ${direct.toFixed(2)}   relay ${relay.toFixed(2)}   product ${product.toFixed(2)}`)
      if (scenario.measure === 'first-content') {
        console.log(
          `  added by relay ${(relay - direct).toFixed(2)} ms, by product ${(product - direct).toFixed(2)} ms\n`
        )
        return true
      }
      const ratios = ratiosByStart(samples, 'product', 'relay')
      const isMet = report({ name: 'product / relay', ratios, goal: scenario.ratioMax })
      console.log()
      return isMet
    }
  }
}

/** The same start of the product, asked by every family in turn; nothing for a scenario without goals of the families. */
function compareFamilies(scenario: Scenario): Measurement[] {
  const { familyRatioMax } = scenario
  if (familyRatioMax === undefined) return []
  const families: Family[] = ['completions', ...otherFamilies]
  const measurement: Measurement = {
    scenario,
    lanes(targets) {
      const target = findTarget(targets, 'product')
      return families.map(name => ({ name, target, request: writeRequest(name, scenario.shape) }))
    },
    judge(samples) {
      console.log(`${scenario.name}, by family (${scenario.unit})`)
      const verdicts = otherFamilies.map(name => {
        const ratios = ratiosByStart(samples, name, 'completions')
        return report({ name: `${name} / completions`, ratios, goal: familyRatioMax[name] })
      })
      console.log()
      return verdicts.every(isMet => isMet)
    }
  }
  return [measurement]
}

function report({ name, ratios, goal }: { name: string; ratios: number[]; goal: number | undefined }): boolean {
  const ratio = mean(ratios)
  const isMet = goal === undefined || ratio <= goal
  const verdict = goal === undefined ? '' : `, goal at most ${goal}: ${isMet ? 'met' : 'MISSED'}`
  const starts = ratios.map(value => value.toFixed(2)).join(' ')
  console.log(`  ${name} ${ratio.toFixed(2)} (single starts: ${starts})${verdict}`)
  return isMet
}
