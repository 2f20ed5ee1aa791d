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
} from '../../../normalized/index.ts'
import type { SentNumbers } from '../json/sent-numbers.ts'
import { wrongType } from '../members/field.ts'

/** Arguments text for a call without arguments: some providers send none, and a client must be able to parse the text. */
export const NO_ARGUMENTS = '{}'

export type ToolArguments = Pick<ToolCallPart, 'arguments' | 'argumentsText'>

/** The member that holds arguments which are no JSON object, where a wire has an object in place of their text (decisions.md 113). */
const BROKEN_MEMBER = 'arguments'

/**
 * Reads the arguments at `path`: JSON text or an object; an absent, null or blank value means no
 * arguments. A text that is no JSON object is kept: small models write such, a call must not vanish
 * from the history (field-lessons.md B12), and the model sees its mistake. Raises `invalid_request`
 * for any other value, and for an object that cannot be sent on.
 */
export function readToolArguments(value: JsonValue | undefined, path: string): ToolArguments {
  if (value === undefined || value === null) return { arguments: {} }
  if (isJsonObject(value)) return { arguments: value }
  if (typeof value !== 'string') throw wrongType(path, 'the text of a JSON object', value)
  if (value.trim() === '') return { arguments: {} }
  const parsed = tryParseJson(value)
  if (!isJsonObject(parsed)) return { arguments: { [BROKEN_MEMBER]: value }, argumentsText: value }
  const fault = findJsonFault(parsed)
  if (fault === 'too-deep') throw invalidRequest(path, `'${path}' is nested deeper than ${JSON_DEPTH_MAX} levels.`)
  if (fault !== undefined) throw invalidRequest(path, `'${path}' has a number beyond the range of a double.`)
  return { arguments: parsed, argumentsText: value }
}

/** True for arguments whose text is no JSON object. No object holds its own text, so no others look like them. */
export function areBroken({ arguments: parsed, argumentsText }: ToolArguments): boolean {
  return argumentsText !== undefined && parsed[BROKEN_MEMBER] === argumentsText
}

/** Reads arguments that the protocol has as an object, with the digits of their integers as the client sent them. */
export function readObjectArguments(value: JsonValue | undefined, path: string, numbers: SentNumbers): ToolArguments {
  const read = readToolArguments(value, path)
  const text = read.argumentsText ?? numbers.writeExact(read.arguments)
  return text === undefined ? read : { ...read, argumentsText: text }
}

/**
 * The arguments in a response as an object of a body that is written at once, for clients whose calls have no text. A text that is no object
 * stands in it as it is (decisions.md 113).
 */
export function writeInputObject(text: string): JsonObject {
  if (text.trim() === '') return {}
  const value = tryParseJson(text)
  return isJsonObject(value) ? keepExactIntegers(text, value) : { [BROKEN_MEMBER]: text }
}

/** The arguments of a call as an object of a body that is written at once, with the digits of the client's text. */
export function writeArgumentsObject(given: ToolArguments): JsonObject {
  const { arguments: parsed, argumentsText } = given
  return argumentsText === undefined || areBroken(given) ? parsed : keepExactIntegers(argumentsText, parsed)
}
