// The tools of a request and the tool choice, planned once for both contracts (completions.md 5,
// messages.md 4, content.md 4). Schemas are sent unchanged (decisions.md 2).

import {
  assertNever,
  type FunctionTool,
  flattenToolName,
  GatewayError,
  type HostedTool,
  type HostedToolKind,
  type JsonObject,
  type NormalizedRequest,
  selectCallableTools,
  type ToolChoice
} from '../../normalized/index.ts'
import { findChosenFunction, undeclaredTool } from '../shared/tools/function-choice.ts'
import { writeExactSchema } from '../shared/tools/tool-schema.ts'
import type { ToolNameMap } from './tool-names.ts'

/** A tool choice as the upstream's wire expresses it; absent when the model decides. */
export type WireToolChoice =
  | { type: 'function'; wireName: string }
  | { type: 'hosted'; kind: HostedToolKind }
  /** A call of any tool is required: only v2 can express it. */
  | { type: 'any' }

export interface ToolPlan {
  functions: FunctionTool[]
  hosted: HostedTool[]
  choice: WireToolChoice | undefined
}

export interface ToolContract {
  /** False when the upstream runs no tools itself: a client's hosted tools are accepted and have no effect. */
  hasHostedTools: boolean
  /** True when the wire can require a call without naming a tool. */
  canRequireAnyTool: boolean
}

const NO_TOOLS: ToolPlan = { functions: [], hosted: [], choice: undefined }

/**
 * Plans the tools and the tool choice. Raises `invalid_request` for a choice of an undeclared tool and `unsupported_semantic` for
 * a choice that the contract cannot express; both name the client's field.
 */
export function planTools(request: NormalizedRequest, names: ToolNameMap, contract: ToolContract): ToolPlan {
  if (request.tools.length === 0 && request.toolChoice === undefined) return NO_TOOLS
  const choice = request.toolChoice ?? { type: 'auto' }
  const callable = selectCallableTools(request.tools, choice)
  const hosted = contract.hasHostedTools ? callable.hosted : []
  const tools = { functions: callable.functions, hosted }
  return { ...tools, choice: planToolChoice(choice, tools, { request, names, contract }) }
}

interface ToolChoiceContext {
  request: NormalizedRequest
  names: ToolNameMap
  contract: ToolContract
}

function planToolChoice(
  choice: ToolChoice,
  tools: { functions: FunctionTool[]; hosted: HostedTool[] },
  context: ToolChoiceContext
): WireToolChoice | undefined {
  const { toolChoice: param } = context.request.fieldPaths
  switch (choice.type) {
    case 'auto':
    case 'none':
      return undefined
    case 'allowed':
      return choice.mode === 'auto' ? undefined : requireAnyTool(tools, context)
    case 'required':
      return requireAnyTool(tools, context)
    case 'function':
      return requireFunction(findChosenFunction(choice.name, tools.functions, param), context)
    case 'hosted': {
      if (!context.contract.hasHostedTools) throw unsupported(context.request)
      if (!tools.hosted.some(tool => tool.kind === choice.kind)) throw undeclaredTool(param)
      return { type: 'hosted', kind: choice.kind }
    }
    default:
      return assertNever(choice)
  }
}

/** Requires a call of any tool; a single candidate is required by its name (decisions.md 8). */
function requireAnyTool(
  tools: { functions: FunctionTool[]; hosted: HostedTool[] },
  context: ToolChoiceContext
): WireToolChoice {
  const [onlyFunction] = tools.functions
  if (onlyFunction !== undefined && tools.functions.length === 1) return requireFunction(onlyFunction, context)
  const [onlyHosted] = tools.hosted
  if (tools.functions.length === 0 && onlyHosted !== undefined && tools.hosted.length === 1) {
    return { type: 'hosted', kind: onlyHosted.kind }
  }
  const isEmpty = tools.functions.length === 0 && tools.hosted.length === 0
  if (isEmpty || !context.contract.canRequireAnyTool) throw unsupported(context.request)
  return { type: 'any' }
}

function requireFunction(tool: FunctionTool, context: ToolChoiceContext): WireToolChoice {
  return { type: 'function', wireName: context.names.toWire(flattenToolName(tool)) }
}

function unsupported(request: NormalizedRequest): GatewayError {
  return new GatewayError('unsupported_semantic', {
    param: request.fieldPaths.toolChoice,
    message: 'The upstream contract cannot express this choice of tools.'
  })
}

/** Writes the declaration of a function, which is the same on both contracts. */
export function writeFunction(tool: FunctionTool, names: ToolNameMap): JsonObject {
  const declaration: JsonObject = { name: names.toWire(flattenToolName(tool)) }
  if (tool.description !== undefined) declaration.description = tool.description
  declaration.parameters = writeExactSchema(tool)
  if (isGiven(tool.fewShotExamples)) declaration.few_shot_examples = tool.fewShotExamples
  if (isGiven(tool.returnParameters)) declaration.return_parameters = tool.returnParameters
  return declaration
}

function isGiven<Value>(value: Value | null | undefined): value is Value {
  return value !== undefined && value !== null
}
