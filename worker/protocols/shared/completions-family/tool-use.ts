// Tools and tool choice of completions and Responses requests: functions nested, flat or in the legacy form, namespaces, and tools
// that the provider runs (completions.md 5).

import {
  type Diagnostics,
  type FunctionTool,
  flattenToolName,
  type HostedToolKind,
  invalidRequest,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type NormalizedRequest,
  type NormalizedTool,
  type ToolChoice
} from '../../../normalized/index.ts'
import {
  keepDefined,
  readOptionalArray,
  readOptionalBoolean,
  readOptionalString,
  readString,
  wrongType
} from '../members/field.ts'
import { writeMemberPaths } from '../members/member-paths.ts'
import type { ParameterTable } from '../members/parameters.ts'
import { findHostedToolKind, readHostedMembers, readHostedTool } from '../tools/hosted-tools.ts'
import { readToolSchema } from '../tools/tool-schema.ts'
import { CUSTOM, isCustom, readFreeFormTool, readNested } from './free-form-tools.ts'

/** The parameters that `readToolUse` reads, for the parameter tables. */
export const toolParameters = {
  tools: {
    class: 'supported',
    note: 'Functions, custom tools and namespaces everywhere, built-in tools on the v2 contract; other kinds have no effect.'
  },
  tool_choice: { class: 'supported', note: 'What a route cannot enforce is refused; unknown kinds have no effect.' },
  parallel_tool_calls: {
    class: 'supported',
    note: 'true has an effect with the largest model on the v2 contract; false returns the first call of a response only.'
  },
  functions: { class: 'supported', note: 'The old form of tools; without effect beside a non-empty tools.' },
  function_call: { class: 'supported', note: 'The old form of tool_choice, which wins over it.' }
} as const satisfies ParameterTable

export type ToolUse = Pick<NormalizedRequest, 'tools' | 'toolChoice' | 'usesLegacyFunctions' | 'parallelToolCalls'>

/**
 * Reads `tools`, `functions`, `tool_choice`, `function_call` and `parallel_tool_calls`. Raises `invalid_request`, also for the
 * choice of an undeclared function. A chosen hosted tool is not checked, because only the provider's wire decides whether it can
 * be chosen. Members without effect are added to `ignored`.
 * @param additional tools that the body declares in other members; they come after those of `tools`.
 */
export function readToolUse(
  body: JsonObject,
  ignored: Diagnostics,
  additional: readonly NormalizedTool[] = []
): ToolUse {
  const sentTools = readOptionalArray(body, 'tools') ?? []
  const sentFunctions = readOptionalArray(body, 'functions') ?? []
  const usesLegacyFunctions = sentTools.length === 0 && sentFunctions.length > 0
  const declared = usesLegacyFunctions
    ? sentFunctions.flatMap((tool, index) => readFunctionTool(tool, { path: `functions[${index}]` }))
    : readTools(sentTools, 'tools')
  const tools = additional.length === 0 ? declared : [...declared, ...additional]
  if (sentFunctions.length > 0 && !usesLegacyFunctions) ignored.functions = sentFunctions
  const toolChoice = readToolChoice(body, ignored)
  if (toolChoice !== undefined) refuseUndeclared(toolChoice, tools)
  const parallelToolCalls = readOptionalBoolean(body, 'parallel_tool_calls')
  const toolUse: ToolUse = { tools, usesLegacyFunctions }
  if (toolChoice !== undefined) toolUse.toolChoice = toolChoice
  if (parallelToolCalls !== undefined) toolUse.parallelToolCalls = parallelToolCalls ? 'requested' : 'refused'
  return toolUse
}

/** Reads the list of tools at `path`. Raises `invalid_request` with the path of the wrong member. */
export function readTools(tools: readonly JsonValue[], path: string): NormalizedTool[] {
  return tools.flatMap((tool, index) => readTool(tool, `${path}[${index}]`))
}

/** Reads one entry of a list of tools: no tool, one tool, or a namespace of several. */
function readTool(tool: JsonValue, path: string): NormalizedTool[] {
  if (!isJsonObject(tool)) return []
  const type = readOptionalString(tool, 'type', path)
  if (type === undefined) return readUntypedTool(tool, path)
  if (type === 'function') return readFunctionTool(tool, { path })
  if (type === CUSTOM) return readFreeFormTool(tool, { path })
  if (type === 'namespace') return readNamespace(tool, path)
  const kind = findHostedToolKind(type)
  const typePath = `${path}.type`
  if (kind !== undefined) return [{ ...readHostedTool(tool, { sentType: type, kind, path }), path: typePath }]
  return [{ type: 'unsupported', sentType: type, definition: tool, path: typePath }]
}

/** A tool without a type is a function, or a tool in the upstream's own shape: hosted tools, or a list of functions. */
function readUntypedTool(tool: JsonObject, path: string): NormalizedTool[] {
  const functions = readFunctionTool(tool, { path })
  if (functions.length > 0) return functions
  const list = isJsonObject(tool.functions) ? tool.functions.specifications : undefined
  const at = `${path}.functions.specifications`
  const listed = Array.isArray(list) ? list : []
  return [
    ...readHostedMembers(tool, path),
    ...listed.flatMap((one, index) => readFunctionTool(one, { path: `${at}[${index}]` }))
  ]
}

function readNamespace(tool: JsonObject, path: string): NormalizedTool[] {
  const namespace = tool.name
  if (typeof namespace !== 'string' || namespace === '') return []
  const members = readOptionalArray(tool, 'tools', path) ?? []
  return members.flatMap((member, index) => {
    const place = { path: `${path}.tools[${index}]`, namespace }
    return isCustom(member) ? readFreeFormTool(member, place) : readFunctionTool(member, place)
  })
}

/**
 * Reads a function in its nested form (`{function: {name, …}}`) or its flat one. An entry without a name is dropped,
 * because the model cannot call it; so is an entry of another type inside a namespace.
 */
function readFunctionTool(tool: JsonValue, place: { path: string; namespace?: string }): FunctionTool[] {
  if (!isJsonObject(tool)) return []
  const { definition, path } = readNestedFunction(tool, place.path)
  const name = definition.name
  if (typeof name !== 'string' || name.trim() === '') return []
  const type = tool.type ?? 'function'
  if (type !== 'function') return []
  const details = keepDefined({
    namespace: place.namespace,
    description: readOptionalString(definition, 'description', path),
    strict: readOptionalBoolean(definition, 'strict', path),
    fewShotExamples: definition.few_shot_examples ?? undefined,
    returnParameters: definition.return_parameters ?? undefined
  })
  const parameters = readToolSchema(definition, path, ['parameters', 'input_schema'])
  return [{ type: 'function', name, parameters, ...details, ...writeMemberPaths(details, path, MEMBER_NAMES) }]
}

/** The members of a function, which may stand under `function`, with their path. */
function readNestedFunction(source: JsonObject, path: string): { definition: JsonObject; path: string } {
  return isJsonObject(source.function)
    ? { definition: source.function, path: `${path}.function` }
    : { definition: source, path }
}

const MEMBER_NAMES = {
  strict: 'strict',
  fewShotExamples: 'few_shot_examples',
  returnParameters: 'return_parameters'
} as const

/** Reads the tool choice; undefined when it is absent or has no effect here, such as the choice of an unknown kind of tool. */
function readToolChoice(body: JsonObject, ignored: Diagnostics): ToolChoice | undefined {
  const member = (body.tool_choice ?? undefined) === undefined ? 'function_call' : 'tool_choice'
  const sent = body[member] ?? undefined
  if (sent === undefined) return undefined
  if (typeof sent !== 'string' && !isJsonObject(sent)) throw wrongType(member, 'a string or an object', sent)
  const choice = typeof sent === 'string' ? readChoiceWord(sent) : readChoiceObject(sent, member)
  if (choice === undefined) ignored[member] = sent
  return choice
}

function readChoiceWord(word: string): ToolChoice | undefined {
  switch (word) {
    case 'auto':
    case 'none':
    case 'required':
      return { type: word }
    default:
      return undefined
  }
}

/** Reads an object: the legacy choice is a bare `{name}`, the current one has a type and nests the name. */
function readChoiceObject(choice: JsonObject, path: 'tool_choice' | 'function_call'): ToolChoice | undefined {
  const type = readOptionalString(choice, 'type', path)
  const isFunction = type === 'function' || (type === undefined && ('name' in choice || 'function' in choice))
  if (isFunction || type === CUSTOM) return { type: 'function', name: readChosenName(choice, path) }
  if (type === undefined) return undefined
  if (type === 'allowed_tools') return readAllowedTools(choice)
  const kind = findHostedToolKind(type)
  return kind === undefined ? readChoiceWord(type) : { type: 'hosted', kind }
}

/** The name of a chosen function or custom tool, flattened with its namespace. */
function readChosenName(choice: JsonObject, path: string): string {
  const { definition: named, path: at } = isCustom(choice) ? readNested(choice, path) : readNestedFunction(choice, path)
  const name = readString(named, 'name', at)
  const namespace = readOptionalString(named, 'namespace', at)
  return namespace === undefined ? name : flattenToolName({ name, namespace })
}

function readAllowedTools(choice: JsonObject): ToolChoice {
  const isNested = isJsonObject(choice.allowed_tools)
  const list = isNested ? (choice.allowed_tools as JsonObject) : choice
  const path = isNested ? 'tool_choice.allowed_tools' : 'tool_choice'
  const mode = list.mode ?? 'auto'
  if (mode !== 'auto' && mode !== 'required') {
    throw invalidRequest(`${path}.mode`, `'${path}.mode' must be auto or required.`)
  }
  const names: string[] = []
  const kinds: HostedToolKind[] = []
  for (const [index, tool] of (readOptionalArray(list, 'tools', path) ?? []).entries()) {
    const at = `${path}.tools[${index}]`
    if (!isJsonObject(tool)) throw wrongType(at, 'an object', tool)
    const type = readOptionalString(tool, 'type', at) ?? 'function'
    const kind = findHostedToolKind(type)
    if (type === 'function' || type === CUSTOM) names.push(readChosenName(tool, at))
    else if (kind !== undefined) kinds.push(kind)
  }
  return { type: 'allowed', mode, names, kinds }
}

function refuseUndeclared(choice: ToolChoice, tools: readonly NormalizedTool[]): void {
  const wanted = choice.type === 'function' ? [choice.name] : choice.type === 'allowed' ? choice.names : []
  if (wanted.length === 0) return
  const declared = new Set(tools.filter(tool => tool.type === 'function').map(flattenToolName))
  for (const name of wanted) {
    if (!declared.has(name)) throw invalidRequest('tool_choice', `The chosen function '${name}' is not declared.`)
  }
}
