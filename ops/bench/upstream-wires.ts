// Ordinary responses of the benchmark's upstream, whole and in events, on the native wire and on those of external providers. Which one is
// wanted stands in the path.

export type UpstreamWire = 'native' | 'chat' | 'responses' | 'messages' | 'content'

export interface WireResponses {
  whole: string
  /** The first event of a stream, with all that stands before it. */
  first: string
  /** One token. */
  token: string
  /** The last events of a stream. */
  last: string
}

const WHOLE_TEXT = 'x'.repeat(700)
const MODEL = 'bench:1'
const CREATED = 1767225600
const INPUT = 500
const OUTPUT = 150

/** The wire of a request by its path. */
export function findWire(path: string): UpstreamWire {
  if (path.includes('/anthropic/')) return 'messages'
  if (path.includes('/google/')) return 'content'
  if (!path.includes('/openai/')) return 'native'
  return path.endsWith('/responses') ? 'responses' : 'chat'
}

export const wireResponses: Readonly<Record<UpstreamWire, WireResponses>> = {
  native: writeChat({}),
  // Responses on this wire have an id.
  chat: writeChat({ id: 'chatcmpl-bench' }),
  responses: writeResponses(),
  messages: writeMessages(),
  content: writeContent()
}

function writeChat(more: object): WireResponses {
  const usage = {
    prompt_tokens: INPUT,
    completion_tokens: OUTPUT,
    total_tokens: INPUT + OUTPUT,
    precached_prompt_tokens: 2
  }
  const head = { created: CREATED, model: MODEL, object: 'chat.completion', ...more }
  const write = (choice: object, members: object = {}) => frame({ choices: [choice], ...head, ...members })
  return {
    whole: JSON.stringify({
      ...more,
      choices: [{ message: { content: WHOLE_TEXT, role: 'assistant' }, index: 0, finish_reason: 'stop' }],
      created: CREATED,
      model: MODEL,
      object: 'chat.completion',
      usage
    }),
    first: write({ delta: { content: 'Hello', role: 'assistant' }, index: 0 }),
    token: write({ delta: { content: ' token' }, index: 0 }),
    last: `${write({ delta: { content: '' }, index: 0, finish_reason: 'stop' }, { usage })}data: [DONE]\n\n`
  }
}

function writeMessages(): WireResponses {
  const message = { id: 'msg_bench', type: 'message', role: 'assistant', model: MODEL }
  const usage = { input_tokens: INPUT, output_tokens: OUTPUT }
  const open = { content: [], stop_reason: null, stop_sequence: null, usage: { ...usage, output_tokens: 1 } }
  const write = (type: string, members: object) => frame({ type, ...members }, type)
  const add = (text: string) => write('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })
  return {
    whole: JSON.stringify({
      ...message,
      content: [{ type: 'text', text: WHOLE_TEXT }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage
    }),
    first:
      write('message_start', { message: { ...message, ...open } }) +
      write('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }) +
      add('Hello'),
    token: add(' token'),
    last:
      write('content_block_stop', { index: 0 }) +
      write('message_delta', {
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: OUTPUT }
      }) +
      write('message_stop', {})
  }
}

function writeContent(): WireResponses {
  const usageMetadata = { promptTokenCount: INPUT, candidatesTokenCount: OUTPUT, totalTokenCount: INPUT + OUTPUT }
  const head = { modelVersion: MODEL, responseId: 'bench' }
  const write = (text: string, more: object = {}) => ({
    candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0, ...more }],
    usageMetadata,
    ...head
  })
  return {
    whole: JSON.stringify(write(WHOLE_TEXT, { finishReason: 'STOP' })),
    first: frame(write('Hello')),
    token: frame(write(' token')),
    last: frame(write('', { finishReason: 'STOP' }))
  }
}

function writeResponses(): WireResponses {
  const response = { id: 'resp_bench', object: 'response', created_at: CREATED, model: MODEL, store: false }
  const usage = { input_tokens: INPUT, output_tokens: OUTPUT, total_tokens: INPUT + OUTPUT }
  const part = (text: string) => ({ type: 'output_text', text, annotations: [] })
  const message = (status: string, content: object[]) => ({
    type: 'message',
    id: 'msg_bench',
    status,
    role: 'assistant',
    content
  })
  const at = { item_id: 'msg_bench', output_index: 0, content_index: 0 }
  const write = (type: string, members: object) => frame({ type, sequence_number: 0, ...members }, type)
  const add = (delta: string) => write('response.output_text.delta', { ...at, delta })
  const finished = (text: string) => ({
    ...response,
    status: 'completed',
    output: [message('completed', [part(text)])],
    usage
  })
  return {
    whole: JSON.stringify(finished(WHOLE_TEXT)),
    first:
      write('response.created', { response: { ...response, status: 'in_progress', output: [] } }) +
      write('response.output_item.added', { output_index: 0, item: message('in_progress', []) }) +
      write('response.content_part.added', { ...at, part: part('') }) +
      add('Hello'),
    token: add(' token'),
    last:
      write('response.output_text.done', { ...at, text: 'Hello' }) +
      write('response.content_part.done', { ...at, part: part('Hello') }) +
      write('response.output_item.done', { output_index: 0, item: message('completed', [part('Hello')]) }) +
      write('response.completed', { response: finished('Hello') })
  }
}

function frame(payload: object, event?: string): string {
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(payload)}\n\n`
}
