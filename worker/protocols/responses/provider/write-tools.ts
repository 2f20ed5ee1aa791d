// Writes the tools and the tool choice on the Responses wire. Schemas are sent unchanged (decisions.md 2).

import {
  type FunctionTool,
  flattenToolName,
  type HostedTool,
  type HostedToolKind,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type NormalizedRequest,
  selectCallableTools,
  type ToolChoice,
  unsupportedSemantic
} from '../../../normalized/index.ts'
import { type FunctionChoice, planFunctionChoice } from '../../shared/tools/function-choice.ts'
import { refuseNameCollisions, type ToolNameMap } from '../../shared/tools/tool-names.ts'
import { writeExactSchema } from '../../shared/tools/tool-schema.ts'

export interface WrittenTools {
  /** `tools`, `tool_choice` and `parallel_tool_calls`, those that are set. */
  members: JsonObject
  /** The paths of the hosted tools that this wire does not have. */
  leftOut: readonly string[]
}

/**
 * Writes the tools. A hosted tool that the wire does not have is left out beside other tools (decisions.md 69). Raises, with the client's
 * field, `unsupported_semantic` for such a tool alone and for its choice, and `invalid_request` for two functions that have one name
 * without their namespaces and for a choice of an undeclared tool.
 */
export function writeTools(request: NormalizedRequest, names: ToolNameMap): WrittenTools {
  const { fieldPaths, toolChoice, parallelToolCalls } = request
  if (request.tools.length === 0 && toolChoice === undefined) return NOTHING
  refuseNameCollisions(request)
  // The choice `none` is written as such: a provider's cache keeps the tools.
  const { functions, hosted } = selectCallableTools(
    request.tools,
    toolChoice?.type === 'none' ? AUTO : (toolChoice ?? AUTO)
  )
  const written = functions.map(tool => writeFunction(tool, names))
  const leftOut: string[] = []
  for (const tool of hosted) {
    const definition = writeHosted(tool)
    if (definition === undefined) leftOut.push(tool.path ?? fieldPaths.tools)
    else written.push(definition)
  }
  if (written.length === 0 && leftOut.length > 0) throw unsupportedSemantic(leftOut[0])
  const choice =
    toolChoice === undefined ? undefined : writeToolChoice(toolChoice, { request, functions, names, hosted })
  if (written.length === 0) return { members: {}, leftOut }
  const members: JsonObject = { tools: written }
  if (choice !== undefined) members.tool_choice = choice
  if (parallelToolCalls !== undefined) members.parallel_tool_calls = parallelToolCalls === 'requested'
  return { members, leftOut }
}

const NOTHING: WrittenTools = { members: {}, leftOut: [] }
const AUTO: ToolChoice = { type: 'auto' }

/** `strict` is written in every case: a service of this wire takes a function without it as a strict one. */
function writeFunction(tool: FunctionTool, names: ToolNameMap): JsonObject {
  const definition: JsonObject = { type: 'function', name: names.toWire(flattenToolName(tool)) }
  if (tool.description !== undefined) definition.description = tool.description
  definition.parameters = writeExactSchema(tool)
  definition.strict = tool.strict === true
  return definition
}

/** The type of each hosted tool that the wire has. */
const hostedTypes: Readonly<Partial<Record<HostedToolKind, string>>> = {
  web_search: 'web_search',
  code_interpreter: 'code_interpreter',
  image_generate: 'image_generation'
}

/** Writes a hosted tool with what the families have in common of its configuration; undefined for a tool that this wire does not have. */
function writeHosted({ kind, config, timezone }: HostedTool): JsonObject | undefined {
  const type = hostedTypes[kind]
  if (type === undefined) return undefined
  switch (kind) {
    case 'web_search':
      return { type, ...writeSearchConfig(config, timezone) }
    case 'code_interpreter':
      return { type, container: config.container ?? { type: 'auto' } }
    default:
      return { type }
  }
}

const LOCATION_MEMBERS = ['city', 'country', 'region', 'timezone']

function writeSearchConfig(
  { user_location: location, search_context_size, filters }: JsonObject,
  timezone: string | undefined
): JsonObject {
  const written: JsonObject = {}
  if (isJsonObject(filters)) written.filters = filters
  const place = isJsonObject(location) ? location : timezone === undefined ? {} : { timezone }
  const known = LOCATION_MEMBERS.filter(member => typeof place[member] === 'string')
  if (known.length > 0) {
    const members = known.map(member => [member, place[member] as JsonValue])
    written.user_location = { type: 'approximate', ...Object.fromEntries(members) }
  }
  if (typeof search_context_size === 'string') written.search_context_size = search_context_size
  return written
}

interface ChoiceSurroundings {
  request: NormalizedRequest
  functions: readonly FunctionTool[]
  hosted: readonly HostedTool[]
  names: ToolNameMap
}

/** Writes the choice. Raises the errors of `planFunctionChoice`, and `unsupported_semantic` for the choice of a hosted tool that is not there. */
function writeToolChoice(choice: ToolChoice, { request, functions, hosted, names }: ChoiceSurroundings): JsonValue {
  if (choice.type === 'hosted') {
    const type = hostedTypes[choice.kind]
    const isOffered = hosted.some(({ kind }) => kind === choice.kind)
    if (type === undefined || !isOffered) throw unsupportedSemantic(request.fieldPaths.toolChoice)
    return { type }
  }
  if (choice.type === 'required' && functions.length === 0 && hosted.length > 0) return 'required'
  return writeFunctionChoice(planFunctionChoice(choice, functions, request), names)
}

/** Of an allow-list only the allowed functions are declared; a single one is required by its name. */
function writeFunctionChoice(choice: FunctionChoice, names: ToolNameMap): JsonValue {
  if (choice.type !== 'required' || choice.among?.length !== 1) return choice.type
  const [only] = choice.among
  return only === undefined ? choice.type : { type: 'function', name: names.toWire(flattenToolName(only)) }
}
