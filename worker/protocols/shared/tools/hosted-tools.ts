// The names by which clients declare tools that the provider runs itself, and their configuration (completions.md 5.5).

import {
  type HostedTool,
  type HostedToolKind,
  isJsonObject,
  type JsonObject,
  type JsonValue
} from '../../../normalized/index.ts'
import { refuseManyMembers } from '../members/parameters.ts'

const kindByName = new Map<string, HostedToolKind>([
  ['web_search', 'web_search'],
  ['code_interpreter', 'code_interpreter'],
  ['code_execution', 'code_interpreter'],
  ['image_generate', 'image_generate'],
  ['image_generation', 'image_generate'],
  ['url_content_extraction', 'url_content_extraction'],
  ['url_context', 'url_content_extraction'],
  ['web_fetch', 'url_content_extraction'],
  ['model_3d_generate', 'model_3d_generate']
])

/** Dated and preview forms, such as `web_search_preview_2025_03_11` or `code_execution_20250522`. */
const kindByPrefix: Array<readonly [prefix: string, kind: HostedToolKind]> = [
  ['web_search_', 'web_search'],
  ['google_search', 'web_search'],
  ['code_execution_', 'code_interpreter'],
  ['web_fetch_', 'url_content_extraction']
]

/** The kind for a client's word, in any letter case and also in camel case; undefined for other words. */
export function findHostedToolKind(word: string): HostedToolKind | undefined {
  const name = word
    .replace(/([a-z])([0-9A-Z])/g, '$1_$2')
    .replace(/([0-9A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
  return kindByName.get(name) ?? kindByPrefix.find(([prefix]) => name.startsWith(prefix))?.[1]
}

const FUNCTION_MEMBERS = new Set(['type', 'function', 'name', 'description', 'parameters', 'input_schema'])

/**
 * Reads a tool object whose kind `findHostedToolKind` found by `sentType`. Its configuration merges the other members at the top,
 * the object under the kind's name and the object under the client's word; the later one wins. Raises `invalid_request` for very many
 * members.
 * @param tool.path the path of the tool in the client's body.
 */
export function readHostedTool(
  definition: JsonObject,
  { sentType, kind, path }: { sentType: string; kind: HostedToolKind; path: string }
): HostedTool {
  refuseManyMembers(definition, path)
  const beside = Object.entries(definition).filter(
    ([name]) => !FUNCTION_MEMBERS.has(name) && name !== kind && name !== sentType
  )
  const read = (member: string) => readConfig(definition[member], `${path}.${member}`)
  const config = { ...Object.fromEntries(beside), ...read(kind), ...read(sentType) }
  return withTimezone({ type: 'hosted', kind, sentType, config }, config.user_location)
}

/**
 * Reads a tool in the upstream's own shape, one member per tool such as `{"web_search":{…}}`; empty for any other tool (decisions.md 64).
 * Raises `invalid_request` for very many members.
 * @param path the path of the tool in the client's body.
 */
export function readHostedMembers(definition: JsonObject, path: string): HostedTool[] {
  refuseManyMembers(definition, path)
  return Object.entries(definition).flatMap(([member, config]) => {
    const kind = isJsonObject(config) ? findHostedToolKind(member) : undefined
    if (kind === undefined) return []
    return [{ ...readHostedTool({ [member]: config }, { sentType: member, kind, path }), path: `${path}.${member}` }]
  })
}

/** Adds the time zone of a `user_location`, which clients nest under `approximate` or not. */
export function withTimezone(tool: HostedTool, location: JsonValue | undefined): HostedTool {
  const timezone = readTimezone(location) ?? (isJsonObject(location) ? readTimezone(location.approximate) : undefined)
  return timezone === undefined ? tool : { ...tool, timezone }
}

function readTimezone(location: JsonValue | undefined): string | undefined {
  const timezone = isJsonObject(location) ? location.timezone : undefined
  return typeof timezone === 'string' && timezone !== '' ? timezone : undefined
}

function readConfig(value: JsonValue | undefined, path: string): JsonObject | undefined {
  if (!isJsonObject(value)) return undefined
  refuseManyMembers(value, path)
  return value
}
