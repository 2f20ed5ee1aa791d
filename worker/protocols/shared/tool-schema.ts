// The schema of a function's arguments in a client's declaration.

import { isJsonObject, type JsonObject } from '../../normalized/index.ts'
import { joinPath, wrongType } from './field.ts'

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
