// Writes the tools and the tool choice on the content wire (content.md 4). Schemas are sent
// unchanged, in the member for JSON Schema (decisions.md 2).

import {
  type FunctionTool,
  flattenToolName,
  isJsonObject,
  type JsonObject,
  type NormalizedRequest,
  selectCallableTools,
  type ToolChoice
} from '../../../normalized/index.ts'
import { type FunctionChoice, planFunctionChoice } from '../../shared/tools/function-choice.ts'
import { refuseNameCollisions, type ToolNameMap } from '../../shared/tools/tool-names.ts'
import { writeExactSchema } from '../../shared/tools/tool-schema.ts'

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
  const plan = request.toolChoice === undefined ? undefined : planFunctionChoice(choice, functions, request)
  if (functions.length === 0) return {}
  const written: JsonObject = { tools: [{ functionDeclarations: functions.map(tool => writeFunction(tool, names)) }] }
  if (plan !== undefined) written.toolConfig = { functionCallingConfig: writeChoice(plan, names) }
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
  definition.parametersJsonSchema = writeExactSchema(tool)
  if (isJsonObject(tool.returnParameters)) definition.responseJsonSchema = tool.returnParameters
  return definition
}

function writeChoice(choice: FunctionChoice, names: ToolNameMap): JsonObject {
  if (choice.type !== 'required') return { mode: choice.type === 'auto' ? 'AUTO' : 'NONE' }
  const { among } = choice
  if (among === undefined) return { mode: 'ANY' }
  return { mode: 'ANY', allowedFunctionNames: among.map(tool => names.toWire(flattenToolName(tool))) }
}
