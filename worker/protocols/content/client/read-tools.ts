// Reads the tools of a request and the tool choice (content.md 4).

import {
  type Diagnostics,
  type FunctionTool,
  type HostedToolKind,
  invalidRequest,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type NormalizedRequest,
  type NormalizedTool,
  type ToolChoice
} from '../../../normalized/index.ts'
import {
  keepDefined,
  readOptionalObject,
  readOptionalString,
  readString,
  wrongType
} from '../../shared/members/field.ts'
import { refuseManyMembers } from '../../shared/members/parameters.ts'
import { findHostedToolKind, withTimezone } from '../../shared/tools/hosted-tools.ts'
import { convertOpenApiSchema } from './openapi-schema.ts'
import type { ContentRequest } from './schema.ts'
import { readMember, spell, toCamelCase } from './spelling.ts'

export type ToolUse = Pick<NormalizedRequest, 'tools'> & { toolChoice?: ToolChoice }

/**
 * Reads `tools` and `toolConfig`. Raises `invalid_request`, also for a choice that no declared function can fulfil. Members without
 * effect are added to `ignored`.
 */
export function readToolUse(body: ContentRequest, ignored: Diagnostics): ToolUse {
  const tools = listTools(body.tools, 'tools').flatMap(({ tool, path }) => readTool(tool, path))
  const toolChoice = readToolChoice(body, tools, ignored)
  return { tools, ...keepDefined({ toolChoice }) }
}

/** The entries of `tools` with the path of each; a single entry needs no list. Raises `invalid_request`. */
export function listTools(tools: JsonValue | undefined, path: string): Array<{ tool: JsonObject; path: string }> {
  return listObjects(tools, path).map(({ item, path: at }) => ({ tool: item, path: at }))
}

/** The declarations of one entry of `tools`, with the path of each. Raises `invalid_request`. */
export function listDeclarations(tool: JsonObject, path: string): Array<{ declaration: JsonObject; path: string }> {
  const member = spell(tool, 'functionDeclarations')
  const declarations = listObjects(tool[member], `${path}.${member}`)
  return declarations.map(({ item, path: at }) => ({ declaration: item, path: at }))
}

function listObjects(list: JsonValue | undefined, path: string): Array<{ item: JsonObject; path: string }> {
  if (list === undefined || list === null) return []
  if (isJsonObject(list)) return [{ item: list, path }]
  if (!Array.isArray(list)) throw wrongType(path, 'an array', list)
  return list.map((item, index) => {
    if (!isJsonObject(item)) throw wrongType(`${path}[${index}]`, 'an object', item)
    return { item, path: `${path}[${index}]` }
  })
}

/** Reads one entry: functions, hosted tools under one member each, or both. */
function readTool(tool: JsonObject, path: string): NormalizedTool[] {
  refuseManyMembers(tool, path)
  return Object.entries(tool).flatMap(([member, value]): NormalizedTool[] => {
    if (value === undefined || value === null) return []
    if (toCamelCase(member) === 'functionDeclarations') {
      // When both spellings are present, only the one that `spell` selects counts.
      if (member !== spell(tool, 'functionDeclarations')) return []
      return listDeclarations(tool, path).map(({ declaration, path: at }) => readFunction(declaration, at))
    }
    const kind = findHostedToolKind(member)
    const at = `${path}.${member}`
    if (kind === undefined) return [{ type: 'unsupported', sentType: member, definition: value, path: at }]
    const location = isJsonObject(value) ? readMember(value, 'userLocation') : undefined
    const config = readConfig(value, { word: member, kind, path: at })
    return [withTimezone({ type: 'hosted', kind, sentType: member, config, path: at }, location)]
  })
}

/** Options of Google's search that the native upstream does not have. */
const GOOGLE_SEARCH_OPTIONS: ReadonlySet<string> = new Set([
  'blockingConfidence',
  'dynamicRetrievalConfig',
  'excludeDomains',
  'searchTypes',
  'timeRangeFilter'
])

/** Options of the native upstream's search. */
const UPSTREAM_SEARCH_OPTIONS: ReadonlySet<string> = new Set(['flags', 'indexes', 'type'])

/** The protocol's own words for hosted tools: their options are the protocol's as well. */
const FAMILY_WORD = /^(?:google|url_?context|code_?execution)/i

/** Reads the members of a configuration that the native upstream knows (content.md 4.2). */
function readConfig(
  value: JsonValue,
  { word, kind, path }: { word: string; kind: HostedToolKind; path: string }
): JsonObject {
  if (!isJsonObject(value)) return {}
  refuseManyMembers(value, path)
  const isKnown = FAMILY_WORD.test(word)
    ? (name: string) => kind === 'web_search' && UPSTREAM_SEARCH_OPTIONS.has(name)
    : (name: string) => !GOOGLE_SEARCH_OPTIONS.has(toCamelCase(name))
  return Object.fromEntries(Object.entries(value).filter(([name]) => isKnown(name)))
}

function readFunction(declaration: JsonObject, path: string): FunctionTool {
  const returns = readReturnParameters(declaration)
  return {
    type: 'function',
    name: readString(declaration, 'name', path),
    parameters: readParameters(declaration, path),
    ...keepDefined({
      description: readOptionalString(declaration, 'description', path),
      returnParameters: returns?.schema
    }),
    ...(returns && { memberPaths: { returnParameters: `${path}.${returns.member}` } })
  }
}

/** Reads the schema of the arguments: JSON Schema unchanged, or the protocol's own form converted. */
function readParameters(declaration: JsonObject, path: string): JsonObject {
  const jsonMember = spell(declaration, 'parametersJsonSchema')
  const jsonSchema = readOptionalObject(declaration, jsonMember, path)
  const schema = readOptionalObject(declaration, 'parameters', path)
  if (jsonSchema !== undefined && schema !== undefined) {
    throw invalidRequest(`${path}.${jsonMember}`, `A function has either 'parameters' or '${jsonMember}', not both.`)
  }
  if (jsonSchema !== undefined) return jsonSchema
  return schema === undefined ? { type: 'object', properties: {} } : convertOpenApiSchema(schema)
}

/** Reads the schema of the result. It is only a hint, so an invalid one is left out. */
function readReturnParameters(declaration: JsonObject): { schema: JsonObject; member: string } | undefined {
  const member = spell(declaration, 'responseJsonSchema')
  const jsonSchema = declaration[member]
  if (isJsonObject(jsonSchema)) return { schema: jsonSchema, member }
  const { response } = declaration
  return isJsonObject(response) ? { schema: convertOpenApiSchema(response), member: 'response' } : undefined
}

function readToolChoice(
  body: ContentRequest,
  tools: readonly NormalizedTool[],
  ignored: Diagnostics
): ToolChoice | undefined {
  const member = spell(body, 'toolConfig')
  const toolConfig = readOptionalObject(body, member)
  if (toolConfig === undefined) return undefined
  refuseManyMembers(toolConfig, member)
  const configMember = spell(toolConfig, 'functionCallingConfig')
  for (const [name, value] of Object.entries(toolConfig)) {
    if (name !== configMember) ignored[`toolConfig.${toCamelCase(name)}`] = value
  }
  const config = readOptionalObject(toolConfig, configMember, member)
  if (config === undefined) return undefined
  const path = `${member}.${configMember}`
  const declared = new Set(tools.filter(tool => tool.type === 'function').map(tool => tool.name))
  const names = readAllowedNames(config, declared, path)
  const mode = readMode(config, path)
  switch (mode) {
    case 'AUTO':
      return names === undefined ? { type: 'auto' } : { type: 'allowed', mode: 'auto', names }
    case 'NONE':
      // NONE excludes functions only; hosted tools stay, because the model does not call them as functions.
      return tools.some(tool => tool.type === 'hosted')
        ? { type: 'allowed', mode: 'auto', names: [] }
        : { type: 'none' }
    case 'ANY':
      if (declared.size === 0) throw invalidRequest(`${path}.mode`, 'A call is demanded, but no function is declared.')
      return names === undefined ? { type: 'required' } : { type: 'allowed', mode: 'required', names }
  }
}

type Mode = 'AUTO' | 'NONE' | 'ANY'

/** `VALIDATED` is read as AUTO: it only requires arguments that fit the schema, and no provider has an option for that. */
const modes: ReadonlyMap<string, Mode> = new Map([
  ['MODE_UNSPECIFIED', 'AUTO'],
  ['AUTO', 'AUTO'],
  ['VALIDATED', 'AUTO'],
  ['NONE', 'NONE'],
  ['ANY', 'ANY']
])

function readMode(config: JsonObject, path: string): Mode {
  const word = readOptionalString(config, 'mode', path)
  const mode = modes.get((word ?? 'AUTO').toUpperCase())
  if (mode !== undefined) return mode
  throw invalidRequest(`${path}.mode`, `'${path}.mode' must be one of AUTO, ANY, NONE and VALIDATED.`)
}

function readAllowedNames(config: JsonObject, declared: ReadonlySet<string>, path: string): string[] | undefined {
  const member = spell(config, 'allowedFunctionNames')
  const names = config[member] ?? undefined
  const at = `${path}.${member}`
  if (names === undefined) return undefined
  if (!Array.isArray(names)) throw wrongType(at, 'an array', names)
  // Some clients write an unset list as an empty one.
  if (names.length === 0) return undefined
  return names.map((name, index) => {
    if (typeof name !== 'string' || name === '') throw wrongType(`${at}[${index}]`, 'the name of a function', name)
    if (!declared.has(name)) throw invalidRequest(`${at}[${index}]`, `The function '${name}' is not declared.`)
    return name
  })
}
