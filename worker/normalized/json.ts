// JSON values of unknown shape.

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject
export interface JsonObject {
  [member: string]: JsonValue | undefined
}

/** True for a JSON object: not null, not an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Deepest nesting of a client's JSON that is accepted (decisions.md 42): codecs and
 * `JSON.stringify` recurse, and a body of a few megabytes can nest deeper than the stack allows.
 */
export const JSON_DEPTH_MAX = 1000

/** Why a parsed value cannot be used: it is nested too deep, or a number of it is infinite, which JSON cannot write. */
export type JsonFault = 'too-deep' | 'infinite-number'

/** Finds more levels of objects and arrays than `JSON_DEPTH_MAX`, else a number beyond the range of a double. */
export function findJsonFault(value: JsonValue): JsonFault | undefined {
  if (isNested(value)) return findFaultIn(value, JSON_DEPTH_MAX)
  return isInfinite(value) ? 'infinite-number' : undefined
}

/** True for a value with more levels of objects and arrays than `JSON_DEPTH_MAX`. */
function isTooDeep(value: JsonValue): boolean {
  return findJsonFault(value) === 'too-deep'
}

/** The same for a value that `text` was parsed to. Short text costs nothing: a level needs two brackets. */
export function isTextTooDeep(text: string, value: JsonValue): boolean {
  return text.length > 2 * JSON_DEPTH_MAX && isTooDeep(value)
}

const JSON_START = /^\s*[[{"\-\dtfn]/

/**
 * Parses text that may be JSON, such as a tool's result; undefined for any other text. Most results are prose, which is recognised
 * by its start: a failed parse costs fifty times as much. A stack trace would be most of the cost, so none is recorded.
 */
export function tryParseJson(text: string): JsonValue | undefined {
  if (!JSON_START.test(text)) return undefined
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return undefined
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** Fewer digits in a row are no integer beyond 2^53. */
const LONG_DIGITS = /\d{16}/
const INTEGER = /^-?\d+$/

/** What the JSON object of the language has beyond the types of its library. */
interface ExactJson {
  parse(text: string, revive: (name: string, value: JsonValue, source: { source?: string }) => JsonValue): JsonValue
  rawJSON(text: string): JsonObject
  isRawJSON(value: unknown): boolean
}
const exactJson = JSON as unknown as ExactJson

/**
 * The value that `text` was parsed to, with integers beyond 2^53 as raw JSON, because a double would change their digits. Raw JSON is
 * for `JSON.stringify` only: to other code it looks like an object, and a copy for another thread is one. Text without such integers
 * costs one search.
 */
export function keepExactIntegers<Value extends JsonValue>(text: string, value: Value): Value {
  if (!LONG_DIGITS.test(text)) return value
  try {
    return exactJson.parse(text, keepInteger) as Value
  } catch {
    // The nesting is too deep for the reviver.
    return value
  }
}

function keepInteger(_name: string, value: JsonValue, { source }: { source?: string }): JsonValue {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || source === undefined) return value
  return Number.isFinite(value) && INTEGER.test(source) ? exactJson.rawJSON(source) : value
}

/** The same value without raw JSON, for what must not contain any. */
export function withoutRawJson<Value extends JsonValue | undefined>(value: Value): Value {
  return hasRawJson(value) ? (JSON.parse(JSON.stringify(value)) as Value) : value
}

/** True for an integer of `keepExactIntegers`. */
export function isRawJson(value: unknown): boolean {
  return exactJson.isRawJSON(value)
}

/** True for a value with an integer that a double may have changed. For a value that is not too deep. */
export function hasLargeInteger(value: JsonValue | undefined): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value)
  return isNested(value) && Object.values(value).some(hasLargeInteger)
}

function hasRawJson(value: JsonValue | undefined): boolean {
  if (!isNested(value)) return false
  return isRawJson(value) || Object.values(value).some(hasRawJson)
}

/** Takes only objects and arrays: most values of a body are neither, and a call for each would cost more than the type check. */
function findFaultIn(value: object, levels: number): JsonFault | undefined {
  if (levels === 0) return 'too-deep'
  let found: JsonFault | undefined
  if (Array.isArray(value)) {
    for (const item of value) {
      if (isNested(item)) {
        const fault = findFaultIn(item, levels - 1)
        if (fault === 'too-deep') return fault
        if (fault !== undefined) found = fault
      } else if (typeof item === 'number' && isInfinite(item)) found = 'infinite-number'
    }
    return found
  }
  for (const name in value) {
    const member = (value as Record<string, unknown>)[name]
    if (isNested(member)) {
      const fault = findFaultIn(member, levels - 1)
      if (fault === 'too-deep') return fault
      if (fault !== undefined) found = fault
    } else if (typeof member === 'number' && isInfinite(member)) found = 'infinite-number'
  }
  return found
}

/** The path of the first infinite number, such as `tools[0].maximum`; undefined without one. For a value that is not too deep. */
export function findInfiniteNumber(value: unknown, path = ''): string | undefined {
  if (isInfinite(value)) return path
  if (!isNested(value)) return undefined
  for (const [name, inner] of Object.entries(value)) {
    const step = Array.isArray(value) ? `[${name}]` : path === '' ? name : `.${name}`
    const found = findInfiniteNumber(inner, path + step)
    if (found !== undefined) return found
  }
  return undefined
}

/** JSON has no bound for its numbers: one beyond the range of a double is parsed as infinite, and written as null. */
function isInfinite(value: unknown): boolean {
  return value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
