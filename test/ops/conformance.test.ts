import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findIds, judgeCase, readConformance } from '../../ops/conformance/main.ts'
import { supportMatrix } from '../../shared/support/support-matrix.ts'

const root = join(import.meta.dirname, '..', '..')

t.test('every id that a test carries is a case of its contract, and every case has a number and a title', async t => {
  const conformance = readConformance()
  t.ok(conformance.length > 0)
  for (const { contract, cases, unknownIds } of conformance) {
    t.strictSame(unknownIds, [], contract)
    t.strictSame(
      cases.map(({ id }) => id),
      cases.map((_, index) => index + 1),
      `${contract}: ids are numbered without a gap`
    )
    t.ok(
      cases.every(({ title }) => title.length > 0),
      `${contract}: every case has a title`
    )
  }
})

t.test('a case that is marked as partial says what is not driven, and has a test that drives the rest', async t => {
  const partial = readConformance().flatMap(({ contract, cases }) =>
    cases.filter(one => one.partial !== undefined).map(one => ({ ...one, name: `${contract} ${one.id}` }))
  )
  const isRight = (reason: string | undefined, tests: readonly string[]) =>
    reason !== undefined && /^[A-Z].+\.$/.test(reason) && tests.length > 0
  t.same(
    partial.filter(({ partial: reason, tests }) => !isRight(reason, tests)).map(({ name }) => name),
    []
  )
})

t.test('a case is proven by a test without a mark, partial with one, and missing without a test', async t => {
  const one = { id: 1, title: 'a case' }
  t.equal(judgeCase(one, ['a.test.ts']).status, 'proven')
  t.equal(judgeCase({ ...one, partial: 'The rest.' }, ['a.test.ts']).status, 'partial')
  t.equal(judgeCase(one, []).status, 'missing')
  t.equal(judgeCase({ ...one, partial: 'The rest.' }, []).status, 'missing')
})

t.test('a cell of the support matrix is stable only while all cases of its pages are proven', async t => {
  const pages = new Map(
    readConformance().map(({ contract, cases }) => [`CONFORMANCE-${contract.toUpperCase()}`, cases])
  )
  const stable = supportMatrix.filter(({ status }) => status === 'stable')
  t.ok(stable.length > 0)
  for (const { publicProtocol, upstreamProvider, evidenceIds } of stable) {
    const cases = evidenceIds.flatMap(id => pages.get(id) ?? [])
    t.ok(cases.length > 0, `${publicProtocol} ${upstreamProvider}`)
    t.same(
      cases.filter(({ status }) => status !== 'proven').map(({ id }) => id),
      [],
      `${publicProtocol} ${upstreamProvider}`
    )
  }
})

t.test('ids are read from test names of one or several contracts, and from nothing else', async t => {
  const source = [
    "t.test('completions 6, 7: a case', async t => {})",
    "t.test(\n  'operations 57; bridge 95: cases', async t => {})",
    "t.test('no case: words', async t => {})",
    "const text = 'completions 8: no test'"
  ]
  t.strictSame(findIds(source.join('\n')), ['completions 6', 'completions 7', 'operations 57', 'bridge 95'])
})

t.test('a clean checkout skips nothing: no test reads a file outside the project', async t => {
  const files = globSync(['test/**/*.ts', 'ops/**/*.ts'], { cwd: root, exclude: ['**/node_modules/**'] })
  t.ok(files.length > 100)
  for (const file of files) {
    const depth = file.split('/').length - 1
    const outside = new RegExp(`['"\`](?:\\.\\./){${depth + 1},}`)
    t.notMatch(readFileSync(join(root, file), 'utf8'), outside, file)
  }
})
