// Writes the tools and the tool choice on the content wire (content.md 4). Schemas are sent
// unchanged, in the member for JSON Schema (decisions.md 2).

import {
  assertNever,
  type FunctionTool,
  flattenToolName,
  GatewayError,
  invalidRequest,
  isJsonObject,
  type JsonObject,
  type NormalizedRequest,
  selectCallableTools,
  type ToolChoice
} from '../../../normalized/index.ts'
import { refuseNameCollisions, type ToolNameMap } from '../../shared/tool-names.ts'

const NAME_CHARACTERS_MAX = 64

/** The name in the characters and the length that the wire accepts; it begins with a letter or an underscore. */
export function cleanFunctionName(flatName: string): string {
  const name = flatName.replaceAll(/[^A-Za-z0-9_.-]/g, '_')
  return (/^[A-Za-z_]/.test(name) ? name : `_${name}`).slice(0, NAME_CHARACTERS_MAX)
}

/**
 * Writes `tools` and `toolConfig`, those that are set. Raises `invalid_request` with the client's field for two functions that have one
 * name without their namespaces and for a choice of an undeclared tool, and `unsupported_semantic` for the choice of a hosted tool.
 */
export function writeTools(request: NormalizedRequest, names: ToolNameMap): JsonObject {
  const { toolChoice: choice = AUTO } = request
  if (request.tools.length === 0 && request.toolChoice === undefined) return {}
  refuseNameCollisions(request)
  const functions = listDeclared(request.tools, choice)
  const config = request.toolChoice === undefined ? undefined : writeChoice(choice, functions, { request, names })
  if (functions.length === 0) return {}
  const written: JsonObject = { tools: [{ functionDeclarations: functions.map(tool => writeFunction(tool, names)) }] }
  if (config !== undefined) written.toolConfig = { functionCallingConfig: config }
  return written
}

const AUTO: ToolChoice = { type: 'auto' }

/**
 * The functions that are declared. The wire names the allowed ones only where a call is required; a choice that allows some of them is the
 * declaration of these. All others stay declared, because a provider's cache keeps the declarations.
 */
function listDeclared(tools: NormalizedRequest['tools'], choice: ToolChoice): FunctionTool[] {
  const isSelection = (choice.type === 'allowed' && choice.mode === 'auto') || choice.type === 'function'
  return selectCallableTools(tools, isSelection ? choice : AUTO).functions
}

function writeFunction(tool: FunctionTool, names: ToolNameMap): JsonObject {
  const definition: JsonObject = { name: names.toWire(flattenToolName(tool)) }
  if (tool.description !== undefined) definition.description = tool.description
  definition.parametersJsonSchema = tool.parameters
  if (isJsonObject(tool.returnParameters)) definition.responseJsonSchema = tool.returnParameters
  return definition
}

function writeChoice(
  choice: ToolChoice,
  functions: readonly FunctionTool[],
  { request, names }: { request: NormalizedRequest; names: ToolNameMap }
): JsonObject {
  const { toolChoice: param } = request.fieldPaths
  switch (choice.type) {
    case 'auto':
      return { mode: 'AUTO' }
    case 'none':
      return { mode: 'NONE' }
    case 'required':
      assertCallable(functions, param)
      return { mode: 'ANY' }
    case 'allowed': {
      if (choice.mode === 'auto') return { mode: 'AUTO' }
      const allowed = new Set(choice.names)
      const callable = functions.filter(tool => allowed.has(flattenToolName(tool)))
      assertCallable(callable, param)
      return { mode: 'ANY', allowedFunctionNames: callable.map(tool => names.toWire(flattenToolName(tool))) }
    }
    case 'function': {
      const chosen =
        functions.find(tool => flattenToolName(tool) === choice.name) ??
        functions.find(tool => tool.name === choice.name)
      if (chosen === undefined) throw invalidRequest(param, 'The chosen tool is not declared in this request.')
      return { mode: 'ANY', allowedFunctionNames: [names.toWire(flattenToolName(chosen))] }
    }
    case 'hosted':
      throw new GatewayError('unsupported_semantic', { param })
    default:
      return assertNever(choice)
  }
}

function assertCallable(functions: readonly FunctionTool[], param: string): void {
  if (functions.length === 0) {
    throw invalidRequest(param, 'A tool call is required, but no function can be called.')
  }
}
