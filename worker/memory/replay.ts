// Writes the events of a response that has ended and whose own events were not stored: the same events that a stream of it has, with each
// text in one piece (memory.md 4). The last event has the number that it had in the stream.

import { asBuffer } from '../../shared/bytes.ts'
import type { ResponseRecord, StoredEvent } from '../../shared/memory/store.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../normalized/index.ts'
import type { ResponsesItemEvent } from '../protocols/responses/client/schema.ts'
import { JsonEdits } from '../protocols/shared/json/edits.ts'
import { editJson } from '../protocols/shared/json/spans.ts'
import { writeItem } from './shown-item.ts'
import { writeStoredResponse } from './stored-object.ts'

/** An event without its number. */
interface Step {
  readonly type: string
  /** JSON of its other members, without braces. */
  readonly members: string
  /** Characters of a text that the stream may have had in several events. */
  readonly characters: number
}

/** The events with a number greater than `after`; -1 for all. */
export function* replayEvents(record: ResponseRecord, after: number): Generator<StoredEvent> {
  const steps = listSteps(record)
  const total = steps.reduce((sum, { characters }) => sum + characters, 0)
  const missing = Math.max(0, record.lastSequenceNumber - (steps.length - 1))
  let before = 0
  for (const [index, { type, members, characters }] of steps.entries()) {
    // The events that the stream had beside these were pieces of texts: a longer text had more of them. So a client that was cut off in a
    // text gets neither this text a second time nor less than what follows it.
    const isLast = index === steps.length - 1
    const skipped = isLast ? missing : Math.floor(total === 0 ? 0 : (missing * before) / total)
    before += characters
    const sequenceNumber = index + skipped
    if (sequenceNumber <= after) continue
    yield {
      sequenceNumber,
      json: Buffer.from(`{"type":"${type}","sequence_number":${sequenceNumber},${members}}`)
    }
  }
}

function listSteps(record: ResponseRecord): Step[] {
  const begun = writeBegun(record.body)
  const steps: Step[] = [
    { type: 'response.created', members: begun, characters: 0 },
    { type: 'response.in_progress', members: begun, characters: 0 }
  ]
  for (const [index, item] of record.output.entries()) addItem(steps, index, writeItem(item).toString())
  const type = record.status === 'completed' || record.status === 'failed' ? record.status : 'incomplete'
  steps.push({ type: `response.${type}`, members: `"response":${writeStoredResponse(record)}`, characters: 0 })
  return steps
}

/** The response as it was when it began. */
function writeBegun(body: Uint8Array): string {
  const members: unknown = JSON.parse(asBuffer(body).toString())
  const edits = new JsonEdits()
  edits.set(['status'], 'in_progress')
  edits.set(['output'], [])
  for (const name of ['completed_at', 'error', 'incomplete_details', 'usage']) {
    if (isJsonObject(members) && Object.hasOwn(members, name)) edits.set([name], null)
  }
  return `"response":${editJson(asBuffer(body), edits).edited}`
}

type Add = (event: ResponsesItemEvent | ForeignEvent) => void

/** Events that only a provider of this wire writes. */
type ForeignEvent = { type: 'response.reasoning_text.delta' | 'response.reasoning_text.done' } & JsonObject

/** @param json of the whole item. */
function addItem(steps: Step[], index: number, json: string): void {
  const item: JsonValue = JSON.parse(json)
  const ofItem = `"output_index":${index},"item":`
  const begun = isJsonObject(item) ? JSON.stringify(writeBegunItem(item)) : json
  steps.push({ type: 'response.output_item.added', members: ofItem + begun, characters: 0 })
  if (isJsonObject(item)) {
    const place = { item_id: String(item.id), output_index: index }
    addContent(item, place, ({ type, ...members }) => {
      const text = 'delta' in members && typeof members.delta === 'string' ? members.delta : ''
      steps.push({ type, members: JSON.stringify(members).slice(1, -1), characters: text.length })
    })
  }
  steps.push({ type: 'response.output_item.done', members: ofItem + json, characters: 0 })
}

const EMPTIED: Readonly<Record<string, JsonValue>> = { content: [], summary: [], arguments: '', input: '' }

/** An item before its content: what grows is empty, and state comes only at the end. */
function writeBegunItem({ encrypted_content: _state, ...item }: JsonObject): JsonObject {
  const begun: JsonObject = { ...item }
  if (begun.status !== undefined) begun.status = 'in_progress'
  for (const name in EMPTIED) if (begun[name] !== undefined && isGrowing(item, name)) begun[name] = EMPTIED[name]
  return begun
}

function isGrowing({ type }: JsonObject, name: string): boolean {
  switch (type) {
    case 'message':
      return name === 'content'
    case 'reasoning':
      return name === 'content' || name === 'summary'
    case 'function_call':
      return name === 'arguments'
    case 'custom_tool_call':
      return name === 'input'
    default:
      return false
  }
}

interface Place {
  readonly item_id: string
  readonly output_index: number
}

function addContent(item: JsonObject, place: Place, add: Add): void {
  switch (item.type) {
    case 'message':
      for (const [at, part] of listParts(item.content)) addPart(part, { ...place, content_index: at }, add)
      return
    case 'reasoning':
      for (const [at, part] of listParts(item.summary)) addSummary(part, { ...place, summary_index: at }, add)
      for (const [at, part] of listParts(item.content)) addReasoning(part, { ...place, content_index: at }, add)
      return
    case 'function_call': {
      const { arguments: text, name } = item
      if (typeof text !== 'string') return
      if (text !== '') add({ type: 'response.function_call_arguments.delta', ...place, delta: text })
      // A client runs the tool on this event, so cut arguments have none.
      if (item.status === 'incomplete') return
      add({ type: 'response.function_call_arguments.done', ...place, name: String(name), arguments: text })
      return
    }
    case 'custom_tool_call': {
      const { input } = item
      if (typeof input !== 'string') return
      if (input !== '') add({ type: 'response.custom_tool_call_input.delta', ...place, delta: input })
      if (item.status !== 'incomplete') add({ type: 'response.custom_tool_call_input.done', ...place, input })
    }
  }
}

function listParts(value: JsonValue | undefined): Array<[number, JsonObject]> {
  if (!Array.isArray(value)) return []
  return value.flatMap((part, index) => (isJsonObject(part) ? [[index, part] as [number, JsonObject]] : []))
}

type ContentPart = Extract<ResponsesItemEvent, { type: 'response.content_part.added' }>['part']
type Annotation = Extract<ResponsesItemEvent, { type: 'response.output_text.annotation.added' }>['annotation']

/** Parts of a provider of this wire may have more members than those that the gateway writes. */
function addPart(part: JsonObject, place: Place & { content_index: number }, add: Add): void {
  const whole = part as ContentPart
  if (part.type === 'output_text' && typeof part.text === 'string') {
    const { text, annotations = [] } = part
    add({ type: 'response.content_part.added', ...place, part: { ...BEGUN_TEXT } })
    if (text !== '') add({ type: 'response.output_text.delta', ...place, delta: text, logprobs: [] })
    for (const [annotation_index, annotation] of listParts(annotations)) {
      const event = { annotation_index, annotation: annotation as Annotation }
      add({ type: 'response.output_text.annotation.added', ...place, ...event })
    }
    add({ type: 'response.output_text.done', ...place, text, logprobs: [] })
  } else if (part.type === 'refusal' && typeof part.refusal === 'string') {
    const { refusal } = part
    add({ type: 'response.content_part.added', ...place, part: { type: 'refusal', refusal: '' } })
    if (refusal !== '') add({ type: 'response.refusal.delta', ...place, delta: refusal })
    add({ type: 'response.refusal.done', ...place, refusal })
  } else add({ type: 'response.content_part.added', ...place, part: whole })
  add({ type: 'response.content_part.done', ...place, part: whole })
}

const BEGUN_TEXT = { type: 'output_text', text: '', annotations: [], logprobs: [] } as const satisfies ContentPart

function addSummary(part: JsonObject, place: Place & { summary_index: number }, add: Add): void {
  const text = typeof part.text === 'string' ? part.text : ''
  const begun = { type: 'summary_text', text: '' } as const
  add({ type: 'response.reasoning_summary_part.added', ...place, part: begun })
  if (text !== '') add({ type: 'response.reasoning_summary_text.delta', ...place, delta: text })
  add({ type: 'response.reasoning_summary_text.done', ...place, text })
  add({ type: 'response.reasoning_summary_part.done', ...place, part: { ...begun, text } })
}

function addReasoning(part: JsonObject, place: Place & { content_index: number }, add: Add): void {
  const text = typeof part.text === 'string' ? part.text : ''
  if (text !== '') add({ type: 'response.reasoning_text.delta', ...place, delta: text })
  add({ type: 'response.reasoning_text.done', ...place, text })
}
