// Additional fields: members of a client's body that belong to the provider. The map is the same
// whether the SDK spread `extra_body` over the body or the client sent it as a member
// (field-lessons.md E5).

import { GatewayError, isJsonObject, type JsonObject } from '../../../normalized/index.ts'
import { refuseForbiddenNames } from './parameters.ts'

/**
 * Merges the fields (completions.md 2.4): `expanded`, the members that the body's parameter table leaves over, then a
 * literal `extra_body`, then `additional_fields`; the later one wins. Raises `unsupported_parameter` when a map is not an object.
 * @returns the map, undefined when it is empty. It never contains `stream`: only the typed parameter decides on streaming.
 */
export function readAdditionalFields(body: JsonObject, expanded: JsonObject): JsonObject | undefined {
  refuseForbiddenOptions(expanded, 'model_options')
  const literal = readMap(body, 'extra_body')
  const additional = readMap(body, 'additional_fields')
  if (literal === undefined && additional === undefined && isEmpty(expanded)) return undefined
  const fields = { ...expanded, ...literal, ...additional }
  for (const name of ['stream', 'extra_body', 'additional_fields']) delete fields[name]
  return Object.keys(fields).length === 0 ? undefined : fields
}

function isEmpty(object: JsonObject): boolean {
  for (const _name in object) return false
  return true
}

/** The fields without members that switch reasoning on, for a request with the typed effort `none` (completions.md 2.2). */
export function dropReasoningFields(fields: JsonObject): JsonObject {
  const { reasoning: _reasoning, reasoning_effort: _effort, ...rest } = fields
  if (isJsonObject(rest.model_options)) rest.model_options = dropReasoningFields(rest.model_options)
  return rest
}

function readMap(body: JsonObject, name: string): JsonObject | undefined {
  const map = body[name] ?? undefined
  if (map === undefined) return undefined
  if (!isJsonObject(map)) {
    throw new GatewayError('unsupported_parameter', { param: name, message: `'${name}' must be an object.` })
  }
  refuseForbiddenNames(map, name)
  refuseForbiddenOptions(map, `${name}.model_options`)
  return map
}

/** Checks the model options too, because they are also merged member by member. */
function refuseForbiddenOptions(map: JsonObject, path: string): void {
  if (isJsonObject(map.model_options)) refuseForbiddenNames(map.model_options, path)
}
