// Measures lanes in turn, round by round, so that a slow moment of the machine meets all of them.

import type { FamilyRequest } from './bodies.ts'
import { runLoad } from './load.ts'
import type { Scenario } from './scenarios.ts'
import type { Target } from './targets.ts'

/** A request that is sent to a target. */
export interface Lane {
  name: string
  target: Target
  request: FamilyRequest
}

/** What of a scenario says how it is measured. */
export type MeasuredScenario = Omit<Scenario, 'familyRatioMax'>

/** For each lane and each start of its program the values of all rounds. */
export type Samples = Map<string, number[][]>

/** Warms up the start of every lane, then measures them in turn; every other round in reverse order. Rejects on a failed request. */
export async function sample(scenario: MeasuredScenario, lanes: Lane[], rounds: number): Promise<Samples> {
  const values = new Map<Lane, number[]>(lanes.map(lane => [lane, []]))
  for (const lane of lanes) await measure(lane, { ...scenario, requests: scenario.warmUpRequests })
  for (let round = 0; round < rounds; round++) {
    for (const lane of round % 2 === 0 ? lanes : lanes.toReversed()) {
      values.get(lane)?.push(await measure(lane, scenario))
    }
  }
  return new Map(lanes.map(lane => [lane.name, [values.get(lane) ?? []]]))
}

async function measure({ name, target, request }: Lane, scenario: MeasuredScenario): Promise<number> {
  const { instance } = target
  const before = instance.cpuSeconds()
  const { connections, requests } = scenario
  const result = await runLoad({ connections, requests, port: instance.port, ...request })
  if (result.failures > 0) throw new Error(`${name} refused ${result.failures} of ${result.requests} requests.`)
  if (scenario.measure === 'first-content') return median(result.firstContentMs)
  return ((instance.cpuSeconds() - before) * 1e6) / (result.requests * scenario.events)
}

/** One value for each start of a lane's program. */
export function valuesOf(samples: Samples, name: string): number[] {
  return (samples.get(name) ?? []).map(middleMean)
}

/**
 * The ratio of two lanes for each start of their programs. The two were measured one after the other in every round, so that their
 * ratio in a round says more than their means do: the machine itself may change its speed by half between rounds.
 */
export function ratiosByStart(samples: Samples, name: string, base: string): number[] {
  const bases = samples.get(base) ?? []
  return (samples.get(name) ?? []).map((values, start) =>
    middleMean(values.map((value, round) => value / (bases[start]?.[round] ?? Number.NaN)))
  )
}

/** The mean without the largest and the smallest quarter of the values. */
function middleMean(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right)
  const quarter = sorted.length >> 2
  return mean(sorted.slice(quarter, sorted.length - quarter))
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** The standard error of the mean; 0 for a single value. */
export function standardError(values: readonly number[]): number {
  if (values.length < 2) return 0
  const center = mean(values)
  const variance = values.reduce((sum, value) => sum + (value - center) ** 2, 0) / (values.length - 1)
  return Math.sqrt(variance / values.length)
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2
}
