// The schema of a function's arguments in a client's declaration.

import {
  type FunctionTool,
  isJsonObject,
  type JsonObject,
  keepExactIntegers,
  type NormalizedTool
} from '../../../normalized/index.ts'
import type { SentNumbers } from '../json/sent-numbers.ts'
import { joinPath, wrongType } from '../members/field.ts'

/**
 * Reads the schema of the declaration at `path` unchanged. A missing schema becomes that of a function without parameters
 * (decisions.md 2). Raises `invalid_request` for a schema that is no object.
 * @param members the possible names of the member, the protocol's own name first.
 */
export function readToolSchema(
  definition: JsonObject,
  path: string,
  members: readonly ('parameters' | 'input_schema')[]
): JsonObject {
  for (const member of members) {
    const schema = definition[member] ?? undefined
    if (schema === undefined) continue
    if (!isJsonObject(schema)) throw wrongType(joinPath(path, member), 'an object', schema)
    return schema
  }
  return { type: 'object', properties: {} }
}

/** Keeps the digits of large integers in the schemas of functions, such as the bounds of 64-bit numbers (decisions.md 85). */
export function keepSchemaDigits(tools: readonly NormalizedTool[], numbers: SentNumbers): void {
  for (const tool of tools) {
    const text = tool.type === 'function' ? numbers.writeExact(tool.parameters) : undefined
    if (tool.type === 'function' && text !== undefined) tool.parametersText = text
  }
}

/** The schema of a function for a body that is written at once, with the digits that the client sent. */
export function writeExactSchema({ parameters, parametersText }: FunctionTool): JsonObject {
  return parametersText === undefined ? parameters : keepExactIntegers(parametersText, parameters)
}
