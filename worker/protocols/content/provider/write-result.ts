// Writes what a tool returned as the object that the content wire takes (content.md 3).

import { isJsonObject, type JsonObject, type JsonValue, type ToolResultPart } from '../../../normalized/index.ts'
import { coerceToolResult, joinResultTexts } from '../../shared/tools/tool-result.ts'

/** The member by which a result refers to a file beside it on this wire: the service looks for the file of any such value. */
const REFERENCE = '$ref'

/** The object of a result. One that the service would read references in is sent as one text (decisions.md 83). */
export function writeResult({ content, isError }: ToolResultPart): JsonObject {
  const { object, text } = coerceToolResult(content, isError)
  if (!mayHoldReference(text) || !holdsReference(object)) return object
  const plain = joinResultTexts(content)
  return isError ? { error: plain, is_error: true } : { result: plain }
}

/** False for most results, without a walk. An escape may spell any name. */
function mayHoldReference(text: string): boolean {
  return text.includes(REFERENCE) || text.includes('\\u')
}

function holdsReference(value: JsonValue | undefined): boolean {
  if (Array.isArray(value)) return value.some(holdsReference)
  return isJsonObject(value) && (Object.hasOwn(value, REFERENCE) || Object.values(value).some(holdsReference))
}
