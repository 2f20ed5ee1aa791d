// Writes the tools and the tool choice on the Anthropic Messages wire (messages.md 4). Schemas are
// sent unchanged (decisions.md 2).

import {
  assertNever,
  type FunctionTool,
  flattenToolName,
  GatewayError,
  invalidRequest,
  type JsonObject,
  type NormalizedRequest,
  selectCallableTools,
  type ToolChoice
} from '../../../normalized/index.ts'
import { refuseNameCollisions, type ToolNameMap } from '../../shared/tool-names.ts'

export interface WrittenTools {
  tools?: JsonObject[]
  tool_choice?: JsonObject
}

/**
 * Writes `tools` and `tool_choice`, those that are set. Raises `invalid_request` with the client's field for two functions that have one name
 * without their namespaces and for a choice of an undeclared tool, and `unsupported_semantic` for the choice of a hosted tool.
 * @param calledNames the functions that the history calls, by their names on the wire.
 */
export function writeTools(
  request: NormalizedRequest,
  names: ToolNameMap,
  calledNames: ReadonlySet<string>
): WrittenTools {
  const { tools, toolChoice = AUTO, parallelToolCalls } = request
  refuseNameCollisions(request)
  // The choice `none` is written as such: a provider's cache keeps the tools, and the service wants tools where the history has calls.
  const { functions } = selectCallableTools(tools, toolChoice.type === 'none' ? AUTO : toolChoice)
  const choice = writeToolChoice(toolChoice, functions, { request, names })
  if (functions.length === 0) return writeCalledTools(calledNames)
  const written: WrittenTools = { tools: functions.map(tool => writeFunction(tool, names)) }
  const isSingle = parallelToolCalls === 'refused' && choice.type !== 'none'
  if (isSingle) written.tool_choice = { ...choice, disable_parallel_tool_use: true }
  else if (request.toolChoice !== undefined) written.tool_choice = choice
  return written
}

const AUTO: ToolChoice = { type: 'auto' }

function writeFunction(tool: FunctionTool, names: ToolNameMap): JsonObject {
  const written: JsonObject = { name: names.toWire(flattenToolName(tool)) }
  if (tool.description !== undefined) written.description = tool.description
  written.input_schema = writeSchema(tool.parameters)
  if (tool.strict === true) written.strict = true
  return written
}

/** Arguments are always an object. The wire demands that the schema says so, which some clients leave out. */
function writeSchema(schema: JsonObject): JsonObject {
  return schema.type === undefined ? { type: 'object', ...schema } : schema
}

/** The service refuses a history with calls where no tool is declared, so a client that no longer offers tools gets tools that cannot be called. */
function writeCalledTools(calledNames: ReadonlySet<string>): WrittenTools {
  if (calledNames.size === 0) return {}
  return {
    tools: Array.from(calledNames, name => ({ name, input_schema: { type: 'object' } })),
    tool_choice: { type: 'none' }
  }
}

function writeToolChoice(
  choice: ToolChoice,
  functions: readonly FunctionTool[],
  { request, names }: { request: NormalizedRequest; names: ToolNameMap }
): JsonObject {
  const { toolChoice: param } = request.fieldPaths
  switch (choice.type) {
    case 'auto':
    case 'none':
      return { type: choice.type }
    case 'required':
    case 'allowed': {
      if (choice.type === 'allowed' && choice.mode === 'auto') return { type: 'auto' }
      const [only] = functions
      if (only === undefined) throw invalidRequest(param, 'A tool call is required, but no function can be called.')
      // Of an allow-list only the allowed functions are declared; a single one is required by its name.
      return choice.type === 'allowed' && functions.length === 1 ? writeChosen(only, names) : { type: 'any' }
    }
    case 'function': {
      const chosen =
        functions.find(tool => flattenToolName(tool) === choice.name) ??
        functions.find(tool => tool.name === choice.name)
      if (chosen === undefined) throw invalidRequest(param, 'The chosen tool is not declared in this request.')
      return writeChosen(chosen, names)
    }
    case 'hosted':
      throw new GatewayError('unsupported_semantic', { param })
    default:
      return assertNever(choice)
  }
}

function writeChosen(tool: FunctionTool, names: ToolNameMap): JsonObject {
  return { type: 'tool', name: names.toWire(flattenToolName(tool)) }
}
