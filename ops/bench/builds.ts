// Compares this build with another one, or with itself under other settings: both products, started several times each, are measured in
// turn in one run. What a program costs
// differs from start to start, so a figure that is still noisy is measured on with further starts, also a good one.

import { type Family, writeRequest } from './bodies.ts'
import { mean, ratiosByStart, sample, standardError, valuesOf } from './samples.ts'
import { otherFamilies, type Scenario } from './scenarios.ts'
import type { Target } from './targets.ts'

/** The standard error over the starts at which a figure is known well enough. */
const NOISE_MAX = 0.015

export interface ComparedTargets {
  old: Target
  new: Target
  close(): Promise<void>
}

export interface ComparisonOptions {
  /** What the figures of the two products are called. */
  names: { old: string; new: string }
  /** A figure of the new one may be this much of the old one's. */
  ratioMax: number
  scenarios: Scenario[]
  /** Starts both products several times. */
  start(): Promise<ComparedTargets>
  rounds: number
  /** How often products are started anew for figures that are still noisy. */
  batchesMax: number
}

interface Figure {
  scenario: Scenario
  family: Family
  /** One value for each start so far. */
  old: number[]
  new: number[]
  ratios: number[]
}

/** Prints every figure as new / old with its noise, the standard error over the starts; false when one is over `ratioMax`. */
export async function compareBuilds(options: ComparisonOptions): Promise<boolean> {
  const { scenarios, start, rounds, batchesMax, names } = options
  const figures = scenarios.flatMap(listFigures)
  for (let batch = 0; batch < batchesMax; batch++) {
    const noisy = figures.filter(isNoisy)
    if (noisy.length === 0) break
    const targets = await start()
    try {
      if (batch > 0) console.log(`${noisy.length} figures are noisy and are measured on with further starts\n`)
      for (const figure of noisy) {
        await measure(figure, targets, rounds)
        console.log(describe(figure, options))
      }
    } finally {
      await targets.close()
    }
  }
  console.log(`${names.new} / ${names.old} over all starts`)
  return figures.map(figure => judge(figure, options)).every(isWithin => isWithin)
}

function listFigures(scenario: Scenario): Figure[] {
  const families: Family[] = ['completions', ...(scenario.familyRatioMax === undefined ? [] : otherFamilies)]
  return families.map(family => ({ scenario, family, old: [], new: [], ratios: [] }))
}

function isNoisy({ ratios }: Figure): boolean {
  return ratios.length === 0 || standardError(ratios) > NOISE_MAX
}

async function measure(figure: Figure, targets: ComparedTargets, rounds: number): Promise<void> {
  const { scenario, family } = figure
  const request = writeRequest(family, scenario.shape)
  const lanes = (['old', 'new'] as const).map(name => ({ name, target: targets[name], request }))
  const samples = await sample(scenario, lanes, rounds)
  figure.old.push(...valuesOf(samples, 'old'))
  figure.new.push(...valuesOf(samples, 'new'))
  figure.ratios.push(...ratiosByStart(samples, 'new', 'old'))
}

function judge(figure: Figure, options: ComparisonOptions): boolean {
  const { ratioMax } = options
  const isWithin = mean(figure.ratios) <= ratioMax
  console.log(`${describe(figure, options)}: ${isWithin ? `within ${ratioMax}` : `WORSE than ${ratioMax}`}`)
  return isWithin
}

function describe({ scenario, family, ...values }: Figure, { names }: ComparisonOptions): string {
  const { old, new: fresh, ratios } = values
  const noise = (standardError(ratios) * 100).toFixed(1)
  return (
    `  ${scenario.name} (${scenario.unit}), ${family}: ${names.old} ${mean(old).toFixed(2)}   ` +
    `${names.new} ${mean(fresh).toFixed(2)}   ${names.new} / ${names.old} ${mean(ratios).toFixed(3)} (noise ± ${noise} %, ${ratios.length} starts)`
  )
}
