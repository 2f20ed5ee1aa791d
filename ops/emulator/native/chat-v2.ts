// The v2 chat wire: writes a plan as messages of content parts; a stream has named events and no end marker.
import type { BuiltinRun } from '../builtins.ts'
import { adjustPayload, type ChatWire, extraMember, type ResponseContext } from '../chat-wire.ts'
import { sendApiError } from '../exchange.ts'
import type { Frame } from '../frame.ts'
import type { PlannedCall, ResponsePlan } from '../response-plan.ts'
import { splitIntoDeltas } from '../tokens.ts'
import { readChatV2 } from './read-v2.ts'

type Part = Record<string, unknown>
type Message = Record<string, unknown>

function writeUsage(plan: ResponsePlan): Record<string, unknown> {
  if (plan.usage === null) return {}
  const { input, output, cached } = plan.usage
  return {
    usage: {
      input_tokens: input,
      input_tokens_details: { prompt_tokens: input, cached_tokens: cached },
      output_tokens: output,
      total_tokens: input + output
    }
  }
}

function writeCreated({ plan, createdSeconds }: ResponseContext): Record<string, unknown> {
  switch (plan.step.createdForm) {
    case 'string':
      return { created_at: String(createdSeconds) }
    case 'alias':
      return { created: createdSeconds }
    default:
      return { created_at: createdSeconds }
  }
}

function writeStateId({ plan, stateId }: ResponseContext): Record<string, unknown> {
  return stateId === null ? {} : { [plan.step.stateIdKey ?? 'tool_state_id']: stateId }
}

function writeThread({ threadId, messageId }: ResponseContext): Record<string, unknown> {
  return threadId === null ? {} : { thread_id: threadId, message_id: messageId }
}

function writeCall(context: ResponseContext, call: PlannedCall): Part {
  const { step } = context.plan
  const callArguments = step.stringArguments === true ? JSON.stringify(call.arguments) : call.arguments
  return {
    function_call: { name: call.name, arguments: callArguments },
    ...(step.callPartIds === true ? { id: context.createId() } : {})
  }
}

/** Writes the messages of the calls: all in one message, or one message per call, or (never recorded) beside `content`. */
function writeCallMessages(context: ResponseContext, content: Part[]): Message[] {
  const { calls, step } = context.plan
  const head = { role: 'assistant', ...writeStateId(context) }
  const parts = calls.map(call => writeCall(context, call))
  if (step.callOnMessage === true && parts.length > 0) {
    return parts.map((part, index) => ({ ...head, content: index === 0 ? content : [], ...part }))
  }
  if (step.callsInOwnMessages === true && parts.length > 0) {
    return parts.map((part, index) => ({ ...head, content: index === 0 ? [...content, part] : [part] }))
  }
  return [{ ...head, content: [...content, ...parts], ...extraMember(step) }]
}

function writeFile(run: BuiltinRun, id: string | null): Part[] {
  return run.file === null || id === null ? [] : [{ files: [{ id, mime: run.file.mime, target: run.file.target }] }]
}

/** Writes the sources of a web search, which belong to the part of the text. */
function writeInlineData(plan: ResponsePlan): Part {
  const sources = plan.runs.find(run => run.sources !== null)?.sources
  return sources === undefined || sources === null ? {} : { inline_data: { images: [], sources } }
}

function writeLogprobs({ request }: ResponseContext): Part {
  if (request.topLogprobs === 0) return {}
  const top = Array.from({ length: request.topLogprobs }, (_, index) => ({
    token: String.fromCharCode(65 + index),
    token_id: index + 1,
    logprob: -0.1 * (index + 1)
  }))
  return { logprobs: [{ chosen: top[0], top }] }
}

function write(context: ResponseContext): Record<string, unknown> {
  const { plan, model, fileIds } = context
  const content: Part[] = plan.runs.flatMap((run, index) => writeFile(run, fileIds[index] ?? null))
  if (plan.text !== '' || (plan.calls.length === 0 && content.length === 0)) {
    content.push({ text: plan.text, ...writeInlineData(plan), ...writeLogprobs(context), ...extraMember(plan.step) })
  }
  const reasoning = plan.reasoning === '' ? [] : [{ role: 'reasoning', content: [{ text: plan.reasoning }] }]
  return adjustPayload(
    {
      model,
      ...writeCreated(context),
      messages: [...reasoning, ...writeCallMessages(context, content)],
      finish_reason: plan.finishReason,
      ...writeUsage(plan),
      ...writeThread(context)
    },
    plan.step
  )
}

/** Writes the progress events of one tool run: start, remaining seconds (some tools), end. */
function writeRunParts(run: BuiltinRun): Array<{ event: string; part: Part }> {
  const execution = (members: Record<string, unknown>): Part => ({ tool_execution: { name: run.name, ...members } })
  const parts = [{ event: 'response.tool.in_progress', part: execution({}) }]
  if (run.secondsLeft !== null) {
    parts.push({ event: 'response.tool.in_progress', part: execution({ seconds_left: run.secondsLeft }) })
  }
  const end = { status: run.status, ...(run.isCensored ? { censored: true } : {}) }
  parts.push({ event: 'response.tool.completed', part: execution(end) })
  return parts
}

function writeFrames(context: ResponseContext): Frame[] {
  const { plan, model, fileIds } = context
  const { step } = plan
  const created = writeCreated(context)
  const frames: Frame[] = []
  const push = (event: string, members: Record<string, unknown>, kind: Frame['kind'] = 'delta') => {
    frames.push({ event, data: JSON.stringify(adjustPayload({ model, ...created, ...members }, step)), kind })
  }
  let isFirst = true
  const pushPart = (event: string, part: Part, role = 'assistant') => {
    const head = step.noRole === true && !isFirst ? {} : { role }
    isFirst = false
    push(event, { messages: [{ ...head, content: [part], ...extraMember(step) }] })
  }
  const delta = 'response.message.delta'
  if (plan.reasoning !== '') {
    for (const piece of splitIntoDeltas(plan.reasoning)) pushPart(delta, { text: piece }, 'reasoning')
  }
  for (const run of plan.runs) for (const { event, part } of writeRunParts(run)) pushPart(event, part)
  const inlineData = writeInlineData(plan)
  if (inlineData.inline_data !== undefined) pushPart(delta, inlineData)
  plan.runs.forEach((run, index) => {
    for (const part of writeFile(run, fileIds[index] ?? null)) pushPart(delta, part)
  })
  for (const piece of plan.deltas) pushPart(delta, { text: piece })
  const logprobs = writeLogprobs(context)
  if (logprobs.logprobs !== undefined) pushPart(delta, logprobs)
  if (step.callInOwnDelta === true) {
    for (const call of plan.calls) {
      const part = writeCall(context, call)
      if (step.callOnMessage === true) push(delta, { messages: [{ role: 'assistant', content: [], ...part }] })
      else pushPart(delta, part)
    }
  }
  const messages = writeDoneMessages(context)
  const end = { finish_reason: plan.finishReason, ...writeUsage(plan), ...writeThread(context) }
  push('response.message.done', messages.length === 0 ? end : { messages, ...end }, 'finish')
  if (step.doneMarker === true) frames.push({ event: null, data: '[DONE]', kind: 'done' })
  return frames
}

/** Writes the messages of the last event: the calls, unless they were sent in deltas, and the state id of a tool run. */
function writeDoneMessages(context: ResponseContext): Message[] {
  const { plan, stateId } = context
  if (plan.calls.length > 0 && plan.step.callInOwnDelta !== true) return writeCallMessages(context, [])
  return stateId === null ? [] : [{ role: 'assistant', ...writeStateId(context) }]
}

/** The v2 wire of the native upstream. */
export const chatV2: ChatWire = {
  stateIdForm: 'time-ordered',
  read: readChatV2,
  write,
  writeFrames,
  writeErrorFrame: error => ({ event: 'response.error', data: JSON.stringify(error), kind: 'delta' }),
  sendError: sendApiError
}
