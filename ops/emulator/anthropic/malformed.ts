// Responses of the Anthropic wire that break its rules, one for each detailed id of the table of
// provider errors (bridge.md 8.7).
import type { Frame } from '../frame.ts'

type Body = Record<string, unknown>
type BreakWhole = (body: Body) => string
type BreakStream = (frames: readonly Frame[]) => Frame[]

function change(members: Body): BreakWhole {
  return body => JSON.stringify({ ...body, ...members })
}

const malformedWholes: Record<string, BreakWhole> = {
  invalid_json_response: body => JSON.stringify(body).slice(0, -10),
  response_not_object: () => '["a list"]',
  invalid_message_content: change({ content: 'a text' }),
  invalid_content_block: change({ content: ['a text'] }),
  invalid_finish_reason: change({ stop_reason: 5 }),
  invalid_tool_call: change({ content: [{ type: 'tool_use', id: 'toolu_1', name: 5, input: {} }] }),
  invalid_usage: change({ usage: { input_tokens: -1, output_tokens: 'two' } })
}

function frame(type: string, members: Body, kind: Frame['kind'] = 'delta'): Frame {
  return { event: type, data: JSON.stringify({ type, ...members }), kind }
}

const isText = ({ data }: Frame) => /"text_delta","text":"[^"]/.test(data)

/** Puts the frames behind the first text, or in front of the end of a response without text. */
function insert(...added: Frame[]): BreakStream {
  return frames => {
    const text = frames.findIndex(isText)
    const at = text === -1 ? frames.findIndex(one => one.kind !== 'delta') : text + 1
    return frames.toSpliced(at, 0, ...added)
  }
}

/** Puts a frame behind the frame of this kind. */
function after(kind: Frame['kind'], ...added: Frame[]): BreakStream {
  return frames => frames.toSpliced(frames.findIndex(one => one.kind === kind) + 1, 0, ...added)
}

function delta(members: unknown, index = 0): Frame {
  return frame('content_block_delta', { index, delta: members })
}

const lateText = delta({ type: 'text_delta', text: ' late' })
const refusal = frame('message_delta', { delta: { stop_reason: 'refusal', stop_sequence: null } }, 'finish')

const malformedStreams: Record<string, BreakStream> = {
  invalid_stream_json: insert({
    event: 'content_block_delta',
    data: '{"type":"content_block_delta","del',
    kind: 'delta'
  }),
  invalid_stream_chunk: insert({ event: 'content_block_delta', data: '["a list"]', kind: 'delta' }),
  invalid_stream_block: insert(delta({ type: 'text_delta', text: 'x' }, 7)),
  invalid_stream_delta: insert(delta('a text')),
  invalid_stream_content: insert(delta({ type: 'text_delta', text: 5 })),
  invalid_finish_reason: insert(frame('message_delta', { delta: { stop_reason: 5 } })),
  invalid_usage: insert(frame('message_delta', { delta: {}, usage: { input_tokens: -1, output_tokens: 'two' } })),
  duplicate_stream_start: insert(frame('message_start', { message: { id: 'msg_2', content: [] } })),
  stream_data_before_start: frames => [lateText, ...frames],
  stream_data_after_terminal: after('finish', lateText),
  duplicate_stream_terminal: after('finish', refusal),
  stream_data_after_done: after('done', lateText),
  incomplete_stream: frames => frames.filter(one => one.kind === 'delta')
}

/** The values of the directive `malformed` on this wire. */
export const malformedMessagesNames: readonly string[] = [
  ...new Set([...Object.keys(malformedWholes), ...Object.keys(malformedStreams)])
]

/** The text of a malformed whole response; undefined for a name that it does not have. */
export function writeMalformedMessage(name: string, body: Body): string | undefined {
  return Object.hasOwn(malformedWholes, name) ? malformedWholes[name]?.(body) : undefined
}

/** The frames of a malformed stream; the same frames for a name that streams do not have. */
export function breakMessagesStream(name: string, frames: Frame[]): Frame[] {
  return (Object.hasOwn(malformedStreams, name) ? malformedStreams[name]?.(frames) : undefined) ?? frames
}
