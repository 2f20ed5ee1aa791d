// What an answer repeats of its request (responses.md 4). It is kept apart from the messages when the request is read, because of
// a large one they are gone by the time the answer is written.

import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type NormalizedMessage,
  type NormalizedRequest,
  type RequestEcho
} from '../../../normalized/index.ts'
import type { ResponsesEcho, ResponsesRequest } from './schema.ts'
import { findRequestedThread, isStored } from './stored-conversation.ts'

/** Members that the normalized form does not hold as the client wrote them. */
const KEPT_MEMBERS = ['instructions', 'reasoning', 'text', 'tool_choice', 'tools', 'truncation'] as const

/** Keeps what the answer will repeat. */
export function readEcho(body: ResponsesRequest, request: NormalizedRequest): RequestEcho {
  const members: JsonObject = {}
  for (const name of KEPT_MEMBERS) {
    const value = body[name] ?? undefined
    if (value !== undefined) members[name] = value
  }
  return mayRunHostedTools(request) ? { members, userText: joinUserText(request.messages) } : { members }
}

/** Writes the members of the answer that repeat the request; streamed and whole answers have the same. */
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
    ...(user === undefined ? {} : { user })
  }
}

function withoutNullFormat(text: JsonObject): JsonObject {
  const { format, ...rest } = text
  return (format ?? undefined) === undefined ? rest : text
}

/** A tool as the SDK declares it: a function is flat, and says of its parameters and its strictness at least null. */
function writeTool(tool: JsonValue): JsonObject[] {
  if (!isJsonObject(tool)) return []
  const { function: nested, ...rest } = tool
  const type = tool.type ?? 'function'
  if (type !== 'function') return [tool]
  const definition = isJsonObject(nested) ? { ...rest, ...nested } : tool
  return [{ ...definition, type, parameters: definition.parameters ?? null, strict: definition.strict ?? null }]
}

/** A tool of the provider asks what the user asked. Nothing else needs the text, so it is not kept for nothing. */
function mayRunHostedTools(request: NormalizedRequest): boolean {
  const brings = (member: string) => (request.additionalFields?.[member] ?? undefined) !== undefined
  return (
    request.tools.some(tool => tool.type === 'hosted') ||
    brings('assistant_id') ||
    brings('tools') ||
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
