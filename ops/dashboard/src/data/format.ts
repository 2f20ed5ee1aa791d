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
  return (Math.abs(value) >= 0.1 || value === 0 ? cents : fractions).format(value)
}

export function formatPercent(value: unknown): string {
  return typeof value === 'number' ? `${tenths.format(value)}%` : UNKNOWN
}

/** Milliseconds, with tenths below ten, or seconds from one second on. */
export function formatDuration(ms: unknown): string {
  if (typeof ms !== 'number') return UNKNOWN
  if (ms >= 1000) return `${tenths.format(ms / 1000)} s`
  return `${(ms < 10 ? tenths : whole).format(ms)} ms`
}

export function formatBytes(value: unknown): string {
  if (typeof value !== 'number') return UNKNOWN
  if (value < 1024) return `${value} B`
  return value < 1024 * 1024 ? `${tenths.format(value / 1024)} KiB` : `${tenths.format(value / 1024 / 1024)} MiB`
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

function readDate(text: unknown): Date | undefined {
  const date = new Date(typeof text === 'string' ? text : Number.NaN)
  return Number.isNaN(date.getTime()) ? undefined : date
}

function pad(value: number, width = 2): string {
  return String(value).padStart(width, '0')
}
