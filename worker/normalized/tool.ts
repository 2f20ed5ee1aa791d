// The tools that a client offers to the model, and the tool choice.

import type { JsonObject, JsonValue } from './json.ts'

/** Tools that a provider runs itself. */
export type HostedToolKind =
  | 'web_search'
  | 'code_interpreter'
  | 'image_generate'
  | 'url_content_extraction'
  | 'model_3d_generate'

export interface FunctionTool {
  type: 'function'
  name: string
  /** Set when the client keeps its functions in namespaces; on a wire without them the name is `namespace__name`. */
  namespace?: string
  description?: string
  /** The client's schema, never rewritten. */
  parameters: JsonObject
  /** The same as JSON text, where it has integers that a double would change. */
  parametersText?: string
  strict?: boolean
  fewShotExamples?: JsonValue
  returnParameters?: JsonValue
  /** The client wants the model to see this tool only after a search that has not found it yet. */
  isDeferred?: true
  /** Path of the declaration in the client's body, for errors that are found after reading. */
  path?: string
  /**
   * The client declares a custom tool, whose input is free text. On a wire without such tools it is this function, with the input as its one
   * parameter `input`; the client gets its calls back as calls of a custom tool (decisions.md 77).
   */
  freeForm?: FreeFormTool
  /** Paths in the client's body of the members that some wires have no place for, where the client asks for something with them. */
  memberPaths?: Partial<Record<OptionalToolMember, string>>
}

/** What a client declares of a tool whose input is free text. */
export interface FreeFormTool {
  /** The client's own words: the description of the function also holds the grammar. */
  description?: string
  /** What the input must match; absent for any text. */
  grammar?: { syntax: string; definition: string }
}

/** A member of a function that not every wire has. */
export type OptionalToolMember = 'strict' | 'fewShotExamples' | 'returnParameters'

export interface HostedTool {
  type: 'hosted'
  kind: HostedToolKind
  /** The client's own word for it, such as `web_search_preview`. */
  sentType: string
  config: JsonObject
  /** The user's time zone from the tool's `user_location`, as the client wrote it. */
  timezone?: string
  /** Path of what names the tool in the client's body, such as `tools[0].type`. */
  path?: string
}

/** A tool of a kind that no provider here runs: kept for diagnostics and for protocols that echo the tools. */
export interface UnsupportedTool {
  type: 'unsupported'
  sentType: string
  definition: JsonValue
  path?: string
}

export type NormalizedTool = FunctionTool | HostedTool | UnsupportedTool

export type ToolChoice =
  | { type: 'auto' }
  | { type: 'none' }
  | { type: 'required' }
  | { type: 'function'; name: string }
  | { type: 'hosted'; kind: HostedToolKind }
  /**
   * Only the named functions may be called; `mode` says whether a call is required. `kinds` limits the hosted tools in the same
   * way; without it all of them stay.
   */
  | { type: 'allowed'; mode: 'auto' | 'required'; names: string[]; kinds?: HostedToolKind[] }

/** The function's name on a wire that has no namespaces: `namespace__name`, without doubling the separator. */
export function flattenToolName(tool: { name: string; namespace?: string }): string {
  if (tool.namespace === undefined) return tool.name
  return tool.namespace.endsWith('__') ? tool.namespace + tool.name : `${tool.namespace}__${tool.name}`
}

export interface CallableTools {
  functions: FunctionTool[]
  hosted: HostedTool[]
}

/**
 * The tools that the model may use: duplicates by name are dropped (the first wins), an allow-list is applied, the choice `none`
 * leaves none. A deferred function is left out unless it is the choice. At most one hosted tool of a kind.
 */
export function selectCallableTools(tools: readonly NormalizedTool[], choice: ToolChoice): CallableTools {
  const callable: CallableTools = { functions: [], hosted: [] }
  if (choice.type === 'none') return callable
  const allowed = choice.type === 'allowed' ? new Set(choice.names) : undefined
  const names = new Set<string>()
  const kinds = new Set<HostedToolKind>()
  for (const tool of tools) {
    if (tool.type === 'function') {
      const name = flattenToolName(tool)
      if (names.has(name)) continue
      names.add(name)
      if (allowed?.has(name) === false) continue
      if (tool.isDeferred === true && !(choice.type === 'function' && choice.name === name)) continue
      callable.functions.push(tool)
    } else if (tool.type === 'hosted' && !kinds.has(tool.kind)) {
      kinds.add(tool.kind)
      if (choice.type === 'allowed' && choice.kinds?.includes(tool.kind) === false) continue
      callable.hosted.push(tool)
    }
  }
  return callable
}
