// The JSON values that cross the emulator's wires, and the guards that tell them apart.

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue }
export type JsonObject = { [key: string]: JsonValue }

/** True for a JSON object: neither null nor an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The same test for a value that is already known to be JSON. */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return isObject(value)
}

/** A JSON value of unknown depth that came out of `JSON.parse`; the name makes the one trusted place visible. */
export function asJson(value: unknown): JsonValue {
  return value as JsonValue
}
