// Tools that the model sees only after a search (`defer_loading`). The client runs the search, and
// its result refers to the found tools by name (decisions.md 57).

import { isJsonObject, type JsonObject, type JsonValue } from '../../../normalized/index.ts'
import { readString } from '../../shared/field.ts'

/** A coding agent declares this tool only to keep the beginning of its requests the same; nothing executes its calls. */
const PLACEHOLDER_NAMES: ReadonlySet<string> = new Set(['DeferredToolPlaceholder'])

/** A search tool of this kind is run by the original service. Nothing here runs it, so no result would ever name a tool. */
const SERVICE_SEARCH_PREFIX = 'tool_search'

/** Whether a declared tool stands only for tools that are not loaded yet. It is never offered. */
export function isPlaceholder(tool: JsonValue): boolean {
  return isJsonObject(tool) && typeof tool.name === 'string' && PLACEHOLDER_NAMES.has(tool.name)
}

/**
 * Returns a function that tells whether a declared tool is deferred: not offered until a tool result in `messages` refers to it.
 * @param messages the messages of the body, which have been read before.
 */
export function findDeferredTools(tools: readonly JsonValue[], messages: JsonValue | undefined) {
  const isSearchedByService = tools.some(
    tool => isJsonObject(tool) && typeof tool.type === 'string' && tool.type.startsWith(SERVICE_SEARCH_PREFIX)
  )
  const hasDeferred = !isSearchedByService && tools.some(isMarkedDeferred)
  const loaded = hasDeferred ? listReferencedTools(messages) : undefined
  return (tool: JsonObject): boolean =>
    loaded !== undefined && isMarkedDeferred(tool) && !(typeof tool.name === 'string' && loaded.has(tool.name))
}

/** The text that replaces a `tool_reference` block. Raises `invalid_request` for a block without a name. */
export function writeToolReference(block: JsonObject, path: string): string {
  return `Available tool: ${readString(block, 'tool_name', path)}`
}

function isMarkedDeferred(tool: JsonValue): boolean {
  return isJsonObject(tool) && tool.defer_loading === true
}

function listReferencedTools(messages: JsonValue | undefined): Set<string> {
  const names = new Set<string>()
  for (const message of objectsOf(messages)) {
    for (const block of objectsOf(message.content)) {
      if (block.type !== 'tool_result') continue
      for (const part of objectsOf(block.content)) {
        if (part.type === 'tool_reference' && typeof part.tool_name === 'string') names.add(part.tool_name)
      }
    }
  }
  return names
}

function objectsOf(list: JsonValue | undefined): JsonObject[] {
  return Array.isArray(list) ? list.filter(isJsonObject) : []
}
