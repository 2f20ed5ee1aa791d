// Compares the documentation with the code: conformance ids with the contracts' cases, the guide to errors with the error codes.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readConformance } from '../../ops/conformance/main.ts'
import { errorDefinitions } from '../../worker/normalized/index.ts'

const root = join(import.meta.dirname, '..', '..')

t.test('every conformance id in a test title is a case of its contract', async t => {
  const conformance = readConformance()
  t.ok(conformance.length > 0)
  for (const { contract, cases, unknownIds } of conformance) {
    t.strictSame(unknownIds, [], contract)
    t.strictSame(
      cases.map(({ id }) => id),
      cases.map((_, index) => index + 1),
      `${contract}: the ids are 1, 2, 3, … without a gap`
    )
    t.ok(
      cases.every(({ title }) => title.length > 0),
      `${contract}: every case has a title`
    )
  }
})

t.test('the guide to errors lists every error code and no other code', async t => {
  const guide = readFileSync(join(root, 'ops', 'guides', 'errors.md'), 'utf8')
  const documented = [...guide.matchAll(/^\| `([a-z_]+)` +\|/gm)].map(([, code]) => code ?? '')
  t.strictSame([...new Set(documented)].sort(), Object.keys(errorDefinitions).sort())
})
