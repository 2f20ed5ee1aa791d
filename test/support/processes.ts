// Looks at the process family of a started gateway (Linux).

import { readFileSync } from 'node:fs'

/** The ids of the direct children of a process: the workers of a supervisor, in the order they were started. */
export function readChildPids(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)
}

/** Resolves when `condition` holds, polled every 20 ms. Rejects after the deadline. */
export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  what: string,
  deadlineMs = 30_000
): Promise<void> {
  const deadline = Date.now() + deadlineMs
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`The deadline passed before ${what}.`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}
