// The types of settings: how each is parsed from the text of a variable, and its name in the reference table.
import { isIP, isIPv6 } from 'node:net'
import { z } from 'zod'
import { MACHINE_TEXT_MAX } from '../documents/machine-document.ts'
import { readAddressRange } from '../net/addresses.ts'
import { canonicalDestination } from '../net/destination.ts'
import { spellHost } from '../net/local-hosts.ts'
import { readOriginPattern } from '../net/origin-pattern.ts'
import { Secret } from '../secrets/secret.ts'

/** Parses one type of value. Its error messages describe the expected value and never repeat the given text. */
export interface SettingType<T> {
  /** The text of the type column in the documentation. */
  readonly words: string
  readonly schema: z.ZodType<T, string>
}

/** A timer of Node counts at most 2^31 - 1 ms; one with a longer delay fires immediately. */
export const MILLISECONDS_MAX = 2 ** 31 - 1
export const SECONDS_MAX = 2_147_483
/** Times so far back still have years of four digits. */
export const DAYS_MAX = 100_000

/** Returns the value, or an `Expected` that describes the value that was expected. */
type Reader<T> = (text: string) => T | Expected

class Expected {
  readonly words: string
  constructor(words: string) {
    this.words = words
  }
}

function settingType<T>(words: string, read: Reader<T>): SettingType<T> {
  const schema = z.string().transform((text, context): T => {
    const value = read(text)
    if (!(value instanceof Expected)) return value
    context.addIssue({ code: 'custom', message: `must be ${value.words}` })
    return z.NEVER
  })
  return { words, schema }
}

const TRUE_WORDS = new Set(['1', 'true', 't', 'yes', 'y', 'on'])
const FALSE_WORDS = new Set(['0', 'false', 'f', 'no', 'n', 'off'])

export const boolean: SettingType<boolean> = settingType('boolean', text => {
  const word = text.trim().toLowerCase()
  if (TRUE_WORDS.has(word)) return true
  if (FALSE_WORDS.has(word)) return false
  return new Expected('a boolean (true or false, yes or no, on or off, 1 or 0)')
})

/** Text for which an empty value has no meaning, such as a model name: empty counts as unset. */
export const name: SettingType<string> = settingType('text', value => value)

/** A name that machine documents show. */
export const shownName: SettingType<string> = settingType('text', value =>
  value.length <= MACHINE_TEXT_MAX ? value : new Expected(`a text of at most ${MACHINE_TEXT_MAX} characters`)
)

/** A host name or an address. An IPv6 address may have brackets around it, as in URLs. */
export const host: SettingType<string> = settingType('text', value => {
  const trimmed = value.trim()
  const bracketed = /^\[(.*)\]$/.exec(trimmed)?.[1]
  const isHost = bracketed === undefined ? isIP(trimmed) !== 0 || HOST_NAME.test(trimmed) : isIPv6(bracketed)
  return isHost ? (bracketed ?? trimmed) : new Expected('a host name or an address')
})

const HOST_NAME = /^[\w-]+(?:\.[\w-]+)*\.?$/

export const path: SettingType<string> = settingType('path', value => value)

export const secret: SettingType<Secret> = settingType('secret', value => new Secret(value))

export const url: SettingType<string> = settingType('url', value => {
  const trimmed = value.trim()
  const url = URL.parse(trimmed)
  if (url === null || !/^https?:$/.test(url.protocol)) return new Expected('an http or https URL')
  // The code that connects decodes them.
  const hasStrayPercent = /%(?![0-9a-f]{2})/i.test(url.username + url.password)
  return hasStrayPercent
    ? new Expected('an http or https URL in whose user and password a % is written as %25')
    : trimmed
})

/** An API base: canonical, without query, fragment or user information. Machine documents show it. */
export const baseUrl: SettingType<string> = settingType('url', value => {
  const url = canonicalDestination(value)
  if (url === undefined) return new Expected('an http or https base URL without user, query, fragment or dot segments')
  return url.length <= MACHINE_TEXT_MAX ? url : new Expected(`a URL of at most ${MACHINE_TEXT_MAX} characters`)
})

export interface Bounds {
  readonly min?: number
  readonly max?: number
  /** Strictly greater than this. */
  readonly above?: number
}

function describeBounds({ min, max, above }: Bounds): string {
  const parts: string[] = []
  if (above !== undefined) parts.push(`> ${above}`)
  if (min !== undefined) parts.push(`>= ${min}`)
  if (max !== undefined) parts.push(`<= ${max}`)
  return parts.length === 0 ? '' : ` ${parts.join(' and ')}`
}

function isWithin(value: number, { min, max, above }: Bounds): boolean {
  if (above !== undefined && value <= above) return false
  if (min !== undefined && value < min) return false
  return max === undefined || value <= max
}

/** A whole number; with `above: 0` a positive one. */
export function integer(bounds: Bounds): SettingType<number> {
  const words = `integer${describeBounds(bounds)}`
  return settingType(words, text => {
    const value = /^[+-]?\d{1,16}$/.test(text.trim()) ? Number(text) : Number.NaN
    return Number.isSafeInteger(value) && isWithin(value, bounds) ? value : new Expected(`an ${words}`)
  })
}

/** A finite decimal number. */
export function decimal(bounds: Bounds): SettingType<number> {
  const words = `number${describeBounds(bounds)}`
  return settingType(words, text => {
    const isNumber = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text.trim())
    const value = isNumber ? Number(text) : Number.NaN
    return Number.isFinite(value) && isWithin(value, bounds) ? value : new Expected(`a ${words}`)
  })
}

/** One of the given words; case and surrounding blanks are ignored. */
export function oneOf<const T extends string>(words: readonly T[]): SettingType<T> {
  const byFolded = new Map(words.map(word => [word.toLowerCase(), word]))
  const joined = words.join(', ')
  return settingType(
    words.map(word => `\`${word}\``).join(' '),
    value => byFolded.get(value.trim().toLowerCase()) ?? new Expected(`one of ${joined}`)
  )
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(item => typeof item === 'string')
}

function readTextMap(text: string): Map<string, unknown> | undefined {
  const value = readJson(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return new Map(Object.entries(value))
}

/** The words of a list: JSON, or parted by commas (decisions.md 115). Undefined for other JSON, and for JSON with a mistake. */
function readTexts(text: string): string[] | undefined {
  if (!/^\s*[[{"]/.test(text)) return splitCommas(text)
  const value = readJson(text)
  return isTextList(value) ? value : undefined
}

function splitCommas(text: string): string[] {
  return text
    .split(',')
    .map(item => item.trim())
    .filter(item => item !== '')
}

/** A list of texts, as JSON or separated by commas. */
export const textList: SettingType<readonly string[]> = settingType('JSON or comma list of texts', text => {
  const items = readTexts(text)
  return items === undefined ? new Expected('a JSON or comma list of texts, such as a,b') : Object.freeze(items)
})

/** A list of origins, and of regular expressions for origins; one with a comma needs JSON. */
export const originList: SettingType<readonly string[]> = settingType('JSON or comma list of texts', text => {
  const items = readTexts(text)
  return items?.every(item => isOrigin(item) && !isCutPattern(item))
    ? Object.freeze(items)
    : new Expected(
        'a JSON or comma list of origins, such as https://app.example, or of regular expressions between slashes (as JSON where one has a comma)'
      )
})

/** What a comma within a regular expression leaves. */
function isCutPattern(text: string): boolean {
  return /^\/.*[^/]$/.test(text)
}

function isOrigin(text: string): boolean {
  try {
    readOriginPattern(text)
    return true
  } catch {
    return false
  }
}

/** Names and addresses of hosts, as JSON or separated by commas, in the spelling of URLs; a port does not count. */
export const hostList: SettingType<readonly string[]> = settingType('JSON or comma list of hosts', text => {
  const names = readTexts(text)?.map(spellHost) ?? [undefined]
  return names.every(name => name !== undefined)
    ? Object.freeze(names)
    : new Expected('a JSON or comma list of host names without scheme and path, such as gateway.example')
})

/** A list of addresses and CIDR ranges, as JSON or separated by commas. */
export const addressList: SettingType<readonly string[]> = settingType(
  'JSON or comma list of addresses and ranges',
  text => {
    const items = readTexts(text)
    return items?.every(item => readAddressRange(item) !== undefined)
      ? Object.freeze(items)
      : new Expected('a JSON or comma list of addresses and CIDR ranges, such as 10.0.0.1,10.1.0.0/16')
  }
)

/** Texts separated by commas, the usual form of the proxy variables, or JSON. An address in brackets may be the first. */
export const commaList: SettingType<readonly string[]> = settingType('JSON or comma list', text => {
  const value = readJson(text)
  return Object.freeze(isTextList(value) ? value : splitCommas(text))
})

/** A list of the given words, as JSON or separated by commas. A repeated word is kept once; the order is kept. */
export function listOf<const T extends string>(words: readonly T[]): SettingType<readonly T[]> {
  const byFolded = new Map(words.map(word => [word.toLowerCase(), word]))
  const expected = new Expected(`a JSON or comma list of ${words.join(', ')}`)
  return settingType('JSON or comma list', text => {
    const items = readTexts(text)
    if (items === undefined) return expected
    const found: T[] = []
    for (const item of items) {
      const word = byFolded.get(item.trim().toLowerCase())
      if (word === undefined) return expected
      if (!found.includes(word)) found.push(word)
    }
    return Object.freeze(found)
  })
}

/** A list of whole numbers within the bounds, as JSON or separated by commas. */
export function integerList(bounds: Bounds): SettingType<readonly number[]> {
  const words = `JSON or comma list of integers${describeBounds(bounds)}`
  return settingType(words, text => {
    const value = text.trim().startsWith('[') ? readJson(text) : readIntegers(text)
    const isValid =
      Array.isArray(value) && value.every(item => Number.isSafeInteger(item) && isWithin(Number(item), bounds))
    return isValid ? Object.freeze(value.map(Number)) : new Expected(`a ${words}`)
  })
}

function readIntegers(text: string): number[] {
  return splitCommas(text).map(item => (/^[+-]?\d{1,16}$/.test(item) ? Number(item) : Number.NaN))
}

/** A JSON object from names to positive whole numbers. */
export const countMap: SettingType<Readonly<Record<string, number>>> = settingType(
  'JSON object, text to integer > 0',
  text => {
    const expected = new Expected('a JSON object from names to integers > 0, such as {"model": 4}')
    const entries = readTextMap(text)
    if (entries === undefined) return expected
    const map: Record<string, number> = Object.create(null)
    for (const [key, value] of entries) {
      if (typeof value !== 'number' || !Number.isSafeInteger(value) || value <= 0) return expected
      map[key] = value
    }
    return Object.freeze(map)
  }
)

/** A JSON object from names to secrets. */
export const secretMap: SettingType<Readonly<Record<string, Secret>>> = settingType(
  'JSON object, text to secret',
  text => {
    const expected = new Expected('a JSON object from names to non-empty texts')
    const entries = readTextMap(text)
    if (entries === undefined) return expected
    const map: Record<string, Secret> = Object.create(null)
    for (const [key, value] of entries) {
      if (typeof value !== 'string' || value === '') return expected
      map[key] = new Secret(value)
    }
    return Object.freeze(map)
  }
)

/** A URL path. Surrounding blanks and trailing slashes are removed, a missing leading slash is added; `otherwise` where nothing is left. */
export function urlPath(otherwise: string): SettingType<string> {
  return settingType('url path', text => {
    const bare = text.trim().replace(/^\/+/, '').replace(/\/+$/, '')
    if (bare === '') return otherwise
    // Other characters have a meaning in the patterns of routes or in URLs.
    return /^[\w.~-]+(?:\/[\w.~-]+)*$/.test(bare) ? `/${bare}` : new Expected('a URL path')
  })
}
