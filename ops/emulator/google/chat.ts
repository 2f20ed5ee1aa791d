// The Google GenAI wire under `/google/v1beta`: writes the same plans as a `content_compatible` provider does.
import { adjustPayload, type ChatWire, extraMember, type ResponseContext } from '../chat-wire.ts'
import type { Frame } from '../frame.ts'
import type { PlannedCall, ResponsePlan } from '../response-plan.ts'
import { countTokens, splitIntoDeltas } from '../tokens.ts'
import { sendGoogleError, writeGoogleError } from './errors.ts'
import { breakGoogleStream, writeMalformedGoogle } from './malformed.ts'
import { readGoogleChat, signsCalls } from './read.ts'
import { signPart } from './signature.ts'

type Members = Record<string, unknown>

/** What the path and the query of a call say. */
export interface GoogleTarget {
  model: string
  isStream: boolean
  /** A stream as one JSON array, which it is without `alt=sse`. */
  isArray: boolean
}

/** Creates the wire for one call: its model and its method are in the path. */
export function createGoogleChat(target: GoogleTarget): ChatWire {
  const isArray = target.isStream && target.isArray
  return {
    stateIdForm: null,
    read: body => readGoogleChat(body, target),
    write,
    writeFrames,
    writeErrorFrame: error => ({ event: null, data: JSON.stringify(writeGoogleError(error)), kind: 'delta' }),
    sendError: (exchange, error) => sendGoogleError(exchange, error, isArray),
    writeMalformed: writeMalformedGoogle,
    isArray
  }
}

const finishReasons: Record<string, string> = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  function_call: 'STOP',
  content_filter: 'SAFETY',
  blacklist: 'BLOCKLIST'
}

/** Any other reason of a directive stays as it is. */
function writeFinishReason({ finishReason }: ResponsePlan): string {
  return finishReasons[finishReason] ?? finishReason
}

/** Writes the usage; `outputShare` is the part of the output that a chunk in the middle of a stream reports. */
function writeUsage(plan: ResponsePlan, outputShare = 1): Members {
  if (plan.usage === null) return {}
  const { input, output, cached } = plan.usage
  const thoughts = Math.min(output, countTokens(plan.reasoning))
  const candidates = Math.floor((output - thoughts) * outputShare)
  return {
    usageMetadata: {
      promptTokenCount: input,
      ...(candidates === 0 ? {} : { candidatesTokenCount: candidates }),
      totalTokenCount: input + candidates + thoughts,
      ...(cached === 0 ? {} : { cachedContentTokenCount: cached }),
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: input }],
      ...(thoughts === 0 ? {} : { thoughtsTokenCount: thoughts })
    }
  }
}

/** A response with reasoning, and every response of a model that wants them back, has a signature on its first call or its text. */
function hasSignature({ plan, request }: ResponseContext): boolean {
  return plan.step.noStateId !== true && (plan.reasoning !== '' || signsCalls(request.model))
}

function writeCallParts(context: ResponseContext): Members[] {
  const { plan, request } = context
  const hasIds = plan.step.callPartIds === true || signsCalls(request.model)
  return plan.calls.map((call: PlannedCall, index) => ({
    functionCall: {
      ...(hasIds ? { id: context.createId().replaceAll('-', '').slice(0, 8) } : {}),
      name: call.name,
      args: call.arguments
    },
    ...(index === 0 && hasSignature(context) ? { thoughtSignature: signPart({ call: call.name }) } : {})
  }))
}

function textSignature(context: ResponseContext): Members {
  return context.plan.calls.length === 0 && hasSignature(context) ? { thoughtSignature: signPart('text') } : {}
}

function write(context: ResponseContext): Members {
  const { plan, showsReasoning } = context
  const { step } = plan
  const parts: Members[] = []
  if (showsReasoning && plan.reasoning !== '') parts.push({ text: plan.reasoning, thought: true })
  if (plan.text !== '' || plan.calls.length === 0) parts.push({ text: plan.text, ...textSignature(context) })
  parts.push(...writeCallParts(context))
  const candidate = { ...writeCandidate(context, parts), finishReason: writeFinishReason(plan), index: 0 }
  const body = step.refusal === undefined ? { candidates: [candidate] } : writeBlock(step.refusal)
  return adjustPayload({ ...body, ...writeUsage(plan), ...writeHead(context) }, step)
}

/** A prompt that the service blocks has no candidates. */
function writeBlock(reason: string): Members {
  return { promptFeedback: { blockReason: 'PROHIBITED_CONTENT', blockReasonMessage: reason } }
}

function writeHead(context: ResponseContext): Members {
  return { modelVersion: context.request.model, responseId: context.createId().replaceAll('-', '').slice(0, 22) }
}

function writeCandidate({ plan: { step } }: ResponseContext, parts: readonly Members[]): Members {
  const role = step.noRole === true ? {} : { role: 'model' }
  return { content: { parts: parts.map(part => ({ ...part, ...extraMember(step) })), ...role } }
}

function writeFrames(context: ResponseContext): Frame[] {
  const { plan, showsReasoning } = context
  const { step } = plan
  const usageForm = step.usageForm ?? 'every'
  const head = writeHead(context)
  const chunk = (members: Members) => JSON.stringify(adjustPayload({ ...members, ...head }, step))
  if (step.refusal !== undefined) {
    return [{ event: null, data: chunk({ ...writeBlock(step.refusal), ...writeUsage(plan) }), kind: 'finish' }]
  }
  const lists: Members[][] = []
  if (showsReasoning) for (const text of splitIntoDeltas(plan.reasoning)) lists.push([{ text, thought: true }])
  for (const text of plan.deltas) lists.push([{ text }])
  const calls = writeCallParts(context)
  if (step.callsInOwnMessages === true) for (const call of calls) lists.push([call])
  else if (calls.length > 0) lists.push(calls)
  const frames = lists.map((parts, index): Frame => {
    const isWithUsage = usageForm === 'every' || (usageForm === 'first' && index === 0)
    const usage = isWithUsage ? writeUsage(plan, index / lists.length) : {}
    const candidates = [{ ...writeCandidate(context, parts), index: 0 }]
    return { event: null, data: chunk({ candidates, ...usage }), kind: 'delta' }
  })
  const finishReason = step.noFinishReason === true ? {} : { finishReason: writeFinishReason(plan) }
  const last = { ...writeCandidate(context, [{ text: '', ...textSignature(context) }]), ...finishReason, index: 0 }
  const lastUsage = usageForm === 'after' ? {} : writeUsage(plan)
  frames.push({ event: null, data: chunk({ candidates: [last], ...lastUsage }), kind: 'finish' })
  if (usageForm === 'after') frames.push({ event: null, data: chunk(writeUsage(plan)), kind: 'finish' })
  return step.malformed === undefined ? frames : [...breakGoogleStream(step.malformed, frames, chunk)]
}
