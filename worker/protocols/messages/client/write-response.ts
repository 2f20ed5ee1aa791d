// The whole answer in the family's form, and the pieces of it that the stream writer shows in the same form (messages.md 7.1).

import {
  assertNever,
  flattenToolName,
  isJsonObject,
  type JsonObject,
  type NormalizedRequest,
  type NormalizedResponse,
  type NormalizedUsage,
  type OutputItem,
  type ReasoningItem,
  type ToolCallItem
} from '../../../normalized/index.ts'
import type { ResponseContext } from '../../face.ts'
import type {
  MessagesContentBlock,
  MessagesDeltaUsage,
  MessagesResponse,
  MessagesStop,
  MessagesTextBlock,
  MessagesToolUseBlock,
  MessagesUsage
} from './schema.ts'

/** Writes a whole answer. It is the sum of what the stream writer would have sent for the same events (field lesson B3). */
export function writeMessagesResponse(response: NormalizedResponse, context: ResponseContext): MessagesResponse {
  const view = viewAnswer(context.request)
  const calls = response.items.filter(item => item.type === 'tool-call').filter((_, index) => view.showsCall(index))
  const content = response.items.flatMap(item => writeItem(item, { view, calls }))
  const stop = writeStop(response.finish, {
    callCount: calls.length,
    hasRefusal: response.items.some(item => item.type === 'refusal' && item.text !== '')
  })
  return {
    ...writeMessageStart(context),
    // An answer that says nothing has an empty text.
    content: content.length === 0 ? [{ ...EMPTY_TEXT }] : content,
    ...stop,
    usage: writeUsage(response.usage)
  }
}

/** The message as it is before anything was said. */
export function writeMessageStart(context: ResponseContext): MessagesResponse {
  return {
    id: `msg_${context.requestId}`,
    type: 'message',
    role: 'assistant',
    model: context.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    container: null,
    diagnostics: null,
    usage: writeUsage(null)
  }
}

export const EMPTY_TEXT: MessagesTextBlock = { type: 'text', text: '', citations: null }

/** What of an answer the client asked to see. */
export interface AnswerView {
  showsReasoning: boolean
  /** @param index counts the calls of the answer from 0. */
  showsCall(index: number): boolean
}

/**
 * A client that did not allow several calls in so many words gets the first one only (messages.md 4.3), and one that does not want
 * to see thoughts gets their blocks without the text (messages.md 5).
 */
export function viewAnswer(request: NormalizedRequest): AnswerView {
  const allowsSeveralCalls = request.parallelToolCalls === 'requested'
  return {
    showsReasoning: request.reasoning?.isVisible !== false,
    showsCall: index => allowsSeveralCalls || index === 0
  }
}

/** The head of a call; the arguments of a stream follow it. */
export function writeToolUse(call: Pick<ToolCallItem, 'id' | 'name' | 'namespace'>): MessagesToolUseBlock {
  return { type: 'tool_use', id: call.id, name: flattenToolName(call), input: {}, caller: { type: 'direct' } }
}

/**
 * How the answer ended. A turn with a call must say so whatever the provider's reason was, because agents run tools only on that
 * word (field lesson A6), and a turn without one must not.
 */
export function writeStop(
  finish: NormalizedResponse['finish'],
  answer: { callCount: number; hasRefusal: boolean }
): MessagesStop {
  const stop = { stop_sequence: null, stop_details: null }
  if (answer.callCount > 0) return { stop_reason: 'tool_use', ...stop }
  if (finish.stopSequence !== undefined) {
    return { stop_reason: 'stop_sequence', stop_sequence: finish.stopSequence, stop_details: null }
  }
  if (finish.reason === 'length') return { stop_reason: 'max_tokens', ...stop }
  if (finish.reason === 'content-filter' || answer.hasRefusal) {
    const details = { type: 'refusal', category: null, explanation: null } as const
    return { stop_reason: 'refusal', stop_sequence: null, stop_details: details }
  }
  return { stop_reason: 'end_turn', ...stop }
}

/** The counts that a stream tells at its end; what the provider did not say is 0, for the SDK's types know no null there. */
export function writeDeltaUsage(usage: NormalizedUsage | null): MessagesDeltaUsage {
  const thinkingTokens = usage?.reasoningTokens ?? null
  return {
    input_tokens: usage?.inputTokens ?? 0,
    output_tokens: usage?.outputTokens ?? 0,
    cache_creation_input_tokens: usage?.cacheWriteTokens ?? 0,
    cache_read_input_tokens: usage?.cacheReadTokens ?? 0,
    output_tokens_details: thinkingTokens === null ? null : { thinking_tokens: thinkingTokens },
    server_tool_use: null
  }
}

function writeUsage(usage: NormalizedUsage | null): MessagesUsage {
  return {
    ...writeDeltaUsage(usage),
    cache_creation: null,
    inference_geo: null,
    service_tier: 'standard',
    speed: null
  }
}

/** Sources of a search stand in the text; of the tools that the provider ran itself, and of its files, this family shows nothing. */
function writeItem(item: OutputItem, answer: { view: AnswerView; calls: ToolCallItem[] }): MessagesContentBlock[] {
  switch (item.type) {
    case 'text':
    case 'refusal':
      return item.text === '' ? [] : [{ ...EMPTY_TEXT, text: item.text }]
    case 'reasoning':
      return [writeThinking(item, answer.view)]
    case 'tool-call':
      if (!answer.calls.includes(item)) return []
      return [{ ...writeToolUse(item), input: readInput(item.arguments) }]
    case 'hosted-tool':
    case 'file':
      return []
    default:
      return assertNever(item)
  }
}

/** A whole block without a signature says so with an empty one. */
function writeThinking({ text, state }: ReasoningItem, view: AnswerView): MessagesContentBlock {
  const { redacted, signature = '' } = state?.messages_compatible ?? {}
  if (redacted !== undefined && text === '') return { type: 'redacted_thinking', data: redacted }
  return { type: 'thinking', thinking: view.showsReasoning ? text : '', signature }
}

/** Arguments that cannot be read are none: the family has no place for text that is not JSON. */
function readInput(text: string): JsonObject {
  try {
    const input: unknown = JSON.parse(text)
    return isJsonObject(input) ? input : {}
  } catch {
    return {}
  }
}
