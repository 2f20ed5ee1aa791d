// Lists, per contract, which numbered cases are proven by which test, which are proven in part, and which are not. A test carries the
// ids of its cases in its name, as in `completions 64: …`, `completions 6, 7: …` or `bridge 95; decisions.md 44: …`. A case counts as
// proven only when a test drives its whole sentence; what the tests leave out stands in the file of the contract, as `partial`.

import { globSync, readFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'

export type CaseStatus = 'proven' | 'partial' | 'missing'

export interface ConformanceCase {
  id: number
  title: string
  /** Which part of the sentence no test drives. */
  partial?: string
}

export interface JudgedCase extends ConformanceCase {
  status: CaseStatus
  /** Files of the tests that carry the id. */
  tests: string[]
}

export interface Conformance {
  contract: string
  cases: JudgedCase[]
  /** Ids that a test carries but the contract does not have. */
  unknownIds: string[]
}

const root = join(import.meta.dirname, '..', '..')
const TEST_NAME = /\btest\(\s*[`'"]((?:(?:; )?[a-z]+(?:\.md)? \d+(?:, \d+)*)+):/g
const CONTRACT_IDS = /([a-z]+(?:\.md)?) (\d+(?:, \d+)*)/g

/** Reads the contracts below `test/conformance` and the test files, and judges every case by the tests that carry its id. */
export function readConformance(): Conformance[] {
  const tests = readTests()
  return globSync('test/conformance/*.json', { cwd: root })
    .toSorted()
    .map(file => {
      const contract = basename(file, '.json')
      const { cases } = JSON.parse(readFileSync(join(root, file), 'utf8')) as { cases: ConformanceCase[] }
      const known = new Set(cases.map(({ id }) => `${contract} ${id}`))
      return {
        contract,
        cases: cases.map(one => judgeCase(one, tests.get(`${contract} ${one.id}`) ?? [])),
        unknownIds: [...tests.keys()].filter(id => id.startsWith(`${contract} `) && !known.has(id))
      }
    })
}

/** A case without a test is missing, also where its file marks it as partial. */
export function judgeCase(one: ConformanceCase, tests: string[]): JudgedCase {
  const status = tests.length === 0 ? 'missing' : one.partial === undefined ? 'proven' : 'partial'
  return { ...one, tests, status }
}

/** The ids in the test names of a source text, such as `completions 6`. */
export function findIds(source: string): string[] {
  return [...source.matchAll(TEST_NAME)].flatMap(([, names = '']) =>
    [...names.matchAll(CONTRACT_IDS)].flatMap(([, contract, ids = '']) =>
      ids.split(',').map(id => `${contract} ${Number(id)}`)
    )
  )
}

/** The test files by the ids that they carry. */
function readTests(): Map<string, string[]> {
  const tests = new Map<string, string[]>()
  for (const file of globSync('test/**/*.{test,cases}.ts', { cwd: root, exclude: ['**/node_modules/**'] }).toSorted()) {
    const path = relative(root, join(root, file))
    for (const id of new Set(findIds(readFileSync(join(root, file), 'utf8')))) {
      tests.set(id, [...(tests.get(id) ?? []), path])
    }
  }
  return tests
}

if (import.meta.main) {
  for (const { contract, cases, unknownIds } of readConformance()) {
    const count = (status: CaseStatus) => cases.filter(one => one.status === status).length
    const missing = count('missing')
    console.log(
      `${contract}: ${count('proven')} of ${cases.length} cases proven, ${count('partial')} partial, ${missing} missing`
    )
    for (const { id, title, status, partial, tests } of cases) {
      const files = tests.length > 0 ? ` (${tests.join(', ')})` : ''
      console.log(`  ${status.padEnd(7)} ${contract} ${id}: ${title}${files}`)
      if (status === 'partial') console.log(`          not driven: ${partial}`)
    }
    for (const id of unknownIds) console.log(`  unknown ${id}: a test carries an id that the contract does not have`)
  }
}
