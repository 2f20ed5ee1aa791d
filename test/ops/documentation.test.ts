// Compares the documentation with the code: conformance ids with the contracts' cases, the guide to errors with the error codes.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { errorDefinitions } from '../../worker/normalized/index.ts'

const root = join(import.meta.dirname, '..', '..')

t.test('the guide to errors lists every error code and no other code', async t => {
  const guide = readFileSync(join(root, 'ops', 'guides', 'errors.md'), 'utf8')
  const documented = [...guide.matchAll(/^\| `([a-z_]+)` +\|/gm)].map(([, code]) => code ?? '')
  t.strictSame([...new Set(documented)].sort(), Object.keys(errorDefinitions).sort())
})
