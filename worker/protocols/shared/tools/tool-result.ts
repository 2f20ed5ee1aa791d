// Converts a tool result to a JSON object, because some providers accept no other result while clients send any text
// (completions.md 4.5).

import {
  type ContentPart,
  findJsonFault,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  keepExactIntegers,
  type NormalizedMessage,
  tryParseJson
} from '../../../normalized/index.ts'

/** A result as an object and as its text, because some wires send the object and others its text. */
export interface CoercedResult {
  object: JsonObject
  /** The JSON text of `object`; the client's text when it already is one. */
  text: string
}

/**
 * Reads a result that is an object as its JSON text; undefined for any other content
 * (decisions.md 64).
 */
export function readResultText(
  content: JsonValue | undefined
): Pick<NormalizedMessage, 'content' | 'form'> | undefined {
  return isJsonObject(content)
    ? { content: [{ type: 'text', text: JSON.stringify(content) }], form: 'text' }
    : undefined
}

/** How many times a text may be encoded as JSON text. */
const ENCODINGS_MAX = 3

/** Converts the content of a tool result to an object; that of a failed one has the member `is_error` (messages.md 3.4). */
export function coerceToolResult(content: readonly ContentPart[], isError: boolean): CoercedResult {
  const text = joinResultTexts(content)
  if (text.trim() === '') return withText(isError ? { error: '', is_error: true } : {})
  const { value, object } = decodeText(text)
  if (isError) return withText({ error: value, is_error: true })
  if (object === undefined) return withText({ result: value })
  return isObjectText(text) ? { object, text } : withText(object)
}

/** The texts of a result as one. */
export function joinResultTexts(content: readonly ContentPart[]): string {
  const texts: string[] = []
  for (const part of content) if (part.type === 'text' || part.type === 'refusal') texts.push(part.text)
  return texts.length === 1 ? (texts[0] ?? '') : texts.join('\n')
}

/**
 * Decodes JSON text, also when it was encoded several times; text that is not JSON, or cannot be sent on as JSON, stays as it is. The
 * value may contain raw JSON; `object` is the value when it is an object.
 */
function decodeText(text: string): { value: JsonValue; object?: JsonObject } {
  let inner = text
  for (let round = 0; round < ENCODINGS_MAX; round++) {
    const decoded = parseJson(inner)
    if (decoded === undefined) break
    if (typeof decoded !== 'string') {
      const value = keepExactIntegers(inner, decoded)
      // A text such as the version 3.10 would lose a digit as a number.
      if (typeof value === 'number' && JSON.stringify(value) !== inner.trim()) break
      return isJsonObject(decoded) ? { value, object: value as JsonObject } : { value }
    }
    inner = decoded
  }
  return { value: inner }
}

function parseJson(text: string): JsonValue | undefined {
  const value = tryParseJson(text)
  return value === undefined || findJsonFault(value) !== undefined ? undefined : value
}

function isObjectText(text: string): boolean {
  return text.trimStart().startsWith('{')
}

function withText(object: JsonObject): CoercedResult {
  return { object, text: JSON.stringify(object) }
}
