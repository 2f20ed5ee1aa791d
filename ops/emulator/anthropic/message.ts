// What whole responses and streams of the Anthropic wire have in common: the message, its blocks, stop reason and usage.

import type { BuiltinRun } from '../builtins.ts'
import type { ResponseContext } from '../chat-wire.ts'
import type { JsonValue } from '../json.ts'
import type { PlannedCall, ResponsePlan } from '../response-plan.ts'
import { countTokens } from '../tokens.ts'
import { leavesThinkingUnsigned } from './models.ts'
import { redactThinking, signThinking } from './signature.ts'

export type AnthropicBlock =
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'redacted_thinking'; data: string }
  | { type: 'text'; text: string; citations?: AnthropicCitation[] }
  | { type: 'tool_use'; id: string; name: string; input: JsonValue }
  | { type: 'server_tool_use'; id: string; name: string; input: JsonValue }
  | { type: 'web_search_tool_result'; tool_use_id: string; content: AnthropicSource[] }

export interface AnthropicCitation {
  type: 'web_search_result_location'
  cited_text: string
  encrypted_index: string
  title: string
  url: string
}

interface AnthropicSource {
  type: 'web_search_result'
  url: string
  title: string
  encrypted_content: string
  page_age: null
}

function createId(context: ResponseContext, prefix: string): string {
  return `${prefix}_01${context.createId().replaceAll('-', '').slice(0, 22)}`
}

/** The members of a message that a stream knows at its start. */
export function writeMessageHead(context: ResponseContext): Record<string, unknown> {
  return { id: createId(context, 'msg'), type: 'message', role: 'assistant', model: context.request.model }
}

/** The blocks of a response: thinking, the runs of the service's own tools, the text, then the calls. */
export function listBlocks(context: ResponseContext): AnthropicBlock[] {
  const { reasoning, text, calls, runs, step } = context.plan
  const blocks: AnthropicBlock[] = []
  if (reasoning !== '') {
    const isRedacted = step.reasoningForm === 'encrypted'
    if (isRedacted) blocks.push({ type: 'redacted_thinking', data: redactThinking(reasoning) })
    else {
      // A client that wants no thinking text gets the signature alone.
      const thinking = context.request.hidesReasoning === true ? '' : reasoning
      const isUnsigned = leavesThinkingUnsigned(context.request.model) || step.shape === 'llama.cpp'
      blocks.push({ type: 'thinking', thinking, signature: isUnsigned ? '' : signThinking(reasoning) })
    }
  }
  const citations = runs.flatMap(run => writeRun(context, run, blocks))
  const shown = step.refusal ?? removeSourceMarks(text)
  if (shown !== '') blocks.push({ type: 'text', text: shown, ...(citations.length === 0 ? {} : { citations }) })
  for (const call of calls) {
    blocks.push({ type: 'tool_use', id: createId(context, 'toolu'), name: call.name, input: call.arguments })
  }
  return blocks
}

function writeRun(context: ResponseContext, run: BuiltinRun, blocks: AnthropicBlock[]): AnthropicCitation[] {
  const id = createId(context, 'srvtoolu')
  const sources = Object.values(run.sources ?? {})
  blocks.push({ type: 'server_tool_use', id, name: run.name, input: { query: 'the prompt' } })
  blocks.push({
    type: 'web_search_tool_result',
    tool_use_id: id,
    content: sources.map(({ url, title }) => ({
      type: 'web_search_result',
      url,
      title,
      encrypted_content: Buffer.from(title).toString('base64'),
      page_age: null
    }))
  })
  return sources.map(({ url, title }, index) => ({
    type: 'web_search_result_location',
    cited_text: title,
    encrypted_index: Buffer.from(String(index)).toString('base64'),
    title,
    url
  }))
}

/** The marks of sources belong to the native wire; this one has citations. */
function removeSourceMarks(text: string): string {
  return text.replace(/ \[sources=\[[\d, ]*\]\]/g, '')
}

/** The arguments as JSON text; a string from a directive is sent unchanged, so that a test can send broken JSON. */
export function writeInput(input: PlannedCall['arguments']): string {
  return typeof input === 'string' ? input : JSON.stringify(input)
}

/** The end of a message; a reason that this wire does not have stays as it is. */
export function writeStop({ finishReason, stopSequence, step }: ResponsePlan): Record<string, unknown> {
  const reason = step.refusal === undefined ? mapFinishReason(finishReason) : 'refusal'
  return {
    stop_reason: stopSequence !== null && reason === 'end_turn' ? 'stop_sequence' : reason,
    stop_sequence: stopSequence,
    stop_details: reason === 'refusal' ? { type: 'refusal', category: null, explanation: null } : null
  }
}

function mapFinishReason(reason: string): string {
  switch (reason) {
    case 'stop':
      return 'end_turn'
    case 'length':
      return 'max_tokens'
    case 'function_call':
      return 'tool_use'
    case 'blacklist':
      return 'refusal'
    default:
      return reason
  }
}

/** The usage; null without any. Cached tokens are not part of `input_tokens` on this wire. */
export function writeAnthropicUsage(plan: ResponsePlan): Record<string, unknown> | null {
  if (plan.usage === null) return null
  const { input, output, cached } = plan.usage
  const searches = plan.runs.length
  return {
    input_tokens: Math.max(0, input - cached),
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { thinking_tokens: Math.min(output, countTokens(plan.reasoning)) },
    ...(searches === 0 ? {} : { server_tool_use: { web_search_requests: searches } }),
    service_tier: 'standard'
  }
}
