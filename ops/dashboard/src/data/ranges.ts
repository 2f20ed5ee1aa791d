// Ranges of time: those that end now, and one of the reader's own; and the parts that a range is drawn in.
import { BUCKETS_SECONDS, type BucketSeconds, type SumsRequest } from '../../../../shared/traffic/query.ts'
import { MINUTE_SUMS_DAYS } from '../../../../shared/traffic/retention.ts'
import type { Params } from './address.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Ranges that end now, by their name in the address. */
export const RANGES = [
  { name: '15m', label: '15 min', title: 'the last 15 minutes', lengthMs: 15 * MINUTE_MS },
  { name: '1h', label: '1 h', title: 'the last hour', lengthMs: HOUR_MS },
  { name: '6h', label: '6 h', title: 'the last 6 hours', lengthMs: 6 * HOUR_MS },
  { name: '24h', label: '24 h', title: 'the last 24 hours', lengthMs: DAY_MS },
  { name: '7d', label: '7 d', title: 'the last 7 days', lengthMs: 7 * DAY_MS },
  { name: '30d', label: '30 d', title: 'the last 30 days', lengthMs: 30 * DAY_MS }
] as const
export type RangeName = (typeof RANGES)[number]['name'] | 'month'

/** Of a view whose address names none. */
export const DEFAULT_RANGE = '1h' satisfies RangeName

/** Seconds of a part. */
export type Bucket = BucketSeconds

/** More parts than this are too thin to be seen, or to be chosen. */
const PARTS_MAX = 170

export interface Range {
  /** In milliseconds since the epoch. */
  readonly fromMs: number
  readonly toMs: number
}

/** The range that the state of a view names; undefined for none, and for a text that is none. */
export function readRange(params: Params, nowMs: number): Range | undefined {
  const { range, from, to } = params
  if (range === 'month') return monthOf(nowMs)
  const known = RANGES.find(({ name }) => name === range)
  if (known !== undefined) return { fromMs: nowMs - known.lengthMs, toMs: nowMs }
  const fromMs = readInstant(from)
  if (fromMs === undefined) return undefined
  const toMs = readInstant(to) ?? nowMs
  return fromMs < toMs ? { fromMs, toMs } : undefined
}

/** Whether the range ends now, so that time alone changes it. */
export function endsNow({ range, to }: Params): boolean {
  return range !== undefined || to === undefined
}

/** The month of UTC that has begun. */
export function monthOf(nowMs: number): Range {
  const now = new Date(nowMs)
  return { fromMs: Date.UTC(now.getUTCFullYear(), now.getUTCMonth()), toMs: nowMs }
}

/**
 * The smallest parts of which a range has few enough, and which are kept so long: an hour and less has minutes, a week hours.
 * @param steps how many sizes larger, where the rows of the smallest are too many.
 */
export function chooseBucket(range: Range, nowMs: number, steps = 0): Bucket {
  const { fromMs, toMs } = range
  const fitting = BUCKETS_SECONDS.findIndex(
    bucket => (toMs - fromMs) / (bucket * 1000) <= PARTS_MAX && isKept(range, bucket, nowMs)
  )
  const index = (fitting < 0 ? BUCKETS_SECONDS.length : fitting) + steps
  return BUCKETS_SECONDS[index] ?? 86_400
}

/** Whether the gateway has sums of such parts since the start of a range. */
export function isKept({ fromMs }: Range, bucket: Bucket, nowMs: number): boolean {
  return bucket * 1000 >= HOUR_MS || fromMs >= nowMs - MINUTE_SUMS_DAYS * DAY_MS - HOUR_MS / 2
}

/** The range from the start of its first part. */
export function alignRange({ fromMs, toMs }: Range, bucket: Bucket): Range {
  const partMs = bucket * 1000
  return { fromMs: Math.floor(fromMs / partMs) * partMs, toMs }
}

/** Starts of the parts in seconds, as charts want them. */
export function listParts({ fromMs, toMs }: Range, bucket: Bucket): number[] {
  const parts = []
  const first = Math.floor(fromMs / 1000 / bucket) * bucket
  for (let second = first; second * 1000 < toMs; second += bucket) parts.push(second)
  return parts
}

/** The same length of time before a range. */
export function rangeBefore({ fromMs, toMs }: Range): Range {
  return { fromMs: fromMs - (toMs - fromMs), toMs: fromMs }
}

const PART_TITLES: Readonly<Record<Bucket, string>> = {
  60: 'minute',
  300: '5 minutes',
  900: '15 minutes',
  3600: 'hour',
  86400: 'day (UTC)'
}

export function titleOfPart(bucket: Bucket): string {
  return PART_TITLES[bucket]
}

/** A range in the form of a question. */
export function boundsOf({ fromMs, toMs }: Range): Pick<SumsRequest, 'from' | 'to'> {
  return { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() }
}

/** How often a range is asked for again, in milliseconds: a longer one changes less in a while, and costs more. */
export function chooseRefresh(range: Range | undefined): number {
  if (range === undefined) return 10_000
  const lengthMs = range.toMs - range.fromMs
  if (lengthMs <= HOUR_MS) return 10_000
  return lengthMs <= DAY_MS ? 30_000 : 120_000
}

/** A time of the address; undefined for a text that is no time. */
function readInstant(text: string | undefined): number | undefined {
  const ms = Date.parse(text ?? '')
  return Number.isNaN(ms) ? undefined : ms
}
