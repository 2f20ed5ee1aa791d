// Some providers take only a JSON object as the result of a function; clients send text of any kind (completions.md 4.5).

import { type ContentPart, isJsonObject, type JsonObject, type JsonValue } from '../../normalized/index.ts'

/** A result as both contracts need it: v2 sends the object, v1 its text. */
export interface CoercedResult {
  object: JsonObject
  /** The JSON text of `object`; the client's own where that is already it. */
  text: string
}

/** How often a text may be JSON text of JSON text. */
const ENCODINGS_MAX = 3

/** Turns the content of a tool result into the object that stands for it. A failed one says so inside (messages.md 3.4). */
export function coerceToolResult(content: readonly ContentPart[], isError: boolean): CoercedResult {
  const text = joinTexts(content)
  if (text.trim() === '') return withText(isError ? { error: '', is_error: true } : {})
  const value = decodeText(text)
  if (isError) return withText({ error: value, is_error: true })
  if (!isJsonObject(value)) return withText({ result: value })
  return isObjectText(text) ? { object: value, text } : withText(value)
}

function joinTexts(content: readonly ContentPart[]): string {
  const texts: string[] = []
  for (const part of content) if (part.type === 'text' || part.type === 'refusal') texts.push(part.text)
  return texts.length === 1 ? (texts[0] ?? '') : texts.join('\n')
}

/** The value that the text is JSON of, however often it was encoded; the text itself where it is no JSON. */
function decodeText(text: string): JsonValue {
  let value: JsonValue = text
  for (let round = 0; round < ENCODINGS_MAX && typeof value === 'string'; round++) {
    const decoded = parseJson(value)
    if (decoded === undefined) return value
    value = decoded
  }
  return value
}

function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return undefined
  }
}

function isObjectText(text: string): boolean {
  return text.trimStart().startsWith('{')
}

function withText(object: JsonObject): CoercedResult {
  return { object, text: JSON.stringify(object) }
}
