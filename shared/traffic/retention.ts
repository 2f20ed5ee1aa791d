// How long records are kept: the times before which a purge deletes (operations.md 8.6;
// field-lessons.md L11 and L12).
import { writeRecordTime } from './record.ts'

/** Sums of minutes are kept so long: a day with buckets of minutes, and the day before to compare it with. */
export const MINUTE_SUMS_DAYS = 2

const DAY_MS = 24 * 60 * 60 * 1000

/** Ages in days. */
export interface RetentionPeriods {
  readonly records: number
  /** For records of failed requests; a period that is not longer changes nothing. */
  readonly failedRecords?: number | undefined
}

/** Times in the form of records. */
export interface RetentionCutoffs {
  /** Records before this time are deleted, */
  readonly before: string
  /** but those of failed requests only before this one, which is never later. */
  readonly failedBefore: string
  /** Sums of minutes are deleted before this time; absent: with the records. */
  readonly minutesBefore?: string | undefined
}

/** The time at which something is exactly the given number of days old. */
export function cutoffOf(nowMs: number, days: number): string {
  return writeRecordTime(nowMs - days * DAY_MS)
}

/** The cutoffs of a purge at this time. */
export function planCutoffs(nowMs: number, { records, failedRecords = 0 }: RetentionPeriods): RetentionCutoffs {
  const before = cutoffOf(nowMs, records)
  const failedBefore = cutoffOf(nowMs, Math.max(records, failedRecords))
  return { before, failedBefore, minutesBefore: cutoffOf(nowMs, MINUTE_SUMS_DAYS) }
}
