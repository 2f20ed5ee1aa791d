// The arguments of a tool call: as they stand in a client's history, and where an answer has none.

import {
  invalidRequest,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type ToolCallPart
} from '../../normalized/index.ts'
import { wrongType } from './field.ts'

/** The arguments as text that a client can always parse: some providers give nothing at all for a call without arguments. */
export const NO_ARGUMENTS = '{}'

/**
 * Reads arguments that stand at `path`: JSON text, an object, or nothing at all, which means no arguments.
 * Raises `invalid_request` for anything else: a call that cannot be read must not vanish from the history (field lesson B12).
 */
export function readToolArguments(
  value: JsonValue | undefined,
  path: string
): Pick<ToolCallPart, 'arguments' | 'argumentsText'> {
  if (value === undefined || value === null) return { arguments: {} }
  if (isJsonObject(value)) return { arguments: value }
  if (typeof value !== 'string') throw wrongType(path, 'the text of a JSON object', value)
  if (value.trim() === '') return { arguments: {} }
  const parsed = parseObject(value)
  if (parsed === undefined) throw invalidRequest(path, `'${path}' must be the text of a JSON object.`)
  return { arguments: parsed, argumentsText: value }
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const parsed: unknown = JSON.parse(text)
    return isJsonObject(parsed) ? parsed : undefined
  } catch {
    // Not JSON at all: the caller says so, with the path.
    return undefined
  }
}
