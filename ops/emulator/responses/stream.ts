// The streams of the Responses wire: numbered events, whose last one repeats the whole response.
import { adjustPayload, extraMember, type ResponseContext } from '../chat-wire.ts'
import type { Frame } from '../frame.ts'
import { cutText, splitIntoDeltas } from '../tokens.ts'
import { breakResponsesStream } from './malformed.ts'
import { type Item, listItems, type ResponsesCall, writeEnd, writeHead } from './message.ts'

const ARGUMENT_PIECE_LENGTH = 12

type Emit = (type: string, members: Item, kind?: Frame['kind']) => void

/** Writes the events of a streamed response. */
export function writeResponsesFrames(context: ResponseContext, call: ResponsesCall): Frame[] {
  const { step } = context.plan
  const frames: Frame[] = []
  const emit: Emit = (type, members, kind = 'delta') => {
    const payload = adjustPayload({ type, sequence_number: frames.length, ...members }, step)
    frames.push({ event: type, data: JSON.stringify(payload), kind })
  }
  const head = writeHead(context, call)
  emit('response.created', { response: head })
  emit('response.in_progress', { response: head })
  const items = listItems(context, call)
  for (const [index, item] of items.entries()) emitItem(emit, item, { index, context })
  const end: Item = { ...head, ...writeEnd(context), output: items }
  if (step.noFinishReason !== true) {
    const response = adjustPayload(end, step)
    emit(end.status === 'completed' ? 'response.completed' : 'response.incomplete', { response }, 'finish')
  }
  return step.malformed === undefined ? frames : breakResponsesStream(step.malformed, frames)
}

function emitItem(emit: Emit, item: Item, place: { index: number; context: ResponseContext }): void {
  const { index, context } = place
  const at = { output_index: index }
  const added = (members: Item) =>
    emit('response.output_item.added', { ...at, item: { ...item, status: 'in_progress', ...members } })
  switch (item.type) {
    case 'reasoning':
      emit('response.output_item.added', { ...at, item: { id: item.id, type: 'reasoning', summary: [] } })
      emitSummary(emit, item, index)
      break
    case 'compaction':
      emit('response.output_item.added', { ...at, item: { ...item, encrypted_content: '' } })
      break
    case 'message':
      added({ content: [] })
      emitMessage(emit, item, place)
      break
    case 'function_call':
      added({ arguments: '' })
      emitCall(emit, item, place)
      break
    case 'custom_tool_call':
      added({ input: '' })
      emitCall(emit, item, place)
      break
    default: {
      const name = String(item.type)
      emit('response.output_item.added', { ...at, item: { id: item.id, type: item.type, status: 'in_progress' } })
      const phases = ['in_progress', progressWords[name] ?? 'in_progress', 'completed']
      for (const phase of phases) emit(`response.${name}.${phase}`, { ...at, item_id: item.id })
    }
  }
  emit('response.output_item.done', { ...at, item: { ...item, ...extraMember(context.plan.step) } })
}

const progressWords: Readonly<Record<string, string>> = {
  web_search_call: 'searching',
  code_interpreter_call: 'interpreting',
  image_generation_call: 'generating'
}

function emitSummary(emit: Emit, item: Item, index: number): void {
  const [part] = item.summary as Array<{ text: string }>
  if (part === undefined) return
  const at = { item_id: item.id, output_index: index, summary_index: 0 }
  emit('response.reasoning_summary_part.added', { ...at, part: { type: 'summary_text', text: '' } })
  for (const delta of splitIntoDeltas(part.text)) emit('response.reasoning_summary_text.delta', { ...at, delta })
  emit('response.reasoning_summary_text.done', { ...at, text: part.text })
  emit('response.reasoning_summary_part.done', { ...at, part })
}

function emitMessage(emit: Emit, item: Item, { index, context }: { index: number; context: ResponseContext }): void {
  const { deltas, step } = context.plan
  const at = { item_id: item.id, output_index: index, content_index: 0 }
  const [part] = item.content as [Item]
  if (part.type === 'refusal') {
    emit('response.content_part.added', { ...at, part: { type: 'refusal', refusal: '' } })
    for (const delta of splitIntoDeltas(step.refusal ?? '')) emit('response.refusal.delta', { ...at, delta })
    emit('response.refusal.done', { ...at, refusal: part.refusal })
  } else {
    emit('response.content_part.added', { ...at, part: { ...part, annotations: [], text: '' } })
    for (const delta of deltas)
      emit('response.output_text.delta', { ...at, delta, logprobs: [], obfuscation: 'emulator' })
    for (const [position, annotation] of (part.annotations as Item[]).entries()) {
      emit('response.output_text.annotation.added', { ...at, annotation_index: position, annotation })
    }
    emit('response.output_text.done', { ...at, text: part.text, logprobs: [] })
  }
  emit('response.content_part.done', { ...at, part })
}

function emitCall(emit: Emit, item: Item, { index, context }: { index: number; context: ResponseContext }): void {
  const { step } = context.plan
  const isFunction = item.type === 'function_call'
  const text = String(isFunction ? item.arguments : item.input)
  const at = { item_id: item.id, output_index: index }
  const event = isFunction ? 'response.function_call_arguments' : 'response.custom_tool_call_input'
  const pieces =
    step.callInOneDelta === true ? [text] : cutText(text, step.argumentPieceLength ?? ARGUMENT_PIECE_LENGTH)
  for (const delta of pieces) emit(`${event}.delta`, { ...at, delta })
  emit(`${event}.done`, { ...at, ...(isFunction ? { name: item.name, arguments: text } : { input: text }) })
}
