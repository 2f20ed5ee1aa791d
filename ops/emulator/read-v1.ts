// Reads and checks a v1 chat request: `POST <base>/chat/completions` with strings as `content`.
import type { ChatRequest, ChatTurn, ToolChoice } from './chat-request.ts'
import { checkFiles, joinTurns, type ReadResult, type ReadScope } from './chat-wire.ts'
import { badRequest, noSuchModel, UpstreamError, unprocessable } from './errors.ts'
import { asJson, isObject, type JsonObject, type JsonValue } from './json.ts'
import type { Thread } from './threads.ts'
import {
  checkNumber,
  checkSampling,
  checkStrings,
  checkSystemPlace,
  checkType,
  type FunctionSpecification,
  readFunctions,
  readHistoryCall,
  readOutputSchema,
  refuseNulls
} from './validation.ts'

const roles = ['system', 'user', 'assistant', 'function', 'search_result', 'function_in_progress']
/** Members of other protocols, which the gateway must have translated. */
const foreignMembers = ['tools', 'tool_choice', 'tool_config', 'parallel_tool_calls']

/** Reads a v1 chat request. Throws UpstreamError 400, 404 or 422 where the upstream refuses the request. */
export function readChatV1(body: unknown, scope: ReadScope): ReadResult {
  if (!isObject(body)) throw badRequest('the body must be an object')
  refuseNulls(body, '')
  for (const name of foreignMembers) {
    if (body[name] !== undefined) throw badRequest(`${name} is not known here`)
  }
  checkOptions(body)
  const thread = readThread(body, scope)
  const model = typeof body.model === 'string' ? body.model : thread?.model
  if (model === undefined) throw unprocessable('model is required')
  const known = scope.models.find(model)
  if (known === undefined) throw noSuchModel()
  if (known.type !== 'chat') throw unprocessable('Requested model does not support chat completions')
  if (!Array.isArray(body.messages) || body.messages.length === 0) throw unprocessable('messages must not be empty')
  const turns = body.messages.map((message, index) => readMessage(message, index, scope))
  const functions = body.functions === undefined ? [] : readFunctions(body.functions, 'functions')
  const request: ChatRequest = {
    dialect: 'v1',
    model,
    turns: joinTurns(thread, turns, isObject(body.storage) ? body.storage.limit : undefined),
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

function readThread(body: Record<string, unknown>, scope: ReadScope): Thread | null {
  const { storage } = body
  if (!isObject(storage)) return null
  if (typeof storage.thread_id === 'string')
    return scope.threads.find({ account: scope.account, id: storage.thread_id })
  if (storage.is_stateful !== true && typeof storage.assistant_id !== 'string') return null
  const model = typeof body.model === 'string' ? body.model : 'GigaChat'
  return scope.threads.start({ account: scope.account, model })
}

function readMessage(message: unknown, index: number, scope: ReadScope): ChatTurn {
  const at = `messages[${index}]`
  if (!isObject(message)) throw badRequest(`${at} must be an object`)
  const { role } = message
  if (typeof role !== 'string' || !roles.includes(role)) throw unprocessable(`${at}.role is unknown`)
  checkSystemPlace(role, index)
  const content = message.content ?? ''
  if (typeof content !== 'string') throw badRequest(`${at}.content must be a string`)
  const attachments = checkStrings(message, 'attachments', `${at}.attachments`)
  if (attachments.length > 0) checkFiles(attachments, scope, id => new UpstreamError(404, `No such file ${id}`))
  if (message.function_call !== undefined) readHistoryCall(message.function_call, `${at}.function_call`)
  switch (role) {
    case 'system':
    case 'user':
      return { role, text: content, results: [], fileCount: attachments.length }
    case 'function':
      return { role: 'result', text: content, results: [readResult(message, content, at)], fileCount: 0 }
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
