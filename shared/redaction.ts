// The one place that takes secrets out of text and values before anything is logged, stored or shown (operations contract, 8.2).

export const REDACTED = '***'

/** Names whose values are never shown. Hyphen and underscore are the same, and case does not matter. */
const SENSITIVE_KEYS = [
  'access_token',
  'admin_api_key',
  'api_key',
  'authorization',
  'credentials',
  'key_file_password',
  'opensearch_password',
  'passwd',
  'password',
  'refresh_token',
  'secret',
  'secret_key',
  'token',
  'trace_api_key',
  'x_admin_api_key',
  'x_api_key',
  'x_goog_api_key'
] as const

/** Masked as keys only: as words they are too common in ordinary text. */
const SENSITIVE_HEADER_KEYS = ['cookie', 'set_cookie'] as const

/** Deeper values are not walked but replaced: a hostile document must not exhaust the stack. */
const DEPTH_MAX = 32

/** A known secret shorter than this is masked only where it stands alone, or it would tear ordinary words apart. */
const FREE_STANDING_LENGTH_MAX = 5

export interface Redactor {
  redactText(text: string): string
  /** A copy in which sensitive members are replaced whole and every text is redacted; numbers, booleans and null stay. */
  redactValue(value: unknown): unknown
}

export interface RedactorOptions {
  /** Further names whose values are masked. */
  readonly extraKeys?: readonly string[]
  /** Texts that are masked wherever they occur: the configured keys and passwords. */
  readonly knownSecrets?: readonly string[]
}

/** One step of the redaction of a text. Each takes time in proportion to the text: hostile texts come here too. */
type Masking = (text: string) => string

/** Builds a redactor; its patterns are compiled once. */
export function createRedactor(options: RedactorOptions = {}): Redactor {
  const extraKeys = (options.extraKeys ?? []).map(foldKey)
  const keys = new Set<string>([...SENSITIVE_KEYS, ...SENSITIVE_HEADER_KEYS, ...extraKeys])
  const maskings = createMaskings([...SENSITIVE_KEYS, ...extraKeys])
  const knownSecrets = createKnownSecretPattern(options.knownSecrets ?? [])

  function redactText(text: string): string {
    let result = knownSecrets === undefined ? text : text.replace(knownSecrets, REDACTED)
    if (!MAY_HOLD_SECRET.test(result)) return result
    for (const mask of maskings) result = mask(result)
    return result
  }

  function redactAt(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return redactText(value)
    if (typeof value !== 'object' || value === null) return value
    if (depth > DEPTH_MAX) return '[too deep]'
    if (ArrayBuffer.isView(value)) return `[binary ${value.byteLength} bytes]`
    if (Array.isArray(value)) return value.map(item => redactAt(item, depth + 1))
    if (hasOwnJson(value)) return redactAt(value.toJSON(), depth + 1)
    const copy: Record<string, unknown> = {}
    for (const [key, member] of Object.entries(value)) {
      copy[key] = keys.has(foldKey(key)) ? REDACTED : redactAt(member, depth + 1)
    }
    return copy
  }

  return { redactText, redactValue: value => redactAt(value, 0) }
}

/** A cheap look before the patterns: most log texts hold none of these and are done. */
const MAY_HOLD_SECRET = /[=:]|bearer|upstream-|eyJ|sk-|AIza|-----BEGIN/i

function createMaskings(keys: readonly string[]): Masking[] {
  const names = keys
    .map(key => escapePattern(key).replaceAll('_', '[-_]'))
    .sort((left, right) => right.length - left.length)
    .join('|')
  const assignment = new RegExp(`\\b(${names})=(?:"[^"]*"|[^\\s&,;]+)`, 'gi')
  return [
    text => text.replace(/\bBearer\s+[^\s"',]+/gi, `Bearer ${REDACTED}`),
    createQuotedValueMasking(names),
    text => text.replace(assignment, `$1=${REDACTED}`),
    text => text.replace(/\b(upstream-(?:auth|cred|user)-)[^\s"',]+/gi, `$1${REDACTED}`),
    text => text.replace(/-----BEGIN [A-Z ]+-----(?:(?!-----BEGIN )[\s\S])*?-----END [A-Z ]+-----/g, REDACTED),
    text => text.replace(/(?<![\w-])eyJ[\w-]{6,}\.[\w-]{6,}\.[\w-]*/g, REDACTED),
    text => text.replace(/\b(?:sk-[\w-]{16,}|AIza[\w-]{20,})/g, REDACTED),
    text => text.replace(/\b([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/@"']+@/gi, `$1${REDACTED}@`),
    text =>
      text.replace(/\bdata:([\w.+-]+\/[\w.+-]+);base64,([A-Za-z0-9+/=_-]+)/g, (_, mediaType, data) =>
        describeData(mediaType, data)
      )
  ]
}

/**
 * Masks `"name": "value"`. The quotes may be escaped themselves, where JSON text stands inside JSON text, so the end of a value is
 * looked for by hand: a pattern for it would be either inexact or, on a text of backslashes, exponential.
 */
function createQuotedValueMasking(names: string): Masking {
  const opening = new RegExp(`(?<!\\\\)(\\\\*["'])(${names})\\1\\s*:\\s*\\1`, 'gi')
  return text => {
    let result = ''
    let doneLength = 0
    for (const match of text.matchAll(opening)) {
      const [whole, quote = '', name = ''] = match
      const start = match.index + whole.length
      // Looks like a name, but stands inside a value that is masked already.
      if (match.index < doneLength) continue
      const end = findQuote(text, start, quote)
      if (end === start) continue
      result += `${text.slice(doneLength, match.index)}${quote}${name}${quote}: ${quote}${REDACTED}`
      doneLength = end
    }
    return result + text.slice(doneLength)
  }
}

/** Where the quote that ends a value begins, its own backslashes included; the end of the text when it was cut off before. */
function findQuote(text: string, start: number, quote: string): number {
  const mark = quote.at(-1)
  const escapeCount = quote.length - 1
  // One level deeper every quote and every backslash doubles its backslashes, so an escaped quote has this many more or less.
  const period = 2 * (escapeCount + 1)
  let backslashes = 0
  for (let index = start; index < text.length; index += 1) {
    const character = text[index]
    if (character === '\\') {
      backslashes += 1
      continue
    }
    if (character === mark && backslashes % period === escapeCount) return index - escapeCount
    backslashes = 0
  }
  return text.length
}

function describeData(mediaType: string | undefined, data: string | undefined): string {
  const length = Math.floor(((data ?? '').replace(/=+$/, '').length * 3) / 4)
  return `[${mediaType};base64 ${length} bytes]`
}

function createKnownSecretPattern(secrets: readonly string[]): RegExp | undefined {
  const patterns = [...new Set(secrets)]
    .filter(secret => secret !== '')
    .sort((left, right) => right.length - left.length)
    .map(secret => {
      const pattern = escapePattern(secret)
      return secret.length > FREE_STANDING_LENGTH_MAX ? pattern : `(?<![\\w])${pattern}(?![\\w])`
    })
  return patterns.length === 0 ? undefined : new RegExp(patterns.join('|'), 'g')
}

function foldKey(key: string): string {
  return key.trim().toLowerCase().replaceAll('-', '_')
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

function hasOwnJson(value: object): value is { toJSON: () => unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function'
}
