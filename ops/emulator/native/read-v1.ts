// Reads and checks a v1 chat request: `POST <base>/chat/completions` with strings as `content`.
import type { ChatRequest, ChatTurn, ToolChoice } from '../chat-request.ts'
import { checkFiles, type ReadResult, type ReadScope } from '../chat-wire.ts'
import { badRequest, UpstreamError, unprocessable } from '../errors.ts'
import { asJson, isObject, type JsonObject, type JsonValue } from '../json.ts'
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

const roles = ['system', 'user', 'assistant', 'function', 'search_result', 'function_in_progress']
/** Members of other protocols, which the gateway must have translated. */
const foreignMembers = ['tools', 'tool_choice', 'tool_config', 'parallel_tool_calls']

/** Reads a v1 chat request. Throws UpstreamError 400, 404 or 422 where the upstream refuses the request. */
export function readChatV1(value: unknown, scope: ReadScope): ReadResult {
  const body = readNativeBody(value, foreignMembers)
  checkOptions(body)
  const { model, thread, turns, joined } = readConversation(body, scope, { startsThread, readMessage })
  const functions = body.functions === undefined ? [] : readFunctions(body.functions, 'functions')
  const request: ChatRequest = {
    dialect: 'v1',
    model,
    turns: joined,
    functions,
    builtins: [],
    choice: readChoice(body, functions),
    allowsParallelCalls: false,
    output: readOutput(body.response_format),
    wantsReasoning: typeof body.reasoning_effort === 'string',
    isStream: body.stream === true,
    tokensMax: typeof body.max_tokens === 'number' ? body.max_tokens : null,
    topLogprobs: 0
  }
  return { request, stored: thread === null ? null : { thread, turns }, includeUsage: true }
}

function checkOptions(body: Record<string, unknown>): void {
  checkType(body, 'model', 'string')
  checkType(body, 'stream', 'boolean')
  checkType(body, 'profanity_check', 'boolean')
  checkType(body, 'reasoning_effort', 'string')
  checkSampling(body, '')
  checkNumber(body, 'n', { min: 1, isInteger: true })
  checkStrings(body, 'flags')
  for (const name of ['function_ranker', 'storage', 'response_format'] as const) {
    if (body[name] !== undefined && !isObject(body[name])) throw badRequest(`${name} must be an object`)
  }
}

function startsThread(storage: Record<string, unknown>): boolean {
  return storage.is_stateful === true || typeof storage.assistant_id === 'string'
}

function readMessage(message: unknown, index: number, scope: ReadScope): ChatTurn {
  const { fields, role, at } = checkMessage(message, index, roles)
  const content = fields.content ?? ''
  if (typeof content !== 'string') throw badRequest(`${at}.content must be a string`)
  const attachments = checkStrings(fields, 'attachments', `${at}.attachments`)
  if (attachments.length > 0) checkFiles(attachments, scope, id => new UpstreamError(404, `No such file ${id}`))
  if (fields.function_call !== undefined) readHistoryCall(fields.function_call, `${at}.function_call`)
  switch (role) {
    case 'system':
    case 'user':
      return { role, text: content, results: [], fileCount: attachments.length }
    case 'function':
      return { role: 'result', text: content, results: [readResult(fields, content, at)], fileCount: 0 }
    default:
      return { role: 'assistant', text: content, results: [], fileCount: 0 }
  }
}

function readResult(message: Record<string, unknown>, content: string, at: string): { name: string; value: JsonValue } {
  if (typeof message.name !== 'string' || message.name === '') throw unprocessable(`${at}.name is required`)
  try {
    return { name: message.name, value: asJson(JSON.parse(content)) }
  } catch {
    throw unprocessable(`${at}.content must be a string that holds JSON`)
  }
}

function readChoice(body: Record<string, unknown>, functions: readonly FunctionSpecification[]): ToolChoice {
  const choice = body.function_call
  if (choice === undefined || choice === 'auto') return { kind: 'auto' }
  if (choice === 'none') return { kind: 'none' }
  if (!isObject(choice) || typeof choice.name !== 'string')
    throw badRequest('function_call must be auto, none or an object')
  const { name } = choice
  if (!functions.some(entry => entry.name === name))
    throw unprocessable(`function_call names ${name}, which is not declared`)
  const partialArguments = isObject(choice.partial_arguments) ? (asJson(choice.partial_arguments) as JsonObject) : {}
  return { kind: 'function', name, partialArguments }
}

function readOutput(format: unknown): ChatRequest['output'] {
  if (!isObject(format) || format.type !== 'json_schema') return { kind: 'text' }
  return { kind: 'json', schema: readOutputSchema(format, 'response_format') }
}
