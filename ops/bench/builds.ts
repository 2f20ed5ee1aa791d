// Compares this build with another one: both products, started several times each, are measured in turn in one run.

import { type Family, writeRequest } from './bodies.ts'
import { mean, ratiosByStart, sample, standardError, valuesOf } from './samples.ts'
import { otherFamilies, type Scenario } from './scenarios.ts'
import type { Target } from './targets.ts'

/** A figure may be this much of the other build's. */
const RATIO_MAX = 1.05

/** Prints every figure as new / old with its noise, the standard error over the starts; false when one is more than 5 % worse. */
export async function compareBuilds(
  scenarios: Scenario[],
  targets: { old: Target; new: Target },
  rounds: number
): Promise<boolean> {
  let isWithin = true
  for (const scenario of scenarios) {
    console.log(`${scenario.name} (${scenario.unit})`)
    const families: Family[] = ['completions', ...(scenario.familyRatioMax === undefined ? [] : otherFamilies)]
    for (const family of families) {
      const request = writeRequest(family, scenario.shape)
      const lanes = (['old', 'new'] as const).map(name => ({ name, target: targets[name], request }))
      const samples = await sample(scenario, lanes, rounds)
      const ratios = ratiosByStart(samples, 'new', 'old')
      const ratio = mean(ratios)
      const isWorse = ratio > RATIO_MAX
      if (isWorse) isWithin = false
      const [old, fresh] = ['old', 'new'].map(name => mean(valuesOf(samples, name)).toFixed(2))
      const noise = (standardError(ratios) * 100).toFixed(1)
      const verdict = isWorse ? `WORSE than ${RATIO_MAX}` : 'within'
      console.log(
        `  ${family}: old ${old}   new ${fresh}   new / old ${ratio.toFixed(3)} (noise ± ${noise} %): ${verdict}`
      )
    }
    console.log()
  }
  return isWithin
}
