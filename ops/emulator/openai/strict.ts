// What single services on the chat wire refuse: of a model by its name, or by the directive `strict` (README.md).
import type { ReasoningForm, Step, StrictName } from '../directive-steps.ts'
import { UpstreamError } from '../errors.ts'
import { isObject } from '../json.ts'
import { findShapeOf, findStrictnessOf } from './models.ts'
import { findShape } from './shapes.ts'

type Body = Record<string, unknown>

/** Throws UpstreamError for a body that a service of this strictness refuses. */
type Check = (body: Body, step: Step) => void

/** The words of the newest models; older ones know fewer. */
const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh']

function unsupportedParameter(param: string, more = ''): UpstreamError {
  const message = `Unsupported parameter: '${param}' is not supported with this model.${more}`
  return new UpstreamError(400, message, { code: 'unsupported_parameter', param })
}

function unsupportedValue(param: string, value: unknown, supported: string): UpstreamError {
  const message = `Unsupported value: '${param}' does not support '${value}' with this model. ${supported}`
  return new UpstreamError(400, message, { code: 'unsupported_value', param })
}

const checks: Readonly<Record<StrictName, Check>> = {
  metadata({ metadata, store }) {
    if (metadata === undefined || metadata === null || store === true) return
    throw new UpstreamError(400, "The 'metadata' parameter is only allowed when 'store' is enabled.", {
      param: 'metadata'
    })
  },
  limit({ max_tokens: limit }) {
    if (limit === undefined || limit === null) return
    throw unsupportedParameter('max_tokens', " Use 'max_completion_tokens' instead.")
  },
  effort({ reasoning_effort: effort }) {
    if (effort === undefined || effort === null || efforts.some(known => known === effort)) return
    const words = efforts.map(word => `'${word}'`).join(', ')
    throw unsupportedValue('reasoning_effort', effort, `Supported values are: ${words}.`)
  },
  noeffort({ reasoning_effort: effort }) {
    if (effort === undefined || effort === null) return
    throw new UpstreamError(400, 'Unrecognized request argument supplied: reasoning_effort')
  },
  parallel({ parallel_tool_calls: parallel }) {
    if (parallel !== undefined && parallel !== null) throw unsupportedParameter('parallel_tool_calls')
  },
  temperature({ temperature }) {
    if (temperature === undefined || temperature === null || temperature === 1) return
    throw unsupportedValue('temperature', temperature, 'Only the default (1) value is supported.')
  },
  reasoning: checkReasoning
}

/** Thinking models want the reasoning of a turn with calls back, in the member in which they gave it. */
function checkReasoning({ model, messages, reasoning_effort: effort }: Body, step: Step): void {
  if (effort === 'none' || !Array.isArray(messages)) return
  const shape = step.shape ?? findShapeOf(String(model))
  const form: ReasoningForm = step.reasoningForm ?? findShape(shape)?.step?.reasoningForm ?? 'content'
  const member = form === 'reasoning' || form === 'details' ? 'reasoning' : 'reasoning_content'
  messages.forEach((message, index) => {
    if (!isObject(message) || message.role !== 'assistant' || !Array.isArray(message.tool_calls)) return
    const given = message[member]
    if (typeof given === 'string' && given !== '') return
    const text =
      shape === 'kimi'
        ? `thinking is enabled but ${member} is missing in assistant tool call message at index ${index}`
        : `The \`${member}\` in the thinking mode must be passed back to the API.`
    throw new UpstreamError(400, text)
  })
}

/** Refuses a body as the service of its model does, and as the directive says. Throws UpstreamError. */
export function checkOpenAiStrictly(body: unknown, step: Step): void {
  if (!isObject(body)) return
  for (const name of new Set([...findStrictnessOf(body.model), ...(step.strict ?? [])])) checks[name](body, step)
}
