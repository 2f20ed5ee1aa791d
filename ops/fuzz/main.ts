// Sends mutated requests, upstream responses and raw HTTP to a started gateway and checks what holds for every case: `npm run fuzz`.
// Exits with 1 when a rule is broken, with 2 when the suite cannot run.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { kinds } from './kinds.ts'
import type { Finding } from './run.ts'
import { startTarget } from './target.ts'

const USAGE = `Usage: npm run fuzz -- [options]
  --seed N      seed of the run (default: chosen and printed)
  --cases N     cases of each kind (default 5000)
  --first N     number of the first case, to repeat a finding (default 0)
  --seconds N   time for each kind (default 600)
  --only KIND   requests, answers or http
  --all         goes on behind a finding, and prints each broken rule once`

const CASES = '5000'
const SECONDS = '600'

/** Prints a finding and writes its input into a file that stays. */
function report(finding: Finding, folder: string): void {
  const { kind, seed, number, rule, isRepeatable, summary, bytes } = finding
  const file = join(folder, `${kind}-${seed}-${number}.bin`)
  writeFileSync(file, bytes)
  console.log(`\n${kind}: seed ${seed}, case ${number}${isRepeatable ? '' : ' (not when it runs alone)'}`)
  console.log(`  ${rule}`)
  console.log(`  ${JSON.stringify(summary).slice(0, 2000)}`)
  console.log(`  ${bytes.length} bytes in ${file}: ${JSON.stringify(bytes.toString('latin1').slice(0, 600))}`)
  console.log(`  repeat: npm run fuzz -- --only ${kind} --seed ${seed} --first ${number} --cases 1`)
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string' },
      cases: { type: 'string', default: CASES },
      first: { type: 'string', default: '0' },
      seconds: { type: 'string', default: SECONDS },
      only: { type: 'string' },
      all: { type: 'boolean', default: false }
    }
  })
  const seed = Number(values.seed ?? Date.now() % 1_000_000)
  const [cases, first, seconds] = [Number(values.cases), Number(values.first), Number(values.seconds)]
  const chosen = kinds.filter(({ name }) => values.only === undefined || name === values.only)
  const isValid = [seed, cases, first, seconds].every(number => Number.isSafeInteger(number) && number >= 0)
  if (!isValid || chosen.length === 0) throw new Error(USAGE)
  const folder = mkdtempSync(join(tmpdir(), 'gateway-fuzz-'))
  let findings = 0
  const target = await startTarget(folder)
  // The gateway is a process of its own and would run on without the suite.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void target.close().finally(() => process.exit(1)))
  }
  try {
    for (const { name, run } of chosen) {
      const startedMs = Date.now()
      const limits = { seed, first, cases, durationMs: seconds * 1000 }
      const count = await run(target, limits, finding => {
        report(finding, folder)
        findings++
        return values.all
      })
      console.log(`${name}: ${count} cases with seed ${seed} in ${Math.round((Date.now() - startedMs) / 1000)} s`)
    }
  } finally {
    await target.close()
    if (findings === 0) rmSync(folder, { recursive: true, force: true })
  }
  console.log(findings === 0 ? 'Every rule holds.' : `${findings} findings; inputs and log are in ${folder}`)
  return findings === 0 ? 0 : 1
}

try {
  process.exitCode = await main()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 2
}
