// Removes secrets from texts and values. Everything that is logged, stored or shown passes through
// this module (operations.md 8.2).

export const REDACTED = '***'

/**
 * Names whose values are never shown. Hyphen and underscore are equivalent, and so is a capital letter within a word (`apiKey`); case is
 * ignored otherwise.
 */
const SENSITIVE_KEYS = [
  'access_token',
  'admin_api_key',
  'api_key',
  'authorization',
  'client_secret',
  'credentials',
  'id_token',
  'key_file_password',
  'opensearch_password',
  'passwd',
  'password',
  'private_key',
  'refresh_token',
  'secret',
  'secret_key',
  'session_token',
  'token',
  'trace_api_key',
  'x_admin_api_key',
  'x_api_key',
  'x_goog_api_key'
] as const

/** Masked only as member names: as words they are too common in ordinary text. */
const SENSITIVE_HEADER_KEYS = ['cookie', 'set_cookie'] as const

/** A value nested deeper than this is replaced whole, because a hostile document must not exhaust the stack. */
const DEPTH_MAX_DEFAULT = 32

/** A known secret of at most this length is masked only as a separate word; otherwise parts of ordinary words would be masked. */
const SHORT_SECRET_LENGTH_MAX = 5

/** The names of log fields are few and occur in every line; further names are looked at each time. */
const REMEMBERED_KEYS_MAX = 1000
const REMEMBERED_KEY_LENGTH_MAX = 256

export interface Redactor {
  redactText(text: string): string
  /** Whether a member of this name is replaced whole, and the name as it is shown: it may be a secret itself. */
  readKey(key: string): { readonly isSensitive: boolean; readonly shown: string }
  /** Returns a copy: sensitive members are replaced whole, every other text and all names are redacted; numbers, booleans and null stay. */
  redactValue(value: unknown): unknown
}

export interface RedactorOptions {
  /** Further names whose values are masked. */
  readonly extraKeys?: readonly string[]
  /** Texts that are masked in any position: the configured keys and passwords. */
  readonly knownSecrets?: readonly string[]
  /**
   * Mask only the known secrets, pass-through tokens and keys of the gateway: the operator has switched redaction off.
   */
  readonly onlyOwnSecrets?: boolean
  /** Leave the bytes of files in data URLs as they are. */
  readonly keepsFiles?: boolean
  /** A value nested deeper than this is replaced whole; 32 unless given. */
  readonly depthMax?: number
}

/** One step of the redaction of a text. Its time is linear in the length of the text, because hostile texts are redacted too. */
type Masking = (text: string) => string

/** Builds a redactor; its patterns are compiled once. */
export function createRedactor(options: RedactorOptions = {}): Redactor {
  const extraKeys = (options.extraKeys ?? []).map(foldKey)
  const { onlyOwnSecrets = false, keepsFiles = false, depthMax = DEPTH_MAX_DEFAULT } = options
  const keys = new Set<string>(onlyOwnSecrets ? [] : [...SENSITIVE_KEYS, ...SENSITIVE_HEADER_KEYS, ...extraKeys])
  const knownKeys = new Map<string, { isSensitive: boolean; shown: string }>()
  const maskings = onlyOwnSecrets
    ? [maskPassToken, maskGatewayKey]
    : [...createMaskings([...SENSITIVE_KEYS, ...extraKeys]), ...(keepsFiles ? [] : [describeFiles])]
  const knownSecrets = createKnownSecretPattern(options.knownSecrets ?? [])

  function redactText(text: string): string {
    let result = knownSecrets === undefined ? text : text.replace(knownSecrets, REDACTED)
    if (!MAY_HOLD_SECRET.test(result)) return result
    for (const mask of maskings) result = mask(result)
    return result
  }

  function readKey(key: string): { isSensitive: boolean; shown: string } {
    const known = knownKeys.get(key)
    if (known !== undefined) return known
    const isSensitive = keys.has(foldKey(key)) || keys.has(foldKey(separateWords(key)))
    const found = { isSensitive, shown: redactText(key) }
    if (knownKeys.size < REMEMBERED_KEYS_MAX && key.length <= REMEMBERED_KEY_LENGTH_MAX) knownKeys.set(key, found)
    return found
  }

  function redactAt(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return redactText(value)
    if (typeof value !== 'object' || value === null) return value
    if (depth > depthMax) return TOO_DEEP
    if (ArrayBuffer.isView(value)) return `[binary ${value.byteLength} bytes]`
    if (Array.isArray(value)) return value.map(item => redactAt(item, depth + 1))
    if (hasOwnJson(value)) return redactAt(value.toJSON(), depth + 1)
    const copy: Record<string, unknown> = {}
    const members = value as Readonly<Record<string, unknown>>
    for (const key of Object.keys(value)) {
      const { isSensitive, shown } = readKey(key)
      copy[shown] = isSensitive ? REDACTED : redactAt(members[key], depth + 1)
    }
    return copy
  }

  return { redactText, readKey, redactValue: value => redactAt(value, 0) }
}

/** What stands in place of a value that is nested too deep. */
export const TOO_DEEP = '[too deep]'

/** Cheap test before the patterns: most log texts match none of these and need no further work. */
const MAY_HOLD_SECRET = /=|["']\s*:|:\/\/|data:|bearer|upstream-|eyJ|sk-|gw-|AIza|-----BEGIN/i

const DATA_URL = /\bdata:([\w.+-]+\/[\w.+-]+)(?:;[\w.-]{1,64}=[\w.-]{1,64}){0,4};base64,([A-Za-z0-9+/=_-]+)/gi

const maskPassToken: Masking = text => text.replace(/\b(upstream-(?:auth|cred|user)-)[^\s"',]+/gi, `$1${REDACTED}`)

/** As `--new-key` makes them: a process that checks keys knows only the digests of those of a keys file (keys.md 1). */
const maskGatewayKey: Masking = text => text.replace(/\bgw-[\w-]{43}(?![\w-])/g, REDACTED)

function createMaskings(keys: readonly string[]): Masking[] {
  const names = keys
    .map(key => escapePattern(key).replaceAll('_', '[-_]?'))
    .sort((left, right) => right.length - left.length)
    .join('|')
  const assignment = new RegExp(`\\b(${names})=(?:"[^"]*"|[^\\s&,;]+)`, 'gi')
  return [
    text => text.replace(/\bBearer\s+[^\s"',]+/gi, `Bearer ${REDACTED}`),
    createQuotedValueMasking(names),
    text => text.replace(assignment, `$1=${REDACTED}`),
    maskPassToken,
    maskGatewayKey,
    text => text.replace(/-----BEGIN [A-Z ]+-----(?:(?!-----BEGIN )[\s\S])*?-----END [A-Z ]+-----/g, REDACTED),
    text => text.replace(/(?<![\w-])eyJ[\w-]{6,}\.[\w-]{6,}\.[\w-]*/g, REDACTED),
    text => text.replace(/\b(?:sk-[\w-]{16,}|AIza[\w-]{20,})/g, REDACTED),
    text => text.replace(/\b([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/@"']+@/gi, `$1${REDACTED}@`)
  ]
}

const describeFiles: Masking = text => text.replace(DATA_URL, (_, mediaType, data) => describeBase64(mediaType, data))

/** Whether a text has the bytes of a file in a data URL. */
export function hasFile(text: string): boolean {
  return text.includes('data:') && text.search(DATA_URL) !== -1
}

/**
 * Masks `"name": "value"`. In JSON text inside JSON text the quotes are escaped, so a loop finds the end of a value: a pattern would
 * be either inexact or, on a text of backslashes, exponential.
 */
function createQuotedValueMasking(names: string): Masking {
  const opening = new RegExp(`(?<!\\\\)(\\\\*["'])(${names})\\1\\s*:\\s*\\1`, 'gi')
  return text => {
    let result = ''
    let doneLength = 0
    for (const match of text.matchAll(opening)) {
      const [whole, quote = '', name = ''] = match
      const start = match.index + whole.length
      // This match lies inside a value that is masked already.
      if (match.index < doneLength) continue
      const end = findQuote(text, start, quote)
      if (end === start) continue
      result += `${text.slice(doneLength, match.index)}${quote}${name}${quote}: ${quote}${REDACTED}`
      doneLength = end
    }
    return result + text.slice(doneLength)
  }
}

/** Returns the index of the quote that ends a value, or of the backslashes that escape it; the text's length when there is none. */
function findQuote(text: string, start: number, quote: string): number {
  const mark = quote.at(-1)
  const escapeCount = quote.length - 1
  // A backslash inside the value is written with this many, so the closing quote follows a multiple of it plus `escapeCount`.
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

/** What stands in place of the bytes of a file: `[image/png;base64 34567 bytes]`. */
export function describeBase64(mediaType: string, data: string): string {
  let characters = data.length
  // A pattern for the padding would take quadratic time on a text of equals signs.
  while (data[characters - 1] === '=') characters -= 1
  return `[${mediaType};base64 ${Math.floor((characters * 3) / 4)} bytes]`
}

function createKnownSecretPattern(secrets: readonly string[]): RegExp | undefined {
  const patterns = [...new Set(secrets)]
    .filter(secret => secret !== '')
    .sort((left, right) => right.length - left.length)
    .flatMap(secret => {
      const spellings = [writeUrlPattern(secret), escapePattern(JSON.stringify(secret.toWellFormed()).slice(1, -1))]
      if (secret.length > SHORT_SECRET_LENGTH_MAX) return spellings
      return spellings.map(pattern => `(?<![\\w])${pattern}(?![\\w])`)
    })
  return patterns.length === 0 ? undefined : new RegExp(patterns.join('|'), 'g')
}

/** Matches a secret as it is and as it stands in a URL, where any character but letters and digits may be encoded. */
function writeUrlPattern(secret: string): string {
  return secret.replace(/[^A-Za-z0-9]/gu, character => {
    const encoded = [...Buffer.from(character)].map(byte => `%${writeHexPattern(byte)}`).join('')
    return `(?:${escapePattern(character)}|${encoded})`
  })
}

function writeHexPattern(byte: number): string {
  const digits = byte.toString(16).padStart(2, '0')
  return digits.replace(/[a-f]/g, digit => `[${digit}${digit.toUpperCase()}]`)
}

/** `apiKey` as `api_Key`. */
function separateWords(key: string): string {
  return key.replace(/([a-z0-9])([A-Z])/g, '$1_$2')
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
