// Checks the text of a messages stream against the rules of the SDK: every member that its types require, and the order of frames
// that its accumulation depends on. The tables are complete by type: a new member of the SDK's types does not type-check here.

import type {
  Message,
  MessageDeltaUsage,
  RawMessageDeltaEvent,
  RedactedThinkingBlock,
  TextBlock,
  ThinkingBlock,
  ToolUseBlock,
  Usage
} from '@anthropic-ai/sdk/resources/messages/messages'
import type { MessagesErrorBody, MessagesStreamEvent } from '../../worker/protocols/messages/client/schema.ts'

export interface ReadStream {
  events: MessagesStreamEvent[]
  error: MessagesErrorBody | undefined
}

type Predicate = (value: unknown) => boolean
type Shape<Members> = { [Name in keyof Required<Members>]: Predicate }
type AnyShape = Readonly<Record<string, Predicate>>

const isText = (value: unknown) => typeof value === 'string'
const isName = (value: unknown) => isText(value) && value !== ''
const isCount = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0
const isNull = (value: unknown) => value === null
/** For the members that the service omits when they have no value (decisions.md 40). */
const isAbsent = (value: unknown) => value === undefined
const isEmptyText = (value: unknown) => value === ''
const is = (literal: string) => (value: unknown) => value === literal
const isOf = (shape: AnyShape) => (value: unknown) => findWrong(value, shape) === undefined

const deltaUsage: Shape<MessageDeltaUsage> = {
  input_tokens: isCount,
  output_tokens: isCount,
  cache_creation_input_tokens: isCount,
  cache_read_input_tokens: isCount,
  output_tokens_details: value => isAbsent(value) || isOf({ thinking_tokens: isCount })(value),
  server_tool_use: isAbsent
}

const usage: Shape<Usage> = {
  ...deltaUsage,
  cache_creation: isAbsent,
  inference_geo: isAbsent,
  service_tier: is('standard'),
  speed: isAbsent
}

const message: Shape<Message> = {
  id: value => isText(value) && String(value).startsWith('msg_'),
  type: is('message'),
  role: is('assistant'),
  model: isName,
  content: value => Array.isArray(value) && value.length === 0,
  stop_reason: isNull,
  stop_sequence: isNull,
  stop_details: isNull,
  container: isAbsent,
  diagnostics: isAbsent,
  usage: isOf(usage)
}

type KnownStops = 'end_turn' | 'max_tokens' | 'stop_sequence' | 'tool_use' | 'refusal'
const stops: readonly KnownStops[] = ['end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'refusal']

const messageDelta: Shape<RawMessageDeltaEvent.Delta> = {
  container: isAbsent,
  stop_reason: value => stops.some(stop => stop === value),
  stop_sequence: value => isNull(value) || isName(value),
  stop_details: value => isNull(value) || isOf({ type: is('refusal'), category: isNull, explanation: isNull })(value)
}

const textBlock: Shape<TextBlock> = { type: is('text'), text: isEmptyText, citations: isAbsent }
const thinkingBlock: Shape<ThinkingBlock> = { type: is('thinking'), thinking: isEmptyText, signature: isEmptyText }
const redactedBlock: Shape<RedactedThinkingBlock> = { type: is('redacted_thinking'), data: isName }
const toolUseBlock: Shape<Omit<ToolUseBlock, 'toolset_name'>> = {
  type: is('tool_use'),
  id: value => isText(value) && /^[a-zA-Z0-9_-]{1,128}$/.test(String(value)),
  name: isName,
  input: value => JSON.stringify(value) === '{}',
  caller: isOf({ type: is('direct') })
}

/** The form of each block at its start, and the types of its deltas. */
const blocks = {
  text: { shape: textBlock, deltas: ['text_delta'] },
  thinking: { shape: thinkingBlock, deltas: ['thinking_delta', 'signature_delta'] },
  redacted_thinking: { shape: redactedBlock, deltas: [] },
  tool_use: { shape: toolUseBlock, deltas: ['input_json_delta'] }
}

/** Reads the frames of a whole stream. Throws with the first broken rule. */
export function readStrictly(text: string): ReadStream {
  check(text.endsWith('\n\n'), 'the stream ends with a blank line')
  const events = text.slice(0, -2).split('\n\n').map(readFrame)
  const last = events.at(-1)
  const error = last?.type === 'error' ? last : undefined
  const inner = error === undefined ? events : events.slice(0, -1)
  check(!inner.some(event => event.type === 'error'), 'an error is the last frame')
  checkOrder(inner, error === undefined)
  checkBlocks(inner, error === undefined)
  if (error !== undefined)
    check(isName(error.error.message) && isName(error.request_id), 'an error has a message and a request id')
  return { events: inner, error }
}

function readFrame(frame: string): MessagesStreamEvent {
  const [, name, data = ''] = /^event: (\w+)\ndata: ([^\n\r]+)$/.exec(frame) ?? []
  check(name !== undefined, 'a frame has an event line and a data line')
  const event: MessagesStreamEvent = JSON.parse(data)
  check(event.type === name, 'the data has the type of the event line')
  return event
}

function checkOrder(events: readonly MessagesStreamEvent[], isComplete: boolean): void {
  const [start, ping, ...rest] = events
  check(start?.type === 'message_start' && ping?.type === 'ping', 'the first frames are a start and a ping')
  expectShape(start.message, message)
  const outer = rest.map(event => event.type).filter(type => !type.startsWith('content_block_'))
  check(
    outer.join() === (isComplete ? 'message_delta,message_stop' : ''),
    'a complete stream ends once, and a failed stream has no end'
  )
  if (!isComplete) return
  check(rest.at(-1)?.type === 'message_stop' && rest.at(-2)?.type === 'message_delta', 'nothing follows the end')
  const end = rest.at(-2)
  if (end?.type !== 'message_delta') return
  expectShape(end.delta, messageDelta)
  expectShape(end.usage, deltaUsage)
  const { stop_reason: reason, stop_sequence: stop, stop_details: details } = end.delta
  const inputs = joinInputs(rest)
  const isCut = (reason === 'max_tokens' || reason === 'refusal') && !inputs.every(isObjectText)
  check(
    (reason === 'tool_use') === (inputs.length > 0 && !isCut),
    'the stop reason is tool_use if and only if there are calls and the response was not cut within one'
  )
  check((reason === 'stop_sequence') === (stop !== null), 'there is a stop string if and only if it is the reason')
  check((reason === 'refusal') === (details !== null), 'there are stop details if and only if the reason is a refusal')
}

/** The arguments of each call. */
function joinInputs(events: readonly MessagesStreamEvent[]): string[] {
  const inputs = new Map<number, string>()
  for (const event of events) {
    if (event.type === 'content_block_start' && event.content_block.type === 'tool_use') inputs.set(event.index, '')
    if (event.type !== 'content_block_delta' || event.delta.type !== 'input_json_delta') continue
    inputs.set(event.index, `${inputs.get(event.index) ?? ''}${event.delta.partial_json}`)
  }
  return [...inputs.values()]
}

function isObjectText(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

function checkBlocks(events: readonly MessagesStreamEvent[], isComplete: boolean): void {
  let count = 0
  let open: keyof typeof blocks | undefined
  let isSigned = false
  for (const event of events) {
    switch (event.type) {
      case 'content_block_start':
        check(open === undefined, 'no block starts inside another block')
        check(event.index === count, 'indexes count up without gaps')
        open = event.content_block.type
        expectShape(event.content_block, blocks[open].shape)
        isSigned = false
        count++
        break
      case 'content_block_delta': {
        check(open !== undefined && event.index === count - 1, 'a delta belongs to the open block')
        check(
          blocks[open].deltas.some(type => type === event.delta.type),
          'a delta is of the kind of its block'
        )
        check(!isSigned, 'nothing follows a signature')
        isSigned = event.delta.type === 'signature_delta'
        check(Object.values(event.delta).every(isName), 'no delta is empty')
        break
      }
      case 'content_block_stop':
        check(open !== undefined && event.index === count - 1, 'only the open block stops')
        check(open !== 'thinking' || isSigned, 'a thinking block ends with its signature')
        open = undefined
        break
      default:
        check(open === undefined, 'a block contains only deltas')
    }
  }
  check(!isComplete || open === undefined, 'every block stops')
  check(!isComplete || count > 0, 'a whole stream has a block')
}

function expectShape(value: unknown, shape: AnyShape): void {
  const wrong = findWrong(value, shape)
  check(wrong === undefined, `${wrong} has the form of the SDK's type`)
}

/** The first member that is missing, wrong or unknown. A missing member is checked as undefined. */
function findWrong(value: unknown, shape: AnyShape): string | undefined {
  if (typeof value !== 'object' || value === null) return 'the object'
  const members = new Map(Object.entries(value))
  const checks = new Map(Object.entries(shape))
  return (
    [...checks].find(([name, isRight]) => !isRight(members.get(name)))?.[0] ??
    [...members.keys()].find(name => !checks.has(name))
  )
}

function check(holds: boolean, rule: string): asserts holds {
  if (!holds) throw new Error(`Broken: ${rule}.`)
}
