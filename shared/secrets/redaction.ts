// Removes secrets from texts and values. Everything that is logged, stored or shown passes through
// this module (operations.md 8.2).
import { createSecretNames, type NameKind } from './secret-names.ts'
import { createNameMasking, type Masking, REDACTED, shapeMaskings } from './secret-texts.ts'

export { REDACTED }

/** A value nested deeper than this is replaced whole, because a hostile document must not exhaust the stack. */
const DEPTH_MAX_DEFAULT = 32

/** A known secret of at most this length is masked only as a separate word; otherwise parts of ordinary words would be masked. */
const SHORT_SECRET_LENGTH_MAX = 5

/** The names of log fields are few and occur in every line; further names are looked at each time. */
const REMEMBERED_KEYS_MAX = 1000
const REMEMBERED_KEY_LENGTH_MAX = 256

export interface KeyReading {
  readonly kind: NameKind
  readonly shown: string
}

/** Whether the value of a member is replaced whole. */
export function isHidden(kind: NameKind, value: unknown): boolean {
  if (kind !== 'secret-text') return kind === 'secret'
  return typeof value === 'string' || (typeof value === 'object' && value !== null)
}

export interface Redactor {
  redactText(text: string): string
  /** What the name of a member says, and the name as it is shown: it may be a secret itself. */
  readKey(key: string): KeyReading
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

/** Builds a redactor; its patterns are compiled once. */
export function createRedactor(options: RedactorOptions = {}): Redactor {
  const { extraKeys = [], onlyOwnSecrets = false, keepsFiles = false, depthMax = DEPTH_MAX_DEFAULT } = options
  const names = createSecretNames(extraKeys)
  const knownKeys = new Map<string, KeyReading>()
  const maskings = onlyOwnSecrets
    ? [maskPassToken, maskGatewayKey]
    : [
        maskBearer,
        createNameMasking(names, extraKeys),
        maskPassToken,
        maskGatewayKey,
        ...shapeMaskings,
        ...(keepsFiles ? [] : [describeFiles])
      ]
  const knownSecrets = createKnownSecretPattern(options.knownSecrets ?? [])

  function redactText(text: string): string {
    let result = knownSecrets === undefined ? text : text.replace(knownSecrets, REDACTED)
    for (const mask of maskings) result = mask(result)
    return result
  }

  function readKey(key: string): KeyReading {
    const known = knownKeys.get(key)
    if (known !== undefined) return known
    const kind = onlyOwnSecrets ? 'plain' : names.classify(key)
    const found = { kind, shown: redactText(key) } as const
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
    // Not by assignment, which would make a member named `__proto__` the prototype.
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => {
        const { kind, shown } = readKey(key)
        return [shown, isHidden(kind, member) ? REDACTED : redactAt(member, depth + 1)]
      })
    )
  }

  return { redactText, readKey, redactValue: value => redactAt(value, 0) }
}

/** What stands in place of a value that is nested too deep. */
export const TOO_DEEP = '[too deep]'

const DATA_URL = /\bdata:([\w.+-]+\/[\w.+-]+)(?:;[\w.-]{1,64}=[\w.-]{1,64}){0,4};base64,([A-Za-z0-9+/=_-]+)/gi

const maskPassToken: Masking = text => text.replace(/\b(upstream-(?:auth|cred|user)-)[^\s"',]+/gi, `$1${REDACTED}`)

/** As `--new-key` makes them: a process that checks keys knows only the digests of those of a keys file (keys.md 1). */
const maskGatewayKey: Masking = text => text.replace(/\bgw-[\w-]{43}(?![\w-])/g, REDACTED)

const maskBearer: Masking = text => text.replace(/\bBearer\s+[^\s"',]+/gi, `Bearer ${REDACTED}`)

const describeFiles: Masking = text => text.replace(DATA_URL, (_, mediaType, data) => describeBase64(mediaType, data))

/** Whether a text has the bytes of a file in a data URL. */
export function hasFile(text: string): boolean {
  return text.includes('data:') && text.search(DATA_URL) !== -1
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

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

function hasOwnJson(value: object): value is { toJSON: () => unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function'
}
