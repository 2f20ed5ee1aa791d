// JSON values as types, the canonical text that revisions are computed from, and the bytes of bodies.

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject
export interface JsonObject {
  readonly [name: string]: JsonValue
}

export interface CanonicalOptions {
  /** Keep members whose value is null. Revisions of profiles omit them; matrix and inventory revisions keep them. */
  readonly keepNulls: boolean
}

/**
 * The canonical text of a JSON value: keys in code point order, no blanks, non-ASCII characters
 * unescaped (bridge.md 4.9).
 */
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

/**
 * The JSON of a body. Invalid Unicode is repaired as `fetch` does: an unpaired surrogate becomes
 * U+FFFD.
 */
export function writeJsonText(body: object): string {
  const json = JSON.stringify(body)
  return json.includes('\\ud') ? json.replace(LONE_SURROGATES, '$1\ufffd') : json
}

/** UTF-8 bytes per UTF-16 unit, at most. */
const UTF8_BYTES_MAX = 3

/**
 * The bytes of `JSON.stringify`. Lists among the members are written item by item: the text of a
 * body of 40 MB is never in memory as a whole, and a body of numbers takes half of the time.
 * @param bytesExpected about how long the body will be. More costs nothing: the system gives memory only when it is written.
 */
export function writeLongJson(body: object, bytesExpected: number): Buffer {
  const output = new GrowingBytes(bytesExpected)
  let separator = '{'
  for (const [name, value] of Object.entries(body)) {
    if (value === undefined) continue
    output.writeText(`${separator}${JSON.stringify(name)}:`)
    separator = ','
    if (Array.isArray(value)) writeList(value, output)
    else output.writeText(JSON.stringify(value))
  }
  output.writeText(separator === '{' ? '{}' : '}')
  return output.take()
}

function writeList(items: readonly unknown[], output: GrowingBytes): void {
  output.writeText('[')
  for (const [index, item] of items.entries()) {
    if (index > 0) output.writeText(',')
    output.writeText(JSON.stringify(item) ?? 'null')
  }
  output.writeText(']')
}

class GrowingBytes {
  #bytes: Buffer
  #length = 0

  constructor(bytesExpected: number) {
    this.#bytes = Buffer.allocUnsafeSlow(bytesExpected)
  }

  writeText(text: string): void {
    // The exact length requires a scan of all characters, so it is computed only near the end of
    // the buffer.
    if (this.#bytes.length - this.#length < text.length * UTF8_BYTES_MAX) this.#makeRoom(Buffer.byteLength(text))
    this.#length += this.#bytes.write(text, this.#length, 'utf8')
  }

  take(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  #makeRoom(bytes: number): void {
    const needed = this.#length + bytes
    if (needed <= this.#bytes.length) return
    const grown = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, needed))
    this.#bytes.copy(grown, 0, 0, this.#length)
    this.#bytes = grown
  }
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}
