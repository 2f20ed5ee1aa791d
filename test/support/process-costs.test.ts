// Alone: it starts a process that is busy, and looks at the record of a process of its own.

import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import type { FileCost } from './costs.ts'
import { readChildrenMs } from './process-costs.ts'
import { createTemporaryFolder } from './temporary.ts'

/** Takes processor time, and not time on the clock: the machine may be busy. */
const BUSY = 'const start = process.cpuUsage(); while (process.cpuUsage(start).user < 200_000);'
const modules = ['process-costs.ts', 'test-process.ts'].map(name => pathToFileURL(join(import.meta.dirname, name)).href)
const tap = import.meta.resolve('tap')

/** Runs a file as the runner does, and gives what it recorded. */
function runRecorded(folder: string, source: string): FileCost[] {
  const file = join(folder, 'group.mjs')
  writeFileSync(file, source)
  const own = Object.entries(process.env).filter(([name]) => !/^_?TAP/.test(name))
  const env = { ...Object.fromEntries(own), TEST_COSTS: folder, NODE_OPTIONS: `--import=${modules[1]}` }
  execFileSync(process.execPath, [file], { cwd: folder, env, stdio: ['ignore', 'ignore', 'inherit'] })
  return readdirSync(folder)
    .filter(name => name.endsWith('.json'))
    .flatMap(name => JSON.parse(readFileSync(join(folder, name), 'utf8')) as FileCost[])
}

t.test('a process counts its own time and that of processes that it waited for', async t => {
  const folder = createTemporaryFolder(t)
  const child = `execFileSync(process.execPath, ['-e', ${JSON.stringify(BUSY)}])`
  const costs = runRecorded(folder, `import { execFileSync } from 'node:child_process'\n${child}\n${BUSY}`)
  t.equal(costs.length, 1)
  t.match(costs[0]!.name, /group\.mjs$/)
  t.ok(costs[0]!.ownMs >= 100, JSON.stringify(costs))
  if (readChildrenMs() !== undefined) t.ok(costs[0]!.childrenMs >= 100, JSON.stringify(costs))
})

t.test('files of a group are charged by the tests that they register, and loading belongs to the group', async t => {
  const folder = createTemporaryFolder(t)
  for (const name of ['busy', 'idle']) {
    writeFileSync(
      join(folder, `${name}.mjs`),
      `import t from ${JSON.stringify(tap)}
       t.test('one', async () => { ${name === 'busy' ? BUSY : ''} })
       t.test('another', async t => { await t.test('inner', async () => {}) })`
    )
  }
  const costs = runRecorded(
    folder,
    `import t from ${JSON.stringify(tap)}
     import { loadGroup } from ${JSON.stringify(modules[0])}
     await loadGroup(t, { busy: () => import('./busy.mjs'), idle: () => import('./idle.mjs') })`
  )
  t.match(
    costs.map(({ name }) => name),
    [/group\.mjs$/, 'busy', 'idle']
  )
  const [, busy, idle] = costs
  t.ok(busy!.ownMs > 100, JSON.stringify(costs))
  t.ok(idle!.ownMs < busy!.ownMs, JSON.stringify(costs))
})
