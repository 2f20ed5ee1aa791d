// The arguments of a tool call: in a client's history, and the default for a response without arguments.

import {
  findJsonFault,
  invalidRequest,
  isJsonObject,
  JSON_DEPTH_MAX,
  type JsonObject,
  type JsonValue,
  keepExactIntegers,
  type ToolCallPart,
  tryParseJson
} from '../../normalized/index.ts'
import { wrongType } from './field.ts'
import type { SentNumbers } from './sent-numbers.ts'

/** Arguments text for a call without arguments: some providers send none, and a client must be able to parse the text. */
export const NO_ARGUMENTS = '{}'

export type ToolArguments = Pick<ToolCallPart, 'arguments' | 'argumentsText'>

/**
 * Reads the arguments at `path`: JSON text or an object; an absent, null or blank value means no
 * arguments. Raises `invalid_request` for any other value and for text that cannot be sent on,
 * because a call must not vanish from the history (field-lessons.md B12).
 */
export function readToolArguments(value: JsonValue | undefined, path: string): ToolArguments {
  const read = tryReadToolArguments(value, path)
  if (read === undefined) throw invalidRequest(path, `'${path}' must be the text of a JSON object.`)
  return read
}

/** Reads arguments that the protocol has as an object, with the digits of their integers as the client sent them. */
export function readObjectArguments(value: JsonValue | undefined, path: string, numbers: SentNumbers): ToolArguments {
  const read = readToolArguments(value, path)
  const text = read.argumentsText ?? numbers.writeExact(read.arguments)
  return text === undefined ? read : { ...read, argumentsText: text }
}

/** Like `readToolArguments`, but undefined for a text that is not that of a JSON object, such as the start of one. */
export function tryReadToolArguments(value: JsonValue | undefined, path: string): ToolArguments | undefined {
  if (value === undefined || value === null) return { arguments: {} }
  if (isJsonObject(value)) return { arguments: value }
  if (typeof value !== 'string') throw wrongType(path, 'the text of a JSON object', value)
  if (value.trim() === '') return { arguments: {} }
  const parsed = tryParseJson(value)
  if (!isJsonObject(parsed)) return undefined
  const fault = findJsonFault(parsed)
  if (fault === 'too-deep') throw invalidRequest(path, `'${path}' is nested deeper than ${JSON_DEPTH_MAX} levels.`)
  if (fault !== undefined) throw invalidRequest(path, `'${path}' has a number beyond the range of a double.`)
  return { arguments: parsed, argumentsText: value }
}

/** The arguments in a response as an object of a body that is written at once; undefined for a text that is none. */
export function parseArguments(text: string): JsonValue | undefined {
  const value = tryParseJson(text)
  return value === undefined ? undefined : keepExactIntegers(text, value)
}

/** The arguments of a call as an object of a body that is written at once, with the digits of the client's text. */
export function writeArgumentsObject({ arguments: parsed, argumentsText }: ToolArguments): JsonObject {
  return argumentsText === undefined ? parsed : keepExactIntegers(argumentsText, parsed)
}
