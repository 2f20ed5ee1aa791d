// Reads and checks a v2 chat request: `content` is an array of parts without a `type`, each entry of `tools` has one key.
import { builtinNames } from '../builtins.ts'
import type { ChatRequest, ChatTurn, ToolChoice } from '../chat-request.ts'
import { checkFiles, type ReadResult, type ReadScope } from '../chat-wire.ts'
import { badRequest, UpstreamError, unprocessable } from '../errors.ts'
import { asJson, isObject, type JsonValue } from '../json.ts'
import { canCallInParallel } from '../models.ts'
import {
  checkNumber,
  checkSampling,
  checkStrings,
  checkType,
  type FunctionSpecification,
  readFunctions,
  readHistoryCall,
  readOutputSchema
} from '../validation.ts'
import { checkMessage, readConversation, readNativeBody } from './read.ts'

const roles = ['system', 'user', 'assistant', 'tool', 'reasoning']
const partMembers = ['text', 'files', 'function_call', 'function_result', 'inline_data', 'tool_execution', 'logprobs']
/** Members of v1 and of other protocols that a v2 body must not have. */
const foreignMembers = [
  'functions',
  'function_call',
  'response_format',
  'max_tokens',
  'temperature',
  'top_p',
  'tool_choice'
]
const stateIdMembers = ['tools_state_id', 'tool_state_id', 'functions_state_id', 'function_state_id']

/** Reads a v2 chat request. Throws UpstreamError 400, 404 or 422 where the upstream refuses the request. */
export function readChatV2(value: unknown, scope: ReadScope): ReadResult {
  const body = readNativeBody(value, foreignMembers)
  checkOptions(body)
  const options = readModelOptions(body)
  const { model, thread, turns, joined } = readConversation(body, scope, { startsThread, readMessage })
  const { functions, builtins } = readTools(body.tools)
  const request: ChatRequest = {
    dialect: 'v2',
    model,
    turns: joined,
    functions,
    builtins,
    choice: readChoice(body.tool_config, functions, builtins),
    allowsParallelCalls: body.parallel_tool_calls === true && canCallInParallel(model),
    output: options.output,
    wantsReasoning: options.wantsReasoning,
    isStream: body.stream === true,
    tokensMax: options.tokensMax,
    topLogprobs: options.topLogprobs
  }
  return { request, stored: thread === null ? null : { thread, turns }, includeUsage: true }
}

function checkOptions(body: Record<string, unknown>): void {
  checkType(body, 'model', 'string')
  checkType(body, 'stream', 'boolean')
  checkType(body, 'disable_filter', 'boolean')
  checkType(body, 'parallel_tool_calls', 'boolean')
  checkType(body, 'assistant_id', 'string')
  checkType(body, 'tools_state_id', 'string')
  checkStrings(body, 'flags')
  for (const name of [
    'storage',
    'ranker_options',
    'filter_config',
    'user_info',
    'model_options',
    'tool_config'
  ] as const) {
    if (body[name] !== undefined && !isObject(body[name])) throw badRequest(`${name} must be an object`)
  }
}

interface ModelOptions {
  output: ChatRequest['output']
  wantsReasoning: boolean
  tokensMax: number | null
  topLogprobs: number
}

function readModelOptions(body: Record<string, unknown>): ModelOptions {
  const options = isObject(body.model_options) ? body.model_options : {}
  checkSampling(options, 'model_options.')
  checkNumber(options, 'top_logprobs', { min: 1, max: 5, isInteger: true }, 'model_options.top_logprobs')
  const { reasoning } = options
  if (reasoning !== undefined && !isObject(reasoning)) throw badRequest('model_options.reasoning must be an object')
  if (reasoning !== undefined) checkType(reasoning, 'effort', 'string', 'model_options.reasoning.effort')
  return {
    output: readOutput(options.response_format),
    wantsReasoning: reasoning !== undefined && typeof reasoning.effort === 'string',
    tokensMax: typeof options.max_tokens === 'number' ? options.max_tokens : null,
    topLogprobs: typeof options.top_logprobs === 'number' ? options.top_logprobs : 0
  }
}

function readOutput(format: unknown): ChatRequest['output'] {
  const at = 'model_options.response_format'
  if (format === undefined) return { kind: 'text' }
  if (!isObject(format)) throw badRequest(`${at} must be an object`)
  switch (format.type) {
    case 'text':
      return { kind: 'text' }
    case 'json_schema':
      return { kind: 'json', schema: readOutputSchema(format, at) }
    case 'regex':
      if (typeof format.regex !== 'string') throw unprocessable(`${at}.regex is required`)
      return { kind: 'regex', regex: format.regex }
    default:
      throw unprocessable(`${at}.type is unknown`)
  }
}

/** `storage: {}` starts a thread, `storage: {thread_id}` continues one. */
const startsThread = (): boolean => true

function readMessage(message: unknown, index: number, scope: ReadScope): ChatTurn {
  const { fields, role, at } = checkMessage(message, index, roles)
  const { content } = fields
  if (!Array.isArray(content)) throw badRequest(`${at}.content must be an array of parts`)
  checkStateIds(fields, at, scope)
  const turn: ChatTurn = { role: mapRole(role), text: '', results: [], fileCount: 0 }
  content.forEach((part, partIndex) => {
    readPart(part, `${at}.content[${partIndex}]`, turn, scope)
  })
  if (role === 'tool' && turn.results.length === 0) throw unprocessable(`${at} holds no function_result`)
  if (role !== 'tool' && turn.results.length > 0) throw unprocessable(`${at}.function_result belongs to role tool`)
  return turn
}

function mapRole(role: string): ChatTurn['role'] {
  if (role === 'tool') return 'result'
  return role === 'system' || role === 'user' ? role : 'assistant'
}

function checkStateIds(message: Record<string, unknown>, at: string, scope: ReadScope): void {
  for (const name of stateIdMembers) {
    const id = message[name]
    if (id === undefined) continue
    if (typeof id !== 'string') throw badRequest(`${at}.${name} must be a string`)
    if (scope.stateIds.isIssued(id)) continue
    if (scope.settings.strictStateIds) throw unprocessable(`${at}.${name} is not known: ${id}`)
    scope.noteUnknownStateId(id)
  }
}

function readPart(part: unknown, at: string, turn: ChatTurn, scope: ReadScope): void {
  if (!isObject(part)) throw badRequest(`${at} must be an object`)
  if (part.type !== undefined) throw badRequest(`${at}.type is not known here`)
  if (!partMembers.some(name => part[name] !== undefined)) throw unprocessable(`${at} is empty`)
  checkType(part, 'text', 'string', `${at}.text`)
  if (typeof part.text === 'string') turn.text = turn.text === '' ? part.text : `${turn.text}\n${part.text}`
  if (part.files !== undefined) turn.fileCount += readFiles(part.files, `${at}.files`, scope)
  if (part.function_call !== undefined) {
    readHistoryCall(part.function_call, `${at}.function_call`)
    if (turn.role !== 'assistant') throw unprocessable(`${at}.function_call belongs to role assistant`)
  }
  if (part.function_result !== undefined) turn.results.push(readResult(part.function_result, `${at}.function_result`))
}

function readFiles(files: unknown, at: string, scope: ReadScope): number {
  if (!Array.isArray(files) || !files.every(file => isObject(file) && typeof file.id === 'string')) {
    throw badRequest(`${at} must be an array of {id}`)
  }
  checkFiles(
    files.map(file => file.id),
    scope,
    id => new UpstreamError(404, `No such file ${id}`)
  )
  return files.length
}

function readResult(value: unknown, at: string): { name: string; value: JsonValue } {
  if (!isObject(value) || typeof value.name !== 'string' || value.name === '')
    throw unprocessable(`${at}.name is required`)
  if (value.result === undefined) throw unprocessable(`${at}.result is required`)
  return { name: value.name, value: asJson(value.result) }
}

function readTools(tools: unknown): { functions: FunctionSpecification[]; builtins: string[] } {
  const read: { functions: FunctionSpecification[]; builtins: string[] } = { functions: [], builtins: [] }
  if (tools === undefined) return read
  if (!Array.isArray(tools)) throw badRequest('tools must be an array')
  const seen = new Set<string>()
  tools.forEach((entry, index) => {
    const at = `tools[${index}]`
    if (!isObject(entry)) throw badRequest(`${at} must be an object`)
    if (entry.type !== undefined || entry.function !== undefined || entry.name !== undefined) {
      throw badRequest(`${at} has the shape of another protocol`)
    }
    const [name, ...others] = Object.keys(entry)
    if (name === undefined || others.length > 0) throw unprocessable(`${at} must have exactly one key`)
    const config = entry[name]
    if (!isObject(config)) throw badRequest(`${at}.${name} must be an object`)
    if (seen.has(name)) throw unprocessable(`${at}.${name} stands there twice`)
    seen.add(name)
    if (name === 'functions') read.functions = readFunctions(config.specifications, `${at}.functions.specifications`)
    else if (builtinNames.includes(name)) read.builtins.push(name)
    else throw unprocessable(`${at}.${name} is not a known tool`)
  })
  return read
}

function readChoice(
  config: unknown,
  functions: readonly FunctionSpecification[],
  builtins: readonly string[]
): ToolChoice {
  if (!isObject(config)) return { kind: 'auto' }
  const { mode, function_name: functionName, tool_name: toolName } = config
  if (mode === 'auto') return { kind: 'auto' }
  if (mode === 'none') return { kind: 'none' }
  if (mode !== 'forced') throw unprocessable('tool_config.mode is unknown')
  if (functionName !== undefined) {
    if (typeof functionName !== 'string' || !functions.some(entry => entry.name === functionName)) {
      throw unprocessable('tool_config.function_name is not declared')
    }
    return { kind: 'function', name: functionName, partialArguments: {} }
  }
  if (toolName !== undefined) {
    if (typeof toolName !== 'string' || !builtins.includes(toolName)) {
      throw unprocessable('tool_config.tool_name is not declared')
    }
    return { kind: 'builtin', name: toolName }
  }
  if (functions.length === 0 && builtins.length === 0)
    throw unprocessable('tool_config forces a tool, but none is declared')
  return { kind: 'any' }
}
