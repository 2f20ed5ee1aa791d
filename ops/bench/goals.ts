// Judges the product by its goals: against a bare relay, and its families against completions.

import { type Family, writeRequest } from './bodies.ts'
import { nameAlias } from './bridge-profile.ts'
import { mean, ratiosByStart, sample, valuesOf } from './samples.ts'
import { type BridgeScenario, otherFamilies, type Scenario, translatedFamilies } from './scenarios.ts'
import type { Target } from './targets.ts'

/** Prints every ratio; false when one of them misses its goal. */
export async function judgeGoals(scenarios: Scenario[], targets: Target[], rounds: number): Promise<boolean> {
  const verdicts: boolean[] = []
  for (const scenario of scenarios) verdicts.push(await compareTargets(scenario, targets, rounds))
  for (const scenario of scenarios) verdicts.push(...(await compareFamilies(scenario, targets, rounds)))
  return verdicts.every(isMet => isMet)
}

/** The same for the product as a bridge: what it relays and what it translates, both against the bare relay. */
export async function judgeBridge(scenarios: BridgeScenario[], targets: Target[], rounds: number): Promise<boolean> {
  const verdicts: boolean[] = []
  for (const scenario of scenarios) verdicts.push(await compareBridge(scenario, targets, rounds))
  return verdicts.every(isMet => isMet)
}

async function compareBridge(scenario: BridgeScenario, targets: Target[], rounds: number): Promise<boolean> {
  const relay = findTarget(targets, 'relay')
  const bridge = findTarget(targets, 'bridge')
  const { shape, ratioMax, translatedRatioMax } = scenario
  const plain = writeRequest('completions', shape)
  const aliased = { ...shape, model: nameAlias(shape.model) }
  const families: Family[] = ['completions', ...(translatedRatioMax === undefined ? [] : translatedFamilies)]
  const lanes = [
    // The upstream answers a path with this word as the bridge's provider does.
    { name: 'relay', target: relay, request: { ...plain, path: `/openai${plain.path}` } },
    ...families.map(name => ({ name, target: bridge, request: writeRequest(name, aliased) }))
  ]
  const samples = await sample(scenario, lanes, rounds)
  const base = mean(valuesOf(samples, 'relay'))
  console.log(`${scenario.name} (${scenario.unit})`)
  console.log(`  ${lanes.map(({ name }) => `${name} ${mean(valuesOf(samples, name)).toFixed(2)}`).join('   ')}`)
  const verdicts = families.map(name => {
    const ratios = valuesOf(samples, name).map(value => value / base)
    const isRelayed = name === 'completions'
    const goal = isRelayed ? ratioMax : translatedRatioMax?.[name as keyof typeof translatedRatioMax]
    return report({ name: `${name}, ${isRelayed ? 'relayed' : 'translated'} / relay`, ratios, goal })
  })
  console.log()
  return verdicts.every(isMet => isMet)
}

function findTarget(targets: Target[], name: string): Target {
  const target = targets.find(one => one.name === name)
  if (target === undefined) throw new Error(`The target ${name} was not started.`)
  return target
}

async function compareTargets(scenario: Scenario, targets: Target[], rounds: number): Promise<boolean> {
  const request = writeRequest('completions', scenario.shape)
  const lanes = ['direct', 'relay', 'product']
    .map(name => findTarget(targets, name))
    .map(target => ({
      name: target.name,
      target,
      request: { ...request, path: target.prefix + request.path }
    }))
  const samples = await sample(scenario, lanes, rounds)
  const [direct = 0, relay = 0, product = 0] = ['direct', 'relay', 'product'].map(name => mean(valuesOf(samples, name)))
  console.log(`${scenario.name} (${scenario.unit})`)
  console.log(`  direct ${direct.toFixed(2)}   relay ${relay.toFixed(2)}   product ${product.toFixed(2)}`)
  if (scenario.measure === 'first-content') {
    console.log(`  added by relay ${(relay - direct).toFixed(2)} ms, by product ${(product - direct).toFixed(2)} ms\n`)
    return true
  }
  // Relay and product are different programs, so every start of the product is held against the mean of the relays.
  const ratios = valuesOf(samples, 'product').map(value => value / relay)
  const isMet = report({ name: 'product / relay', ratios, goal: scenario.ratioMax })
  console.log()
  return isMet
}

/** The same starts of the product, asked by every family in turn. */
async function compareFamilies(scenario: Scenario, targets: Target[], rounds: number): Promise<boolean[]> {
  const target = targets.find(({ name }) => name === 'product')
  const { familyRatioMax } = scenario
  if (target === undefined || familyRatioMax === undefined) return []
  const families: Family[] = ['completions', ...otherFamilies]
  const lanes = families.map(name => ({ name, target, request: writeRequest(name, scenario.shape) }))
  const samples = await sample(scenario, lanes, rounds)
  console.log(`${scenario.name}, by family (${scenario.unit})`)
  const verdicts = otherFamilies.map(name =>
    report({
      name: `${name} / completions`,
      ratios: ratiosByStart(samples, name, 'completions'),
      goal: familyRatioMax[name]
    })
  )
  console.log()
  return verdicts
}

function report({ name, ratios, goal }: { name: string; ratios: number[]; goal: number | undefined }): boolean {
  const ratio = mean(ratios)
  const isMet = goal === undefined || ratio <= goal
  const verdict = goal === undefined ? '' : `, goal at most ${goal}: ${isMet ? 'met' : 'MISSED'}`
  const starts = ratios.map(value => value.toFixed(2)).join(' ')
  console.log(`  ${name} ${ratio.toFixed(2)} (single starts: ${starts})${verdict}`)
  return isMet
}
