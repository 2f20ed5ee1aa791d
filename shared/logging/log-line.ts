// The two forms of a log line: JSON, or text for people (operations.md 12).

/** The members that every JSON log line has; all other members are fields of the event. */
interface LogEvent {
  time?: unknown
  level?: unknown
  msg?: unknown
  request_id?: unknown
  err?: unknown
  [field: string]: unknown
}

/** Fields that the text line does not list with the extras: it shows them elsewhere, or only machines need them. */
const HIDDEN_FIELDS = new Set(['time', 'level', 'msg', 'request_id', 'pid', 'worker', 'err'])

const LEVEL_COLORS: Readonly<Record<string, string>> = {
  CRITICAL: '\u001b[35m',
  ERROR: '\u001b[31m',
  WARNING: '\u001b[33m',
  INFO: '\u001b[32m',
  DEBUG: '\u001b[36m'
}
const COLOR_END = '\u001b[0m'

/** Escapes the characters that JSON allows unescaped but that a terminal or a line reader interprets. */
export function escapeJsonLine(line: string): string {
  return UNESCAPED_BY_JSON.test(line) ? line.replace(new RegExp(UNESCAPED_BY_JSON, 'g'), writeUnicodeEscape) : line
}

/** Writes control characters and line separators as escapes, so that no text can forge a line or control a terminal. */
function escapeControls(text: string): string {
  return text.replace(CONTROLS, character => SHORT_ESCAPES[character] ?? writeUnicodeEscape(character))
}

/** Turns a JSON log line into `time | LEVEL | request id | message | extras`, followed by the indented stack of an error. */
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

const UNESCAPED_BY_JSON = /[\u007f-\u009f\u2028\u2029]/
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

/** Indents every line of the stack: a line that client text forges inside an error message then cannot look like a log line. */
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
