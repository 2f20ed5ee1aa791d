// Writes a captured body for a traffic record: redacted, bounded, as JSON text (operations.md 8.2).
// Its time is linear in the length of the body. Large bodies are written in a thread.
import { asBuffer } from '../../shared/bytes.ts'
import {
  createRedactor,
  describeBase64,
  hasFile,
  isHidden,
  REDACTED,
  type Redactor,
  TOO_DEEP
} from '../../shared/secrets/redaction.ts'
import { cutText } from './capture.ts'

/** How captured bodies are redacted: plain data, because a thread needs it too. */
export interface CaptureRules {
  /** False: the operator has switched redaction off; only the gateway's own secrets are masked. */
  readonly isRedacted: boolean
  /** Further names whose values are masked. */
  readonly extraKeys: readonly string[]
  /** The configured keys and credentials. */
  readonly knownSecrets: readonly string[]
  /** The most bytes of a body that are kept. */
  readonly bytesMax: number
}

export interface CapturedBody {
  /** The beginning of the body, of at most `bytesMax` bytes. */
  readonly bytes: Uint8Array
  /** The body is longer. */
  readonly isCut: boolean
  /** Keep a body that is no JSON as text. */
  readonly keepsText: boolean
  readonly rules: CaptureRules
}

/** What is stored of a body. */
export interface WrittenBody {
  /** JSON text; '' where nothing is stored. */
  readonly body: string
  /** Something besides secrets was left out: the body cannot be sent again as it was. */
  readonly isShortened: boolean
}

/** The longest text of a member, in characters. */
const FIELD_CHARACTERS_MAX = 16 * 1024

/** Deeper values are replaced: a hostile document must not exhaust the stack. */
export const CAPTURED_DEPTH_MAX = 128

/** Base64 of this length is taken as the bytes of a file where no media type says so. */
const UNTYPED_DATA_CHARACTERS_MIN = 256

/**
 * Returns the JSON text of what is stored of a body: its value, or its text, or `{"truncated", "max_bytes", "body"}` where it is cut. ''
 * where nothing is stored.
 */
export function writeCapturedBody({ bytes, isCut, keepsText, rules }: CapturedBody): WrittenBody {
  const redactor = findRedactor(rules)
  const text = asBuffer(bytes).toString('utf8')
  if (isCut) {
    // The last characters may be the beginning of a secret, which redaction would not recognize.
    const body = redactor.redactText(cutText(`${text} `, text.length)).toWellFormed()
    return { body: JSON.stringify({ truncated: true, max_bytes: rules.bytesMax, body }), isShortened: true }
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    if (!keepsText || text === '') return { body: '', isShortened: false }
    return { body: JSON.stringify(redactor.redactText(text).toWellFormed()), isShortened: false }
  }
  const writer = new MemberWriter(redactor)
  const body = JSON.stringify(writer.write(value, 0))
  return { body, isShortened: writer.isShortened }
}

/** Builds the redactor of captured content. */
export function createCaptureRedactor({ isRedacted, extraKeys, knownSecrets }: CaptureRules): Redactor {
  return createRedactor({ extraKeys, knownSecrets, onlyOwnSecrets: !isRedacted })
}

/** A redacted text of at most 16 Ki characters; what is left out is counted. */
export function boundText(text: string): string {
  if (text.length <= FIELD_CHARACTERS_MAX) return text.toWellFormed()
  const kept = text.slice(0, FIELD_CHARACTERS_MAX)
  return `${kept}[${text.length - kept.length} more characters]`.toWellFormed()
}

class MemberWriter {
  readonly #redactor: Redactor
  /** A text was cut, the bytes of a file were replaced, or a value was nested too deep. */
  isShortened = false

  constructor(redactor: Redactor) {
    this.#redactor = redactor
  }

  write(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return this.#writeText(value)
    if (typeof value !== 'object' || value === null) return value
    if (depth > CAPTURED_DEPTH_MAX) {
      this.isShortened = true
      return TOO_DEEP
    }
    if (Array.isArray(value)) return value.map(item => this.write(item, depth + 1))
    // Not by assignment, which would make a member named `__proto__` the prototype.
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => this.#writeMember(name, member, value, depth))
    )
  }

  #writeMember(name: string, member: unknown, holder: object, depth: number): [string, unknown] {
    const { kind, shown } = this.#redactor.readKey(name)
    if (isHidden(kind, member)) return [shown, REDACTED]
    const file = describeFile(name, member, holder)
    if (file === undefined) return [shown, this.write(member, depth + 1)]
    this.isShortened = true
    return [shown, file]
  }

  #writeText(text: string): string {
    const redacted = this.#redactor.redactText(text)
    if (redacted.length > FIELD_CHARACTERS_MAX || (redacted !== text && hasFile(text) && !hasFile(redacted))) {
      this.isShortened = true
    }
    return boundText(redacted)
  }
}

/** Names under which the protocols have the bytes of a file in base64, next to its media type. */
const DATA_NAMES: ReadonlySet<string> = new Set(['data', 'b64_json', 'file_data'])

/** What stands in place of the bytes of a file; undefined for any other member. */
function describeFile(name: string, member: unknown, holder: object): string | undefined {
  if (!DATA_NAMES.has(name) || typeof member !== 'string') return undefined
  const { media_type, mime_type, mimeType, format } = holder as Record<string, unknown>
  const types = [media_type, mime_type, mimeType, format].filter(given => typeof given === 'string')
  const type = types.find(given => /^[\w.+/-]{1,64}$/.test(given))
  if (type?.includes('/') !== true && member.length < UNTYPED_DATA_CHARACTERS_MIN) return undefined
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(member)) return undefined
  return describeBase64(type ?? 'application/octet-stream', member)
}

/** A thread sees ever new copies of the same rules. */
let current: { key: string; redactor: Redactor } | undefined

function findRedactor(rules: CaptureRules): Redactor {
  const key = JSON.stringify(rules)
  if (current?.key !== key) current = { key, redactor: createCaptureRedactor(rules) }
  return current.redactor
}
