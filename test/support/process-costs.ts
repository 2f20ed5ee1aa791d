// Records the processor time of a test process under the name of the file that used it, and writes it into a folder of the runner when the
// process exits. Loaded before every test file, so it imports nothing but the runtime.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import type { Test } from 'tap'
import type { FileCost } from './costs.ts'

/** Linux tells user space the times of a process in hundredths of a second. */
const TICK_MS = 10
/** User and system time of the children in `/proc/<pid>/stat`, counted behind the name of the command. */
const CHILDREN_TIMES = [13, 14]

const costs: FileCost[] = []
let charged: FileCost = { name: '', ownMs: 0, childrenMs: 0 }

/** Begins the record: what the process has taken so far, such as the start of Node, belongs to the file. */
export function recordCosts(folder: string, name: string): void {
  charged = { name, ownMs: 0, childrenMs: 0 }
  process.once('exit', () => {
    closeCharge()
    writeFileSync(join(folder, `${process.pid}-${Date.now()}.json`), JSON.stringify(costs))
  })
}

/**
 * Imports the files of a group within a test, so that none of their tests begins before all are registered. Files of a group run one after the
 * other, so the time from the first test of one to the first of the next belongs to the former. Loading belongs to the group: which file
 * loads a module that several share depends on their order only.
 */
export async function loadGroup(t: Test, files: Readonly<Record<string, () => Promise<unknown>>>): Promise<void> {
  let loading = ''
  const fileOf = new Map<unknown, string>()
  t.on('subtestAdd', (test: unknown) => void fileOf.set(test, loading))
  t.on('subtestStart', (test: unknown) => chargeTo(fileOf.get(test)))
  await t.test('all files are loaded', async () => {
    for (const [file, load] of Object.entries(files)) {
      loading = file
      await load()
    }
  })
}

/** From now on the time of this process belongs to the file. */
function chargeTo(name: string | undefined): void {
  if (!name || name === charged.name) return
  closeCharge()
  charged = { name, ...readMs() }
}

function closeCharge(): void {
  const { ownMs, childrenMs } = readMs()
  costs.push({ name: charged.name, ownMs: ownMs - charged.ownMs, childrenMs: childrenMs - charged.childrenMs })
}

function readMs(): { ownMs: number; childrenMs: number } {
  const { user, system } = process.cpuUsage()
  return { ownMs: (user + system) / 1000, childrenMs: readChildrenMs() ?? 0 }
}

/** Of all processes that this one has waited for, and that they have waited for. Undefined where the system has no `/proc`. */
export function readChildrenMs(): number | undefined {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8')
    // The name of the command stands in parentheses and may contain anything.
    const fields = stat.slice(stat.lastIndexOf(') ') + 2).split(' ')
    return CHILDREN_TIMES.reduce((sum, index) => sum + Number(fields[index]) * TICK_MS, 0)
  } catch {
    return undefined
  }
}
