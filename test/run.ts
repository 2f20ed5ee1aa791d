// Runs all tests (`npm test`). In a process of its own, a file takes longer to load the product's modules than most files take to run their
// cases. So the files of a folder run in one process, in groups; those that start gateways, and those that begin with "// Alone:" and a
// reason, run alone. `npm test -- <file>` runs only the files that it names.

import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

const root = join(import.meta.dirname, '..')
const FOLDER = join(root, '.tap', 'groups')
/** Enough to load the modules seldom, and few enough for the groups to end at about the same time. */
const GROUP_FILES_MAX = 16

const files = globSync('test/**/*.test.ts', { cwd: root, exclude: ['**/node_modules/**'] }).toSorted()
const { alone = [], grouped = [] } = Object.groupBy(files, file => (isAlone(file) ? 'alone' : 'grouped'))

function isAlone(file: string): boolean {
  return file.startsWith('test/end-to-end/') || readFileSync(join(root, file), 'utf8').startsWith('// Alone: ')
}

/** Such as `test/worker/protocols`. */
function roomOf(file: string): string {
  return dirname(file).split('/').slice(0, 3).join('/')
}

function writeGroups(): string[] {
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
  const rooms = Object.entries(Object.groupBy(grouped, roomOf))
  return rooms.flatMap(([room, members = []]) => {
    const count = Math.ceil(members.length / GROUP_FILES_MAX)
    const size = Math.ceil(members.length / count)
    return Array.from({ length: count }, (_, index) => {
      const name = `${room.replaceAll('/', '-')}${count === 1 ? '' : `-${index + 1}`}`
      return writeGroup(name, members.slice(index * size, (index + 1) * size))
    })
  })
}

/** The cases that the files register run when all of them are loaded: the runner ends when it has no case left, however many are to come. */
function writeGroup(name: string, members: readonly string[]): string {
  const file = join(FOLDER, `${name}.test.mjs`)
  const loads = members.map(member => `  await import(${JSON.stringify(relative(FOLDER, join(root, member)))})\n`)
  writeFileSync(file, `import t from 'tap'\nt.test('all files are loaded', async () => {\n${loads.join('')}})\n`)
  return relative(root, file)
}

const named = process.argv.slice(2)
const { status } = spawnSync('tap', named.length > 0 ? named : [...alone, ...writeGroups()], {
  cwd: root,
  stdio: 'inherit'
})
process.exit(status ?? 1)
