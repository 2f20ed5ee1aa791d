// Writes the tools and the tool choice on the chat completions wire (bridge.md 7.6 and 8.1).
// Schemas are sent unchanged (decisions.md 2).

import {
  type FunctionTool,
  flattenToolName,
  type JsonObject,
  type JsonValue,
  type NormalizedRequest,
  selectCallableTools,
  type ToolChoice
} from '../../../normalized/index.ts'
import { type FunctionChoice, findOnlyFunction, planFunctionChoice } from '../../shared/tools/function-choice.ts'
import { refuseNameCollisions, type ToolNameMap } from '../../shared/tools/tool-names.ts'
import { writeExactSchema } from '../../shared/tools/tool-schema.ts'

/**
 * Writes `tools`, `tool_choice` and `parallel_tool_calls`, those that are set. Raises `invalid_request` with the client's field for two
 * functions that have one name without their namespaces and for a choice of an undeclared tool, and `unsupported_semantic` for the choice
 * of a hosted tool.
 */
export function writeTools(request: NormalizedRequest, names: ToolNameMap): JsonObject {
  const { toolChoice, parallelToolCalls } = request
  if (request.tools.length === 0 && toolChoice === undefined) return {}
  refuseNameCollisions(request)
  // The choice `none` is written as such: a provider's cache keeps the tools, and strict servers want those that the history calls.
  const { functions } = selectCallableTools(request.tools, toolChoice?.type === 'none' ? AUTO : (toolChoice ?? AUTO))
  const choice = toolChoice === undefined ? undefined : planFunctionChoice(toolChoice, functions, request)
  if (functions.length === 0) return {}
  const written: JsonObject = { tools: functions.map(tool => writeFunction(tool, names)) }
  if (choice !== undefined) written.tool_choice = writeToolChoice(choice, names)
  if (parallelToolCalls !== undefined) written.parallel_tool_calls = parallelToolCalls === 'requested'
  return written
}

const AUTO: ToolChoice = { type: 'auto' }

function writeFunction(tool: FunctionTool, names: ToolNameMap): JsonObject {
  const definition: JsonObject = { name: names.toWire(flattenToolName(tool)) }
  if (tool.description !== undefined) definition.description = tool.description
  definition.parameters = writeExactSchema(tool)
  if (tool.strict === true) definition.strict = true
  return { type: 'function', function: definition }
}

/** Of an allow-list only the allowed functions are declared; a single one is required by its name. */
function writeToolChoice(choice: FunctionChoice, names: ToolNameMap): JsonValue {
  const only = findOnlyFunction(choice)
  if (only === undefined) return choice.type
  return { type: 'function', function: { name: names.toWire(flattenToolName(only)) } }
}
