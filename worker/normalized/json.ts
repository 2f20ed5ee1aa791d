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

/** True for a value with more levels of objects and arrays than `JSON_DEPTH_MAX`. */
export function isTooDeep(value: JsonValue): boolean {
  return isNested(value) && isDeeperThan(value, JSON_DEPTH_MAX)
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
function isDeeperThan(value: object, levels: number): boolean {
  if (levels === 0) return true
  if (Array.isArray(value)) {
    for (const item of value) if (isNested(item) && isDeeperThan(item, levels - 1)) return true
    return false
  }
  for (const name in value) {
    const member = (value as Record<string, unknown>)[name]
    if (isNested(member) && isDeeperThan(member, levels - 1)) return true
  }
  return false
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
