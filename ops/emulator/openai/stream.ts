// The streams of the chat-completions wire, also in the forms in which single providers differ from each other.
import { adjustPayload, extraMember, type ResponseContext } from '../chat-wire.ts'
import type { Step } from '../directive-steps.ts'
import type { Frame } from '../frame.ts'
import type { ChatShape, Chunk } from '../shape-tools.ts'
import { cutText, splitIntoDeltas } from '../tokens.ts'
import { breakStream } from './malformed.ts'
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
import { applyShape } from './shapes.ts'

const ARGUMENT_PIECE_LENGTH = 12
const THINK_PIECE_LENGTH = 5

type Delta = Record<string, unknown>

/** Writes the frames of a streamed response. */
export function writeOpenAiFrames(given: ResponseContext): Frame[] {
  const { shape, context } = applyShape(given)
  const { plan, includeUsage } = context
  const { step } = plan
  const usageForm = step.usageForm ?? 'after'
  const head = writeHead(context)
  const deltas = listDeltas(context)
  const write = (members: Record<string, unknown>) => JSON.stringify(adjustPayload({ ...head, ...members }, step))
  const frames: Frame[] = []
  const pushChunk = (choices: unknown[], kind: Frame['kind'], usage: unknown) => {
    frames.push({ event: null, data: write({ choices, ...(usage === undefined ? {} : { usage }) }), kind })
  }
  const runningReason = step.emptyFinishReasons === true ? '' : null
  const pushDelta = (
    delta: Delta,
    kind: Frame['kind'],
    { reason, usage }: { reason: string | null; usage: unknown }
  ) => {
    pushChunk(
      [{ index: 0, delta: { ...delta, ...extraMember(step) }, logprobs: null, finish_reason: reason }],
      kind,
      usage
    )
  }
  // A provider that sends `include_usage` has the member in every chunk, and the counts in one of its own at the end.
  const absentUsage = includeUsage && usageForm === 'after' ? null : undefined
  if (usageForm === 'first') pushChunk([], 'delta', writeUsage(plan, 0) ?? undefined)
  deltas.forEach((delta, index) => {
    const usage = usageForm === 'every' ? (writeUsage(plan, index / deltas.length) ?? undefined) : absentUsage
    pushDelta(delta, 'delta', { reason: runningReason, usage })
  })
  if (step.noFinishReason !== true) {
    const isWithUsage = usageForm === 'every' || usageForm === 'finish'
    const usage = isWithUsage ? (writeUsage(plan) ?? undefined) : absentUsage
    pushDelta({}, 'finish', { reason: mapFinishReason(plan), usage })
  }
  const usage = writeUsage(plan)
  const isAfter = usageForm === 'first' || (usageForm === 'after' && includeUsage)
  if (isAfter && usage !== null) pushChunk([], 'finish', usage)
  frames.push({ event: null, data: '[DONE]', kind: 'done' })
  const shaped = shape?.stream === undefined ? frames : reshape(frames, shape.stream, context)
  return step.malformed === undefined ? shaped : [...breakStream(step.malformed, shaped, write)]
}

/** Gives the chunks in front of the end marker another form. */
function reshape(frames: readonly Frame[], shape: NonNullable<ChatShape['stream']>, context: ResponseContext): Frame[] {
  const end = frames.filter(({ kind }) => kind === 'done')
  const chunks = frames
    .filter(({ kind }) => kind !== 'done')
    .map(({ data, kind }): Chunk => ({ payload: JSON.parse(data), kind }))
  const shaped = shape(chunks, context)
  return [...shaped.map(({ payload, kind }) => ({ event: null, data: JSON.stringify(payload), kind })), ...end]
}

function writeHead(context: ResponseContext): Record<string, unknown> {
  return {
    id: createResponseId(context),
    object: 'chat.completion.chunk',
    created: context.createdSeconds,
    model: context.request.model,
    system_fingerprint: FINGERPRINT
  }
}

function listDeltas(context: ResponseContext): Delta[] {
  const { plan } = context
  const { step, reasoning, deltas, calls, text } = plan
  const { refusal } = step
  const role = step.noRole === true ? {} : { role: 'assistant' }
  const isWithoutText = (calls.length > 0 && text === '') || refusal !== undefined
  const list: Delta[] = [{ ...role, content: isWithoutText ? null : '', refusal: null }]
  if (step.reasoningForm === 'think') {
    // Cut without regard to the tags, as a provider's tokens do it.
    for (const piece of cutText(writeThinkText(reasoning), THINK_PIECE_LENGTH)) list.push({ content: piece })
  } else if (step.reasoningForm === 'encrypted') {
    if (reasoning !== '') list.push(writeReasoning(reasoning, 'encrypted'))
  } else {
    for (const piece of splitIntoDeltas(reasoning)) list.push(writeReasoning(piece, step.reasoningForm))
  }
  if (refusal !== undefined) for (const piece of splitIntoDeltas(refusal)) list.push({ refusal: piece })
  else for (const piece of deltas) list.push({ content: piece })
  if (step.citations !== undefined) list.push(writeAnnotations(plan))
  return [...list, ...listCallDeltas(context, step)]
}

function listCallDeltas(context: ResponseContext, step: Step): Delta[] {
  const { calls } = context.plan
  if (step.legacyCall === true) {
    return calls.slice(0, 1).flatMap(call => [
      { function_call: { name: call.name, arguments: '' } },
      ...cutText(writeArguments(call), step.argumentPieceLength ?? ARGUMENT_PIECE_LENGTH).map(piece => ({
        function_call: { arguments: piece }
      }))
    ])
  }
  const lists = calls.map((call, index) => {
    const position = step.callsWithoutIndex === true ? {} : { index }
    const head = { id: createCallId(context), type: 'function' }
    const pieces = cutText(writeArguments(call), step.argumentPieceLength ?? ARGUMENT_PIECE_LENGTH)
    if (step.callInOneDelta === true) {
      return [{ ...position, ...head, function: { name: call.name, arguments: pieces.join('') } }]
    }
    return [
      { ...position, ...head, function: { name: call.name, arguments: '' } },
      ...pieces.map(piece =>
        step.callHeadRepeated === true
          ? { ...position, ...head, function: { name: call.name, arguments: piece } }
          : { ...position, function: { arguments: piece } }
      )
    ]
  })
  const ordered = step.callsInterleaved === true ? interleave(lists) : lists.flat()
  return ordered.map(call => ({ tool_calls: [call] }))
}

/** One item of each list in turn. */
function interleave<Item>(lists: readonly Item[][]): Item[] {
  const rounds = Math.max(0, ...lists.map(list => list.length))
  return Array.from({ length: rounds }, (_, round) => lists.flatMap(list => list.slice(round, round + 1))).flat()
}
