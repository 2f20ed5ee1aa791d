// Checks the text of a Responses stream against the rules of the SDK: every member that its types require, and the order of events
// that its accumulation depends on. The rules come from the SDK's declarations and the contract, not from the gateway's writer.

import type { JsonObject, JsonValue } from '../../worker/normalized/index.ts'

type Kind = 'string' | 'number' | 'boolean' | 'object' | 'array' | 'null'
type Shape = Record<string, Kind | readonly Kind[]>

const OF_ITEM: Shape = { item_id: 'string', output_index: 'number' }
const OF_CONTENT: Shape = { ...OF_ITEM, content_index: 'number' }
const OF_SUMMARY: Shape = { ...OF_ITEM, summary_index: 'number' }
const LIFECYCLE: Shape = { response: 'object' }
const ITEM: Shape = { output_index: 'number', item: 'object' }

/** Required members of every event that the gateway writes, besides `type` and `sequence_number`. */
const EVENT_SHAPES: Readonly<Record<string, Shape>> = {
  'response.created': LIFECYCLE,
  'response.queued': LIFECYCLE,
  'response.in_progress': LIFECYCLE,
  'response.completed': LIFECYCLE,
  'response.incomplete': LIFECYCLE,
  'response.failed': LIFECYCLE,
  'response.output_item.added': ITEM,
  'response.output_item.done': ITEM,
  'response.content_part.added': { ...OF_CONTENT, part: 'object' },
  'response.content_part.done': { ...OF_CONTENT, part: 'object' },
  'response.output_text.delta': { ...OF_CONTENT, delta: 'string', logprobs: 'array' },
  'response.output_text.done': { ...OF_CONTENT, text: 'string', logprobs: 'array' },
  'response.output_text.annotation.added': { ...OF_CONTENT, annotation_index: 'number', annotation: 'object' },
  'response.refusal.delta': { ...OF_CONTENT, delta: 'string' },
  'response.refusal.done': { ...OF_CONTENT, refusal: 'string' },
  'response.reasoning_summary_part.added': { ...OF_SUMMARY, part: 'object' },
  'response.reasoning_summary_part.done': { ...OF_SUMMARY, part: 'object' },
  'response.reasoning_summary_text.delta': { ...OF_SUMMARY, delta: 'string' },
  'response.reasoning_summary_text.done': { ...OF_SUMMARY, text: 'string' },
  'response.function_call_arguments.delta': { ...OF_ITEM, delta: 'string' },
  'response.function_call_arguments.done': { ...OF_ITEM, name: 'string', arguments: 'string' },
  'response.custom_tool_call_input.delta': { ...OF_ITEM, delta: 'string' },
  'response.custom_tool_call_input.done': { ...OF_ITEM, input: 'string' },
  'response.web_search_call.in_progress': OF_ITEM,
  'response.web_search_call.searching': OF_ITEM,
  'response.web_search_call.completed': OF_ITEM,
  'response.image_generation_call.in_progress': OF_ITEM,
  'response.image_generation_call.generating': OF_ITEM,
  'response.image_generation_call.completed': OF_ITEM
}

/** Required members of the SDK's response object, without `output_text`, which the SDK adds, and those of decisions.md 91. */
const RESPONSE_SHAPE: Shape = {
  id: 'string',
  object: 'string',
  created_at: 'number',
  status: 'string',
  model: 'string',
  error: ['object', 'null'],
  incomplete_details: ['object', 'null'],
  instructions: ['string', 'null'],
  metadata: 'object',
  output: 'array',
  temperature: 'number',
  top_p: 'number',
  tools: 'array',
  tool_choice: ['string', 'object'],
  access_programs: 'null',
  background: 'boolean',
  completed_at: ['number', 'null'],
  frequency_penalty: 'number',
  max_tool_calls: ['number', 'null'],
  presence_penalty: 'number',
  prompt_cache_key: ['string', 'null'],
  safety_identifier: ['string', 'null'],
  service_tier: 'string',
  top_logprobs: 'number',
  usage: ['object', 'null']
}

const ITEM_SHAPES: Readonly<Record<string, Shape>> = {
  message: { id: 'string', status: 'string', role: 'string', content: 'array' },
  reasoning: { id: 'string', summary: 'array' },
  function_call: { id: 'string', status: 'string', call_id: 'string', name: 'string', arguments: 'string' },
  custom_tool_call: { id: 'string', status: 'string', call_id: 'string', name: 'string', input: 'string' },
  web_search_call: { id: 'string', status: 'string', action: 'object' },
  image_generation_call: { id: 'string', status: 'string', result: ['string', 'null'] },
  // An extension, which the SDK passes on like any other item (decisions.md 65).
  model_3d_generate_call: { id: 'string', status: 'string', file_id: 'string' }
}

const PART_SHAPES: Readonly<Record<string, Shape>> = {
  output_text: { text: 'string', annotations: 'array', logprobs: 'array' },
  refusal: { refusal: 'string' },
  summary_text: { text: 'string' }
}

const USAGE_SHAPE: Shape = {
  input_tokens: 'number',
  input_tokens_details: 'object',
  output_tokens: 'number',
  output_tokens_details: 'object',
  total_tokens: 'number'
}

/** The item types of each event type. */
const ITEM_TYPES: ReadonlyArray<readonly [prefix: string, type: string]> = [
  ['response.content_part.', 'message'],
  ['response.output_text.', 'message'],
  ['response.refusal.', 'message'],
  ['response.reasoning_summary_', 'reasoning'],
  ['response.function_call_arguments.', 'function_call'],
  ['response.custom_tool_call_input.', 'custom_tool_call'],
  ['response.web_search_call.', 'web_search_call'],
  ['response.image_generation_call.', 'image_generation_call']
]

const TERMINAL = new Set(['response.completed', 'response.incomplete', 'response.failed'])

export interface CheckedStream {
  events: JsonObject[]
  /** The response of the terminal event. */
  response: JsonObject
  /** The items of the `done` events, by index. */
  items: JsonObject[]
}

/** An item whose events are still read. */
interface Followed {
  item: JsonObject
  isDone: boolean
  /** The open part of a message, or the open summary of a reasoning item. */
  part?: { type: string; text: string; annotations: number; isTextDone: boolean; isDone: boolean }
  arguments: string
  areArgumentsDone: boolean
  isCompletionReported: boolean
}

/** Reads the frames of a whole stream. Throws with the first broken rule. */
export function readResponsesStrictly(text: string): CheckedStream {
  const events = readFrames(text)
  const items: Followed[] = []
  // A response in the background.
  const isQueued = events[1]?.type === 'response.queued'
  for (const [position, event] of events.entries()) {
    checkEvent(event, { position, count: events.length, begun: isQueued ? 2 : 1 })
    follow(event, items)
  }
  const first = readResponse(events[0])
  const response = readResponse(events.at(-1))
  check(
    first.status === (isQueued ? 'queued' : 'in_progress') && length(first.output) === 0 && first.usage === null,
    'the first response is empty'
  )
  check(
    first.created_at === response.created_at && first.model === response.model,
    'created_at and model do not change'
  )
  checkEnd(response, items)
  return { events, response, items: items.map(({ item }) => item) }
}

function readFrames(text: string): JsonObject[] {
  check(text.endsWith('\n\n'), 'the stream ends with a blank line')
  return text
    .slice(0, -2)
    .split('\n\n')
    .map(frame => {
      const [name, data, ...rest] = frame.split('\n')
      check(rest.length === 0, 'a frame has two lines')
      check(
        name?.startsWith('event: ') === true && data?.startsWith('data: ') === true,
        'a frame has an event line and a data line'
      )
      check(data !== 'data: [DONE]', 'there is no [DONE]')
      const event = JSON.parse((data ?? '').slice('data: '.length))
      check(event.type === name?.slice('event: '.length), 'the type is the name of the event')
      return event
    })
}

function checkEvent(
  event: JsonObject,
  { position, count, begun }: { position: number; count: number; begun: number }
): void {
  const type = String(event.type)
  const shape = EVENT_SHAPES[type]
  check(shape !== undefined, `${type} is an event that the SDK knows`)
  checkShape(event, shape, type)
  check(event.sequence_number === position, 'sequence numbers count from 0 without gaps')
  check((position === 0) === (type === 'response.created'), 'response.created is first and only there')
  check(type !== 'response.queued' || (position === 1 && begun === 2), 'response.queued is second and only there')
  check((position === begun) === (type === 'response.in_progress'), 'response.in_progress is next and only there')
  check((position === count - 1) === TERMINAL.has(type), 'exactly one terminal event ends the stream')
  if (shape === LIFECYCLE) checkResponse(event.response as JsonObject)
}

function follow(event: JsonObject, items: Followed[]): void {
  const type = String(event.type)
  if (type === 'response.output_item.added') {
    check(event.output_index === items.length, 'items are added in the order of their indexes')
    const item = event.item as JsonObject
    checkItem(item)
    check(
      items.every(({ item: other }) => other.id !== item.id),
      'no two items have one id'
    )
    check(
      items.every(({ item: other }) => other.type !== 'reasoning' || isDone(items, other)),
      'reasoning is done before the next item begins (C4)'
    )
    checkAdded(item)
    items.push({ item, isDone: false, arguments: '', areArgumentsDone: false, isCompletionReported: false })
    return
  }
  if (event.output_index === undefined) return
  const followed = items[event.output_index as number]
  check(followed !== undefined, 'an event names an item that was added')
  check(!followed.isDone, 'nothing follows the end of an item')
  if (type === 'response.output_item.done') {
    finishItem(event.item as JsonObject, followed)
    return
  }
  check(event.item_id === followed.item.id, 'the event has the id of its item')
  const expected = ITEM_TYPES.find(([prefix]) => type.startsWith(prefix))?.[1]
  check(followed.item.type === expected, `${type} is about a ${expected}`)
  followPart(event, type, followed)
  followRun(event, type, followed)
}

function isDone(items: readonly Followed[], item: JsonObject): boolean {
  return items.find(followed => followed.item === item)?.isDone === true
}

function followPart(event: JsonObject, type: string, followed: Followed): void {
  const isStart = type === 'response.content_part.added' || type === 'response.reasoning_summary_part.added'
  if (isStart) {
    const part = event.part as JsonObject
    check(followed.part === undefined, 'an item has one part')
    check((event.content_index ?? event.summary_index) === 0, 'the part has index 0')
    checkPart(part)
    check(readPartText(part) === '', 'a part starts empty')
    followed.part = { type: String(part.type), text: '', annotations: 0, isTextDone: false, isDone: false }
    return
  }
  const isOfPart = event.content_index !== undefined || event.summary_index !== undefined
  if (!isOfPart) return
  const { part } = followed
  check(part !== undefined && !part.isDone, 'an event of a part comes between its start and its end')
  check((event.content_index ?? event.summary_index) === 0, 'the part has index 0')
  switch (type) {
    case 'response.output_text.delta':
    case 'response.refusal.delta':
    case 'response.reasoning_summary_text.delta':
      check(!part.isTextDone, 'no delta follows the text')
      check(event.delta !== '', 'a delta is not empty (C2)')
      part.text += String(event.delta)
      return
    case 'response.output_text.annotation.added': {
      check(event.annotation_index === part.annotations++, 'annotations count from 0 without gaps')
      const annotation = event.annotation as JsonObject
      const shape: Shape = { url: 'string', title: 'string', start_index: 'number', end_index: 'number' }
      checkShape(annotation, shape, 'annotation')
      return
    }
    case 'response.output_text.done':
    case 'response.refusal.done':
    case 'response.reasoning_summary_text.done':
      check(!part.isTextDone, 'a text is done once')
      check((event.text ?? event.refusal) === part.text, 'the text is the sum of its deltas')
      part.isTextDone = true
      return
    default: {
      const end = event.part as JsonObject
      checkPart(end)
      check(part.isTextDone, 'the text is done before its part')
      check(end.type === part.type && readPartText(end) === part.text, 'the part holds the whole text')
      check(
        end.type !== 'output_text' || length(end.annotations) === part.annotations,
        'the part holds all annotations'
      )
      part.isDone = true
    }
  }
}

function followRun(event: JsonObject, type: string, followed: Followed): void {
  if (type === 'response.function_call_arguments.delta' || type === 'response.custom_tool_call_input.delta') {
    check(!followed.areArgumentsDone && event.delta !== '', 'arguments grow until they are done')
    followed.arguments += String(event.delta)
  } else if (type === 'response.function_call_arguments.done') {
    check(!followed.areArgumentsDone, 'arguments are done once')
    check(event.arguments === followed.arguments, 'the arguments are the sum of their deltas (B5)')
    check(event.name === followed.item.name, 'the name does not change')
    followed.areArgumentsDone = true
  } else if (type === 'response.custom_tool_call_input.done') {
    check(!followed.areArgumentsDone, 'the input is done once')
    check(event.input === followed.arguments, 'the input is the sum of its deltas')
    followed.areArgumentsDone = true
  } else if (type.endsWith('_call.completed')) {
    check(!followed.isCompletionReported, 'completion is reported once')
    followed.isCompletionReported = true
  }
}

function finishItem(item: JsonObject, followed: Followed): void {
  checkItem(item)
  for (const member of ['type', 'id', 'call_id', 'name', 'namespace', 'role']) {
    check(item[member] === followed.item[member], `the ${member} of an item does not change`)
  }
  check(followed.part === undefined || followed.part.isDone, 'a part is done before its item')
  check(item.status !== 'in_progress', 'a finished item is not in progress')
  if (item.type === 'message') {
    check(length(item.content) === 1 && followed.part !== undefined, 'a message has its part')
    check(readPartText((item.content as JsonObject[])[0] ?? {}) === followed.part.text, 'the item holds the whole text')
  }
  if (item.type === 'reasoning') {
    check(readPartText((item.summary as JsonObject[])[0] ?? {}) === followed.part?.text, 'the item holds the reasoning')
  }
  if (item.type === 'function_call') {
    check(item.arguments === followed.arguments, 'the item holds the whole arguments (B3)')
    check(followed.areArgumentsDone === (item.status === 'completed'), 'only complete arguments are done')
    check(item.status !== 'completed' || item.arguments !== '', 'a completed call has arguments')
  }
  if (item.type === 'custom_tool_call') {
    check(item.input === followed.arguments, 'the item holds the whole input')
    check(followed.areArgumentsDone === (item.status === 'completed'), 'only a complete input is done')
  }
  if (item.type === 'web_search_call' || item.type === 'image_generation_call') {
    check(
      followed.isCompletionReported || item.status !== 'completed',
      'completion is reported before the end of the item'
    )
  }
  followed.item = item
  followed.isDone = true
}

function checkEnd(response: JsonObject, items: readonly Followed[]): void {
  const done = items.filter(({ isDone }) => isDone)
  if (response.status === 'failed') {
    check(
      done.every(({ item }) => item.status !== 'incomplete'),
      'a failed response has only whole items (decisions.md 51)'
    )
  } else check(done.length === items.length, 'everything that was added is done (A5)')
  const output = response.output as JsonObject[]
  check(
    JSON.stringify(output) === JSON.stringify(done.map(({ item }) => item)),
    'the output has the items of the events (F3)'
  )
  check(response.status === 'failed' || output.length > 0, 'a response that did not fail has an item')
  check(
    (response.error !== null) === (response.status === 'failed'),
    'there is an error if and only if the response has failed'
  )
  check(
    response.status !== 'completed' || response.incomplete_details === null,
    'a completed response has no incomplete_details'
  )
}

function checkResponse(response: JsonObject): void {
  checkShape(response, RESPONSE_SHAPE, 'response')
  check(response.object === 'response', 'the object is a response')
  check(typeof response.parallel_tool_calls === 'boolean', 'parallel_tool_calls is a boolean')
  check(/^resp_./.test(String(response.id)), 'the id has its prefix')
  check(
    Object.values(response.metadata as JsonObject).every(value => typeof value === 'string'),
    'metadata are strings'
  )
  if (response.usage !== null) checkUsage(response.usage as JsonObject)
  for (const item of response.output as JsonObject[]) checkItem(item)
}

function checkUsage(usage: JsonObject): void {
  checkShape(usage, USAGE_SHAPE, 'usage')
  checkShape(
    usage.input_tokens_details as JsonObject,
    { cached_tokens: 'number', cache_write_tokens: 'number' },
    'usage'
  )
  checkShape(usage.output_tokens_details as JsonObject, { reasoning_tokens: 'number' }, 'usage')
}

function checkItem(item: JsonObject): void {
  const shape = ITEM_SHAPES[String(item.type)]
  check(shape !== undefined, `${item.type} is an item that the SDK knows`)
  checkShape(item, shape, String(item.type))
  check(
    Object.entries(item).every(([name, value]) => value !== null || name === 'result'),
    'an item has no null extras'
  )
  for (const part of [item.content ?? [], item.summary ?? []].flat()) checkPart(part as JsonObject)
}

/** Checks an item at its start. */
function checkAdded(item: JsonObject): void {
  if (item.type !== 'reasoning') check(item.status === 'in_progress', 'an item starts in progress')
  check(length(item.content ?? []) === 0 && length(item.summary ?? []) === 0, 'an item starts without parts')
  check((item.arguments ?? '') === '' && (item.result ?? null) === null, 'an item starts without a result')
}

function checkPart(part: JsonObject): void {
  const shape = PART_SHAPES[String(part.type)]
  check(shape !== undefined, `${part.type} is a part that the SDK knows`)
  checkShape(part, shape, String(part.type))
}

function readPartText(part: JsonObject): JsonValue | undefined {
  return part.text ?? part.refusal
}

function checkShape(value: JsonObject, shape: Shape, what: string): void {
  for (const [member, kinds] of Object.entries(shape)) {
    const kind = kindOf(value[member])
    check([kinds].flat().includes(kind as Kind), `${member} of ${what} is ${kinds}, and not ${kind}`)
  }
}

function kindOf(value: JsonValue | undefined): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function length(value: JsonValue | undefined): number {
  return Array.isArray(value) ? value.length : 0
}

function readResponse(event: JsonObject | undefined): JsonObject {
  return (event?.response ?? {}) as JsonObject
}

function check(holds: boolean, rule: string): asserts holds {
  if (!holds) throw new Error(`Broken: ${rule}.`)
}
