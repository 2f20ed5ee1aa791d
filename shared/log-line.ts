// The two ways a log event is written as one line: as JSON, or as text for people (operations contract, section 12).

/** What the JSON line of an event holds besides its own fields. */
interface LogEvent {
  time?: unknown
  level?: unknown
  msg?: unknown
  request_id?: unknown
  err?: unknown
  [field: string]: unknown
}

/** Fields that the text line shows elsewhere or that only machines need. */
const HIDDEN_FIELDS = new Set(['time', 'level', 'msg', 'request_id', 'pid', 'worker', 'err'])

const LEVEL_COLORS: Readonly<Record<string, string>> = {
  CRITICAL: '\u001b[35m',
  ERROR: '\u001b[31m',
  WARNING: '\u001b[33m',
  INFO: '\u001b[32m',
  DEBUG: '\u001b[36m'
}
const COLOR_END = '\u001b[0m'

/** Escapes what JSON itself leaves as it is, but a terminal or a line reader acts upon. */
export function escapeJsonLine(line: string): string {
  return LEFT_BY_JSON.test(line) ? line.replace(new RegExp(LEFT_BY_JSON, 'g'), writeUnicodeEscape) : line
}

/** Writes control characters and line separators as escapes, so that no text can forge a line or drive a terminal. */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, character => SHORT_ESCAPES[character] ?? writeUnicodeEscape(character))
}

/** Turns a JSON log line into `time | LEVEL | request id | message | extras`, with a stack below it where there is one. */
export function writeTextLine(jsonLine: string, options: { isColored: boolean }): string {
  const event = JSON.parse(jsonLine) as LogEvent
  const level = String(event.level).padEnd(8)
  const color = LEVEL_COLORS[String(event.level)]
  const extras = Object.entries(event).filter(([name, value]) => !HIDDEN_FIELDS.has(name) && value !== null)
  const parts = [
    writeLocalTime(new Date(String(event.time))),
    options.isColored && color !== undefined ? `${color}${level}${COLOR_END}` : level,
    typeof event.request_id === 'string' ? escapeControls(event.request_id) : '-',
    escapeControls(typeof event.msg === 'string' ? event.msg : '')
  ]
  if (extras.length > 0) parts.push(escapeControls(spacedJson(Object.fromEntries(extras))))
  return `${parts.join(' | ')}\n${writeStack(event.err)}`
}

const LEFT_BY_JSON = /[\u007f-\u009f\u2028\u2029]/
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this pattern is for.
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g
const SHORT_ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function writeUnicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function writeLocalTime(time: Date): string {
  const two = (value: number) => String(value).padStart(2, '0')
  const date = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`
  return `${date} ${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`
}

/** Indented, so that a line of a client's making inside a message is never taken for a line of the log. */
function writeStack(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('stack' in error) || typeof error.stack !== 'string') return ''
  return error.stack
    .split('\n')
    .map(line => `    ${escapeControls(line)}\n`)
    .join('')
}

function spacedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spacedJson).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${spacedJson(member)}`)
  return `{${members.join(', ')}}`
}
