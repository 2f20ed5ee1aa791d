// Compares this build with another one, or with itself under other settings: both products are started together and measured in turn, pair
// after pair. What a program costs differs from start to start, so a figure that is still noisy is measured on with further pairs, also a
// good one. One pair runs at a time: with eight of each alive, the caches of the processor made starts differ by a fifth instead of 3 %.

import { type Family, writeRequest } from './bodies.ts'
import { mean, ratiosByStart, sample, standardError, valuesOf } from './samples.ts'
import { otherFamilies, type Scenario } from './scenarios.ts'
import type { Target } from './targets.ts'

/** The standard error over the pairs at which a figure is known well enough. */
const NOISE_MAX = 0.015

export interface ComparedTargets {
  old: Target
  new: Target
  close(): Promise<void>
}

export interface StartOrder {
  /** Whether the new product starts, and is warmed up, before the old one. */
  isNewFirst: boolean
}

export interface ComparisonOptions {
  /** What the figures of the two products are called. */
  names: { old: string; new: string }
  /** A figure of the new one may be this much of the old one's; infinite where it is only reported. */
  ratioMax: number
  scenarios: Scenario[]
  /** Absent: completions, and the others where they have a goal. */
  families?: readonly Family[]
  /** Starts both products once. */
  start(order: StartOrder): Promise<ComparedTargets>
  rounds: number
  /** How many pairs measure every figure, and how many a figure that stays noisy. */
  pairsMin: number
  pairsMax: number
}

interface Figure {
  scenario: Scenario
  family: Family
  /** One value for each pair so far. */
  old: number[]
  new: number[]
  ratios: number[]
}

/** Prints every figure as new / old with its noise, the standard error over the pairs; false when one is over `ratioMax`. */
export async function compareBuilds(options: ComparisonOptions): Promise<boolean> {
  const { scenarios, start, rounds, pairsMin, pairsMax, names } = options
  const figures = scenarios.flatMap(scenario => listFigures(scenario, options.families))
  for (let pair = 0; pair < pairsMax; pair++) {
    const noisy = pair < pairsMin ? figures : figures.filter(isNoisy)
    if (noisy.length === 0) break
    // The product that starts first costs some 4 % more, the old one as well as the new one, so they take turns.
    const isNewFirst = pair % 2 === 1
    const targets = await start({ isNewFirst })
    try {
      console.log(`pair ${pair + 1}: ${noisy.length} of ${figures.length} figures`)
      for (const figure of noisy) {
        await measure(figure, { targets, rounds, isNewFirst })
        console.log(describe(figure, options))
      }
    } finally {
      await targets.close()
    }
  }
  console.log(`${names.new} / ${names.old} over all pairs`)
  return figures.map(figure => judge(figure, options)).every(isWithin => isWithin)
}

function listFigures(scenario: Scenario, chosen: readonly Family[] | undefined): Figure[] {
  const others = scenario.familyRatioMax === undefined ? [] : otherFamilies
  const families: readonly Family[] = chosen ?? ['completions', ...others]
  return families.map(family => ({ scenario, family, old: [], new: [], ratios: [] }))
}

function isNoisy({ ratios }: Figure): boolean {
  return standardError(ratios) > NOISE_MAX
}

interface Pair extends StartOrder {
  targets: ComparedTargets
  rounds: number
}

async function measure(figure: Figure, { targets, rounds, isNewFirst }: Pair): Promise<void> {
  const { scenario, family } = figure
  const request = writeRequest(family, scenario.shape)
  const names = isNewFirst ? (['new', 'old'] as const) : (['old', 'new'] as const)
  const lanes = names.map(name => ({ name, target: targets[name], request }))
  const samples = await sample(scenario, lanes, rounds)
  figure.old.push(...valuesOf(samples, 'old'))
  figure.new.push(...valuesOf(samples, 'new'))
  figure.ratios.push(...ratiosByStart(samples, 'new', 'old'))
}

function judge(figure: Figure, options: ComparisonOptions): boolean {
  const { ratioMax } = options
  const isWithin = mean(figure.ratios) <= ratioMax
  const verdict = isWithin ? `within ${ratioMax}` : `WORSE than ${ratioMax}`
  console.log(`${describe(figure, options)}${Number.isFinite(ratioMax) ? `: ${verdict}` : ''}`)
  return isWithin
}

function describe({ scenario, family, ...values }: Figure, { names }: ComparisonOptions): string {
  const { old, new: fresh, ratios } = values
  const noise = (standardError(ratios) * 100).toFixed(1)
  return (
    `  ${scenario.name} (${scenario.unit}), ${family}: ${names.old} ${mean(old).toFixed(2)}   ` +
    `${names.new} ${mean(fresh).toFixed(2)}   ${names.new} / ${names.old} ${mean(ratios).toFixed(3)} (noise ± ${noise} %, ${ratios.length} pairs)`
  )
}
