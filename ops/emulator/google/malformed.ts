// Responses of the Google GenAI wire that break its rules, under the ids of `openai/malformed.ts` as far as this wire has what they break.
import type { Frame } from '../frame.ts'

type Members = Record<string, unknown>

/** Changes a whole response into a malformed one; returns the text of the body. */
type BreakWhole = (body: Members) => string

/** Changes the frames of a stream; `chunk` writes the data of a chunk with these members instead of those of its head. */
type BreakStream = (frames: readonly Frame[], chunk: (members: Members) => string) => Frame[]

function change(members: Members): BreakWhole {
  return body => JSON.stringify({ ...body, ...members })
}

function candidate(members: Members): Members {
  return { candidates: [{ content: { role: 'model', parts: [{ text: 'Text' }] }, index: 0, ...members }] }
}

function parts(list: unknown): Members {
  return candidate({ content: { role: 'model', parts: list } })
}

const wrongCall = { functionCall: { name: 5, args: 'a text' } }
const wrongUsage = { usageMetadata: { promptTokenCount: -1, candidatesTokenCount: 'two', totalTokenCount: 1 } }

const malformedWholes: Record<string, BreakWhole> = {
  invalid_json_response: body => JSON.stringify(body).slice(0, -10),
  response_not_object: () => '["a list"]',
  invalid_choices: change({ candidates: { index: 0 } }),
  empty_choices: change({ candidates: [] }),
  invalid_choice: change({ candidates: ['a text'] }),
  invalid_message: change(candidate({ content: 'a text', finishReason: 'STOP' })),
  invalid_message_content: change(parts({ text: 'Text' })),
  invalid_finish_reason: change(candidate({ finishReason: 5 })),
  invalid_tool_call: change(parts([wrongCall])),
  invalid_usage: change(wrongUsage)
}

function frame(data: string, kind: Frame['kind'] = 'delta'): Frame {
  return { event: null, data, kind }
}

/** Puts the chunk behind the first one. */
function insert(members: Members): BreakStream {
  return (frames, write) => frames.toSpliced(1, 0, frame(write(members)))
}

function insertText(data: string): BreakStream {
  return frames => frames.toSpliced(1, 0, frame(data))
}

const malformedStreams: Record<string, BreakStream> = {
  invalid_stream_json: insertText('{"candidates":[{"content":{"parts":[{"text":"cut of'),
  invalid_stream_chunk: insertText('["a list"]'),
  invalid_stream_choices: insert({ candidates: { index: 0 } }),
  invalid_stream_choice: insert({ candidates: ['a text'] }),
  invalid_stream_delta: insert(candidate({ content: 'a text' })),
  invalid_stream_content: insert(parts({ text: 'Text' })),
  invalid_stream_tool_call: insert(parts([wrongCall])),
  invalid_finish_reason: insert(candidate({ finishReason: 5 })),
  invalid_usage: insert({ candidates: [], ...wrongUsage }),
  stream_data_after_terminal: (frames, write) => [...frames, frame(write(parts([{ text: ' late' }])))],
  duplicate_stream_terminal: (frames, write) => [
    ...frames,
    frame(write(candidate({ finishReason: 'STOP' })), 'finish')
  ],
  incomplete_stream: frames => frames.filter(one => one.kind === 'delta')
}

/** The text of a malformed whole response; undefined for a name that this wire does not break. */
export function writeMalformedGoogle(name: string, body: Members): string | undefined {
  return Object.hasOwn(malformedWholes, name) ? malformedWholes[name]?.(body) : undefined
}

/** The frames of a malformed stream; the same frames for a name that this wire does not break. */
export function breakGoogleStream(
  name: string,
  frames: readonly Frame[],
  chunk: (members: Members) => string
): readonly Frame[] {
  return (Object.hasOwn(malformedStreams, name) ? malformedStreams[name]?.(frames, chunk) : undefined) ?? frames
}
