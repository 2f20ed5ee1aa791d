// Writes the tools and the tool choice on the chat completions wire (bridge.md 7.6 and 8.1).
// Schemas are sent unchanged (decisions.md 2).

import {
  assertNever,
  type FunctionTool,
  flattenToolName,
  GatewayError,
  invalidRequest,
  type JsonObject,
  type JsonValue,
  type NormalizedRequest,
  selectCallableTools,
  type ToolChoice
} from '../../../normalized/index.ts'
import { refuseNameCollisions, type ToolNameMap } from '../../shared/tool-names.ts'

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
  const choice = toolChoice === undefined ? undefined : writeToolChoice(toolChoice, functions, { request, names })
  if (functions.length === 0) return {}
  const written: JsonObject = { tools: functions.map(tool => writeFunction(tool, names)) }
  if (choice !== undefined) written.tool_choice = choice
  if (parallelToolCalls !== undefined) written.parallel_tool_calls = parallelToolCalls === 'requested'
  return written
}

const AUTO: ToolChoice = { type: 'auto' }

function writeFunction(tool: FunctionTool, names: ToolNameMap): JsonObject {
  const definition: JsonObject = { name: names.toWire(flattenToolName(tool)) }
  if (tool.description !== undefined) definition.description = tool.description
  definition.parameters = tool.parameters
  if (tool.strict === true) definition.strict = true
  return { type: 'function', function: definition }
}

function writeToolChoice(
  choice: ToolChoice,
  functions: readonly FunctionTool[],
  { request, names }: { request: NormalizedRequest; names: ToolNameMap }
): JsonValue {
  const { toolChoice: param } = request.fieldPaths
  switch (choice.type) {
    case 'auto':
    case 'none':
      return choice.type
    case 'required':
    case 'allowed': {
      if (choice.type === 'allowed' && choice.mode === 'auto') return 'auto'
      const [only] = functions
      if (only === undefined) throw invalidRequest(param, 'A tool call is required, but no function can be called.')
      // Of an allow-list only the allowed functions are declared; a single one is required by its name.
      return choice.type === 'allowed' && functions.length === 1 ? writeChosen(only, names) : 'required'
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
  return { type: 'function', function: { name: names.toWire(flattenToolName(tool)) } }
}
