// Reads and checks a request of the Anthropic Messages wire, for use as a `messages_compatible` provider.

import type { ChatRequest, ChatTurn, DeclaredFunction, ToolChoice } from '../chat-request.ts'
import type { ReadResult } from '../chat-wire.ts'
import { UpstreamError } from '../errors.ts'
import { asJson, isObject, type JsonValue } from '../json.ts'
import { type BlocksSummary, checkCacheControl, checkMembers, readBlocks, readSystem } from './blocks.ts'
import { invalidMember } from './errors.ts'
import { leavesThinkingUnsigned } from './models.ts'

/** Model ids of this form do not exist; all others exist, so that a profile can use any model name. */
const missingModel = /^(?:NonExistent|missing|unknown)/

/** The members that a token count has too. */
const countedMembers = [
  'cache_control',
  'messages',
  'model',
  'output_config',
  'speed',
  'system',
  'thinking',
  'tool_choice',
  'tools',
  'user_profile_id',
  'workspace_id'
]
const chatMembers = [
  ...countedMembers,
  'container',
  'diagnostics',
  'inference_geo',
  'max_tokens',
  'metadata',
  'service_tier',
  'stop_sequences',
  'stream',
  'temperature',
  'top_k',
  'top_p'
]
/** Members that the service knows only with an `anthropic-beta` header. */
const betaMembers = ['compaction', 'context_management', 'fallbacks', 'mcp_servers', 'output_format', 'thread']

const toolMembers = [
  'allowed_callers',
  'cache_control',
  'defer_loading',
  'description',
  'eager_input_streaming',
  'input_examples',
  'input_schema',
  'name',
  'strict',
  'type'
]
const toolName = /^[a-zA-Z0-9_-]{1,128}$/
const efforts = ['low', 'medium', 'high', 'xhigh', 'max']
const CACHE_MARKS_MAX = 4
const BUDGET_MIN = 1024
/** What some clients send for a sampling option that is not set. */
const UNSET = -1

type Body = Record<string, unknown>

/** Reads a message request. Throws UpstreamError 400 or 404 for a request that such a provider refuses. */
export function readAnthropicChat(body: unknown, { hasBeta }: { hasBeta: boolean }): ReadResult {
  const { content, conversation } = readConversationBody(body, hasBeta ? [...chatMembers, ...betaMembers] : chatMembers)
  checkNumber(content, 'max_tokens', { min: 1, isInteger: true, isRequired: true })
  checkNumber(content, 'temperature', { min: 0, max: 1 })
  checkNumber(content, 'top_p', { min: 0, max: 1, allowsUnset: true })
  checkNumber(content, 'top_k', { min: 0, isInteger: true, allowsUnset: true })
  if (content.stream !== undefined && typeof content.stream !== 'boolean') {
    throw invalidMember('stream', 'Input should be a valid boolean')
  }
  checkMetadata(content.metadata)
  const isStream = content.stream === true
  const request: ChatRequest = { ...conversation, isStream, stops: readStops(content.stop_sequences) }
  request.tokensMax = content.max_tokens as number
  checkBudget(content, request.tokensMax)
  if (isObject(content.thinking) && content.thinking.display === 'omitted') request.hidesReasoning = true
  return { request, stored: null, includeUsage: true }
}

/** Reads the body of a token count. Throws UpstreamError 400 or 404. */
export function readAnthropicCount(body: unknown, { hasBeta }: { hasBeta: boolean }): ChatRequest {
  return readConversationBody(body, hasBeta ? [...countedMembers, ...betaMembers] : countedMembers).conversation
}

/** Reads the model id. Throws UpstreamError 400 without an id and 404 for a model that does not exist. */
export function checkAnthropicModel(model: unknown): string {
  if (typeof model !== 'string' || model === '') throw invalidMember('model', 'Field required')
  if (missingModel.test(model)) throw new UpstreamError(404, `model: ${model}`)
  return model
}

function readConversationBody(body: unknown, members: readonly string[]): { content: Body; conversation: ChatRequest } {
  if (!isObject(body)) throw invalidMember('', 'the body must be an object')
  const model = checkAnthropicModel(body.model)
  checkMembers(body, members, '')
  checkThread(body.thread)
  if (!Array.isArray(body.messages)) throw invalidMember('messages', 'Field required')
  if (body.messages.length === 0) throw invalidMember('messages', 'at least one message is required')
  const system = readSystem(body.system)
  const messages = joinMessages(body.messages, { system, isUnsigned: leavesThinkingUnsigned(model) })
  const functions = readTools(body.tools)
  checkCalls(messages)
  checkLast(messages)
  checkCacheMarks(body, [system, ...messages])
  const isUsingTools = messages.some(({ calls, results }) => calls.length + results.length > 0)
  if (isUsingTools && body.tools === undefined) {
    throw invalidMember('', 'Requests which include `tool_use` or `tool_result` blocks must define tools')
  }
  const { choice, isSingle } = readChoice(body, functions)
  const conversation: ChatRequest = {
    dialect: 'messages',
    model,
    turns: writeTurns(system, messages),
    functions,
    builtins: [],
    choice,
    allowsParallelCalls: !isSingle,
    output: readOutput(body),
    wantsReasoning: readThinking(body, { messages, choice }),
    isStream: false,
    tokensMax: null,
    topLogprobs: 0
  }
  return { content: body, conversation }
}

/** Keeps no conversation. The code lets the SDK's tool runner send the whole one. */
function checkThread(thread: unknown): void {
  if (thread === undefined || thread === null) return
  throw new UpstreamError(400, 'thread: This request cannot be part of a thread', {
    code: 'thread_unsupported_request'
  })
}

interface Message extends BlocksSummary {
  role: 'user' | 'assistant'
  /** The texts of each message of the client; consecutive messages of a role are one turn. */
  groups: string[][]
}

/** Consecutive messages of a role are one turn, as in the real service. */
function joinMessages(
  list: readonly unknown[],
  { system, isUnsigned }: { system: BlocksSummary; isUnsigned: boolean }
): Message[] {
  const joined: Message[] = []
  list.forEach((message, index) => {
    const at = `messages.${index}`
    if (!isObject(message)) throw invalidMember(at, 'Input should be a valid dictionary')
    checkMembers(message, ['role', 'content'], at)
    const { role, content } = message
    // Instructions between the messages belong to no turn.
    if (role === 'system') {
      addInstructions(content, { at: `${at}.content`, system })
      return
    }
    if (role !== 'user' && role !== 'assistant') {
      throw invalidMember(`${at}.role`, "Input should be 'user', 'assistant' or 'system'")
    }
    const isLastOfAssistant = role === 'assistant' && index === list.length - 1
    if ((content === '' || (Array.isArray(content) && content.length === 0)) && !isLastOfAssistant) {
      throw invalidMember(
        at,
        'all messages must have non-empty content except for the optional final assistant message'
      )
    }
    const blocks = readBlocks(content === '' ? [] : content, role, `${at}.content`, isUnsigned)
    const last = joined.at(-1)
    if (last?.role !== role) joined.push({ role, ...blocks, groups: [blocks.texts] })
    else {
      last.texts.push(...blocks.texts)
      last.calls.push(...blocks.calls)
      last.results.push(...blocks.results)
      last.types.push(...blocks.types)
      last.groups.push(blocks.texts)
      last.fileCount += blocks.fileCount
      last.cacheMarks += blocks.cacheMarks
    }
  })
  return joined
}

function addInstructions(content: unknown, { at, system }: { at: string; system: BlocksSummary }): void {
  const { texts, cacheMarks } = readSystem(content, at)
  system.texts.push(...texts)
  system.cacheMarks += cacheMarks
}

/** The results of all calls of a turn are at the start of the turn behind it, and only they. */
function checkCalls(messages: readonly Message[]): void {
  const ids = new Set<string>()
  let open: string[] = []
  messages.forEach(({ role, calls, results, types }, index) => {
    const answered = new Set(results.map(result => result.callId))
    for (const id of answered) {
      if (open.includes(id)) continue
      throw invalidMember(`messages.${index}`, `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}`)
    }
    if (answered.size < results.length) {
      throw invalidMember(`messages.${index}`, 'each tool_use must have a single result')
    }
    const missing = open.filter(id => !answered.has(id))
    if (missing.length > 0) {
      const problem = '`tool_use` ids were found without `tool_result` blocks immediately after'
      throw invalidMember(`messages.${index - 1}`, `${problem}: ${missing.join(', ')}`)
    }
    if (results.length > 0 && types.slice(0, results.length).some(type => type !== 'tool_result')) {
      throw invalidMember(`messages.${index}.content`, '`tool_result` blocks must come first')
    }
    for (const { id } of calls) {
      if (ids.has(id)) throw invalidMember(`messages.${index}`, '`tool_use` ids must be unique')
      ids.add(id)
    }
    open = role === 'assistant' ? calls.map(call => call.id) : []
  })
  if (open.length > 0) {
    throw invalidMember('messages', `\`tool_use\` ids were found without \`tool_result\` blocks: ${open.join(', ')}`)
  }
}

function checkLast(messages: readonly Message[]): void {
  messages.forEach(({ role, types }, index) => {
    const last = types.at(-1)
    if (role === 'assistant' && (last === 'thinking' || last === 'redacted_thinking')) {
      throw invalidMember(`messages.${index}`, 'The final block in an assistant message cannot be `thinking`.')
    }
  })
  const last = messages.at(-1)
  if (last?.role !== 'assistant') return
  const text = last.texts.at(-1) ?? ''
  if (text !== text.trimEnd()) {
    throw invalidMember('messages', 'final assistant content cannot end with trailing whitespace')
  }
}

function checkCacheMarks(body: Body, parts: ReadonlyArray<{ cacheMarks: number }>): void {
  let marks = parts.reduce((sum, { cacheMarks }) => sum + cacheMarks, 0)
  if (body.cache_control !== undefined && body.cache_control !== null) {
    checkCacheControl(body.cache_control, 'cache_control')
    marks++
  }
  for (const tool of Array.isArray(body.tools) ? body.tools : [])
    if (isObject(tool) && isObject(tool.cache_control)) marks++
  if (marks <= CACHE_MARKS_MAX) return
  throw invalidMember('', `A maximum of ${CACHE_MARKS_MAX} blocks with cache_control may be provided. Found ${marks}.`)
}

function writeTurns(system: BlocksSummary, messages: readonly Message[]): ChatTurn[] {
  const turns: ChatTurn[] = []
  if (system.texts.length > 0) turns.push({ role: 'system', text: system.texts.join('\n'), results: [], fileCount: 0 })
  const names = new Map<string, string>()
  for (const { role, calls, results, groups, fileCount } of messages) {
    for (const { id, name } of calls) names.set(id, name)
    if (results.length > 0) turns.push(writeResults(results, names, fileCount))
    groups.forEach((texts, index) => {
      // The files of a turn belong to its last message.
      const isLast = index === groups.length - 1
      if (texts.length === 0 && (results.length > 0 || !isLast)) return
      turns.push({ role, text: texts.join('\n'), results: [], fileCount: isLast ? fileCount : 0 })
    })
  }
  return turns
}

function writeResults(results: Message['results'], names: ReadonlyMap<string, string>, fileCount: number): ChatTurn {
  const named = results.map(({ callId, value }) => ({ name: names.get(callId) ?? '', value }))
  return { role: 'result', text: named.map(({ value }) => writeValue(value)).join('\n'), results: named, fileCount }
}

function writeValue(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function readTools(tools: unknown): DeclaredFunction[] {
  if (tools === undefined || tools === null) return []
  if (!Array.isArray(tools)) throw invalidMember('tools', 'Input should be a valid list')
  const names = new Set<string>()
  return tools.flatMap((tool, index) => {
    const at = `tools.${index}`
    if (!isObject(tool)) throw invalidMember(at, 'Input should be a valid dictionary')
    const { name, type, input_schema: schema } = tool
    const isOfService = typeof type === 'string' && type !== 'custom'
    if (typeof name === 'string') {
      if (names.has(name)) throw invalidMember('tools', 'Tool names must be unique.')
      names.add(name)
    }
    // Tools that the service defines have members of their own.
    if (isOfService) return []
    checkMembers(tool, toolMembers, `${at}.custom`)
    if (typeof name !== 'string' || !toolName.test(name)) {
      throw invalidMember(`${at}.custom.name`, `String should match pattern '${toolName.source}'`)
    }
    if (!isObject(schema)) throw invalidMember(`${at}.custom.input_schema`, 'Field required')
    if (schema.type !== 'object') throw invalidMember(`${at}.custom.input_schema.type`, "Input should be 'object'")
    return [{ name, parameters: asJson(schema) }]
  })
}

function readChoice(body: Body, functions: readonly DeclaredFunction[]): { choice: ToolChoice; isSingle: boolean } {
  const { tool_choice: value, tools } = body
  if (value === undefined || value === null) return { choice: { kind: 'auto' }, isSingle: false }
  if (!isObject(value)) throw invalidMember('tool_choice', 'Input should be a valid dictionary')
  if (!Array.isArray(tools) || tools.length === 0) {
    throw invalidMember('tool_choice', 'tool_choice may only be specified while providing tools')
  }
  const isSingle = value.disable_parallel_tool_use === true
  switch (value.type) {
    case 'auto':
    case 'any':
      checkMembers(value, ['type', 'disable_parallel_tool_use'], 'tool_choice')
      return { choice: { kind: value.type }, isSingle }
    case 'none':
      checkMembers(value, ['type'], 'tool_choice')
      return { choice: { kind: 'none' }, isSingle }
    case 'tool': {
      checkMembers(value, ['type', 'name', 'disable_parallel_tool_use'], 'tool_choice')
      const { name } = value
      if (typeof name !== 'string' || !functions.some(entry => entry.name === name)) {
        throw invalidMember('', `Tool '${String(name)}' not found in provided tools`)
      }
      return { choice: { kind: 'function', name, partialArguments: {} }, isSingle }
    }
    default:
      throw invalidMember('tool_choice.type', "Input should be 'auto', 'any', 'none' or 'tool'")
  }
}

/** Reads whether the response has thinking. */
function readThinking(
  { thinking, output_config: config }: Body,
  { messages, choice }: { messages: readonly Message[]; choice: ToolChoice }
): boolean {
  // Without a setting the models of this upstream think when an effort is given.
  if (thinking === undefined || thinking === null) return isObject(config) && typeof config.effort === 'string'
  if (!isObject(thinking)) throw invalidMember('thinking', 'Input should be a valid dictionary')
  switch (thinking.type) {
    case 'disabled':
      checkMembers(thinking, ['type'], 'thinking')
      return false
    case 'adaptive':
      checkMembers(thinking, ['type', 'display'], 'thinking')
      return true
    case 'enabled': {
      checkMembers(thinking, ['type', 'budget_tokens', 'display'], 'thinking.enabled')
      if (choice.kind === 'any' || choice.kind === 'function') {
        throw invalidMember('', 'Thinking may not be enabled when tool_choice forces tool use.')
      }
      checkThoughts(messages)
      return true
    }
    default:
      throw invalidMember('thinking.type', "Input should be 'adaptive', 'disabled' or 'enabled'")
  }
}

/** A turn whose results the request ends with begins with its thinking, when thinking has a budget. */
function checkThoughts(messages: readonly Message[]): void {
  const [turn, results] = messages.slice(-2)
  if (turn?.role !== 'assistant' || results === undefined || results.results.length === 0) return
  const [first = ''] = turn.types
  if (first === 'thinking' || first === 'redacted_thinking') return
  throw invalidMember(
    `messages.${messages.length - 2}.content.0.type`,
    `Expected \`thinking\` or \`redacted_thinking\`, but found \`${first}\``
  )
}

/** The lowest `top_p` beside thinking. */
const TOP_P_MIN = 0.95

function checkBudget({ thinking, temperature, top_p: topP, top_k: topK }: Body, tokensMax: number): void {
  if (!isObject(thinking) || thinking.type !== 'enabled') return
  const { budget_tokens: budget } = thinking
  if (typeof budget !== 'number' || !Number.isInteger(budget) || budget < BUDGET_MIN) {
    throw invalidMember('thinking.enabled.budget_tokens', `Input should be greater than or equal to ${BUDGET_MIN}`)
  }
  if (budget >= tokensMax) throw invalidMember('', '`max_tokens` must be greater than `thinking.budget_tokens`')
  if (temperature !== undefined && temperature !== 1) {
    throw invalidMember('', '`temperature` may only be set to 1 when thinking is enabled')
  }
  if (typeof topK === 'number') throw invalidMember('', '`top_k` must be unset when thinking is enabled')
  if (typeof topP === 'number' && topP < TOP_P_MIN) {
    throw invalidMember('', `\`top_p\` must be greater than or equal to ${TOP_P_MIN} or unset when thinking is enabled`)
  }
}

function readOutput({ output_config: config, output_format: older }: Body): ChatRequest['output'] {
  if (config === undefined || config === null) return readFormat(older, 'output_format')
  if (!isObject(config)) throw invalidMember('output_config', 'Input should be a valid dictionary')
  checkMembers(config, ['effort', 'format', 'task_budget'], 'output_config')
  const { effort, format } = config
  if (effort !== undefined && effort !== null && !efforts.includes(String(effort))) {
    throw invalidMember('output_config.effort', `Input should be ${efforts.join(', ')}`)
  }
  return readFormat(format ?? older, 'output_config.format')
}

/** Reads an output format; `output_format` is where it stood while it was a beta. */
function readFormat(format: unknown, at: string): ChatRequest['output'] {
  if (format === undefined || format === null) return { kind: 'text' }
  if (!isObject(format) || format.type !== 'json_schema') {
    throw invalidMember(`${at}.type`, "Input should be 'json_schema'")
  }
  checkMembers(format, ['type', 'schema'], at)
  if (!isObject(format.schema)) throw invalidMember(`${at}.schema`, 'Field required')
  return { kind: 'json', schema: asJson(format.schema) }
}

function readStops(stops: unknown): string[] {
  if (stops === undefined || stops === null) return []
  if (!Array.isArray(stops)) throw invalidMember('stop_sequences', 'Input should be a valid list')
  return stops.map((stop, index) => {
    if (typeof stop !== 'string') throw invalidMember(`stop_sequences.${index}`, 'Input should be a valid string')
    if (stop.trim() === '') {
      throw invalidMember(`stop_sequences.${index}`, 'each stop sequence must contain non-whitespace')
    }
    return stop
  })
}

function checkMetadata(metadata: unknown): void {
  if (metadata === undefined || metadata === null) return
  if (!isObject(metadata)) throw invalidMember('metadata', 'Input should be a valid dictionary')
  checkMembers(metadata, ['user_id'], 'metadata')
  const { user_id: user } = metadata
  if (user !== undefined && user !== null && typeof user !== 'string') {
    throw invalidMember('metadata.user_id', 'Input should be a valid string')
  }
}

function checkNumber(
  body: Body,
  name: string,
  range: { min: number; max?: number; isInteger?: boolean; isRequired?: boolean; allowsUnset?: boolean }
): void {
  const value = body[name]
  if (value === undefined || value === null) {
    if (range.isRequired === true) throw invalidMember(name, 'Field required')
    return
  }
  if (typeof value !== 'number' || (range.isInteger === true && !Number.isInteger(value))) {
    throw invalidMember(name, 'Input should be a valid number')
  }
  const isUnset = value === UNSET && range.allowsUnset === true
  if (!isUnset && (value < range.min || value > (range.max ?? value)))
    throw invalidMember(name, 'Input is out of range')
}
