// Keeps what is measured on one processor and what measures it on another, so that neither slows the other and no process
// moves to a processor with cold caches in some of the rounds.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** A processor for what is measured and one for everything else. */
export interface Processors {
  measured: number
  other: number
}

/** Read before this process is moved: afterwards it may use one processor only. */
const allowed = readAllowedProcessors()

/** The first two processors that this process might use when it began; undefined where there was only one, or no way to choose one. */
export function chooseProcessors(): Processors | undefined {
  const [measured, other] = allowed
  if (measured === undefined || other === undefined || !moveTo(other)) return undefined
  return { measured, other }
}

/** Moves this process to a processor, and with it the processes that it starts from now on. */
export function moveTo(processor: number): boolean {
  return spawnSync('taskset', ['-a', '-c', '-p', String(processor), String(process.pid)]).status === 0
}

function readAllowedProcessors(): number[] {
  const status = readFileSync('/proc/self/status', 'latin1')
  return readProcessorList(/^Cpus_allowed_list:\s*(\S+)$/m.exec(status)?.[1] ?? '')
}

/** Reads the kernel's form: `0-2,4` are 0, 1, 2 and 4. */
function readProcessorList(text: string): number[] {
  return text.split(',').flatMap(range => {
    const [first = Number.NaN, last = first] = range.split('-').map(Number)
    return Number.isNaN(first) ? [] : Array.from({ length: last - first + 1 }, (_, index) => first + index)
  })
}
