// Compares two builds of the gateway byte by byte: `npm run compare -- <path of another checkout>`. Both get the same requests, and
// the second one the same upstream responses; every upstream request and every client response must be equal. Prints the differences
// and exits with 1 when there are any, with 2 when the comparison cannot run. `--with NAME=VALUE` sets a variable of the second one, so
// that a setting without effect on the bytes can be proved to have none: `npm run compare -- . --with GATEWAY_POOL_THRESHOLD_BYTES=1`.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { compareSetup } from './compare-setup.ts'
import { createSetups } from './corpus/index.ts'

const USAGE =
  'Usage: npm run compare -- <path of another checkout> [--only <part of a case name>] [--with <NAME=VALUE>]...'
const PRINTED_MAX = 40

let folder: string | undefined
try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { only: { type: 'string' }, with: { type: 'string', multiple: true } }
  })
  const [other] = positionals
  if (other === undefined || positionals.length > 1) throw new Error(USAGE)
  folder = mkdtempSync(join(tmpdir(), 'gateway-compare-'))
  const checkouts = { old: resolve(other), new: join(import.meta.dirname, '..', '..') }
  const newVariables = Object.fromEntries((values.with ?? []).map(readAssignment))
  let caseCount = 0
  let differenceCount = 0
  for (const setup of createSetups()) {
    const cases = setup.cases.filter(({ name }) => name.includes(values.only ?? ''))
    if (cases.length === 0) continue
    caseCount += cases.length
    const sides = { checkouts, newVariables }
    for await (const { name, difference } of compareSetup({ ...setup, cases }, sides, folder)) {
      differenceCount++
      if (differenceCount > PRINTED_MAX) continue
      console.log(`\n${setup.name} / ${name} / ${difference.where}`)
      console.log(`  old: ${JSON.stringify(difference.old)}`)
      console.log(`  new: ${JSON.stringify(difference.new)}`)
    }
  }
  if (differenceCount > PRINTED_MAX) console.log(`\n${differenceCount - PRINTED_MAX} further differences`)
  console.log(`${caseCount} cases compared, ${differenceCount} differences`)
  process.exitCode = differenceCount === 0 && caseCount > 0 ? 0 : 1
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 2
} finally {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
}

function readAssignment(text: string): [string, string] {
  const at = text.indexOf('=')
  if (at < 1) throw new Error(USAGE)
  return [text.slice(0, at), text.slice(at + 1)]
}
