// The v1 chat wire: writes a plan as `choices` with a string as `content`; a stream has `data:` frames and `[DONE]`.
import { adjustPayload, type ChatWire, extraMember, type ResponseContext } from '../chat-wire.ts'
import { sendApiError } from '../exchange.ts'
import type { Frame } from '../frame.ts'
import type { PlannedCall, ResponsePlan } from '../response-plan.ts'
import { splitIntoDeltas } from '../tokens.ts'
import { readChatV1 } from './read-v1.ts'

function writeUsage(plan: ResponsePlan): Record<string, unknown> | undefined {
  if (plan.usage === null) return undefined
  const { input, output, cached } = plan.usage
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    precached_prompt_tokens: cached
  }
}

function writeCall(context: ResponseContext, call: PlannedCall | undefined): Record<string, unknown> {
  if (call === undefined) return {}
  const { step } = context.plan
  const callArguments = step.stringArguments === true ? JSON.stringify(call.arguments) : call.arguments
  return { function_call: { name: call.name, arguments: callArguments }, ...writeStateId(context) }
}

function writeStateId({ plan, stateId }: ResponseContext): Record<string, unknown> {
  return stateId === null ? {} : { [plan.step.stateIdKey ?? 'functions_state_id']: stateId }
}

/** Writes the members beside `choices`. The `object` of GigaChat-3 models is a plural in the recordings. */
function writeEnvelope(context: ResponseContext): Record<string, unknown> {
  const { createdSeconds, model, plan } = context
  const created = plan.step.createdForm === 'string' ? String(createdSeconds) : createdSeconds
  return { created, model, object: model.startsWith('GigaChat-3') ? 'chat.completions' : 'chat.completion' }
}

function writeThread({ threadId, messageId }: ResponseContext): Record<string, unknown> {
  return threadId === null ? {} : { thread_id: threadId, message_id: messageId }
}

function write(context: ResponseContext): Record<string, unknown> {
  const { plan } = context
  const message = {
    content: plan.text,
    role: 'assistant',
    ...(plan.reasoning === '' ? {} : { reasoning_content: plan.reasoning }),
    ...writeCall(context, plan.calls[0]),
    ...extraMember(plan.step)
  }
  const usage = writeUsage(plan)
  return adjustPayload(
    {
      choices: [{ message, index: 0, finish_reason: plan.finishReason }],
      ...writeEnvelope(context),
      ...(usage === undefined ? {} : { usage }),
      ...writeThread(context)
    },
    plan.step
  )
}

/** Writes the deltas of a call before the finish chunk: the whole call, or (never recorded) its arguments as pieces of text. */
function writeCallDeltas(context: ResponseContext): Array<Record<string, unknown>> {
  const call = context.plan.calls[0]
  if (call === undefined) return []
  const { step } = context.plan
  if (step.argumentPieceLength === undefined) {
    return step.callInOwnDelta === true ? [{ content: '', ...writeCall(context, call) }] : []
  }
  const source = JSON.stringify(call.arguments)
  const deltas: Array<Record<string, unknown>> = [
    { content: '', function_call: { name: call.name, arguments: '' }, ...writeStateId(context) }
  ]
  for (let start = 0; start < source.length; start += step.argumentPieceLength) {
    deltas.push({ function_call: { arguments: source.slice(start, start + step.argumentPieceLength) } })
  }
  return deltas
}

function writeFrames(context: ResponseContext): Frame[] {
  const { plan } = context
  const { step } = plan
  const envelope = writeEnvelope(context)
  const frames: Frame[] = []
  let isFirst = step.noRole !== true
  const push = (delta: Record<string, unknown>, kind: Frame['kind'], rest: Record<string, unknown>, choice = {}) => {
    const withRole = isFirst ? { ...delta, role: 'assistant' } : delta
    isFirst = false
    const payload = {
      choices: [{ delta: { ...withRole, ...extraMember(step) }, index: 0, ...choice }],
      ...envelope,
      ...rest
    }
    frames.push({ event: null, data: JSON.stringify(adjustPayload(payload, step)), kind })
  }
  if (plan.reasoning !== '') {
    for (const piece of splitIntoDeltas(plan.reasoning)) push({ content: '', reasoning_content: piece }, 'delta', {})
  }
  for (const piece of plan.deltas) push({ content: piece }, 'delta', {})
  const callDeltas = writeCallDeltas(context)
  for (const delta of callDeltas) push(delta, 'delta', {})
  const finishCall = callDeltas.length === 0 ? writeCall(context, plan.calls[0]) : {}
  const usage = writeUsage(plan)
  const rest = { ...(usage === undefined ? {} : { usage }), ...writeThread(context) }
  push({ content: '', ...finishCall }, 'finish', rest, { finish_reason: plan.finishReason })
  frames.push({ event: null, data: '[DONE]', kind: 'done' })
  return frames
}

/** The v1 wire of the native upstream. */
export const chatV1: ChatWire = {
  stateIdForm: 'random',
  read: readChatV1,
  write,
  writeFrames,
  writeErrorFrame: error => ({ event: null, data: JSON.stringify(error), kind: 'delta' }),
  sendError: sendApiError
}
