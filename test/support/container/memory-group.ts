// A memory limit for processes, enforced by the kernel: a control group of version 1, where this process may create one.

import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'

const CONTROLLER = '/sys/fs/cgroup/memory'
const MEBIBYTE = 1024 * 1024
const REMOVAL_MS = 10_000

export interface MemoryGroup {
  /** The command that runs another one in the group. */
  enter(command: readonly string[]): string[]
  /** Memory that cannot be dropped, in MiB: without the cache of files. */
  readonly usedMebibytes: number
  /** How often the kernel has killed a process of the group. */
  readonly kills: number
}

/** The reason to skip a test that needs a memory limit; false where one can be set. */
export function whyWithoutMemoryLimits(): string | false {
  const folder = join(CONTROLLER, `llm-gateway-test-${process.pid}-probe`)
  try {
    mkdirSync(folder)
    writeFileSync(join(folder, 'memory.limit_in_bytes'), String(64 * MEBIBYTE))
    return false
  } catch {
    return 'this process may not limit the memory of others (control groups of version 1)'
  } finally {
    removeFolder(folder)
  }
}

let created = 0

/** Creates a group, which is removed with the test once its processes have exited. */
export function createMemoryGroup(t: Test, limitMebibytes: number): MemoryGroup {
  created += 1
  const folder = join(CONTROLLER, `llm-gateway-test-${process.pid}-${created}`)
  const read = (file: string) => readFileSync(join(folder, file), 'utf8')
  const number = (file: string, name: string) => Number(new RegExp(`^${name} (\\d+)`, 'm').exec(read(file))?.[1])
  mkdirSync(folder)
  writeFileSync(join(folder, 'memory.limit_in_bytes'), String(limitMebibytes * MEBIBYTE))
  t.teardown(async () => {
    const deadlineMs = performance.now() + REMOVAL_MS
    while (!removeFolder(folder) && performance.now() < deadlineMs) await pause(50)
  })
  return {
    enter: command => ['sh', '-c', `echo $$ > ${folder}/cgroup.procs && exec "$@"`, 'sh', ...command],
    get usedMebibytes() {
      return Math.round(number('memory.stat', 'total_rss') / MEBIBYTE)
    },
    get kills() {
      return number('memory.oom_control', 'oom_kill')
    }
  }
}

function removeFolder(folder: string): boolean {
  try {
    rmdirSync(folder)
    return true
  } catch {
    return false
  }
}
