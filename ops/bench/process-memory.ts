// The resident memory of a gateway's processes over time.

import { readFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'

const SAMPLE_MS = 250
const MEGABYTE = 1024 * 1024
/** What `statm` counts in. */
const PAGE_BYTES = 4096

export interface MemorySampler {
  /** Forgets the samples so far. */
  reset(): void
  /**
   * How many megabytes the largest sample of each process after this time is above its largest sample before; infinite for a process that
   * has exited.
   */
  growthAfter(ms: number): Record<string, { readonly beforeMb: number; readonly growthMb: number }>
  stop(): void
}

interface Sample {
  readonly atMs: number
  readonly megabytes: ReadonlyMap<string, number>
}

/** Samples the supervisor with this id and its children. Reads `/proc`, so it runs on Linux. */
export function sampleMemory(supervisor: number): MemorySampler {
  let samples: Sample[] = []
  let startedMs = performance.now()
  const pids = listProcesses(supervisor)
  const take = () => {
    const megabytes = new Map(Object.entries(pids).map(([name, pid]) => [name, readMegabytes(pid)]))
    samples.push({ atMs: performance.now() - startedMs, megabytes })
  }
  const timer = setInterval(take, SAMPLE_MS)
  const largest = (name: string, isIncluded: (sample: Sample) => boolean) =>
    Math.max(...samples.filter(isIncluded).map(({ megabytes }) => megabytes.get(name) ?? Number.NaN))
  return {
    reset() {
      samples = []
      startedMs = performance.now()
      take()
    },
    growthAfter(ms) {
      const growths = Object.keys(pids).map(name => {
        const beforeMb = largest(name, ({ atMs }) => atMs <= ms)
        return [name, { beforeMb, growthMb: largest(name, ({ atMs }) => atMs > ms) - beforeMb }] as const
      })
      return Object.fromEntries(growths)
    },
    stop: () => clearInterval(timer)
  }
}

function listProcesses(supervisor: number): Record<string, number> {
  const children = readFileSync(`/proc/${supervisor}/task/${supervisor}/children`, 'latin1').split(' ').filter(Boolean)
  const pids: Record<string, number> = { supervisor }
  for (const pid of children.map(Number)) {
    const entry = readFileSync(`/proc/${pid}/cmdline`, 'latin1')
      .split('\0')
      .find(text => /main\.[jt]s$/.test(text))
    if (entry !== undefined) pids[basename(dirname(entry))] = pid
  }
  return pids
}

/** Infinite for a process that has exited. */
function readMegabytes(pid: number): number {
  try {
    const pages = readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]
    return (Number(pages) * PAGE_BYTES) / MEGABYTE
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
