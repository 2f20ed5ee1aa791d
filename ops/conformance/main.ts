// Lists, per contract, which numbered cases are proven by which test and which are not. A test proves a case by carrying its id
// in its name, as in `completions 64: …` or `completions 6, 7: …`.

import { globSync, readFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'

export interface ConformanceCase {
  id: number
  title: string
}

export interface Conformance {
  contract: string
  cases: Array<ConformanceCase & { provenBy: string[] }>
  /** Ids that a test names but the contract does not have. */
  unknownIds: string[]
}

const root = join(import.meta.dirname, '..', '..')
const TEST_NAME = /\btest\(\s*[`'"]([a-z]+) (\d+(?:\s*,\s*\d+)*):/g

/** Reads the contracts below `test/conformance` and the test files, and pairs the cases with the tests that name them. */
export function readConformance(): Conformance[] {
  const proofs = readProofs()
  return globSync('test/conformance/*.json', { cwd: root })
    .toSorted()
    .map(file => {
      const contract = basename(file, '.json')
      const { cases } = JSON.parse(readFileSync(join(root, file), 'utf8')) as { cases: ConformanceCase[] }
      const known = new Set(cases.map(({ id }) => `${contract} ${id}`))
      return {
        contract,
        cases: cases.map(one => ({ ...one, provenBy: proofs.get(`${contract} ${one.id}`) ?? [] })),
        unknownIds: [...proofs.keys()].filter(id => id.startsWith(`${contract} `) && !known.has(id))
      }
    })
}

function readProofs(): Map<string, string[]> {
  const proofs = new Map<string, string[]>()
  for (const file of globSync('test/**/*.test.ts', { cwd: root })) {
    const path = relative(root, join(root, file))
    for (const [, contract, ids] of readFileSync(join(root, file), 'utf8').matchAll(TEST_NAME)) {
      for (const id of ids?.split(',') ?? []) {
        const key = `${contract} ${Number(id)}`
        const files = proofs.get(key) ?? []
        if (!files.includes(path)) files.push(path)
        proofs.set(key, files)
      }
    }
  }
  return proofs
}

if (import.meta.main) {
  for (const { contract, cases, unknownIds } of readConformance()) {
    const proven = cases.filter(({ provenBy }) => provenBy.length > 0)
    console.log(`${contract}: ${proven.length} of ${cases.length} cases proven`)
    for (const { id, title, provenBy } of cases) {
      console.log(
        `  ${provenBy.length > 0 ? 'proven ' : 'missing'} ${contract} ${id}: ${title}${provenBy.length > 0 ? ` (${provenBy.join(', ')})` : ''}`
      )
    }
    for (const id of unknownIds) console.log(`  unknown ${id}: a test names a case that the contract does not have`)
  }
}
