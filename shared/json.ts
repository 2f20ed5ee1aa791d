// JSON values as types, and the canonical text that revisions are computed from.

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject
export interface JsonObject {
  readonly [name: string]: JsonValue
}

export interface CanonicalOptions {
  /** Keep members whose value is null. Revisions of profiles omit them; matrix and inventory revisions keep them. */
  readonly keepNulls: boolean
}

/** The canonical text of a JSON value: keys in code point order, no blanks, non-ASCII characters unescaped (bridge contract, 4.9). */
export function canonicalJson(value: JsonValue, options: CanonicalOptions): string {
  if (isList(value)) return `[${value.map(item => canonicalJson(item, options)).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members: string[] = []
  for (const key of Object.keys(value).sort(compareCodePoints)) {
    const member = value[key]
    if (member === undefined || (member === null && !options.keepNulls)) continue
    members.push(`${JSON.stringify(key)}:${canonicalJson(member, options)}`)
  }
  return `{${members.join(',')}}`
}

/** Orders texts by code point. The built-in order is by UTF-16 unit, which puts astral characters before U+E000 to U+FFFF. */
export function compareCodePoints(left: string, right: string): number {
  const leftPoints = [...left]
  const rightPoints = [...right]
  const length = Math.min(leftPoints.length, rightPoints.length)
  for (let index = 0; index < length; index += 1) {
    const difference = (leftPoints[index]?.codePointAt(0) ?? 0) - (rightPoints[index]?.codePointAt(0) ?? 0)
    if (difference !== 0) return difference
  }
  return leftPoints.length - rightPoints.length
}

/** Halves of surrogate pairs as JSON writes them, behind an even number of backslashes. */
const LONE_SURROGATES = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g

/** The bytes of a JSON body. */
export function writeJsonBody(body: object): Buffer {
  return Buffer.from(writeJsonText(body))
}

/** The JSON of a body. A text that is no valid Unicode is repaired in the way of `fetch`: half a pair becomes U+FFFD. */
export function writeJsonText(body: object): string {
  const json = JSON.stringify(body)
  return json.includes('\\ud') ? json.replace(LONE_SURROGATES, '$1\ufffd') : json
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}
