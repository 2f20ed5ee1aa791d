// Checks that v1 and v2 share; each throws the upstream's error with the path of the invalid member.
import { badRequest, unprocessable } from './errors.ts'
import { asJson, isObject, type JsonObject } from './json.ts'

/** Members whose content is the client's data, where `null` is allowed. */
const opaqueMembers = new Set([
  'parameters',
  'return_parameters',
  'few_shot_examples',
  'schema',
  'arguments',
  'partial_arguments',
  'result',
  'metadata',
  'inline_data'
])

/** Refuses `null` in every member that the protocol defines. Throws UpstreamError 400. */
export function refuseNulls(value: unknown, path: string): void {
  if (value === null) throw badRequest(`${path} must not be null`)
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) refuseNulls(value[index], `${path}[${index}]`)
  } else if (isObject(value)) {
    for (const name in value) {
      const member = value[name]
      if (member === null || (typeof member === 'object' && !opaqueMembers.has(name))) {
        refuseNulls(member, path === '' ? name : `${path}.${name}`)
      }
    }
  }
}

type TypeName = 'string' | 'boolean' | 'number'

/** Checks the type of an optional member. Throws UpstreamError 400. */
export function checkType(object: Record<string, unknown>, name: string, type: TypeName, path = name): void {
  if (object[name] !== undefined && typeof object[name] !== type) throw badRequest(`${path} must be a ${type}`)
}

export interface NumberRange {
  above?: number
  min?: number
  max?: number
  isInteger?: boolean
}

/** Checks the range of an optional number. Throws UpstreamError 400 for the type and 422 for the range. */
export function checkNumber(object: Record<string, unknown>, name: string, range: NumberRange, path = name): void {
  const value = object[name]
  if (value === undefined) return
  if (typeof value !== 'number') throw badRequest(`${path} must be a number`)
  const isInside =
    (range.above === undefined || value > range.above) &&
    (range.min === undefined || value >= range.min) &&
    (range.max === undefined || value <= range.max) &&
    (range.isInteger !== true || Number.isInteger(value))
  if (!isInside) throw unprocessable(`Invalid params: ${path} is out of range`)
}

/** Checks an optional array of strings. Throws UpstreamError 400. */
export function checkStrings(object: Record<string, unknown>, name: string, path = name): string[] {
  const value = object[name]
  if (value === undefined) return []
  if (!Array.isArray(value) || !value.every(item => typeof item === 'string')) {
    throw badRequest(`${path} must be an array of strings`)
  }
  return value
}

/** Checks the sampling options, which v1 has at the top level and v2 in `model_options`. Throws UpstreamError 400 or 422. */
export function checkSampling(options: Record<string, unknown>, prefix: string): void {
  checkNumber(options, 'temperature', { above: 0 }, `${prefix}temperature`)
  checkNumber(options, 'top_p', { min: 0, max: 1 }, `${prefix}top_p`)
  checkNumber(options, 'max_tokens', { min: 1, isInteger: true }, `${prefix}max_tokens`)
  checkNumber(options, 'repetition_penalty', { above: 0 }, `${prefix}repetition_penalty`)
  checkNumber(options, 'update_interval', { min: 0 }, `${prefix}update_interval`)
}

export interface FunctionSpecification {
  name: string
  parameters: JsonObject
}

/** Names that the upstream reserves for its built-in tools. */
const reservedFunctionNames = ['web_search']

/**
 * Reads the declared functions of a v1 or v2 request.
 * @throws UpstreamError 400 for a wrong type or the tool form of another protocol, 422 for other mistakes.
 */
export function readFunctions(value: unknown, path: string): FunctionSpecification[] {
  if (!Array.isArray(value)) throw badRequest(`${path} must be an array`)
  const names = new Set<string>()
  return value.map((entry, index) => {
    const at = `${path}[${index}]`
    if (!isObject(entry)) throw badRequest(`${at} must be an object`)
    if (entry.type !== undefined || isObject(entry.function))
      throw badRequest(`${at} has the shape of another protocol`)
    if (typeof entry.name !== 'string' || entry.name === '') throw unprocessable(`${at}.name is required`)
    if (reservedFunctionNames.includes(entry.name)) throw unprocessable(`function name ${entry.name} is reserved`)
    if (names.has(entry.name)) throw unprocessable(`function ${entry.name} is declared twice`)
    names.add(entry.name)
    if (!isObject(entry.parameters)) throw unprocessable(`${at}.parameters must be an object`)
    checkType(entry, 'description', 'string', `${at}.description`)
    if (entry.few_shot_examples !== undefined && !Array.isArray(entry.few_shot_examples)) {
      throw unprocessable(`${at}.few_shot_examples must be an array`)
    }
    return { name: entry.name, parameters: asJson(entry.parameters) as JsonObject }
  })
}

/** Reads a call of the history, `{name, arguments}` with an object as `arguments`. Throws UpstreamError 422. */
export function readHistoryCall(value: unknown, path: string): { name: string } {
  if (!isObject(value) || typeof value.name !== 'string' || value.name === '') {
    throw unprocessable(`${path}.name is required`)
  }
  if (!isObject(value.arguments)) throw unprocessable(`${path}.arguments must be an object`)
  return { name: value.name }
}

/** Refuses a system message that is not the first message. Throws UpstreamError 422. */
export function checkSystemPlace(role: unknown, index: number): void {
  if (role === 'system' && index > 0) throw unprocessable('system message must be the first message')
}

/** Reads the schema of a `json_schema` format, an object or its JSON text. Throws UpstreamError 422. */
export function readOutputSchema(format: Record<string, unknown>, path: string): JsonObject {
  let { schema } = format
  if (typeof schema === 'string') {
    try {
      schema = JSON.parse(schema)
    } catch {
      throw unprocessable(`${path}.schema is not JSON`)
    }
  }
  if (!isObject(schema)) throw unprocessable(`${path}.schema is required`)
  return asJson(schema) as JsonObject
}
