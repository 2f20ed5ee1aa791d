// Types of JSON values, and the guards that distinguish them.

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue }
export type JsonObject = { [key: string]: JsonValue }

/** True for an object that is neither null nor an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** `isObject` for a value whose type is already JSON. */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return isObject(value)
}

/** Types a result of `JSON.parse` as a JSON value. Every such unchecked cast is made here, so that a search finds it. */
export function asJson(value: unknown): JsonValue {
  return value as JsonValue
}
