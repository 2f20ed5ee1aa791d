// The tool choice of a request for a wire whose provider runs no tools: what it asks for, and of which functions.

import {
  assertNever,
  type FunctionTool,
  flattenToolName,
  GatewayError,
  invalidRequest,
  type NormalizedRequest,
  type ToolChoice
} from '../../../normalized/index.ts'

export type FunctionChoice =
  | { type: 'auto' | 'none' }
  /** A call is required: of one of `among`, or of any declared function without it. */
  | { type: 'required'; among?: readonly FunctionTool[] }

/**
 * Reads the choice against the functions that are declared. Raises, with the client's field, `invalid_request` for the choice of an
 * undeclared function and for a required call without a function, and `unsupported_semantic` for the choice of a hosted tool.
 */
export function planFunctionChoice(
  choice: ToolChoice,
  functions: readonly FunctionTool[],
  request: NormalizedRequest
): FunctionChoice {
  const { toolChoice: param } = request.fieldPaths
  switch (choice.type) {
    case 'auto':
    case 'none':
      return { type: choice.type }
    case 'required':
      assertCallable(functions, param)
      return { type: 'required' }
    case 'allowed': {
      if (choice.mode === 'auto') return { type: 'auto' }
      const allowed = new Set(choice.names)
      const among = functions.filter(tool => allowed.has(flattenToolName(tool)))
      assertCallable(among, param)
      return { type: 'required', among }
    }
    case 'function':
      return { type: 'required', among: [findChosenFunction(choice.name, functions, param)] }
    case 'hosted':
      throw new GatewayError('unsupported_semantic', { param })
    default:
      return assertNever(choice)
  }
}

/** The function of that name, with its namespace or, failing that, without. Raises `invalid_request` with the field `param`. */
export function findChosenFunction(name: string, functions: readonly FunctionTool[], param: string): FunctionTool {
  const chosen = functions.find(tool => flattenToolName(tool) === name) ?? functions.find(tool => tool.name === name)
  if (chosen === undefined) throw undeclaredTool(param)
  return chosen
}

/** The error for the choice of a tool that the request does not declare. */
export function undeclaredTool(param: string): GatewayError {
  return invalidRequest(param, 'The chosen tool is not declared in this request.')
}

/** The one function that the choice leaves; undefined when it leaves several, or asks for no call. */
export function findOnlyFunction(choice: FunctionChoice): FunctionTool | undefined {
  return choice.type === 'required' && choice.among?.length === 1 ? choice.among[0] : undefined
}

function assertCallable(functions: readonly FunctionTool[], param: string): void {
  if (functions.length === 0) {
    throw invalidRequest(param, 'A tool call is required, but no function can be called.')
  }
}
