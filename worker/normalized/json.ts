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
 * Deepest nesting of a client's JSON that is accepted (decision 42): codecs and `JSON.stringify` recurse, and a body of a few megabytes
 * can nest deeper than the stack allows.
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
