// Texts for numbers and times. What is unknown is a dash.

export const UNKNOWN = '–'

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const tenths = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })

/** An integer with separators. */
export function formatCount(value: unknown): string {
  return typeof value === 'number' ? whole.format(value) : UNKNOWN
}

/** A number that has to be short, such as `1.2M`. */
export function formatShort(value: unknown): string {
  return typeof value === 'number' ? compact.format(value) : UNKNOWN
}

const cents = new Intl.NumberFormat('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
const fractions = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 })

/** An amount of money without its currency: two decimal places, or three digits of less than a tenth. */
export function formatAmount(value: unknown): string {
  if (typeof value !== 'number') return UNKNOWN
  if (value !== 0 && Math.abs(value) < AMOUNT_MIN) return `<${AMOUNT_MIN}`
  return (Math.abs(value) >= 0.1 || value === 0 ? cents : fractions).format(value)
}

/** Smaller amounts are all the same to a reader. */
const AMOUNT_MIN = 0.000001

const oneTenth = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 })
const TENTH = 0.1

/** With one decimal place, so that a column lines up; none and all of a whole without one, and no small share as none. */
export function formatPercent(value: unknown): string {
  if (typeof value !== 'number') return UNKNOWN
  if (value > 0 && value < TENTH) return `<${TENTH}%`
  if (value > 100 - TENTH && value < 100) return `>${100 - TENTH}%`
  return `${value === 0 || value === 100 ? value : oneTenth.format(value)}%`
}

/** A share at the axis of a chart. */
export function formatAxisPercent(value: unknown): string {
  return typeof value === 'number' ? `${tenths.format(value)}%` : UNKNOWN
}

/** Milliseconds, with tenths below ten, or seconds from one second on. */
export function formatDuration(ms: unknown): string {
  if (typeof ms !== 'number') return UNKNOWN
  if (ms >= 1000) return `${tenths.format(ms / 1000)} s`
  return `${(ms < 10 ? tenths : whole).format(ms)} ms`
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** A length of time in its largest unit, such as `3 min` or `12 d`. */
export function formatSpan(ms: number): string {
  if (ms < MINUTE_MS) return `${Math.round(ms / 1000)} s`
  if (ms < HOUR_MS) return `${Math.round(ms / MINUTE_MS)} min`
  return ms < 2 * DAY_MS ? `${Math.round(ms / HOUR_MS)} h` : `${Math.round(ms / DAY_MS)} d`
}

/** How long ago a time was. */
export function formatAgo(text: unknown, nowMs: number): string {
  const date = readDate(text)
  return date === undefined ? UNKNOWN : `${formatSpan(Math.max(0, nowMs - date.getTime()))} ago`
}

/** The time of day without seconds; of another day with its date. */
export function formatClock(ms: number, nowMs: number): string {
  const [at, now] = [new Date(ms), new Date(nowMs)]
  const time = `${pad(at.getHours())}:${pad(at.getMinutes())}`
  return at.toDateString() === now.toDateString() ? time : `${formatDay(ms)} ${time}`
}

const day = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short' })
const dayOfUtc = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' })

/** A local date, such as `Nov 30`. */
export function formatDay(ms: number): string {
  return day.format(ms)
}

/** A date of UTC. */
export function formatDayOfUtc(ms: number): string {
  return dayOfUtc.format(ms)
}

const BYTE_UNITS = ['KiB', 'MiB', 'GiB', 'TiB'] as const

export function formatBytes(value: unknown): string {
  if (typeof value !== 'number') return UNKNOWN
  if (value < 1024) return `${value} B`
  const power = Math.min(Math.floor(Math.log2(value) / 10), BYTE_UNITS.length)
  return `${tenths.format(value / 1024 ** power)} ${BYTE_UNITS[power - 1]}`
}

/** The local time of day of a record, with milliseconds. */
export function formatTime(text: unknown): string {
  const date = readDate(text)
  if (date === undefined) return UNKNOWN
  return `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}.${pad(date.getMilliseconds(), 3)}`
}

/** The local date and time of a record. */
export function formatDateTime(text: unknown): string {
  const date = readDate(text)
  if (date === undefined) return UNKNOWN
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ${formatTime(text)}`
}

/** The local date of a time. */
export function formatDate(text: unknown): string {
  return formatDateTime(text).split(' ')[0] ?? UNKNOWN
}

/** The local date and time without seconds. */
export function formatMinute(text: unknown): string {
  return formatDateTime(text).slice(0, 'YYYY-MM-DD HH:mm'.length)
}

/** Any value as text: records are written by others, so a member may be of any kind. */
export function formatText(value: unknown): string {
  if (value === null || value === undefined || value === '') return UNKNOWN
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const DIGEST = 'sha256:'
const DIGITS = 12

/** The first digits of a digest, which tell revisions apart; another text as it is. */
export function shortenRevision(text: string): string {
  return text.startsWith(DIGEST) ? text.slice(DIGEST.length, DIGEST.length + DIGITS) : text
}

function readDate(text: unknown): Date | undefined {
  const date = new Date(typeof text === 'string' ? text : Number.NaN)
  return Number.isNaN(date.getTime()) ? undefined : date
}

function pad(value: number, width = 2): string {
  return String(value).padStart(width, '0')
}
