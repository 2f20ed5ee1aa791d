// Tools that the model sees only after a search (`defer_loading`), and tools that the conversation adds or takes away. The client runs
// the search, and its result refers to the found tools by name (decisions.md 57 and 82).

import { isJsonObject, type JsonObject, type JsonValue } from '../../../normalized/index.ts'
import { readString } from '../../shared/members/field.ts'

/** A coding agent declares this tool only to keep the beginning of its requests the same; nothing executes its calls. */
const PLACEHOLDER_NAMES: ReadonlySet<string> = new Set(['DeferredToolPlaceholder'])

/** A search tool of this kind is run by the original service. Nothing here runs it, so no result would ever name a tool. */
const SERVICE_SEARCH_PREFIX = 'tool_search'

/** Whether a declared tool stands only for tools that are not loaded yet. It is never offered. */
export function isPlaceholder(tool: JsonValue): boolean {
  return isJsonObject(tool) && typeof tool.name === 'string' && PLACEHOLDER_NAMES.has(tool.name)
}

/** What the blocks of a conversation say about the tools that the model is offered at its end. */
export interface ToolChanges {
  /** Whether a declared tool is deferred: not offered until a tool result or an addition refers to it. */
  isDeferred(tool: JsonObject): boolean
  /** Whether a block takes the tool away, and no later one adds it again. */
  isRemoved(name: string | undefined): boolean
  /** Tools that a block defines, with the path of each definition. */
  defined: ReadonlyArray<{ tool: JsonObject; path: string }>
}

/** @param messages the messages of the body, which have been read before. */
export function readToolChanges(tools: readonly JsonValue[], messages: JsonValue | undefined): ToolChanges {
  const isSearchedByService = tools.some(
    tool => isJsonObject(tool) && typeof tool.type === 'string' && tool.type.startsWith(SERVICE_SEARCH_PREFIX)
  )
  const hasDeferred = !isSearchedByService && tools.some(isMarkedDeferred)
  const { loaded, removed, defined } = listChanges(messages)
  return {
    isDeferred: tool =>
      hasDeferred && isMarkedDeferred(tool) && !(typeof tool.name === 'string' && loaded.has(tool.name)),
    isRemoved: name => name !== undefined && removed.has(name),
    defined
  }
}

/** Blocks that change the offered tools; they say nothing to the model. */
export const TOOL_CHANGES: ReadonlySet<string> = new Set(['tool_addition', 'tool_removal'])

/** The text that replaces a `tool_reference` block. Raises `invalid_request` for a block without a name. */
export function writeToolReference(block: JsonObject, path: string): string {
  return `Available tool: ${readString(block, 'tool_name', path)}`
}

function isMarkedDeferred(tool: JsonValue): boolean {
  return isJsonObject(tool) && tool.defer_loading === true
}

interface ListedChanges {
  loaded: Set<string>
  removed: Set<string>
  defined: Array<{ tool: JsonObject; path: string }>
}

function listChanges(messages: JsonValue | undefined): ListedChanges {
  const changes: ListedChanges = { loaded: new Set(), removed: new Set(), defined: [] }
  if (!Array.isArray(messages)) return changes
  for (const [index, message] of messages.entries()) {
    const content = isJsonObject(message) ? message.content : undefined
    if (!Array.isArray(content)) continue
    for (const [at, block] of content.entries()) {
      if (!isJsonObject(block)) continue
      if (block.type === 'tool_result') addReferences(block, changes)
      else if (block.type === 'tool_addition' || block.type === 'tool_removal') {
        addChange(block, `messages[${index}].content[${at}].tool`, changes)
      }
    }
  }
  return changes
}

function addReferences(result: JsonObject, { loaded }: ListedChanges): void {
  for (const part of objectsOf(result.content)) {
    if (part.type === 'tool_reference' && typeof part.tool_name === 'string') loaded.add(part.tool_name)
  }
}

/** The tool of an addition is named, or defined by value; the tools of a server that nothing here connects to have no effect. */
function addChange({ type, tool }: JsonObject, path: string, { loaded, removed, defined }: ListedChanges): void {
  if (!isJsonObject(tool)) return
  const definition = tool.type === 'tool_definition' && isJsonObject(tool.definition) ? tool.definition : undefined
  const { name } = definition ?? tool
  if (typeof name !== 'string' || (definition === undefined && tool.type !== 'tool_reference')) return
  if (type === 'tool_removal') {
    removed.add(name)
    return
  }
  loaded.add(name)
  removed.delete(name)
  if (definition !== undefined) defined.push({ tool: definition, path: `${path}.definition` })
}

function objectsOf(list: JsonValue | undefined): JsonObject[] {
  return Array.isArray(list) ? list.filter(isJsonObject) : []
}
