// Reads and checks the tools of the Responses wire, and the schemas that strict tools and formats may have.
import type { DeclaredFunction, ToolChoice } from '../chat-request.ts'
import { asJson, isObject } from '../json.ts'
import { MemberError, missingMember, wrongType, wrongValue } from './errors.ts'
import { checkMembers } from './read-input.ts'

export interface ReadTools {
  functions: DeclaredFunction[]
  /** The names of free-form tools. */
  custom: ReadonlySet<string>
  /** The namespace of each function that has one. */
  namespaces: ReadonlyMap<string, string>
  /** Hosted tools in the words of the native wire. */
  builtins: string[]
}

/** The tools that the service runs, and the runs that the emulator has of them. */
const hostedTools: Readonly<Record<string, string | null>> = {
  web_search: 'web_search',
  web_search_2025_08_26: 'web_search',
  web_search_preview: 'web_search',
  web_search_preview_2025_03_11: 'web_search',
  code_interpreter: 'code_interpreter',
  image_generation: 'image_generate',
  apply_patch: null,
  computer: null,
  computer_use_preview: null,
  file_search: null,
  local_shell: null,
  mcp: null,
  shell: null,
  tool_search: null
}

const FUNCTION_MEMBERS = [
  'type',
  'name',
  'description',
  'parameters',
  'strict',
  'defer_loading',
  'allowed_callers',
  'output_schema'
]
const CUSTOM_MEMBERS = ['type', 'name', 'description', 'format', 'defer_loading', 'allowed_callers']
const NAMESPACE_MEMBERS = ['type', 'name', 'description', 'tools']
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/

/** Reads `tools`. @throws MemberError */
export function readResponsesTools(tools: unknown): ReadTools {
  const functions: DeclaredFunction[] = []
  const custom = new Set<string>()
  const namespaces = new Map<string, string>()
  const builtins: string[] = []
  const read = (list: unknown, path: string, namespace?: string): void => {
    if (list === undefined || list === null) return
    if (!Array.isArray(list)) throw wrongType(path, 'an array')
    for (const [index, tool] of list.entries()) {
      const at = `${path}[${index}]`
      if (!isObject(tool)) throw wrongType(at, 'an object')
      const { type } = tool
      if (type === 'function') functions.push(readFunction(tool, at))
      else if (type === 'custom') functions.push(readCustom(tool, at, custom))
      else if (type === 'namespace' && namespace === undefined) {
        checkMembers(tool, NAMESPACE_MEMBERS, at)
        read(tool.tools, `${at}.tools`, readName(tool, at))
      } else if (typeof type === 'string' && Object.hasOwn(hostedTools, type)) {
        const builtin = hostedTools[type]
        if (type === 'code_interpreter' && tool.container === undefined) throw missingMember(`${at}.container`)
        if (builtin !== null && builtin !== undefined) builtins.push(builtin)
      } else throw wrongValue(`${at}.type`, `Invalid value: '${String(type)}'.`)
      const name = functions.at(-1)?.name
      if (namespace !== undefined && name !== undefined) namespaces.set(name, namespace)
    }
  }
  read(tools, 'tools')
  return { functions, custom, namespaces, builtins }
}

function readName({ name }: Record<string, unknown>, at: string): string {
  if (name === undefined) throw missingMember(`${at}.name`)
  if (typeof name !== 'string' || !TOOL_NAME.test(name)) {
    throw wrongValue(`${at}.name`, `Invalid '${at}.name': string does not match pattern.`)
  }
  return name
}

function readFunction(tool: Record<string, unknown>, at: string): DeclaredFunction {
  checkMembers(tool, FUNCTION_MEMBERS, at)
  const name = readName(tool, at)
  const { parameters, strict } = tool
  if (strict !== undefined && strict !== null && typeof strict !== 'boolean')
    throw wrongType(`${at}.strict`, 'a boolean')
  if (strict === true) {
    if (!isObject(parameters)) throw missingMember(`${at}.parameters`)
    checkStrictSchema(parameters, { param: `${at}.parameters`, what: `function '${name}'` })
  }
  return { name, parameters: asJson(parameters ?? {}) }
}

/** A free-form tool is called like a function without parameters. */
function readCustom(tool: Record<string, unknown>, at: string, custom: Set<string>): DeclaredFunction {
  checkMembers(tool, CUSTOM_MEMBERS, at)
  const name = readName(tool, at)
  custom.add(name)
  return { name, parameters: {} }
}

/** A strict schema closes every object and requires all of its properties. @throws MemberError */
export function checkStrictSchema(
  schema: Record<string, unknown>,
  { param, what }: { param: string; what: string },
  isRoot = true
): void {
  const refuse = (reason: string) =>
    new MemberError(`Invalid schema for ${what}: ${reason}.`, {
      param,
      code: param.startsWith('tools') ? 'invalid_function_parameters' : 'invalid_json_schema'
    })
  const { properties, items, additionalProperties, required, type } = schema
  if (isRoot && type !== 'object') throw refuse('schema must be a JSON Schema of \'type: "object"\'')
  if (type === 'object' || properties !== undefined) {
    if (additionalProperties !== false) {
      throw refuse("'additionalProperties' is required to be supplied and to be false")
    }
    const names = isObject(properties) ? Object.keys(properties) : []
    const given: unknown[] = Array.isArray(required) ? required : []
    const missing = names.find(name => !given.includes(name))
    if (missing !== undefined) throw refuse(`'required' has to include every key in properties. Missing '${missing}'`)
  }
  const inner = [...Object.values(isObject(properties) ? properties : {}), items]
  for (const list of [schema.anyOf, schema.$defs, schema.definitions]) {
    if (typeof list === 'object' && list !== null) inner.push(...Object.values(list))
  }
  for (const one of inner) if (isObject(one)) checkStrictSchema(one, { param, what }, false)
}

/** Reads `tool_choice`. @throws MemberError */
export function readResponsesChoice(choice: unknown, { functions, builtins }: ReadTools): ToolChoice {
  if (choice === undefined || choice === null || choice === 'auto') return { kind: 'auto' }
  if (choice === 'none') return { kind: 'none' }
  if (functions.length === 0 && builtins.length === 0) {
    throw wrongValue('tool_choice', "Tool choice 'required' must be specified with 'tools' parameter.")
  }
  if (choice === 'required') return { kind: 'any' }
  if (!isObject(choice)) throw wrongValue('tool_choice')
  const { type, name } = choice
  if (type === 'function' || type === 'custom') {
    if (typeof name !== 'string' || !functions.some(entry => entry.name === name)) {
      throw wrongValue('tool_choice', `Tool choice '${String(name)}' not found in 'tools' parameter.`)
    }
    return { kind: 'function', name, partialArguments: {} }
  }
  if (type === 'allowed_tools') return choice.mode === 'required' ? { kind: 'any' } : { kind: 'auto' }
  const builtin = typeof type === 'string' && Object.hasOwn(hostedTools, type) ? hostedTools[type] : undefined
  if (builtin === undefined) throw wrongValue('tool_choice.type')
  if (builtin === null || !builtins.includes(builtin)) {
    throw wrongValue('tool_choice', `Tool choice '${String(type)}' not found in 'tools' parameter.`)
  }
  return { kind: 'builtin', name: builtin }
}
