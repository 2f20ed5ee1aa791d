// The OpenAI chat-completions wire under `/openai/v1`: writes the same plans as a `chat_compatible` provider does.
import { adjustPayload, type ChatWire, extraMember, type ResponseContext } from '../chat-wire.ts'
import type { UpstreamError, UpstreamErrorOptions } from '../errors.ts'
import { type Exchange, sendBody, sendJson, writeHtmlError } from '../exchange.ts'
import { writeMalformed } from './malformed.ts'
import {
  createCallId,
  createResponseId,
  FINGERPRINT,
  mapFinishReason,
  writeAnnotations,
  writeArguments,
  writeReasoning,
  writeThinkText,
  writeUsage
} from './message.ts'
import { readOpenAiChat } from './read.ts'
import { applyShape } from './shapes.ts'
import { writeOpenAiFrames } from './stream.ts'
import { checkOpenAiStrictly } from './strict.ts'

const errorTypes: Record<number, { type: string; code: string | null }> = {
  401: { type: 'invalid_request_error', code: 'invalid_api_key' },
  404: { type: 'invalid_request_error', code: 'model_not_found' },
  429: { type: 'requests', code: 'rate_limit_exceeded' }
}

function writeError(
  status: number,
  message: string,
  { code, param }: Pick<UpstreamErrorOptions, 'code' | 'param'> = {}
): Record<string, unknown> {
  const fallback = { type: status >= 500 ? 'server_error' : 'invalid_request_error', code: null }
  const own = code === undefined ? {} : { code }
  return { error: { message, param: param ?? null, ...(errorTypes[status] ?? fallback), ...own } }
}

/** Sends an error in the envelope of this wire, or as a proxy's HTML page. */
export function sendOpenAiError(exchange: Exchange, error: UpstreamError): void {
  if (error.isHtml) {
    const body = writeHtmlError(error.status, error.message)
    sendBody(exchange, { status: error.status, contentType: 'text/html', body, headers: error.headers })
  } else sendJson(exchange, error.status, writeError(error.status, error.message, readWords(error)), error.headers)
}

function readWords({ code, param }: UpstreamError): Pick<UpstreamErrorOptions, 'code' | 'param'> {
  return { ...(code === undefined ? {} : { code }), ...(param === undefined ? {} : { param }) }
}

function write(given: ResponseContext): Record<string, unknown> {
  const { shape, context } = applyShape(given)
  const { plan, request, createdSeconds } = context
  const usage = writeUsage(plan)
  const body = {
    id: createResponseId(context),
    object: 'chat.completion',
    created: createdSeconds,
    model: request.model,
    choices: [{ index: 0, message: writeMessage(context), logprobs: null, finish_reason: mapFinishReason(plan) }],
    ...(usage === null ? {} : { usage }),
    system_fingerprint: FINGERPRINT
  }
  return adjustPayload(shape?.whole?.(body, context) ?? body, plan.step)
}

function writeMessage(context: ResponseContext): Record<string, unknown> {
  const { plan } = context
  const { step } = plan
  const text = (step.reasoningForm === 'think' ? writeThinkText(plan.reasoning) : '') + plan.text
  const isWithoutText = (plan.calls.length > 0 && text === '') || step.refusal !== undefined
  return {
    ...(step.noRole === true ? {} : { role: 'assistant' }),
    content: isWithoutText ? null : text,
    refusal: step.refusal ?? null,
    ...writeReasoning(plan.reasoning, step.reasoningForm),
    ...writeCalls(context),
    ...writeAnnotations(plan),
    ...extraMember(step)
  }
}

function writeCalls(context: ResponseContext): Record<string, unknown> {
  const { calls, step } = context.plan
  const [first] = calls
  if (first === undefined) return {}
  if (step.legacyCall === true) return { function_call: { name: first.name, arguments: writeArguments(first) } }
  return {
    tool_calls: calls.map(call => ({
      id: createCallId(context),
      type: 'function',
      function: { name: call.name, arguments: writeArguments(call) }
    }))
  }
}

/** The chat-completions wire. */
export const openAiChat: ChatWire = {
  stateIdForm: null,
  read: readOpenAiChat,
  checkStrictly: checkOpenAiStrictly,
  write,
  writeMalformed,
  writeFrames: writeOpenAiFrames,
  writeErrorFrame: error => ({
    event: null,
    data: JSON.stringify(writeError(error.status, error.message)),
    kind: 'delta'
  }),
  sendError: sendOpenAiError
}
