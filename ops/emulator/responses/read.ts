// Reads and checks a request of the OpenAI Responses wire, for use as a `chat_compatible` provider with `wire: responses`.
import type { ChatRequest, ChatTurn } from '../chat-request.ts'
import type { ReadScope } from '../chat-wire.ts'
import { asJson, isObject } from '../json.ts'
import { checkOpenAiModel } from '../openai/read.ts'
import { MemberError, missingMember, wrongType, wrongValue } from './errors.ts'
import { checkMembers, readInput } from './read-input.ts'
import { checkStrictSchema, type ReadTools, readResponsesChoice, readResponsesTools } from './read-tools.ts'

/** The members of a request; the service refuses all others. */
const MEMBERS = [
  'background',
  // Coding agents of the service's own send it.
  'client_metadata',
  'context_management',
  'conversation',
  'include',
  'input',
  'instructions',
  'max_output_tokens',
  'max_tool_calls',
  'metadata',
  'model',
  'moderation',
  'parallel_tool_calls',
  'previous_response_id',
  'prompt',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'reasoning',
  'safety_identifier',
  'service_tier',
  'store',
  'stream',
  'stream_options',
  'temperature',
  'text',
  'tool_choice',
  'tools',
  'top_logprobs',
  'top_p',
  'truncation',
  'user'
]
const INCLUDABLE = [
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
  'message.input_image.image_url',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
  'reasoning.encrypted_content',
  'message.output_text.logprobs'
]
const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']
const SUMMARIES = ['auto', 'concise', 'detailed']
const VERBOSITIES = ['low', 'medium', 'high']
const OUTPUT_TOKENS_MIN = 16
const METADATA_MAX = 16
/** Models of this form do not reason. */
const PLAIN_MODEL = /plain/

export interface ReadResponses {
  request: ChatRequest
  tools: ReadTools
  body: Record<string, unknown>
  /** The items of the conversation, those of an earlier response included. */
  items: readonly unknown[]
  turns: ChatTurn[]
  compacts: boolean
  isStored: boolean
  showsSummary: boolean
  includesEncrypted: boolean
}

/** Reads a request. @throws UpstreamError 400 or 404 for a request that the service refuses. */
export function readResponses(body: unknown, { responses }: Pick<ReadScope, 'responses'>): ReadResponses {
  if (!isObject(body)) throw wrongType('body', 'an object')
  const model = checkOpenAiModel(body.model)
  checkMembers(body, MEMBERS, '')
  checkGeneration(body)
  const reasoning = readReasoning(body, model)
  const { previous_response_id: previousId } = body
  const earlier = typeof previousId === 'string' ? responses.find(previousId) : undefined
  if (typeof previousId === 'string' && earlier === undefined) {
    throw new MemberError(`Previous response with id '${previousId}' not found.`, {
      param: 'previous_response_id',
      code: 'previous_response_not_found'
    })
  }
  const { turns, items, compacts } = readInput(body.input, earlier?.items ?? [])
  const tools = readResponsesTools(body.tools)
  const conversation = [...(earlier?.turns ?? []), ...turns]
  const { instructions } = body
  if (instructions !== undefined && instructions !== null && typeof instructions !== 'string') {
    throw wrongType('instructions', 'a string')
  }
  const system: ChatTurn[] =
    typeof instructions === 'string' ? [{ role: 'system', text: instructions, results: [], fileCount: 0 }] : []
  const request: ChatRequest = {
    dialect: 'responses',
    model,
    turns: [...system, ...conversation],
    functions: tools.functions,
    builtins: tools.builtins,
    choice: readResponsesChoice(body.tool_choice, tools),
    allowsParallelCalls: body.parallel_tool_calls !== false,
    output: readOutput(body.text),
    wantsReasoning: reasoning.isWanted,
    isStream: body.stream === true,
    tokensMax: typeof body.max_output_tokens === 'number' ? body.max_output_tokens : null,
    topLogprobs: 0
  }
  return {
    request,
    tools,
    body,
    items,
    turns: conversation,
    compacts,
    isStored: body.store !== false,
    showsSummary: reasoning.showsSummary,
    includesEncrypted: reasoning.includesEncrypted
  }
}

function checkGeneration(body: Record<string, unknown>): void {
  checkNumber(body, 'temperature', 0, 2)
  checkNumber(body, 'top_p', 0, 1)
  checkNumber(body, 'max_output_tokens', OUTPUT_TOKENS_MIN)
  for (const name of ['stream', 'store', 'background', 'parallel_tool_calls']) {
    const value = body[name]
    if (value !== undefined && value !== null && typeof value !== 'boolean') throw wrongType(name, 'a boolean')
  }
  if (isObject(body.stream_options) && body.stream !== true) {
    throw wrongValue('stream_options', "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
  }
  const { metadata } = body
  if (metadata === undefined || metadata === null) return
  if (!isObject(metadata)) throw wrongType('metadata', 'an object')
  if (Object.keys(metadata).length > METADATA_MAX) throw wrongValue('metadata')
  for (const [name, value] of Object.entries(metadata)) {
    if (typeof value !== 'string') throw wrongType(`metadata.${name}`, 'a string')
  }
}

function checkNumber(body: Record<string, unknown>, name: string, min: number, max = Number.POSITIVE_INFINITY): void {
  const value = body[name]
  if (value === undefined || value === null) return
  if (typeof value !== 'number') throw wrongType(name, 'a number')
  if (value < min) {
    const message = `Invalid '${name}': below minimum value. Expected a value >= ${min}, but got ${value} instead.`
    throw new MemberError(message, { param: name, code: 'integer_below_min_value' })
  }
  if (value > max) throw wrongValue(name)
}

function readReasoning({ reasoning, include }: Record<string, unknown>, model: string) {
  const isPlain = PLAIN_MODEL.test(model)
  const list: unknown[] = Array.isArray(include) ? include : []
  for (const [index, word] of list.entries())
    if (!INCLUDABLE.includes(String(word))) throw wrongValue(`include[${index}]`)
  const includesEncrypted = list.includes('reasoning.encrypted_content')
  if (includesEncrypted && isPlain) throw wrongValue('include', 'Encrypted content is not supported with this model.')
  if (reasoning === undefined || reasoning === null) return { isWanted: false, showsSummary: false, includesEncrypted }
  if (!isObject(reasoning)) throw wrongType('reasoning', 'an object')
  checkMembers(reasoning, ['effort', 'summary', 'generate_summary', 'context', 'mode'], 'reasoning')
  const { effort, summary = reasoning.generate_summary } = reasoning
  if (isPlain && effort !== undefined && effort !== null) {
    throw new MemberError("Unsupported parameter: 'reasoning.effort' is not supported with this model.", {
      param: 'reasoning.effort',
      code: 'unsupported_parameter'
    })
  }
  if (effort !== undefined && effort !== null && !EFFORTS.includes(String(effort))) {
    throw wrongValue('reasoning.effort', `Invalid value: '${String(effort)}'.`)
  }
  if (summary !== undefined && summary !== null && !SUMMARIES.includes(String(summary)))
    throw wrongValue('reasoning.summary')
  return {
    isWanted: typeof effort === 'string' && effort !== 'none',
    showsSummary: typeof summary === 'string',
    includesEncrypted
  }
}

function readOutput(text: unknown): ChatRequest['output'] {
  if (text === undefined || text === null) return { kind: 'text' }
  if (!isObject(text)) throw wrongType('text', 'an object')
  checkMembers(text, ['format', 'verbosity'], 'text')
  const { format, verbosity } = text
  if (verbosity !== undefined && verbosity !== null && !VERBOSITIES.includes(String(verbosity))) {
    throw wrongValue('text.verbosity')
  }
  if (!isObject(format) || format.type === 'text') return { kind: 'text' }
  if (format.type === 'json_object') {
    return { kind: 'json', schema: { type: 'object', properties: { answer: { type: 'string' } } } }
  }
  if (format.type !== 'json_schema') throw wrongValue('text.format.type')
  checkMembers(format, ['type', 'name', 'description', 'schema', 'strict'], 'text.format')
  if (typeof format.name !== 'string') throw missingMember('text.format.name')
  if (!isObject(format.schema)) throw missingMember('text.format.schema')
  if (format.strict === true) {
    checkStrictSchema(format.schema, { param: 'text.format.schema', what: `response_format '${format.name}'` })
  }
  return { kind: 'json', schema: asJson(format.schema) }
}
