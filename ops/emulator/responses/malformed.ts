// Responses of the Responses wire that break its rules, one for each detailed id of the table of provider errors (bridge.md 8.7).
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
  invalid_output: change({ output: 'a text' }),
  invalid_output_item: change({ output: ['a text'] }),
  invalid_message_content: change({ output: [{ type: 'message', content: [{ type: 'output_text', text: 5 }] }] }),
  invalid_tool_call: change({ output: [{ type: 'function_call', call_id: 'call_1', name: 5, arguments: '{}' }] }),
  invalid_response_status: change({ status: 'in_progress' }),
  invalid_usage: change({ usage: { input_tokens: -1, output_tokens: 'two' } })
}

function frame(type: string, members: Body, kind: Frame['kind'] = 'delta'): Frame {
  return { event: type, data: JSON.stringify({ type, sequence_number: 999, ...members }), kind }
}

const isText = ({ event }: Frame) => event === 'response.output_text.delta'

/** Puts the frames behind the first text, or in front of the end of a response without text. */
function insert(...added: Frame[]): BreakStream {
  return frames => {
    const text = frames.findIndex(isText)
    const at = text === -1 ? frames.findIndex(one => one.kind !== 'delta') : text + 1
    return frames.toSpliced(at, 0, ...added)
  }
}

const textDelta = (members: Body) =>
  frame('response.output_text.delta', { output_index: 0, content_index: 0, ...members })

const malformedStreams: Record<string, BreakStream> = {
  invalid_stream_json: insert({ event: 'response.output_text.delta', data: '{"type":"response.out', kind: 'delta' }),
  invalid_stream_chunk: insert({ event: 'response.output_text.delta', data: '["a list"]', kind: 'delta' }),
  invalid_stream_item: insert(textDelta({ output_index: 7, delta: 'x' })),
  invalid_stream_delta: insert(textDelta({ delta: 5 })),
  invalid_output: insert(frame('response.completed', { response: { status: 'completed', output: 'a text' } })),
  invalid_output_item: insert(frame('response.completed', { response: { status: 'completed', output: ['a'] } })),
  invalid_response_status: insert(frame('response.completed', { response: { status: 'queued', output: [] } })),
  invalid_usage: insert(
    frame('response.completed', { response: { status: 'completed', output: [], usage: { input_tokens: -1 } } })
  ),
  stream_data_before_start: frames => [textDelta({ delta: 'x' }), ...frames],
  incomplete_stream: frames => frames.filter(one => one.kind === 'delta')
}

/** The values of the directive `malformed` on this wire. */
export const malformedResponsesNames: readonly string[] = [
  ...new Set([...Object.keys(malformedWholes), ...Object.keys(malformedStreams)])
]

/** The text of a malformed whole response; undefined for a name that it does not have. */
export function writeMalformedResponse(name: string, body: Body): string | undefined {
  return Object.hasOwn(malformedWholes, name) ? malformedWholes[name]?.(body) : undefined
}

/** The frames of a malformed stream; the same frames for a name that streams do not have. */
export function breakResponsesStream(name: string, frames: Frame[]): Frame[] {
  return (Object.hasOwn(malformedStreams, name) ? malformedStreams[name]?.(frames) : undefined) ?? frames
}
