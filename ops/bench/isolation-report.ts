// The table and the verdicts of the isolation figures. Times by the clock are only reported; judged are processor time, memory, losses,
// and how many times as long small requests take as without the disturbance.

import type { Disturbance } from './disturbances.ts'
import type { Endings } from './disturbing-client.ts'
import type { ProbeReport } from './loop-probe.ts'
import type { SteadyResult } from './steady-load.ts'

export interface Phase {
  small: SteadyResult
  health: SteadyResult
  /** Asked directly, to show what the machine and the benchmark itself add. */
  upstream: SteadyResult
  report: ProbeReport | undefined
}

export interface Measurement {
  disturbance: Disturbance
  /** One exchange at a time. */
  singles: { endings: Endings; reports: ProbeReport[] }
  undisturbed: Phase[]
  disturbed: Phase[]
  /** How the exchanges of the disturbing client ended. */
  endings: Endings
  /** Workers that were replaced during the measurement. */
  respawns: number
}

const BLOCK_MS_MAX = 50
const GROWTH_MEGABYTES_MAX = 200
const LATENCY_RATIO_MAX = 2
const BLOCKS_SHOWN = 3
const HOT_SPOTS_SHOWN = 8
const HOT_SPOT_MS_MIN = 5

const COLUMNS: Array<[title: string, width: number]> = [
  ['disturbance (times in ms)', 47],
  ['small before p50 p99 max', 26],
  ['small beside p50 p99 max', 26],
  ['p99 ratio', 10],
  ['health p50 p99 max', 22],
  ['upstream p99', 13],
  ['blocks of CPU', 16],
  ['alone', 7],
  ['loop delay p99 max', 19],
  ['busy', 6],
  ['MB', 5],
  ['lost', 15],
  ['endings', 0]
]

export function printHeader(): void {
  console.log(`\n${COLUMNS.map(([title, width]) => title.padEnd(width)).join('')}`)
}

/** Prints the line of a disturbance, and below it where its blocks were spent when they were profiled. */
export function printMeasurement(measurement: Measurement): void {
  const { disturbance, undisturbed, disturbed, respawns } = measurement
  const reports = disturbedReports(measurement)
  const before = pool(undisturbed, 'small')
  const cells = [
    disturbance.name,
    writeTimes(before),
    writeTimes(pool(disturbed, 'small')),
    findLatencyRatio(measurement).toFixed(2),
    writeTimes(pool(disturbed, 'health')),
    percentile(pool(disturbed, 'upstream'), 99).toFixed(1),
    listBlocks(disturbedReports(measurement)).join(' '),
    String(listBlocks(measurement.singles.reports)[0] ?? '-'),
    `${maxOf(reports, one => one.delayMs.p99).toFixed(0)} ${maxOf(reports, one => one.delayMs.max).toFixed(0)}`,
    `${(maxOf(reports, one => one.busyShare) * 100).toFixed(0)}%`,
    findGrowth(measurement).toFixed(0),
    listLost(measurement) || '0',
    `${writeEndings(measurement.endings)}${respawns === 0 ? '' : `, WORKER REPLACED ${respawns}x`}`
  ]
  console.log(cells.map((cell, index) => cell.padEnd(COLUMNS[index]?.[1] ?? 0)).join(''))
  for (const { place, ms } of mergeHotSpots(reports)) console.log(`    ${ms.toFixed(0).padStart(6)} ms  ${place}`)
}

/** Prints a verdict for each goal; false when one is missed. */
export function judgeIsolation(measurements: Measurement[]): boolean {
  const judged = measurements.filter(({ disturbance }) => disturbance.isLatencyJudged)
  const latency = `p99 of small requests beside 8 x 8 MB of text, median over rounds, at most ${LATENCY_RATIO_MAX} x`
  console.log()
  return [
    judge(`longest block of the event loop, processor time, at most ${BLOCK_MS_MAX} ms`, measurements, one => {
      if (disturbedReports(one).length < one.disturbed.length) return 'a worker did not report'
      const [longest = 0] = listBlocks(disturbedReports(one))
      const [alone = 0] = listBlocks(one.singles.reports)
      return Math.max(longest, alone) > BLOCK_MS_MAX ? `${longest} ms, for a single exchange ${alone} ms` : undefined
    }),
    judge(`growth for one exchange, at most ${GROWTH_MEGABYTES_MAX} MB`, measurements, one => {
      const growth = findGrowth(one)
      return growth > GROWTH_MEGABYTES_MAX ? `${growth.toFixed(0)} MB` : undefined
    }),
    judge(latency, judged, one => {
      const ratio = findLatencyRatio(one)
      return ratio > LATENCY_RATIO_MAX ? ratio.toFixed(2) : undefined
    }),
    judge('no small request is lost and no worker replaced', measurements, one => {
      const lost = listLost(one)
      if (one.respawns > 0) return `worker replaced, lost: ${lost}`
      return lost === '' ? undefined : `lost: ${lost}`
    }),
    judge('refusals only as 503 gateway_overloaded, or by a bound', measurements, one => {
      const allowed = new Set(['200', '503 gateway_overloaded', ...(one.disturbance.refusals ?? [])])
      const others = [...Object.entries(one.endings), ...Object.entries(one.singles.endings)]
      const wrong = others.filter(([ending]) => !allowed.has(ending))
      return wrong.length === 0 ? undefined : writeEndings(Object.fromEntries(wrong))
    })
  ].every(isMet => isMet)
}

/** @param miss describes how a disturbance misses the goal. */
function judge(goal: string, measurements: Measurement[], miss: (one: Measurement) => string | undefined): boolean {
  if (measurements.length === 0) {
    console.log(`${goal}: not measured`)
    return true
  }
  const misses = measurements.flatMap(one => {
    const found = miss(one)
    return found === undefined ? [] : [`  ${one.disturbance.name}: ${found}`]
  })
  console.log(`${goal}: ${misses.length === 0 ? 'met' : `MISSED by ${misses.length} of ${measurements.length}`}`)
  for (const line of misses) console.log(line)
  return misses.length === 0
}

function disturbedReports({ disturbed }: Measurement): ProbeReport[] {
  return disturbed.flatMap(({ report }) => report ?? [])
}

/** The longest blocks of the event loop in milliseconds of processor time. */
function listBlocks(reports: ProbeReport[]): number[] {
  const blocks = reports.flatMap(({ blocksMs }) => blocksMs).toSorted((left, right) => right - left)
  return blocks.slice(0, BLOCKS_SHOWN).map(Math.round)
}

function findGrowth({ singles }: Measurement): number {
  return maxOf(singles.reports, ({ growthMegabytes }) => growthMegabytes)
}

/** The median over the rounds: in each of them the disturbed phase follows the undisturbed one. */
function findLatencyRatio({ undisturbed, disturbed }: Measurement): number {
  const ratios = disturbed.map(({ small }, round) => {
    const base = undisturbed[round]?.small.latenciesMs ?? []
    return percentile(small.latenciesMs, 99) / percentile(base, 99)
  })
  return percentile(ratios, 50)
}

/** The small requests that were lost, by how they ended; '' when none was. */
function listLost({ undisturbed, disturbed }: Measurement): string {
  const lost: Endings = {}
  for (const { small, health } of [...undisturbed, ...disturbed]) {
    for (const [ending, count] of [...Object.entries(small.lost), ...Object.entries(health.lost)]) {
      lost[ending] = (lost[ending] ?? 0) + count
    }
  }
  return writeEndings(lost)
}

function mergeHotSpots(reports: ProbeReport[]): Array<{ place: string; ms: number }> {
  const spent = new Map<string, number>()
  for (const { place, ms } of reports.flatMap(({ hotSpots }) => hotSpots))
    spent.set(place, (spent.get(place) ?? 0) + ms)
  const merged = Array.from(spent, ([place, ms]) => ({ place, ms })).filter(({ ms }) => ms >= HOT_SPOT_MS_MIN)
  return merged.toSorted((left, right) => right.ms - left.ms).slice(0, HOT_SPOTS_SHOWN)
}

function pool(phases: Phase[], lane: 'small' | 'health' | 'upstream'): number[] {
  return phases.flatMap(phase => phase[lane].latenciesMs)
}

function writeTimes(latenciesMs: number[]): string {
  return [50, 99, 100].map(share => percentile(latenciesMs, share).toFixed(1)).join(' ')
}

function writeEndings(endings: Endings): string {
  return Object.entries(endings)
    .map(([ending, count]) => `${count} x ${ending}`)
    .join(', ')
}

/** The nearest rank; 0 without values. */
function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right)
  return sorted[Math.max(0, Math.ceil((share / 100) * sorted.length) - 1)] ?? 0
}

function maxOf<Item>(items: Item[], read: (item: Item) => number): number {
  return items.reduce((largest, item) => Math.max(largest, read(item)), 0)
}
