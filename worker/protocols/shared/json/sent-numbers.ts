// The digits of integers beyond 2^53 in a body that was parsed: a double changes them, so they are read from the client's bytes again, and
// only for an object that has such an integer.

import { asBuffer, dropByteOrderMark } from '../../../../shared/bytes.ts'
import {
  hasLargeInteger,
  isRawJson,
  type JsonObject,
  type JsonValue,
  keepExactIntegers
} from '../../../normalized/index.ts'

export class SentNumbers {
  readonly #body: JsonObject
  readonly #bytes: Uint8Array | undefined
  #exact: Map<JsonValue, JsonValue> | undefined

  /** @param bytes what the body was parsed from; without them no digits are found. */
  constructor(body: JsonObject, bytes: Uint8Array | undefined) {
    this.#body = body
    this.#bytes = bytes
  }

  /** The JSON of an object of the body with the digits that the client sent; undefined where `JSON.stringify` writes them too. */
  writeExact(value: JsonObject): string | undefined {
    if (this.#bytes === undefined || !hasLargeInteger(value)) return undefined
    this.#exact ??= this.#findExact(this.#bytes)
    const exact = this.#exact.get(value)
    return exact === undefined ? undefined : JSON.stringify(exact)
  }

  #findExact(bytes: Uint8Array): Map<JsonValue, JsonValue> {
    const found = new Map<JsonValue, JsonValue>()
    // Some clients send a byte order mark first.
    const json = dropByteOrderMark(asBuffer(bytes)).toString('utf8')
    collect(this.#body, keepExactIntegers<JsonValue>(json, {}), found)
    return found
  }
}

/** Notes the exact form of every object with a raw integer somewhere in it. True when there is one. */
function collect(
  plain: JsonValue | undefined,
  exact: JsonValue | undefined,
  found: Map<JsonValue, JsonValue>
): boolean {
  if (isRawJson(exact)) return true
  if (typeof plain !== 'object' || plain === null || typeof exact !== 'object' || exact === null) return false
  let hasRaw = false
  for (const name in plain) {
    const inner = (plain as JsonObject)[name]
    if (collect(inner, (exact as JsonObject)[name], found)) hasRaw = true
  }
  if (hasRaw) found.set(plain, exact)
  return hasRaw
}
