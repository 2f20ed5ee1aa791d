// Runs the tests. `npm test` runs all that prove correctness. `npm run test:long` runs the files
// named `*.long.test.ts`, which measure, need a program or start many processes, and those with
// properties once more, at their full number of runs. `npm test -- <file or folder>` runs only the
// files that it names. Each ends with a table of processor time by file. A whole run fails when a file takes more than
// twice its share in `test/shares.json` and half a percent of the run; `npm test -- --write-shares` writes them anew.
//
// In a process of its own, a file takes longer to load the product's modules than most files take
// to run their cases. So the files of a folder run in one process, in groups, except those that
// `isAlone` names.

import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import {
  type FileCost,
  formatCosts,
  judgeCosts,
  type RunCost,
  type Shares,
  sharesOf,
  sumCosts
} from './support/costs.ts'
import { hasProperties, isAlone } from './support/grouping.ts'
import { readChildrenMs } from './support/process-costs.ts'

const root = join(import.meta.dirname, '..')
const GROUPS = join(root, '.tap', 'groups')
const COSTS = join(root, '.tap', 'costs')
const SHARES = join(root, 'test', 'shares.json')
/** Enough to load the modules seldom, and few enough for the groups to end at about the same time. */
const GROUP_FILES_MAX = 20

const { values, positionals: named } = parseArgs({
  options: { long: { type: 'boolean' }, 'write-shares': { type: 'boolean' } },
  allowPositionals: true
})
const set = values.long ? 'long' : 'correctness'

/** Of the set that runs, below a folder. */
function listFiles(folder = 'test'): string[] {
  const files = globSync(`${folder}/**/*.test.ts`, { cwd: root, exclude: ['**/node_modules/**'] }).toSorted()
  return files.filter(file => (set === 'long' ? isLong(file) || hasProperties(join(root, file)) : !isLong(file)))
}

function isLong(file: string): boolean {
  return file.endsWith('.long.test.ts')
}

/** Such as `test/worker/protocols`. */
function roomOf(file: string): string {
  return dirname(file).split('/').slice(0, 3).join('/')
}

function writeGroups(files: readonly string[]): string[] {
  makeEmpty(GROUPS)
  const rooms = Object.entries(Object.groupBy(files, roomOf))
  return rooms.flatMap(([room, members = []]) => {
    const count = Math.ceil(members.length / GROUP_FILES_MAX)
    const size = Math.ceil(members.length / count)
    return Array.from({ length: count }, (_, index) => {
      const name = `${room.replaceAll('/', '-')}${count === 1 ? '' : `-${index + 1}`}`
      return writeGroup(name, members.slice(index * size, (index + 1) * size))
    })
  })
}

function writeGroup(name: string, members: readonly string[]): string {
  const file = join(GROUPS, `${name}.test.mjs`)
  const specifierOf = (path: string) => JSON.stringify(relative(GROUPS, join(root, path)))
  const loads = members.map(member => `  ${JSON.stringify(member)}: () => import(${specifierOf(member)})`)
  const source = [
    `import t from 'tap'`,
    `import { loadGroup } from ${specifierOf('test/support/process-costs.ts')}`,
    `await loadGroup(t, {\n${loads.join(',\n')}\n})\n`
  ]
  writeFileSync(file, source.join('\n'))
  return relative(root, file)
}

function run(files: readonly string[]): { status: number; cost: RunCost } {
  makeEmpty(COSTS)
  const startedAt = performance.now()
  const { status } = spawnSync('tap', files, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, TEST_COSTS: COSTS, ...(set === 'long' && { FULL_RUNS: '1' }) }
  })
  const costs = readdirSync(COSTS).flatMap(
    file => JSON.parse(readFileSync(join(COSTS, file), 'utf8')) as readonly FileCost[]
  )
  const childrenMs = readChildrenMs()
  const cost = {
    files: sumCosts(costs),
    totalMs: childrenMs ?? costs.reduce((sum, { ownMs }) => sum + ownMs, 0),
    wallMs: performance.now() - startedAt,
    countsChildren: childrenMs !== undefined
  }
  return { status: status ?? 1, cost }
}

function makeEmpty(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
}

/** By set of tests. */
function readShares(): Record<string, Shares> {
  return JSON.parse(readFileSync(SHARES, 'utf8'))
}

/** True when no file took too much. Runs of named files, and those that failed, say nothing about shares. */
function checkShares(cost: RunCost): boolean {
  if (values['write-shares']) {
    writeFileSync(SHARES, `${JSON.stringify({ ...readShares(), [set]: sharesOf(cost) }, undefined, 2)}\n`)
    return true
  }
  const command = `npm ${set === 'long' ? 'run test:long' : 'test'} -- --write-shares`
  const shares = readShares()[set]
  if (shares === undefined) process.stdout.write(`No file is judged before shares are written: ${command}\n`)
  const faults = shares === undefined ? [] : judgeCosts(cost, shares)
  for (const fault of faults) process.stdout.write(`not ok ${fault}\n`)
  if (faults.length > 0) process.stdout.write(`Make them cheaper, or write all shares anew: ${command}\n`)
  return faults.length === 0
}

const isWhole = named.length === 0
const files = isWhole ? listFiles() : named.flatMap(name => (name.endsWith('.ts') ? name : listFiles(name)))
const { alone = [], grouped = [] } = Object.groupBy(files, file => (isAlone(join(root, file)) ? 'alone' : 'grouped'))
const { status, cost } = run([...alone, ...writeGroups(grouped)])
process.stdout.write(`\n${formatCosts(cost)}\n`)
process.exit(status !== 0 || (isWhole && !checkShares(cost)) ? status || 1 : 0)
