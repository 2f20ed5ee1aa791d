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
import { readHostedMembers } from '../../shared/hosted-tools.ts'
import type { ResponsesEcho, ResponsesRequest } from './schema.ts'
import { findRequestedThread, isStored } from './stored-conversation.ts'

/** Members that the normalized request does not keep in the client's form. */
const KEPT_MEMBERS = ['instructions', 'reasoning', 'text', 'tool_choice', 'tools', 'truncation'] as const

/** Collects what the response repeats. */
export function readEcho(body: ResponsesRequest, request: NormalizedRequest): RequestEcho {
  const members: JsonObject = {}
  for (const name of KEPT_MEMBERS) {
    const value = body[name] ?? undefined
    if (value !== undefined) members[name] = value
  }
  return mayRunHostedTools(request) ? { members, userText: joinUserText(request.messages) } : { members }
}

/** Writes the members of the response that repeat the request; they are the same in streamed and whole responses. */
export function writeEcho(request: NormalizedRequest): ResponsesEcho {
  const { conversation, sampling, user } = request
  const { instructions, reasoning, text, tool_choice, tools, truncation } = request.echo?.members ?? {}
  return {
    instructions: typeof instructions === 'string' ? instructions : null,
    max_output_tokens: sampling.maxOutputTokens ?? null,
    parallel_tool_calls: request.parallelToolCalls !== 'refused',
    previous_response_id: conversation?.previousResponseId ?? null,
    reasoning: {
      ...(isJsonObject(reasoning) ? reasoning : {}),
      effort: request.reasoning?.effort ?? null,
      summary: request.reasoning?.summary ?? null
    },
    store: isStored(request),
    temperature: sampling.temperature ?? 1,
    text: { format: { type: 'text' }, ...(isJsonObject(text) ? withoutNullFormat(text) : {}) },
    tool_choice: tool_choice ?? 'auto',
    tools: Array.isArray(tools) ? tools.flatMap(writeTool) : [],
    top_p: sampling.topP ?? 1,
    truncation: typeof truncation === 'string' ? truncation : 'disabled',
    ...(user === undefined ? {} : { user }),
    access_programs: null
  }
}

/** `RequestEcho.text`: the members of the response that repeat the request, as JSON without the braces. */
export function writeEchoText(request: NormalizedRequest): string {
  return JSON.stringify(writeEcho(request)).slice(1, -1)
}

function withoutNullFormat(text: JsonObject): JsonObject {
  const { format, ...rest } = text
  return (format ?? undefined) === undefined ? rest : text
}

/**
 * Writes a tool in the SDK's form: a function is flat, and its `parameters` and `strict` are null when absent; the format of a custom tool
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
  return [{ ...definition, type, parameters: definition.parameters ?? null, strict: definition.strict ?? null }]
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
