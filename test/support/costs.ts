// What a run of tests costs in processor time, file by file, and whether a file takes more than its share of it. Shares of the run's total and
// not seconds, because machines differ.

/** Processor time of one test file, user and system. */
export interface FileCost {
  name: string
  /** Of the test's process. */
  ownMs: number
  /** Of the processes that it started, and of those that they started, as far as each was waited for. */
  childrenMs: number
}

export interface RunCost {
  files: readonly FileCost[]
  /** Everything, the runner included. */
  totalMs: number
  wallMs: number
  /** False where the system does not tell what child processes took: then only the test's own processes count. */
  countsChildren: boolean
}

/** Percent of the run's total by file. A file that is missing has `DEFAULT_SHARE`. */
export type Shares = Readonly<Record<string, number>>

/** Percent. Files up to here are not worth a line in the list of shares. */
export const DEFAULT_SHARE = 0.5

/** How many times its share a file may take: a busy machine and a skipped neighbour change shares as well. */
const SHARE_FACTOR_MAX = 2

/** Percent that every file may take besides: on a busy machine the start of a process costs twice as much, and small files do little else. */
const SHARE_NOISE = 0.5

/** Percent. Files below it are summed up in one line of the table. */
const TABLE_SHARE_MIN = 0.1

/** One cost per file, most costly first, also where a file ran in several processes. */
export function sumCosts(costs: readonly FileCost[]): FileCost[] {
  const sums = new Map<string, FileCost>()
  for (const { name, ownMs, childrenMs } of costs) {
    const sum = sums.get(name)
    sums.set(name, { name, ownMs: ownMs + (sum?.ownMs ?? 0), childrenMs: childrenMs + (sum?.childrenMs ?? 0) })
  }
  return [...sums.values()].sort((one, other) => costOf(other) - costOf(one) || one.name.localeCompare(other.name))
}

/** The table that ends a run. `files` are sums in the order of their costs. */
export function formatCosts({ files, totalMs, wallMs, countsChildren }: RunCost): string {
  const shown = files.filter(file => percentOf(file, totalMs) >= TABLE_SHARE_MIN)
  const others = files.slice(shown.length)
  const counted = countsChildren
    ? 'with all processes that a file starts'
    : 'without child processes, which this system does not count'
  const row = (ms: number, name: string) =>
    `${(ms / 1000).toFixed(1).padStart(8)} s ${percent(ms, totalMs).toFixed(1).padStart(6)} %  ${name}`
  const filesMs = sumMs(files)
  return [
    `Processor time by file, user and system, ${counted}:`,
    ...shown.map(file => row(costOf(file), file.name)),
    ...(others.length > 0 ? [row(sumMs(others), `${others.length} other files, each below ${TABLE_SHARE_MIN} %`)] : []),
    ...(countsChildren
      ? [row(Math.max(0, totalMs - filesMs), 'the runner, and processes that no file waited for')]
      : []),
    row(totalMs, `in total, in ${(wallMs / 1000).toFixed(0)} s on the clock`)
  ].join('\n')
}

/** What to say about each file that takes more than twice its share and `SHARE_NOISE`. Where children do not count, shares mean nothing and all pass. */
export function judgeCosts({ files, totalMs, countsChildren }: RunCost, shares: Shares): string[] {
  if (!countsChildren) return []
  return files.flatMap(file => {
    const share = shares[file.name] ?? DEFAULT_SHARE
    const taken = percentOf(file, totalMs)
    if (taken <= SHARE_FACTOR_MAX * share + SHARE_NOISE) return []
    return [`${file.name} took ${taken.toFixed(1)} % of the processor time, more than twice its share of ${share} %.`]
  })
}

/** The shares to write: of each file above the default, rounded up to a tenth of a percent, by name. */
export function sharesOf({ files, totalMs }: RunCost): Shares {
  const shares = files.map(file => [file.name, Math.ceil(percentOf(file, totalMs) * 10) / 10] as const)
  const listed = shares.filter(([, share]) => share > DEFAULT_SHARE)
  return Object.fromEntries(listed.toSorted(([one], [other]) => one.localeCompare(other)))
}

function costOf({ ownMs, childrenMs }: FileCost): number {
  return ownMs + childrenMs
}

function sumMs(files: readonly FileCost[]): number {
  return files.reduce((sum, file) => sum + costOf(file), 0)
}

function percentOf(file: FileCost, totalMs: number): number {
  return percent(costOf(file), totalMs)
}

function percent(ms: number, totalMs: number): number {
  return totalMs > 0 ? (100 * ms) / totalMs : 0
}
