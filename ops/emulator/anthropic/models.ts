// What the name of a model on the Anthropic wire, and the directives of a request, say of its service (README.md).

import type { Step } from '../directive-steps.ts'
import { isObject } from '../json.ts'
import { invalidMember } from './errors.ts'

/** Services and servers that do not sign their thinking. */
const unsigned = /^(?:deepseek|kimi|llama)-/i
/** Services that think by default, and want the thinking of every turn with calls back. */
const wantsThinking = /^(?:deepseek|kimi)-/i
/** A local server, which ends all blocks of a stream at its end. */
const localServer = /^llama-/i
/** Models that refuse a temperature beside `top_p`. */
const oneSampling = /^claude-(?:opus-4-[1-9]|sonnet-4-[5-9]|haiku-4-[5-9])/

/** True for a model whose thinking has an empty signature. */
export function leavesThinkingUnsigned(model: unknown): boolean {
  return typeof model === 'string' && unsigned.test(model)
}

/** True for a response of a server that ends its blocks late. */
export function endsBlocksLate(model: string, step: Step): boolean {
  return step.shape === 'llama.cpp' || localServer.test(model)
}

/** Refuses a body as the service of its model does, and as the directive `strict` says. Throws UpstreamError. */
export function checkAnthropicStrictly(body: unknown, { strict = [] }: Step): void {
  if (!isObject(body)) return
  const { model, temperature, top_p: topP, output_config: config } = body
  if (typeof model === 'string' && wantsThinking.test(model)) checkThinkingIsBack(body)
  const isStrict = strict.includes('temperature') || (typeof model === 'string' && oneSampling.test(model))
  if (isStrict && typeof temperature === 'number' && typeof topP === 'number')
    throw invalidMember('', '`temperature` and `top_p` cannot both be specified for this model. Please use only one.')
  if (strict.includes('noeffort') && isObject(config) && config.effort !== undefined)
    throw invalidMember('', 'This model does not support the effort parameter.')
}

/** Throws UpstreamError for a turn with calls and without thinking, unless the request switches thinking off. */
function checkThinkingIsBack({ thinking, messages }: Record<string, unknown>): void {
  if ((isObject(thinking) && thinking.type === 'disabled') || !Array.isArray(messages)) return
  const isLost = messages.some(message => {
    const content = isObject(message) && Array.isArray(message.content) ? message.content.filter(isObject) : []
    return content.some(({ type }) => type === 'tool_use') && !content.some(({ type }) => type === 'thinking')
  })
  if (isLost) throw invalidMember('', 'The `content[].thinking` in the thinking mode must be passed back to the API.')
}
