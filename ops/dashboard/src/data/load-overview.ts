// The questions of the overview: sums of a range, by time and by group, the failures in it, and what was before it.
import { type Api, type Latencies, SUM_ROWS_MAX, type SumGroup, type SumsRow } from './api.ts'
import type { Dimension, Sums } from './figures.ts'
import { alignRange, type Bucket, boundsOf, chooseBucket, isKept, type Range, rangeBefore } from './ranges.ts'

export interface OverviewQuestion {
  readonly range: Range
  readonly nowMs: number
  readonly dimension: Dimension | undefined
}

export interface OverviewSums extends Sums {
  /** Of the failures: the parts of the chart may be larger. */
  readonly failureBucket: Bucket
  readonly dimension: Dimension | undefined
  /** The sums of all groups together; absent without a record. */
  readonly whole: SumsRow | undefined
  /** Of the same length of time before; absent without a record, and where its sums are not kept. */
  readonly before: SumsRow | undefined
  /** Of the newest records of the range; absent where they could not be had. */
  readonly latencies: Latencies | undefined
  /** By error code and time. */
  readonly failuresByTime: readonly SumsRow[]
  /** By error code, key and model. */
  readonly failuresByWhom: readonly SumsRow[]
  /** Some sums are missing. */
  readonly wasCut: boolean
}

/** Larger parts are asked for where the gateway cannot give all sums of the smallest. */
const STEPS_MAX = 2

export async function loadOverview(
  api: Api,
  { range, dimension, nowMs }: OverviewQuestion,
  signal: AbortSignal
): Promise<OverviewSums> {
  const groups = dimension === undefined ? [] : [dimension]
  const bucket = chooseBucket(range, nowMs)
  const aligned = alignRange(range, bucket)
  const sum = (by: readonly SumGroup[], { fromMs, toMs } = aligned) =>
    api.sums({ ...boundsOf({ fromMs, toMs }), by, bucket }, signal)
  // A part belongs to one of both ranges.
  const { fromMs, toMs } = rangeBefore(aligned)
  const earlier = { fromMs, toMs: toMs - 1 }
  const [timed, wholes, totals, befores, failuresByTime, failuresByWhom, latencies] = await Promise.all([
    loadTimed(api, { range, nowMs, groups }, signal),
    sum([]),
    dimension === undefined ? undefined : sum(groups),
    isKept(earlier, bucket, nowMs) ? sum([], earlier) : [],
    sum(['error_code', 'time']),
    sum(['error_code', 'api_key_name', 'model']),
    api.latencies(new URLSearchParams(boundsOf(aligned)), signal).catch(() => undefined)
  ])
  return {
    range: aligned,
    dimension,
    ...timed,
    failureBucket: bucket,
    whole: wholes[0],
    before: befores[0],
    latencies,
    totals: totals ?? wholes,
    failuresByTime: failuresByTime.filter(hasCode),
    failuresByWhom: failuresByWhom.filter(hasCode),
    wasCut: [timed.timed, totals ?? [], failuresByTime, failuresByWhom].some(({ length }) => length >= SUM_ROWS_MAX)
  }
}

async function loadTimed(
  api: Api,
  { range, nowMs, groups }: Omit<OverviewQuestion, 'dimension'> & { readonly groups: readonly SumGroup[] },
  signal: AbortSignal
): Promise<Pick<Sums, 'bucket' | 'timed'>> {
  for (let steps = 0; ; steps++) {
    const bucket = chooseBucket(range, nowMs, steps)
    const timed = await api.sums({ ...boundsOf(alignRange(range, bucket)), by: ['time', ...groups], bucket }, signal)
    if (timed.length < SUM_ROWS_MAX || steps >= STEPS_MAX) return { bucket, timed }
  }
}

function hasCode({ error_code: code }: SumsRow): boolean {
  return code !== null && code !== undefined && code !== ''
}
