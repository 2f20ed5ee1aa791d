// Writes the members of the request that the response repeats (responses.md 4). They are stored apart from the messages when the
// request is read, because a large request no longer has its messages when the response is written.

import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type NormalizedMessage,
  type NormalizedRequest,
  type RequestEcho
} from '../../../normalized/index.ts'
import { CUSTOM } from '../../shared/completions-family/free-form-tools.ts'
import { readHostedMembers } from '../../shared/tools/hosted-tools.ts'
import type { ResponsesEcho, ResponsesRequest } from './schema.ts'
import { findRequestedThread, isStored } from './stored-conversation.ts'

/** Members that the normalized request does not keep in the client's form. */
const KEPT_MEMBERS = [
  'instructions',
  'max_tool_calls',
  'prompt_cache_key',
  'prompt_cache_retention',
  'reasoning',
  'safety_identifier',
  'service_tier',
  'text',
  'tool_choice',
  'tools',
  'top_logprobs',
  'truncation'
] as const

/** Collects what the response repeats. */
export function readEcho(body: ResponsesRequest, request: NormalizedRequest): RequestEcho {
  const members: JsonObject = {}
  for (const name of KEPT_MEMBERS) {
    const value = body[name] ?? undefined
    if (value !== undefined) members[name] = value
  }
  return mayRunHostedTools(request) ? { members, userText: joinUserText(request.messages) } : { members }
}

/**
 * Writes the members of the response that repeat the request; they are the same in streamed and whole responses. Every member of the public
 * response object is there: typed clients and the compliance suite of the Open Responses specification refuse a response that lacks one
 * (decisions.md 91).
 */
export function writeEcho(request: NormalizedRequest): ResponsesEcho {
  const { conversation, sampling, turn, user } = request
  const members = request.echo?.members ?? {}
  const { instructions, reasoning, text, tool_choice, tools } = members
  return {
    instructions: readText(instructions) ?? null,
    max_output_tokens: sampling.maxOutputTokens ?? null,
    parallel_tool_calls: request.parallelToolCalls !== 'refused',
    previous_response_id: (turn ?? conversation)?.previousResponseId ?? null,
    reasoning: {
      ...(isJsonObject(reasoning) ? reasoning : {}),
      effort: request.reasoning?.effort ?? null,
      summary: request.reasoning?.summary ?? null
    },
    store: turn?.isStored ?? isStored(request),
    temperature: sampling.temperature ?? 1,
    text: { format: { type: 'text' }, ...(isJsonObject(text) ? withoutNullFormat(text) : {}) },
    tool_choice: tool_choice ?? 'auto',
    tools: Array.isArray(tools) ? tools.flatMap(writeTool) : [],
    top_p: sampling.topP ?? 1,
    truncation: readText(members.truncation) ?? 'disabled',
    ...(user === undefined ? {} : { user }),
    access_programs: null,
    // Without a store nothing is ever queued (memory.md 5).
    background: turn?.isBackground ?? false,
    ...(turn?.conversationId === undefined ? {} : { conversation: { id: turn.conversationId } }),
    frequency_penalty: sampling.frequencyPenalty ?? 0,
    max_tool_calls: readCount(members.max_tool_calls) ?? null,
    presence_penalty: sampling.presencePenalty ?? 0,
    prompt_cache_key: readText(members.prompt_cache_key) ?? null,
    prompt_cache_retention: readText(members.prompt_cache_retention) ?? null,
    safety_identifier: readText(members.safety_identifier) ?? null,
    service_tier: readText(members.service_tier) ?? 'default',
    top_logprobs: readCount(members.top_logprobs) ?? 0
  }
}

/** `RequestEcho.text`: the members of the response that repeat the request, as JSON without the braces. */
export function writeEchoText(request: NormalizedRequest): string {
  return JSON.stringify(writeEcho(request)).slice(1, -1)
}

/** A member without effect may have any type; the response has the type of the public object in every case. */
function readText(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function readCount(value: JsonValue | undefined): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined
}

function withoutNullFormat(text: JsonObject): JsonObject {
  const { format, ...rest } = text
  return (format ?? undefined) === undefined ? rest : text
}

/**
 * Writes a tool in the SDK's form: a function is flat, and its `description`, `parameters` and `strict` are null when absent; the format of a custom tool
 * is text when absent.
 */
function writeTool(tool: JsonValue): JsonObject[] {
  if (!isJsonObject(tool)) return []
  const { function: nested, ...rest } = tool
  const type = tool.type ?? 'function'
  const hosted = tool.type === undefined ? readHostedMembers(tool, '') : []
  if (hosted.length > 0) return hosted.map(({ sentType, config }) => ({ ...config, type: sentType }))
  if (type === CUSTOM) return [{ ...tool, format: tool.format ?? { type: 'text' } }]
  if (type !== 'function') return [tool]
  const definition = isJsonObject(nested) ? { ...rest, ...nested } : tool
  const { description = null, parameters = null, strict = null } = definition
  return [{ ...definition, type, description, parameters, strict }]
}

/** True when the provider may run hosted tools: only their output items need the text of the user. */
function mayRunHostedTools(request: NormalizedRequest): boolean {
  const hasField = (member: string) => (request.additionalFields?.[member] ?? undefined) !== undefined
  return (
    request.tools.some(tool => tool.type === 'hosted') ||
    hasField('assistant_id') ||
    hasField('tools') ||
    findRequestedThread(request) !== undefined
  )
}

function joinUserText(messages: readonly NormalizedMessage[]): string {
  const texts: string[] = []
  for (const message of messages) {
    if (message.role !== 'user') continue
    for (const part of message.content) if (part.type === 'text') texts.push(part.text)
  }
  return texts.join('\n')
}
