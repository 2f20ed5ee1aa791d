// Reads the tools of a request and the tool choice (messages.md 4).

import {
  type FunctionTool,
  GatewayError,
  type HostedTool,
  type HostedToolKind,
  invalidRequest,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type NormalizedRequest,
  type NormalizedTool,
  type ParallelToolCalls
} from '../../../normalized/index.ts'
import {
  keepDefined,
  readOptionalArray,
  readOptionalBoolean,
  readOptionalObject,
  readOptionalString,
  readString
} from '../../shared/members/field.ts'
import { writeMemberPaths } from '../../shared/members/member-paths.ts'
import { findHostedToolKind, readHostedMembers, readHostedTool, withTimezone } from '../../shared/tools/hosted-tools.ts'
import { readToolSchema } from '../../shared/tools/tool-schema.ts'
import { isPlaceholder, readToolChanges } from './deferred-tools.ts'
import type { MessagesRequest } from './schema.ts'

export type ToolUse = Pick<
  NormalizedRequest,
  'tools' | 'toolChoice' | 'usesLegacyFunctions' | 'parallelToolCalls' | 'refusal'
>

/** A tool with the name that `tool_choice` uses for it. */
interface DeclaredTool {
  name: string | undefined
  tool: NormalizedTool
}

/**
 * Reads `tools` and `tool_choice`. Raises `invalid_request`. The choice of a tool that is undeclared or has no effect is refused unless the
 * request is passed on. The provider face checks whether its wire can enforce a choice.
 */
export function readToolUse(body: Pick<MessagesRequest, 'tools' | 'tool_choice' | 'messages'>): ToolUse {
  const sent = readOptionalArray(body, 'tools') ?? []
  const { isDeferred, isRemoved, defined } = readToolChanges(sent, body.messages)
  const all = [...sent.map((tool, index) => ({ tool, path: `tools[${index}]` })), ...defined]
  const declared = all
    .flatMap(({ tool, path }) => readUntypedTool(tool, path) ?? readTool(tool, path, isDeferred) ?? [])
    .filter(({ name }) => !isRemoved(name))
  const choice = readOptionalObject(body, 'tool_choice')
  return {
    tools: declared.map(({ tool }) => tool),
    usesLegacyFunctions: false,
    ...(choice && readToolChoice(choice, declared)),
    ...keepDefined({ parallelToolCalls: readParallelToolCalls(choice) })
  }
}

function readParallelToolCalls(choice: JsonObject | undefined): ParallelToolCalls | undefined {
  const isDisabled = choice && readOptionalBoolean(choice, 'disable_parallel_tool_use', 'tool_choice')
  if (isDisabled === undefined) return undefined
  return isDisabled ? 'refused' : 'requested'
}

/**
 * Reads hosted tools in the upstream's own shape; undefined for a tool with a type or a name
 * (decisions.md 64).
 */
function readUntypedTool(tool: JsonValue, path: string): DeclaredTool[] | undefined {
  if (!isJsonObject(tool) || 'type' in tool || 'name' in tool) return undefined
  return readHostedMembers(tool, path).map(hosted => ({ name: hosted.sentType, tool: hosted }))
}

/** Undefined for an entry that cannot be called: not an object, a placeholder, or a function without a name. */
function readTool(tool: JsonValue, path: string, isDeferred: (tool: JsonObject) => boolean): DeclaredTool | undefined {
  if (!isJsonObject(tool) || isPlaceholder(tool)) return undefined
  const type = readOptionalString(tool, 'type', path) ?? 'custom'
  const name = readOptionalString(tool, 'name', path)
  const kind = type === 'custom' ? findNamedKind(tool, name) : findHostedToolKind(type)
  if (kind !== undefined) {
    // A tool that the provider runs has no effect until it is found, as if it were not declared.
    if (isDeferred(tool)) return undefined
    const sentType = type === 'custom' ? (name ?? type) : type
    const at = `${path}.${type === 'custom' ? 'name' : 'type'}`
    return { name: name ?? type, tool: { ...readBuiltInTool(tool, { sentType, kind, path }), path: at } }
  }
  // A tool of an unknown type with a schema of its arguments is read as a function.
  if (type !== 'custom' && !hasSchema(tool)) {
    return { name: name ?? type, tool: { type: 'unsupported', sentType: type, definition: tool, path: `${path}.type` } }
  }
  if (name === undefined || name.trim() === '') return undefined
  const declared = readFunction(tool, name, path)
  return { name, tool: isDeferred(tool) ? { ...declared, isDeferred: true } : declared }
}

/** Names that coding agents use for tools that their service runs. */
const BUILT_IN_NAMES: ReadonlySet<string> = new Set(['WebSearch', 'WebFetch', 'CodeExecution'])

/** A tool of such a name with argument properties is run by the agent itself, so it stays a function. */
function findNamedKind(tool: JsonObject, name: string | undefined): HostedToolKind | undefined {
  if (name === undefined || !BUILT_IN_NAMES.has(name)) return undefined
  const properties = isJsonObject(tool.input_schema) ? tool.input_schema.properties : undefined
  const isCalledByClient = isJsonObject(properties) && Object.keys(properties).length > 0
  return isCalledByClient ? undefined : findHostedToolKind(name)
}

function hasSchema(tool: JsonObject): boolean {
  return isJsonObject(tool.input_schema) || isJsonObject(tool.parameters)
}

function readFunction(tool: JsonObject, name: string, path: string): FunctionTool {
  const details = keepDefined({
    description: readOptionalString(tool, 'description', path),
    strict: readOptionalBoolean(tool, 'strict', path)
  })
  const memberPaths = writeMemberPaths(details, path, MEMBER_NAMES)
  const parameters = readToolSchema(tool, path, ['input_schema', 'parameters'])
  return { type: 'function', name, parameters, ...details, ...memberPaths }
}

const MEMBER_NAMES = { strict: 'strict', fewShotExamples: '', returnParameters: '' } as const

/** Members of a search tool that the native upstream has too; the other members are options of another service. */
const SEARCH_MEMBERS: readonly string[] = ['indexes', 'flags']

/** The member with the tool's own name holds options for the provider, and is passed on unchanged. */
function readBuiltInTool(
  tool: JsonObject,
  { sentType, kind, path }: { sentType: string; kind: HostedToolKind; path: string }
): HostedTool {
  const members = [...(kind === 'web_search' ? SEARCH_MEMBERS : []), kind, sentType]
  const known = Object.fromEntries(Object.entries(tool).filter(([member]) => members.includes(member)))
  return withTimezone(readHostedTool(known, { sentType, kind, path }), tool.user_location)
}

type ReadChoice = Pick<NormalizedRequest, 'toolChoice' | 'refusal'>

function readToolChoice(choice: JsonObject, declared: readonly DeclaredTool[]): ReadChoice {
  const type = readString(choice, 'type', 'tool_choice')
  switch (type) {
    case 'auto':
    case 'none':
      return { toolChoice: { type } }
    case 'any':
      return { toolChoice: { type: 'required' } }
    case 'tool':
      return chooseTool(readString(choice, 'name', 'tool_choice'), declared)
    default:
      throw invalidRequest('tool_choice.type', `'tool_choice.type' must be auto, any, tool or none.`)
  }
}

/** A function wins over a built-in tool of the same name, because the client chose the name of the function. */
function chooseTool(name: string, declared: readonly DeclaredTool[]): ReadChoice {
  const candidates = declared.filter(one => one.name === name).map(({ tool }) => tool)
  if (candidates.some(tool => tool.type === 'function')) return { toolChoice: { type: 'function', name } }
  const hosted = candidates.find(tool => tool.type === 'hosted')
  if (hosted !== undefined) return { toolChoice: { type: 'hosted', kind: hosted.kind } }
  const refusal =
    candidates.length > 0
      ? new GatewayError('unsupported_semantic', {
          param: 'tool_choice.name',
          message: 'The chosen tool has no effect here, so its use cannot be forced.'
        })
      : invalidRequest('tool_choice.name', 'The chosen tool is not declared in this request.')
  return { toolChoice: { type: 'required' }, refusal }
}
