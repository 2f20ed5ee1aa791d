// The forms of secrets in texts: tokens of services by their shape, and values behind the names of secrets (operations.md 8.2). The time of
// each form is linear in the length of the text, because hostile texts are redacted too: patterns have bounded repetitions or one start.
import type { SecretNames } from './secret-names.ts'

export const REDACTED = '***'

/** One step of the redaction of a text. */
export type Masking = (text: string) => string

/**
 * Tokens of services, as they document them or as scanners of secrets know them. A letter or digit before or behind would make them a part
 * of something else.
 */
const TOKEN_SHAPES = [
  // Clouds.
  '(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?:[\\s:,;|/"\']{1,8}[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+]))?',
  'ABSK[A-Za-z0-9+/]{60,}={0,2}',
  'AIza[\\w-]{20,}',
  'AQ\\.Ab[\\w-]{20,}',
  'GOCSPX-[\\w-]{20,}',
  'ya29\\.[\\w-]{20,}',
  '1//0[\\w-]{20,}',
  '[\\w~.-]{3}[0-9]Q~[\\w~.-]{31,34}',
  'do[opr]_v1_[a-f0-9]{64}',
  'LTAI[A-Za-z0-9]{16,24}',
  'AQVN[\\w-]{30,}',
  'dapi[a-f0-9]{32}',
  'hv[sb]\\.[\\w-]{24,}',
  't1\\.[\\w-]{20,}={0,2}\\.[\\w-]{60,}={0,2}',
  'y[0-3]_[\\w-]{50,}',
  // Code hosts and registries.
  'gh[oprsu]_[A-Za-z0-9]{30,}',
  'github_pat_[A-Za-z0-9_]{22,}',
  'gl(?:pat|ptt|dt|rt|rtr|soat|agent|cbt|ft|imt|oas|ffct)-[\\w.-]{20,}',
  'ATATT3[\\w=-]{20,}',
  'ATBB[A-Za-z0-9]{24,}',
  'npm_[A-Za-z0-9]{30,}',
  'pypi-AgE[\\w-]{12,}',
  'rubygems_[a-f0-9]{40,}',
  'dckr_(?:pat|oat)_[\\w-]{20,}',
  'oy2[a-z0-9]{43}',
  'cio[A-Za-z0-9]{32}',
  // Chat.
  'xox[abceoprs]-[\\w-]{10,}',
  'xapp-[0-9]-[\\w-]{10,}',
  '[MNO][A-Za-z0-9_-]{22,27}\\.[\\w-]{6}\\.[\\w-]{27,40}',
  '[0-9]{8,10}:AA[\\w-]{33}',
  // Payment and messages.
  '(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{10,}',
  'whsec_[A-Za-z0-9+/]{20,}={0,2}',
  'sq0(?:atp|csp)-[\\w-]{22,}',
  'EAAA[\\w-]{60}',
  'shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}',
  'SG\\.[\\w-]{16,}\\.[\\w-]{16,}',
  'SK[0-9a-f]{32}',
  'key-[0-9a-f]{32}',
  // Model services and their tools.
  'sk-[\\w-]{16,}',
  'hf_[A-Za-z0-9]{30,}',
  'gsk_[A-Za-z0-9]{20,}',
  'xai-[A-Za-z0-9]{20,}',
  'r8_[A-Za-z0-9]{30,}',
  'pplx-[A-Za-z0-9]{30,}',
  'nvapi-[\\w-]{20,}',
  'csk-[a-z0-9]{32,}',
  'tvly-[\\w-]{20,}',
  'lsv2_(?:pt|sk)_[\\w]{30,}',
  'glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}',
  'lin_api_[A-Za-z0-9]{40}',
  'ntn_[A-Za-z0-9]{40,}',
  'sbp_[a-f0-9]{40}',
  'AGE-SECRET-KEY-1[0-9A-Z]{58}'
]

const TOKEN = new RegExp(`(?<![A-Za-z0-9])(?:${TOKEN_SHAPES.join('|')})(?![A-Za-z0-9])`, 'g')

const maskTokens: Masking = text => text.replace(TOKEN, REDACTED)

const JSON_WEB_TOKEN = /(?<![\w-])eyJ[\w-]{6,}\.[\w-]{6,}\.[\w-]*/g

const maskWebTokens: Masking = text => text.replace(JSON_WEB_TOKEN, REDACTED)

/** Addresses that are secrets as a whole, and signatures of addresses that were signed in advance. */
const WEBHOOK =
  /(hooks\.slack\.com\/(?:services|workflows)\/|discord(?:app)?\.com\/api\/webhooks\/|api\.telegram\.org\/bot)[\w/:-]{8,}/gi
const SIGNATURE = /([?&](?:amp;)?(?:sig|signature|x-amz-signature|x-goog-signature)=)[\w%+/=.~-]{16,}/gi

/**
 * The user and the password before a host. Addresses of the web may have an `@` behind the host, so that only a password with a slash, which
 * no port is, goes on behind one; in those of databases all before the last `@` is the user's.
 */
const USER_INFO =
  /\b((?:https?|ftp|git|ssh|wss?):\/\/)(?:[^\s/@"']{0,256}:[^\s/?#"'<>]{1,256}|[^\s/@"']{1,1024}|[^\s/@:"'[\]]{0,128}:(?!\d{1,5}(?:[/?#]|$))[^\s@"'<>]{1,256})@/gi
const ORACLE_USER_INFO = /\b(jdbc:oracle:\w{1,16}:[^\s/@"']{1,128}\/)[^\s@"']{1,256}@/gi
const DATABASE_USER_INFO = /\b((?!https?:|ftp:|git:|ssh:|wss?:)[a-z][a-z0-9+.-]{0,30}:\/\/)[^\s"'<>]{1,1024}@/gi

const maskAddresses: Masking = text => {
  if (!text.includes('/')) return text
  const masked = text.replace(WEBHOOK, `$1${REDACTED}`).replace(SIGNATURE, `$1${REDACTED}`)
  if (!masked.includes('@')) return masked
  return [USER_INFO, DATABASE_USER_INFO, ORACLE_USER_INFO].reduce(
    (text, pattern) => text.replace(pattern, `$1${REDACTED}@`),
    masked
  )
}

/** What may stand between the lines that begin and end a key: base64 and headers, and line ends that are escaped in JSON. */
const KEY_BODY = /^[\w+/=\s\\:,.-]*/
const KEY_END = /-----END [A-Z0-9 ]{1,64}-----/g
const KEY_BEGIN = '-----BEGIN '
/** Base64 before the end of a key whose beginning was cut off. */
const BASE64_SIGN = /[\w+/=\s\\]/

/** Keys and certificates, also where the beginning or the end was cut off. */
const maskKeys: Masking = text => {
  let result = ''
  let done = 0
  for (const { begin, end } of findKeys(text)) {
    result += text.slice(done, begin) + REDACTED
    done = end
  }
  return result + text.slice(done)
}

function* findKeys(text: string): Generator<{ begin: number; end: number }> {
  if (!text.includes('-----')) return
  let from = 0
  let found = findBegin(text, 0)
  for (const match of text.matchAll(KEY_END)) {
    const endsAt = match.index + match[0].length
    // Looked for again only where it was passed, so that ends without a beginning cost nothing.
    if (found !== -1 && found < from) found = findBegin(text, from)
    let begin = found
    // Keys before this end have none of their own.
    for (let next = begin; next !== -1 && next < match.index; next = findBegin(text, next + 1)) {
      if (next === begin) continue
      yield { begin, end: findBodyEnd(text, begin, next) }
      begin = next
    }
    if (begin === -1 || begin > match.index) begin = findBodyBegin(text, match.index, from)
    yield { begin, end: endsAt }
    from = endsAt
  }
  for (let begin = findBegin(text, from); begin !== -1; begin = findBegin(text, from)) {
    const next = findBegin(text, begin + 1)
    from = findBodyEnd(text, begin, next === -1 ? text.length : next)
    yield { begin, end: from }
  }
}

function findBegin(text: string, from: number): number {
  let begin = text.indexOf(KEY_BEGIN, from)
  while (begin !== -1 && !/[A-Z]/.test(text[begin + KEY_BEGIN.length] ?? '')) {
    begin = text.indexOf(KEY_BEGIN, begin + KEY_BEGIN.length)
  }
  return begin
}

function findBodyEnd(text: string, begin: number, before: number): number {
  const end = begin + (KEY_BODY.exec(text.slice(begin, before))?.[0].length ?? 0)
  return Math.max(end, begin + KEY_BEGIN.length)
}

function findBodyBegin(text: string, end: number, from: number): number {
  let begin = end
  while (begin > from && BASE64_SIGN.test(text[begin - 1] ?? '')) begin -= 1
  // A word of the sentence before is no base64.
  const lead = /^\s*(?:[A-Za-z]{1,20}[ \t]+)*/.exec(text.slice(begin, Math.min(end, begin + 256)))?.[0].length ?? 0
  return Math.min(begin + lead, end)
}

/** Forms that need no names. */
export const shapeMaskings: readonly Masking[] = [maskKeys, maskWebTokens, maskTokens, maskAddresses]

/** Cheap test before the forms of names: texts without such a word have none of them. */
const NAME_WORDS = /token|secret|key|passw|passphrase|pwd|credential|authori[sz]ation|cookie/i

/** Masks values behind the names of secrets. */
export function createNameMasking(names: SecretNames, extraNames: readonly string[]): Masking {
  const maskings = [createQuotedMasking(names), createAssignmentMasking(names), maskHeaders, createLineMasking(names)]
  const isPossible = (text: string) => extraNames.length > 0 || NAME_WORDS.test(text)
  return text => (isPossible(text) ? maskings.reduce((masked, mask) => mask(masked), text) : text)
}

/**
 * Masks `"name": "value"` and `"name" => "value"`. In JSON text inside JSON text the quotes are escaped, so a loop finds the end of a
 * value: a pattern would be either inexact or, on a text of backslashes, exponential.
 */
function createQuotedMasking(names: SecretNames): Masking {
  const opening = /(?<!\\)(\\*["'])([\w. -]{1,128})\1\s*(?<sign>:|=>)\s*\1/g
  return text => {
    let result = ''
    let doneLength = 0
    for (const match of text.matchAll(opening)) {
      const [whole, quote = '', name = ''] = match
      const start = match.index + whole.length
      // This match lies inside a value that is masked already.
      if (match.index < doneLength || name !== name.trim() || !names.isInText(name)) continue
      const end = findQuote(text, start, quote)
      if (end === start) continue
      const sign = match.groups?.sign === '=>' ? ' =>' : ':'
      result += `${text.slice(doneLength, match.index)}${quote}${name}${quote}${sign} ${quote}${REDACTED}`
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

/** `NAME=value` and `--name value`: variables, parameters of URLs, parts of connection strings, options of commands. */
function createAssignmentMasking(names: SecretNames): Masking {
  // Begins at the sign: a pattern that begins with the name reads every word of a text.
  const assignment = /(?<=(?<![\w.-])([\w.-]{1,128}))=(?:"[^"]*"|[^\s&,;]+)/g
  const option = /(?<![\w-])(--[A-Za-z][\w-]{1,127}[ \t]{1,4})(?:"[^"]*"|'[^']*'|[^\s"'\\<$-][^\s"'\\]*)/g
  return text =>
    text
      .replace(assignment, (whole, name: string) => (names.isInText(name) ? `=${REDACTED}` : whole))
      .replace(option, (whole, name: string) => (names.isInText(name.slice(2)) ? name + REDACTED : whole))
      .replace(SHORT_PASSWORD, `$1${REDACTED}`)
}

/** Elsewhere the name is that of the working directory. */
const SHORT_PASSWORD = /(;[ \t]{0,8}pwd=)[^\s;"']+/gi

/** Where a line ends: also at an escaped line end, in JSON inside a text. */
const LINE_END = /[\r\n]|\\+[nr]/g

function findLineEnd(text: string, start: number, quote: string): number {
  const quoteEnd = quote === '' ? -1 : text.indexOf(quote, start)
  const within = quoteEnd === -1 ? text : text.slice(0, quoteEnd)
  LINE_END.lastIndex = start
  return LINE_END.exec(within)?.index ?? within.length
}

const HEADER = /(?<![\w-])(?<name>(?:proxy-)?authorization|(?:set-)?cookie)[ \t]{0,8}:[ \t]{0,8}(?=[^\s"'])/gi
const AUTHORIZATION_SCHEME =
  /^(?:basic|bearer|digest|negotiate|ntlm|hawk|token|key|apikey|api-key|aws4-hmac-sha256|sharedkey(?:lite)?|googlelogin|oauth)\b/i

/** `Authorization` and `Cookie` lines, wherever they begin: in requests that were copied, in commands, in log lines. */
const maskHeaders: Masking = text =>
  maskValues(text, HEADER, {
    isSecret: () => true,
    measure(value, name) {
      if (isOneWord(value)) return value.length
      const isHeader = name.toLowerCase().endsWith('cookie') ? value.includes('=') : AUTHORIZATION_SCHEME.test(value)
      return isHeader ? value.length : 0
    }
  })

/** A line that begins with a name, also one within quotes: `-H 'x-api-key: abc'`, `password: abc`, `API key: abc`, `aws_secret = abc`. */
const LINE_BEGIN =
  /(?<before>^|[\r\n"'`{,(]|\\[nr])[ \t]{0,64}(?:[-*>#$][ \t]|export[ \t]|set[ \t]|const[ \t]|let[ \t]|var[ \t])?(?<name>[A-Za-z_][\w.-]{0,127}(?: (?:key|token|secret|password))?)(?:[ \t]{0,8}(?::=|=>|:)[ \t]{0,8}|[ \t]{1,8}=[ \t]{0,8}|=[ \t]{1,8})(?=[^\s:=])/g

/** Values that are words of a program or of a schema. */
const PLAIN_VALUE =
  /^(?:string|str|text|number|int|integer|float|bool|boolean|bytes|null|nil|none|undefined|true|false|any|object|array|list|required|optional|missing|invalid|unset|empty)\b[\s,;.]*$/i
const CALL = /^[A-Za-z_$][\w.$]*(?:\(.*\)|\[.*\]);?$/

function createLineMasking(names: SecretNames): Masking {
  const rule: ValueRule = { isSecret: name => names.isInText(name.replace(' ', '_')), measure: measureValue }
  return text => maskValues(text, LINE_BEGIN, rule)
}

function measureValue(value: string): number {
  const quote = /^\\*["'`]/.exec(value)?.[0]
  if (quote !== undefined) return findQuote(value, quote.length, quote)
  const given = /^\S+(?=\s*(?:#.*|\/\/.*)?$)/.exec(value)?.[0] ?? ''
  if (PLAIN_VALUE.test(given) || CALL.test(given)) return 0
  // Quotes and brackets at the end are those of the text around.
  const trail = /(?:\\*["'`])[\]}),;]{0,16}$|[,;]$/.exec(given)?.[0].length ?? 0
  return given.length - trail
}

/** A value that is one word may be any secret; more words are a sentence. */
function isOneWord(value: string): boolean {
  return /^\S+\s*$/.test(value)
}

interface ValueRule {
  /** Asked first: most names in a text are others. */
  isSecret(name: string): boolean
  /** How many characters of the rest of the line are the secret. */
  measure(value: string, name: string): number
}

/** Masks the value behind each match of a pattern that ends where a value begins. */
function maskValues(text: string, pattern: RegExp, { isSecret, measure }: ValueRule): string {
  let result = ''
  let done = 0
  let lineEnd = -1
  for (const match of text.matchAll(pattern)) {
    const { name = '', before = text[match.index - 1] ?? '' } = match.groups ?? {}
    if (match.index < done || !isSecret(name)) continue
    const start = match.index + match[0].length
    const quote = /["'`]/.test(before) ? before : ''
    // The line is looked for once, however many names are in it.
    if (quote !== '' || start > lineEnd) lineEnd = findLineEnd(text, start, quote)
    const rest = text.slice(start, Math.min(lineEnd, start + VALUE_CHARACTERS_MAX))
    // Members in one line: the next one, or the end of them, ends a value that has no quotes.
    const value = /[{,(]/.test(before) && !/^\\*["'`]/.test(rest) ? rest.split(/[,})]/, 1).join('') : rest
    const masked = measure(value, name)
    if (masked === 0) continue
    const end = value.length === VALUE_CHARACTERS_MAX && masked === value.length ? lineEnd : start + masked
    const quoteLength = /^\\*["'`]/.exec(value)?.[0].length ?? 0
    const isQuoted = quoteLength > 0 && masked > quoteLength
    result += text.slice(done, start + (isQuoted ? quoteLength : 0)) + REDACTED
    done = Math.max(end, start)
  }
  return result + text.slice(done)
}

/** Longer values are looked at up to here; a secret that is longer is masked to the end of its line. */
const VALUE_CHARACTERS_MAX = 4096
