// Writes the tools and the tool choice on the Anthropic Messages wire (messages.md 4). Schemas are
// sent unchanged (decisions.md 2).

import {
  type FunctionTool,
  flattenToolName,
  type JsonObject,
  type NormalizedRequest,
  selectCallableTools,
  type ToolChoice
} from '../../../normalized/index.ts'
import { type FunctionChoice, findOnlyFunction, planFunctionChoice } from '../../shared/tools/function-choice.ts'
import { refuseNameCollisions, type ToolNameMap } from '../../shared/tools/tool-names.ts'
import { writeExactSchema } from '../../shared/tools/tool-schema.ts'

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
  const choice = writeToolChoice(planFunctionChoice(toolChoice, functions, request), names)
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
  written.input_schema = writeSchema(writeExactSchema(tool))
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

/** Of an allow-list only the allowed functions are declared; a single one is required by its name. */
function writeToolChoice(choice: FunctionChoice, names: ToolNameMap): JsonObject {
  const only = findOnlyFunction(choice)
  if (only !== undefined) return { type: 'tool', name: names.toWire(flattenToolName(only)) }
  return { type: choice.type === 'required' ? 'any' : choice.type }
}
