// Reads and checks a request of the OpenAI chat-completions wire, for use as a `chat_compatible` provider.
import type { ChatRequest, ChatTurn, DeclaredFunction, ToolChoice } from '../chat-request.ts'
import type { ReadResult, ReadScope } from '../chat-wire.ts'
import { UpstreamError } from '../errors.ts'
import { asJson, isObject, type JsonValue } from '../json.ts'
import { alwaysReasons } from './models.ts'

const roles = ['system', 'developer', 'user', 'assistant', 'tool', 'function']
/** Model ids of this form do not exist; all others exist, so that a profile can use any model name. */
const missingModel = /^(?:NonExistent|missing|unknown)/

/** The members of a request; the provider refuses all others. */
const members = new Set([
  'audio',
  'frequency_penalty',
  'function_call',
  'functions',
  'logit_bias',
  'logprobs',
  'max_completion_tokens',
  'max_tokens',
  'messages',
  'metadata',
  'modalities',
  'model',
  'n',
  'parallel_tool_calls',
  'prediction',
  'presence_penalty',
  'prompt_cache_key',
  'prompt_cache_retention',
  'reasoning_effort',
  'response_format',
  'safety_identifier',
  'seed',
  'service_tier',
  'stop',
  'store',
  'stream',
  'stream_options',
  'temperature',
  'tool_choice',
  'tools',
  'top_logprobs',
  'top_p',
  'user',
  'verbosity',
  'web_search_options'
])
const toolName = /^[a-zA-Z0-9_-]{1,64}$/
const STOPS_MAX = 4
const CALL_ID_LENGTH_MAX = 40

function invalid(message: string): UpstreamError {
  return new UpstreamError(400, message)
}

/** Reads the model id. Throws UpstreamError 400 without an id and 404 for a model that does not exist. */
export function checkOpenAiModel(model: unknown): string {
  if (typeof model !== 'string' || model === '') throw invalid('you must provide a model parameter')
  if (missingModel.test(model)) throw new UpstreamError(404, `The model \`${model}\` does not exist`)
  return model
}

/** Reads a chat-completions request. Throws UpstreamError 400 or 404 for a request that such a provider refuses. */
export function readOpenAiChat(body: unknown, _scope: ReadScope): ReadResult {
  if (!isObject(body)) throw invalid('the body must be an object')
  const model = checkOpenAiModel(body.model)
  if (!Array.isArray(body.messages) || body.messages.length === 0) throw invalid("'messages' must not be empty")
  checkMembers(body)
  const callNames = new Map<string, string>()
  const turns = body.messages.map((message, index) => readMessage(message, `messages[${index}]`, callNames))
  checkAnswers(body.messages)
  const functions = readTools(body.tools)
  const tokensMax = body.max_completion_tokens ?? body.max_tokens
  const request: ChatRequest = {
    dialect: 'chat',
    model,
    turns,
    functions,
    builtins: [],
    choice: readChoice(body.tool_choice, functions),
    allowsParallelCalls: body.parallel_tool_calls !== false,
    output: readOutput(body.response_format),
    wantsReasoning: typeof body.reasoning_effort === 'string' ? body.reasoning_effort !== 'none' : alwaysReasons(model),
    isStream: body.stream === true,
    tokensMax: typeof tokensMax === 'number' ? tokensMax : null,
    topLogprobs: 0
  }
  const includeUsage = isObject(body.stream_options) && body.stream_options.include_usage === true
  return { request, stored: null, includeUsage }
}

function checkMembers(body: Record<string, unknown>): void {
  const unknown = Object.keys(body).find(name => !members.has(name))
  if (unknown !== undefined) throw invalid(`Unrecognized request argument supplied: ${unknown}`)
  if (body.stream_options !== undefined && body.stream !== true)
    throw invalid("'stream_options' is only allowed when 'stream' is enabled")
  if (body.parallel_tool_calls !== undefined && body.tools === undefined)
    throw invalid("'parallel_tool_calls' is only allowed when 'tools' are specified")
  if (Array.isArray(body.stop) && body.stop.length > STOPS_MAX) throw invalid("'stop' has too many entries")
  checkNumber(body, 'temperature', { min: 0, max: 2 })
  checkNumber(body, 'top_p', { min: 0, max: 1 })
  checkNumber(body, 'max_tokens', { min: 1, isInteger: true })
  checkNumber(body, 'max_completion_tokens', { min: 1, isInteger: true })
  checkNumber(body, 'presence_penalty', { min: -2, max: 2 })
  checkNumber(body, 'frequency_penalty', { min: -2, max: 2 })
  checkNumber(body, 'seed', { isInteger: true })
}

function checkNumber(
  body: Record<string, unknown>,
  name: string,
  range: { min?: number; max?: number; isInteger?: boolean }
): void {
  const value = body[name]
  if (value === undefined || value === null) return
  if (typeof value !== 'number' || (range.isInteger === true && !Number.isInteger(value)))
    throw invalid(`'${name}' has the wrong type`)
  if (value < (range.min ?? value) || value > (range.max ?? value)) throw invalid(`'${name}' is out of range`)
}

/** The results of all calls of a message stand directly behind it. */
function checkAnswers(messages: unknown[]): void {
  let open = new Set<unknown>()
  messages.forEach((message, index) => {
    if (!isObject(message)) return
    if (message.role === 'tool') {
      if (!open.delete(message.tool_call_id))
        throw invalid(`messages[${index}] must answer a call of the message before it`)
      return
    }
    refuseOpenCalls(open, index)
    const calls = Array.isArray(message.tool_calls) ? message.tool_calls : []
    open = new Set(calls.map(call => (isObject(call) ? call.id : undefined)))
    if (open.size < calls.length) throw invalid(`messages[${index}].tool_calls has an id twice`)
  })
  refuseOpenCalls(open, messages.length)
}

function refuseOpenCalls(open: ReadonlySet<unknown>, index: number): void {
  if (open.size === 0) return
  throw invalid(`the calls ${[...open].join(', ')} have no results in front of messages[${index}]`)
}

function readMessage(message: unknown, at: string, callNames: Map<string, string>): ChatTurn {
  if (!isObject(message)) throw invalid(`${at} must be an object`)
  const { role } = message
  if (typeof role !== 'string' || !roles.includes(role)) throw invalid(`${at}.role is not one of ${roles.join(', ')}`)
  const { text, fileCount } = readContent(message.content, `${at}.content`)
  if (Array.isArray(message.tool_calls)) {
    if (role !== 'assistant') throw invalid(`${at}.tool_calls is only allowed in assistant messages`)
    if (message.tool_calls.length === 0) throw invalid(`${at}.tool_calls is too short`)
    message.tool_calls.forEach((call, index) => {
      readCall(call, `${at}.tool_calls[${index}]`, callNames)
    })
  } else if (message.content === null && role !== 'assistant') throw invalid(`${at}.content must not be null`)
  if (role === 'tool') {
    const name = typeof message.tool_call_id === 'string' ? callNames.get(message.tool_call_id) : undefined
    if (name === undefined) throw invalid(`${at}.tool_call_id answers no call`)
    return { role: 'result', text, results: [{ name, value: parseOrKeep(text) }], fileCount }
  }
  if (role === 'function') {
    return { role: 'result', text, results: [{ name: String(message.name), value: parseOrKeep(text) }], fileCount }
  }
  if (role === 'user') return { role, text, results: [], fileCount }
  return { role: role === 'assistant' ? role : 'system', text, results: [], fileCount }
}

function readContent(content: unknown, at: string): { text: string; fileCount: number } {
  if (content === undefined || content === null) return { text: '', fileCount: 0 }
  if (typeof content === 'string') return { text: content, fileCount: 0 }
  if (!Array.isArray(content)) throw invalid(`${at} must be a string or an array`)
  const texts: string[] = []
  let fileCount = 0
  content.forEach((part, index) => {
    if (!isObject(part) || typeof part.type !== 'string') throw invalid(`${at}[${index}].type is required`)
    if (typeof part.text === 'string') texts.push(part.text)
    else if (typeof part.refusal !== 'string') fileCount++
  })
  return { text: texts.join('\n'), fileCount }
}

function readCall(call: unknown, at: string, callNames: Map<string, string>): void {
  const target = isObject(call) && isObject(call.function) ? call.function : undefined
  if (!isObject(call) || typeof call.id !== 'string' || target === undefined || typeof target.name !== 'string') {
    throw invalid(`${at} must have an id and a function`)
  }
  if (call.type !== 'function') throw invalid(`${at}.type must be 'function'`)
  if (call.id.length > CALL_ID_LENGTH_MAX) throw invalid(`${at}.id is too long`)
  if (typeof target.arguments !== 'string') throw invalid(`${at}.function.arguments must be a string`)
  callNames.set(call.id, target.name)
}

function parseOrKeep(text: string): JsonValue {
  try {
    return asJson(JSON.parse(text))
  } catch {
    return text
  }
}

function readTools(tools: unknown): DeclaredFunction[] {
  if (tools === undefined || tools === null) return []
  if (!Array.isArray(tools)) throw invalid("'tools' must be an array")
  if (tools.length === 0) throw invalid("'tools' is too short")
  return tools.map((tool, index) => {
    const definition = isObject(tool) && tool.type === 'function' && isObject(tool.function) ? tool.function : undefined
    if (definition === undefined || typeof definition.name !== 'string')
      throw invalid(`tools[${index}] is not a function`)
    if (!toolName.test(definition.name)) throw invalid(`tools[${index}].function.name does not match the pattern`)
    return { name: definition.name, parameters: asJson(definition.parameters ?? {}) }
  })
}

function readChoice(choice: unknown, functions: readonly DeclaredFunction[]): ToolChoice {
  if (choice === undefined || choice === null || choice === 'auto') return { kind: 'auto' }
  if (choice === 'none') return { kind: 'none' }
  if (functions.length === 0) throw invalid("'tool_choice' is only allowed when 'tools' are specified")
  if (choice === 'required') return { kind: 'any' }
  const name = isObject(choice) && isObject(choice.function) ? choice.function.name : undefined
  if (typeof name !== 'string' || !functions.some(entry => entry.name === name)) {
    throw invalid("'tool_choice' names a function that is not in 'tools'")
  }
  return { kind: 'function', name, partialArguments: {} }
}

function readOutput(format: unknown): ChatRequest['output'] {
  if (!isObject(format)) return { kind: 'text' }
  if (format.type === 'json_object') {
    return { kind: 'json', schema: { type: 'object', properties: { answer: { type: 'string' } } } }
  }
  if (format.type !== 'json_schema') return { kind: 'text' }
  const { json_schema: named } = format
  if (!isObject(named) || typeof named.name !== 'string')
    throw invalid("'response_format.json_schema.name' is required")
  return { kind: 'json', schema: asJson(named.schema ?? {}) }
}
