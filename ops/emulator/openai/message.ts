// What whole responses and streams of the chat-completions wire have in common: ids, calls, reasoning, finish reason, usage.
import type { ResponseContext } from '../chat-wire.ts'
import type { ReasoningForm } from '../directive-steps.ts'
import type { PlannedCall, ResponsePlan } from '../response-plan.ts'
import { countTokens } from '../tokens.ts'

export const FINGERPRINT = 'fp_emulator'

/** Writes a finish reason of the plan in the words of this wire; any other reason stays as it is. */
export function mapFinishReason({ finishReason, step }: ResponsePlan): string {
  if (finishReason === 'function_call') return step.legacyCall === true ? 'function_call' : 'tool_calls'
  return finishReason === 'blacklist' ? 'content_filter' : finishReason
}

/** Writes the usage; `outputShare` is the part of the output that a chunk in the middle of a stream reports. */
export function writeUsage(plan: ResponsePlan, outputShare = 1): Record<string, unknown> | null {
  if (plan.usage === null) return null
  const { input, output, cached } = plan.usage
  const soFar = Math.floor(output * outputShare)
  return {
    prompt_tokens: input,
    completion_tokens: soFar,
    total_tokens: input + soFar,
    prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: Math.min(soFar, countTokens(plan.reasoning)),
      audio_tokens: 0
    }
  }
}

/** Writes the arguments as JSON text; a string from a directive is sent unchanged, so that a test can send broken JSON. */
export function writeArguments(call: PlannedCall): string {
  return typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments)
}

export function createCallId(context: ResponseContext): string {
  return `call_${context.createId().replaceAll('-', '').slice(0, 24)}`
}

export function createResponseId(context: ResponseContext): string {
  return `chatcmpl-${context.createId().replaceAll('-', '')}`
}

/** The member of a message or a delta with the cited pages: each stands for the whole text. */
export function writeAnnotations({ step, text }: ResponsePlan): Record<string, unknown> {
  if (step.citations === undefined) return {}
  const annotations = step.citations.map(({ url, title }) => ({
    type: 'url_citation',
    url_citation: { url, title, start_index: 0, end_index: text.length }
  }))
  return { annotations }
}

/** The text in front of the content when a provider leaves the reasoning inside it; empty without reasoning. */
export function writeThinkText(reasoning: string): string {
  return reasoning === '' ? '' : `<think>\n${reasoning}\n</think>\n\n`
}

/** The members of a message or a delta that hold a piece of reasoning; none for a form that has it in the content. */
export function writeReasoning(text: string, form: ReasoningForm = 'content'): Record<string, unknown> {
  if (text === '') return {}
  switch (form) {
    case 'content':
      return { reasoning_content: text }
    case 'reasoning':
      return { reasoning: text }
    case 'both':
      return { reasoning: text, reasoning_content: text }
    case 'details':
      return {
        reasoning: text,
        reasoning_details: [{ type: 'reasoning.text', text, format: 'unknown', index: 0 }]
      }
    case 'encrypted': {
      const data = Buffer.from(text).toString('base64')
      return {
        reasoning: null,
        reasoning_details: [{ type: 'reasoning.encrypted', data, id: 'rs_1', format: 'openai-responses-v1', index: 0 }]
      }
    }
    case 'think':
      return {}
  }
}
