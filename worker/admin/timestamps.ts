// Times in the queries of the admin API, in the form of records (operations.md 9.1), and times of
// records in its answers.

const DATE_TIME =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,18}))?)?(?:([Zz])|([+ -])(\d{2}):?(\d{2}))?)?$/
const UNIX_SECONDS = /^(-?)(\d{1,12})(?:\.(\d{1,18}))?$/

/** The years that records can have: 1 to 9999. */
const FIRST_S = -62_135_596_800
const LAST_S = 253_402_300_799
const MICROSECONDS = 1_000_000

type Rounding = 'up' | 'down'

/** Whole seconds since the epoch and microseconds, apart because their sum is no exact number in distant years. */
interface Instant {
  readonly seconds: number
  /** May be negative, or more than a second. */
  readonly microseconds: number
}

/**
 * Reads RFC 3339 with any offset, a date, or Unix seconds, and returns the time as records write it; undefined for any other text. A value
 * without offset is UTC, and a space stands for a `+` that was not escaped. Digits behind the microseconds round `up` or `down`, so that
 * the bounds of a filter stay exact.
 */
export function readTimestamp(text: string, rounding: Rounding): string | undefined {
  const instant = readUnixSeconds(text, rounding) ?? readDateTime(text, rounding)
  if (instant === undefined) return undefined
  const carried = Math.floor(instant.microseconds / MICROSECONDS)
  const seconds = instant.seconds + carried
  if (seconds < FIRST_S || seconds > LAST_S) return undefined
  const fraction = String(instant.microseconds - carried * MICROSECONDS).padStart(6, '0')
  return `${new Date(seconds * 1000).toISOString().slice(0, -'.000Z'.length)}.${fraction}Z`
}

/** The time of a record as the admin API shows it: with `+00:00` in place of `Z` (section 9.2). */
export function showTime(recordTime: string): string {
  return recordTime.replace(/Z$/, '+00:00')
}

function readUnixSeconds(text: string, rounding: Rounding): Instant | undefined {
  const match = UNIX_SECONDS.exec(text)
  if (match === null) return undefined
  const [, sign, seconds, fraction] = match
  if (sign === '') return { seconds: Number(seconds), microseconds: readFraction(fraction, rounding) }
  // Of a negative time a longer fraction is an earlier time.
  return { seconds: -Number(seconds), microseconds: -readFraction(fraction, rounding === 'up' ? 'down' : 'up') }
}

function readDateTime(text: string, rounding: Rounding): Instant | undefined {
  const match = DATE_TIME.exec(text)
  if (match === null) return undefined
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction, , sign, zoneHour, zoneMinute] = match
  const date = new Date(0)
  // `Date.UTC` would take the years 0 to 99 for those of the last century.
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  // A day that the month lacks has become one of the next month.
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return undefined
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined
  if (sign !== undefined && (Number(zoneHour) > 23 || Number(zoneMinute) > 59)) return undefined
  const localSeconds = date.getTime() / 1000 + Number(hour) * 3600 + Number(minute) * 60 + Number(second)
  const offsetSeconds = sign === undefined ? 0 : Number(zoneHour) * 3600 + Number(zoneMinute) * 60
  const seconds = sign === '-' ? localSeconds + offsetSeconds : localSeconds - offsetSeconds
  return { seconds, microseconds: readFraction(fraction, rounding) }
}

/** Microseconds of the digits behind the point of a number of seconds; a whole second where they round up to it. */
function readFraction(digits = '', rounding: Rounding): number {
  const whole = Number(digits.slice(0, 6).padEnd(6, '0'))
  const hasMore = /[1-9]/.test(digits.slice(6))
  return hasMore && rounding === 'up' ? whole + 1 : whole
}
