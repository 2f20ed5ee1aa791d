// Responses of the chat-completions wire that break its rules, one for each detailed id of the
// table of provider errors (bridge.md 8.7).
import type { Frame } from '../frame.ts'

/** Changes a whole response into a malformed one; returns the text of the body. */
type BreakWhole = (body: WholeBody) => string

/** Changes the frames of a stream; `chunk` writes the data of a chunk with these members instead of those of its head. */
type BreakStream = (frames: readonly Frame[], chunk: (members: Record<string, unknown>) => string) => Frame[]

interface WholeBody {
  choices: Array<Record<string, unknown> & { message: Record<string, unknown> }>
  [name: string]: unknown
}

function change(members: Record<string, unknown>): BreakWhole {
  return body => JSON.stringify({ ...body, ...members })
}

function changeChoice(members: Record<string, unknown>): BreakWhole {
  return body => JSON.stringify({ ...body, choices: body.choices.map(choice => ({ ...choice, ...members })) })
}

function changeMessage(members: Record<string, unknown>): BreakWhole {
  return body => {
    const choices = body.choices.map(choice => ({ ...choice, message: { ...choice.message, ...members } }))
    return JSON.stringify({ ...body, choices })
  }
}

const malformedWholes: Record<string, BreakWhole> = {
  invalid_json_response: body => JSON.stringify(body).slice(0, -10),
  response_not_object: () => '["a list"]',
  invalid_choices: change({ choices: { index: 0 } }),
  empty_choices: change({ choices: [] }),
  invalid_choice: change({ choices: ['a text'] }),
  invalid_message: changeChoice({ message: 'a text' }),
  invalid_message_content: changeMessage({ content: 5 }),
  invalid_finish_reason: changeChoice({ finish_reason: 7 }),
  invalid_tool_call: changeMessage({ tool_calls: [{ id: 'call_1', type: 'function', function: { arguments: 5 } }] }),
  invalid_usage: change({ usage: { prompt_tokens: -1, completion_tokens: 'two', total_tokens: 1 } })
}

function delta(members: unknown, more: Record<string, unknown> = {}): Record<string, unknown> {
  return { choices: [{ index: 0, delta: members, finish_reason: null, ...more }] }
}

const finish = delta({}, { finish_reason: 'stop' })
const lateText = delta({ content: ' late' })

function toolCall(call: unknown): Record<string, unknown> {
  return delta({ tool_calls: [call] })
}

function frame(data: string, kind: Frame['kind'] = 'delta'): Frame {
  return { event: null, data, kind }
}

/** Puts the chunks behind the first text, or in front of the terminal chunk of a response without text. */
function insert(...chunks: Array<Record<string, unknown>>): BreakStream {
  return (frames, write) => {
    const text = frames.findIndex(one => /"content":"[^"]/.test(one.data))
    const at = text === -1 ? frames.findIndex(one => one.kind !== 'delta') : text + 1
    return frames.toSpliced(at, 0, ...chunks.map(members => frame(write(members))))
  }
}

function insertText(data: string): BreakStream {
  return frames => {
    const text = frames.findIndex(one => /"content":"[^"]/.test(one.data))
    return frames.toSpliced(text + 1, 0, frame(data, 'done'))
  }
}

/** Puts a chunk behind the frame that has the finish reason. */
function afterFinish(members: Record<string, unknown>): BreakStream {
  return (frames, write) => {
    const at = frames.findIndex(one => one.kind === 'finish')
    return frames.toSpliced(at + 1, 0, frame(write(members)))
  }
}

const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }

const malformedStreams: Record<string, BreakStream> = {
  invalid_stream_json: insertText('{"choices":[{"delta":{"content":"cut of'),
  invalid_stream_chunk: insertText('["a list"]'),
  invalid_stream_choices: insert({ choices: { index: 0 } }),
  invalid_stream_choice: insert({ choices: ['a text'] }),
  invalid_stream_delta: insert(delta('a text')),
  invalid_stream_content: insert(delta({ content: 5 })),
  invalid_stream_tool_calls: insert(delta({ tool_calls: 'a text' })),
  invalid_stream_tool_call: insert(toolCall('a text')),
  invalid_finish_reason: insert(delta({}, { finish_reason: 7 })),
  invalid_usage: insert({ choices: [], usage: { prompt_tokens: -1, completion_tokens: 'two', total_tokens: 1 } }),
  stream_tool_identity_changed: insert(
    toolCall({ index: 0, id: 'call_1', type: 'function', function: { name: 'first', arguments: '{' } }),
    toolCall({ index: 0, id: 'call_1', type: 'function', function: { name: 'second', arguments: '}' } })
  ),
  stream_data_after_terminal: afterFinish(lateText),
  duplicate_stream_terminal: afterFinish(finish),
  stream_data_after_usage: (frames, write) => [
    ...frames.filter(one => one.kind !== 'done'),
    frame(write({ choices: [], usage }), 'finish'),
    frame(write(lateText)),
    frame('[DONE]', 'done')
  ],
  stream_data_after_done: (frames, write) => [...frames, frame(write(lateText))],
  duplicate_stream_done: frames => [...frames, frame('[DONE]', 'done')],
  incomplete_stream: frames => frames.filter(one => one.kind === 'delta')
}

/** The values of the directive `malformed`. */
export const malformedNames: readonly string[] = [
  ...new Set([...Object.keys(malformedWholes), ...Object.keys(malformedStreams)])
]

/** The text of a malformed whole response; undefined for a name that only streams have. */
export function writeMalformed(name: string, body: Record<string, unknown>): string | undefined {
  return Object.hasOwn(malformedWholes, name) ? malformedWholes[name]?.(body as WholeBody) : undefined
}

/** The frames of a malformed stream; the same frames for a name that only whole responses have. */
export function breakStream(
  name: string,
  frames: readonly Frame[],
  chunk: (members: Record<string, unknown>) => string
): readonly Frame[] {
  return (Object.hasOwn(malformedStreams, name) ? malformedStreams[name]?.(frames, chunk) : undefined) ?? frames
}
