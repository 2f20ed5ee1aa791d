// Breaks a started gateway in every way of the suite and counts what becomes of its requests: `npm run test:faults`.
// Exits with 1 when an entry violates what it promises.

import { parseArgs } from 'node:util'
import { faultEntries } from './entries.ts'
import type { Outcome } from './load.ts'
import { writePage } from './page.ts'
import { createSuite, type EntryResult } from './run.ts'

const USAGE = `Usage: npm run test:faults -- [options]
  --only TEXT   entries whose name holds the text
  --scale N     size of the loads, 1 unless given
  --reasons     lists why questions were refused or lost
  --write       writes the table of ops/guides/reliability.md`

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    scale: { type: 'string', default: '1' },
    reasons: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false }
  }
})
const scale = Number(values.scale)
const chosen = faultEntries.filter(({ name }) => name.includes(values.only))
if (!(scale > 0) || chosen.length === 0) {
  process.stderr.write(`${USAGE}\n`)
  process.exit(2)
}

function report({ entry, skipped, counts, seen, violations, seconds, outcomes }: EntryResult): void {
  const { sent, right, refused, lost, lostWithProcess, wrong } = counts
  const line =
    skipped === undefined
      ? `${violations.length === 0 ? 'ok' : 'NOT OK'} ${entry.name}: ${sent} sent, ${right} right, ${refused} refused, ${lost} lost (${lostWithProcess} with a killed process), ${wrong} wrong; ${seen} (${seconds.toFixed(1)} s)`
      : `skipped ${entry.name}: ${skipped}`
  process.stdout.write(`${line}\n`)
  if (values.reasons) for (const reason of listReasons(outcomes)) process.stdout.write(`  ${reason}\n`)
  for (const violation of violations) process.stdout.write(`  ${violation}\n`)
}

function listReasons(outcomes: readonly Outcome[]): string[] {
  const others = outcomes.filter(({ kind }) => kind !== 'right')
  const groups = Object.groupBy(
    others,
    ({ kind, question, why }) => `${kind}: ${question}: ${why.replaceAll(/[0-9a-f]{8}-[0-9a-f-]+/g, '…').slice(0, 300)}`
  )
  return Object.entries(groups).map(([reason, group = []]) => `${group.length} ${reason}`)
}

const results: EntryResult[] = []
const suite = createSuite(scale)
// Gateways are processes of their own and would run on without the suite.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void suite.close().finally(() => process.exit(1)))
for (const entry of chosen) {
  const result = await suite.run(entry)
  report(result)
  results.push(result)
  if (values.write) writePage([result])
}
await suite.close()
const failed = results.filter(({ violations }) => violations.length > 0)
process.stdout.write(failed.length === 0 ? 'Every promise holds.\n' : `${failed.length} entries violate a promise.\n`)
process.exit(failed.length === 0 ? 0 : 1)
