// Every citation of the reference names a page and a place that exist there, so that a reader can follow it
// (ops/reference/README.md).

import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { findCitations, pageNames, readPlaces } from '../support/citations.ts'

const exclude = ['**/node_modules/**', 'test/ops/reference.test.ts']
const root = join(import.meta.dirname, '..', '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const places = new Map(pageNames.map(page => [page as string, readPlaces(page, read(`ops/reference/${page}.md`))]))

/** What a reader cannot follow in a text, one line each. */
function findFaults(file: string, source: string): string[] {
  const { citations, unknownForms } = findCitations(source)
  const isProse = file.endsWith('.md')
  return [
    ...citations
      .filter(({ page, place }) => (place === undefined ? !isProse : places.get(page)?.has(place) !== true))
      .map(({ page, place, line }) => `${file}:${line}: ${page}.md ${place ?? 'without a section'}`),
    ...unknownForms.map(({ text, line }) => `${file}:${line}: ${text}`)
  ]
}

t.test('the finder reports what cannot be followed', async t => {
  const faults = (source: string, file = 'a.ts') => findFaults(file, source).map(fault => fault.slice(file.length + 1))
  t.strictSame(faults('// A rule (bridge.md 7.99).'), ['1: bridge.md 7.99'])
  t.strictSame(faults('// A rule\n// (completions.md 4.1 to 4.99, messages.md 3).'), ['2: completions.md 4.99'])
  t.strictSame(faults('/**\n * A rule (decisions.md 34 and\n * 999).\n */'), ['2: decisions.md 999'])
  t.strictSame(faults('// A lesson (field-lessons.md A6, A99).'), ['1: field-lessons.md A99'])
  t.strictSame(faults('// See (specification.md 4.99, rule 3)'), ['1: specification.md 4.99'])
  t.strictSame(faults('// Stated in bridge.md.'), ['1: bridge.md without a section'])
  t.strictSame(faults('// Stated in `bridge.md` 7.99.'), ['1: bridge.md 7.99'])
  for (const form of [
    'bridge contract, section 6.3',
    'operations\n// contract, 3.1',
    'decision 34',
    'Decisions 2 and 3',
    'field lesson A6',
    'field\n// lessons A1 to A3',
    'specification 4.6',
    'spec 3.2',
    'design.md 3',
    '../shared/contracts/bridge.md',
    'bridge.md'
  ]) {
    t.equal(faults(`// A rule (${form}).`).length, 1, form)
  }
})

t.test('the finder follows every form that the reference describes', async t => {
  for (const form of [
    '(bridge.md 7.6)',
    '(completions.md 4.1 to 4.5, messages.md 3)',
    '(decisions.md 34)',
    '(field-lessons.md A6, B1; specification.md 4.6, rule 12)',
    'as in\n// operations.md 7.3 and 8.1, and 3 times'
  ]) {
    t.ok(findCitations(`// A rule ${form}`).citations.length > 0, form)
    t.strictSame(findFaults('a.ts', `// A rule ${form}`), [], form)
  }
  const links =
    '[operations](ops/guides/operations.md) and [responses](responses.md), decisions of three, family contract'
  t.strictSame(findCitations(links), { citations: [], unknownForms: [] })
})

t.test('every citation in code, tests, guides and decision records can be followed', async t => {
  const patterns = ['{shared,supervisor,worker,test,ops}/**/*.{ts,tsx,mjs,md,yml,yaml,conf,service,css,html}']
  const files = globSync([...patterns, '.github/**/*.{md,yml}', '.ci/run', '*.{md,mjs}'], {
    cwd: root,
    exclude: [...exclude, 'CHANGELOG.md', 'test/fixtures/**', 'ops/compare/corpus/**']
  })
  t.ok(files.length > 500)
  const faults: string[] = []
  let count = 0
  for (const file of files) {
    const source = read(file)
    count += findCitations(source).citations.length
    faults.push(...findFaults(file, source))
  }
  t.ok(count > 500, `${count} citations`)
  t.strictSame(faults, [])
})

t.test('a lesson that the name of a test carries, and a decision record that code names, exist', async t => {
  const lessons = places.get('field-lessons')
  const faults: string[] = []
  let count = 0
  for (const file of globSync('{shared,supervisor,worker,test,ops}/**/*.{ts,tsx}', { cwd: root, exclude })) {
    const source = read(file)
    const ids = [...source.matchAll(/\btest\(\s*['"`][^\n]*?\(([A-O]\d{1,2}(?:, [A-O]\d{1,2})*)[,)]/g)]
    const unknownIds = ids.flatMap(([, list = '']) => list.split(', ')).filter(id => lessons?.has(id) !== true)
    const records = [...source.matchAll(/\b(?:ADR|ops\/adr\/)\s?(\d{4}-\d\d-\d\d-[a-z0-9-]+)/g)]
    const unknownRecords = records
      .map(([, name = '']) => name)
      .filter(name => !existsSync(join(root, `ops/adr/${name}.md`)))
    count += ids.length + records.length
    faults.push(...[...unknownIds, ...unknownRecords].map(name => `${file}: ${name}`))
  }
  t.ok(count > 50, `${count} names`)
  t.strictSame(faults, [])
})

t.test('a section that a page of the reference names as its own exists', async t => {
  for (const page of pageNames) {
    const text = read(`ops/reference/${page}.md`)
    const own = [...text.matchAll(/(?<!\.md`? )\bsections? (\d+(?:\.\d+)*)/g)].map(([, place = '']) => place)
    t.strictSame(
      own.filter(place => places.get(page)?.has(place) !== true),
      [],
      page
    )
  }
})

t.test('every link of the reference and the guides leads to a file of the repository', async t => {
  const files = globSync(['*.md', '.github/**/*.md', 'ops/**/*.md'], { cwd: root })
  t.ok(files.length > 30)
  const broken = files.flatMap(file =>
    [
      ...read(file)
        .replace(/`[^`\n]*`/g, '')
        .matchAll(/\]\((?!https?:|mailto:|#)([^)\s#]+)(?:#[^)\s]*)?\)/g)
    ]
      .map(([, target = '']) => target)
      .filter(target => !existsSync(join(root, dirname(file), target)))
      .map(target => `${file}: ${target}`)
  )
  t.strictSame(broken, [])
})

t.test('no code, test or script reads a folder outside the repository', async t => {
  const files = globSync(['{shared,supervisor,worker,test,ops}/**/*.{ts,mjs,tsx}', '.ci/run', '*.mjs'], {
    cwd: root,
    exclude: [...exclude, 'test/support/citations.ts']
  })
  const outside = /\.\.\/shared\/(?:contracts|spec|recorded|hooks|[a-z-]+\.md)/
  t.strictSame(
    files.filter(file => outside.test(read(file))),
    []
  )
})
