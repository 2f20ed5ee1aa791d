// Writes a whole response, and the parts that a streamed response shares with it (messages.md 7.1).

import {
  assertNever,
  findCarriedState,
  flattenToolName,
  isGatewayCallId,
  type NormalizedRequest,
  type NormalizedResponse,
  type NormalizedUsage,
  type OutputItem,
  type ProviderState,
  type ReasoningItem,
  type ToolCallItem
} from '../../../normalized/index.ts'
import type { ResponseContext } from '../../client-face.ts'
import { isShownAsLine, writeFileLines } from '../../shared/media/generated-files.ts'
import { type StateOwner, writeStateSignature } from '../../shared/state-signature.ts'
import { isCutCall } from '../../shared/tools/cut-calls.ts'
import { writeInputObject } from '../../shared/tools/tool-arguments.ts'
import type {
  MessagesContentBlock,
  MessagesDeltaUsage,
  MessagesResponse,
  MessagesStop,
  MessagesTextBlock,
  MessagesToolUseBlock,
  MessagesUsage
} from './schema.ts'
import { GATEWAY_SIGNATURE } from './signature.ts'

/**
 * Writes a whole response. Except for the signature of unsigned reasoning, it equals the message
 * that the SDK accumulates from a stream of the same events (field-lessons.md B3).
 */
export function writeMessagesResponse(response: NormalizedResponse, context: ResponseContext): MessagesResponse {
  const showsReasoning = isReasoningVisible(context.request)
  const items = response.items.filter(item => !isCutCall(item, response.finish))
  // A provider on this wire must not take thinking beside its own ids for its own (decisions.md 82).
  const hasProviderId = items.some(item => item.type === 'tool-call' && !isGatewayCallId(item.id))
  const view = { showsReasoning, unsigned: hasProviderId ? GATEWAY_SIGNATURE : '' }
  const content: MessagesContentBlock[] = []
  /** Blocks with state that follow another block (`signCarried`). */
  let waiting: MessagesContentBlock[] = []
  function add(blocks: readonly MessagesContentBlock[]): void {
    if (blocks.length === 0) return
    for (const block of waiting) content.push(block)
    for (const block of blocks) content.push(block)
    waiting = []
  }
  for (const item of items) {
    add(writeItem(item, view))
    const isText = item.type === 'text' || item.type === 'refusal'
    const signature = isText ? signCarried(item.state, 'previous-text') : undefined
    if (signature !== undefined) waiting.push(writeStateBlock(signature))
  }
  const files = response.items.flatMap(item => (item.type === 'file' && isShownAsLine(item.file) ? [item.file] : []))
  const lines = writeFileLines(
    files,
    context.request,
    content.some(block => block.type === 'text')
  )
  if (lines !== '') add([{ ...EMPTY_TEXT, text: lines }])
  const signature = signCarried(response.state)
  if (signature !== undefined) waiting.push(writeStateBlock(signature))
  if (content.some(isToolUse)) add(waiting.splice(0))
  const stop = writeStop(response.finish, {
    callCount: content.filter(isToolUse).length,
    hasCutCall: items.length < response.items.length,
    hasRefusal: response.items.some(item => item.type === 'refusal' && item.text !== '')
  })
  return {
    ...writeMessageStart(context),
    ...(response.identity === undefined ? {} : { id: `msg_${response.identity.id}` }),
    // A response without content has one empty text block.
    content: content.length === 0 ? [{ ...EMPTY_TEXT }] : content,
    ...stop,
    usage: writeUsage(response.usage)
  }
}

/**
 * Writes the message at the start of a stream: without content and without a stop reason.
 * @param usage what the provider has counted before the first content.
 */
export function writeMessageStart(context: ResponseContext, usage: NormalizedUsage | null = null): MessagesResponse {
  return {
    id: `msg_${context.requestId}`,
    type: 'message',
    role: 'assistant',
    model: context.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    usage: writeUsage(usage)
  }
}

export const EMPTY_TEXT: MessagesTextBlock = { type: 'text', text: '' }

/** False when the client hides the reasoning: then its thinking blocks have no text (messages.md 5). */
export function isReasoningVisible({ reasoning }: NormalizedRequest): boolean {
  return reasoning?.isVisible !== false
}

/** Writes a tool call without its arguments, which a stream sends in deltas. */
export function writeToolUse(call: Pick<ToolCallItem, 'id' | 'name' | 'namespace'>): MessagesToolUseBlock {
  return { type: 'tool_use', id: call.id, name: flattenToolName(call), input: {}, caller: { type: 'direct' } }
}

/**
 * Writes why the response ended. The reason is `tool_use` if and only if the response has tool
 * calls and all of them are complete, also where the provider gave another reason, because agents
 * run tools only for that reason (field-lessons.md A6).
 */
export function writeStop(
  finish: NormalizedResponse['finish'],
  content: { callCount: number; hasCutCall: boolean; hasRefusal: boolean }
): MessagesStop {
  const stop = { stop_sequence: null, stop_details: null }
  if (content.callCount > 0 && !content.hasCutCall) return { stop_reason: 'tool_use', ...stop }
  if (finish.stopSequence !== undefined) {
    return { stop_reason: 'stop_sequence', stop_sequence: finish.stopSequence, stop_details: null }
  }
  if (finish.reason === 'length') return { stop_reason: 'max_tokens', ...stop }
  if (finish.reason === 'content-filter' || content.hasRefusal) {
    const details = { type: 'refusal', category: null, explanation: null } as const
    return { stop_reason: 'refusal', stop_sequence: null, stop_details: details }
  }
  return { stop_reason: 'end_turn', ...stop }
}

/**
 * Writes the counts at the end of a stream. A count that the provider did not report is 0, because the SDK's type has no null. The input
 * excludes what the two counts of the cache report: clients add the three (decisions.md 84).
 */
export function writeDeltaUsage(usage: NormalizedUsage | null): MessagesDeltaUsage {
  const thinkingTokens = usage?.reasoningTokens ?? null
  const cacheRead = usage?.cacheReadTokens ?? 0
  const cacheWrite = usage?.cacheWriteTokens ?? 0
  return {
    input_tokens: Math.max(0, (usage?.inputTokens ?? 0) - cacheRead - cacheWrite),
    output_tokens: usage?.outputTokens ?? 0,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cacheRead,
    ...(thinkingTokens === null ? {} : { output_tokens_details: { thinking_tokens: thinkingTokens } })
  }
}

function writeUsage(usage: NormalizedUsage | null): MessagesUsage {
  return { ...writeDeltaUsage(usage), service_tier: 'standard' }
}

/** Hosted tool runs and pictures are not shown: the protocol has no block for them. Sources of a search are in the text. */
function writeItem(item: OutputItem, view: ReasoningView): MessagesContentBlock[] {
  switch (item.type) {
    case 'text':
    case 'refusal':
      return item.text === '' ? [] : [{ ...EMPTY_TEXT, text: item.text }]
    case 'reasoning':
      return [writeThinking(item, view)]
    case 'tool-call':
      return [...writeCallState(item), { ...writeToolUse(item), input: writeInputObject(item.arguments) }]
    case 'hosted-tool':
    case 'file':
      return []
    default:
      return assertNever(item)
  }
}

/**
 * A call has no member for state, so an empty thinking block before it carries the state
 * (decisions.md 30).
 */
function writeCallState({ state }: ToolCallItem): MessagesContentBlock[] {
  const signature = signCarried(state, 'next-call')
  return signature === undefined ? [] : [writeStateBlock(signature)]
}

/**
 * The signature of a thinking block without text that carries state of another part, or of the whole message; undefined without such
 * state. A block of state that follows its part is written before the next block, and at the end only behind calls: there clients send
 * the turn back at once, while a plain answer must end with its text.
 */
export function signCarried(state: ProviderState | undefined, owner?: StateOwner): string | undefined {
  const carried = findCarriedState(state)
  if (carried === undefined) return undefined
  return writeStateSignature(carried, owner === undefined ? {} : { owner })
}

function writeStateBlock(signature: string): MessagesContentBlock {
  return { type: 'thinking', thinking: '', signature }
}

function isToolUse({ type }: MessagesContentBlock): boolean {
  return type === 'tool_use'
}

interface ReasoningView {
  showsReasoning: boolean
  /** The signature of an unsigned block. */
  unsigned: string
}

/** In a whole response the signature of an unsigned block is empty, unless its calls have ids of the provider. */
function writeThinking({ text, state }: ReasoningItem, view: ReasoningView): MessagesContentBlock {
  const { redacted } = state?.messages_compatible ?? {}
  const signature = findSignature(state) ?? view.unsigned
  if (redacted !== undefined && text === '') return { type: 'redacted_thinking', data: redacted }
  return { type: 'thinking', thinking: view.showsReasoning ? text : '', signature }
}

/** The provider's own signature, or the state of a provider on another wire; undefined for reasoning without either. */
export function findSignature(state: ProviderState | undefined): string | undefined {
  return state?.messages_compatible?.signature ?? signCarried(state)
}
