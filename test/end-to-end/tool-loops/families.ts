// A client of each family without an SDK: it asks with two functions, reads text and calls of a response, whole or streamed, and
// repeats what it received in its next request, as the SDKs do.

import { post, readFrames } from '../../support/client.ts'

// biome-ignore lint/suspicious/noExplicitAny: a test asserts on the members it expects and fails when they are absent.
export type Loose = any

export interface Question {
  url: string
  version: 'v1' | 'v2'
  model: string
  isStream: boolean
  /** Members of the body beside model, conversation, tools and stream; they win. */
  more?: object
}

export interface Call {
  id: string
  name: string
  arguments: unknown
}

export interface Turn {
  text: string
  calls: Call[]
  /** What the client adds to its history. */
  history: Loose[]
}

export interface Family {
  name: string
  /** The members of a body with which the client refuses and requests several calls; absent where the family has none. */
  refusal?: object
  request?: object
  ask(question: Question, history: Loose[]): Promise<Turn>
  writeUser(text: string): Loose
  /** The turns of the client that give results to calls. */
  writeResults(results: Array<{ call: Call; value: object }>): Loose[]
}

const names = ['get_weather', 'get_time'] as const
const parameters = { type: 'object', properties: { city: { type: 'string' } } }

async function send(url: string, body: object): Promise<{ json: Loose; frames: Loose[] }> {
  const { status, text, json } = await post(url, body)
  if (status !== 200) throw new Error(text)
  return { json, frames: json === undefined ? readFrames(text) : [] }
}

const completions: Family = {
  name: 'completions',
  refusal: { parallel_tool_calls: false },
  request: { parallel_tool_calls: true },
  async ask({ url, version, model, isStream, more }, messages) {
    const tools = names.map(name => ({ type: 'function', function: { name, parameters } }))
    const body = { model, messages, tools, stream: isStream, ...more }
    const { json, frames } = await send(`${url}/${version}/chat/completions`, body)
    const message = isStream ? addUpDeltas(frames) : json.choices[0].message
    const calls = message.tool_calls ?? []
    return {
      text: message.content ?? '',
      calls: calls.map((call: Loose) => readCall(call.id, call.function.name, call.function.arguments)),
      history: [message]
    }
  },
  writeUser: content => ({ role: 'user', content }),
  writeResults: results =>
    results.map(({ call, value }) => ({ role: 'tool', tool_call_id: call.id, content: JSON.stringify(value) }))
}

/** The message that the chunks of a stream add up to. */
export function addUpDeltas(frames: Loose[]): Loose {
  const calls: Loose[] = []
  const details: Loose[] = []
  let content = ''
  for (const delta of frames.map(frame => frame.choices?.[0]?.delta ?? {})) {
    content += delta.content ?? ''
    details.push(...(delta.reasoning_details ?? []))
    for (const { index, id, function: piece, extra_content: extra } of delta.tool_calls ?? []) {
      const kept = extra === undefined ? {} : { extra_content: extra }
      calls[index] ??= { id, type: 'function', function: { name: piece.name, arguments: '' }, ...kept }
      calls[index].function.arguments += piece.arguments ?? ''
    }
  }
  const reasoning = details.length === 0 ? {} : { reasoning_details: details }
  return { role: 'assistant', content: content === '' ? null : content, tool_calls: calls, ...reasoning }
}

const responses: Family = {
  name: 'responses',
  refusal: { parallel_tool_calls: false },
  request: { parallel_tool_calls: true },
  async ask({ url, version, model, isStream, more }, input) {
    const tools = names.map(name => ({ type: 'function', name, parameters }))
    const body = { model, input, tools, stream: isStream, ...more }
    const { json, frames } = await send(`${url}/${version}/responses`, body)
    const { output } = isStream ? frames.find(frame => frame.type === 'response.completed').response : json
    const parts = output.flatMap((item: Loose) => (item.type === 'message' ? item.content : []))
    const calls = output.filter((item: Loose) => item.type === 'function_call')
    return {
      text: parts.map((part: Loose) => part.text).join(''),
      calls: calls.map((call: Loose) => readCall(call.call_id, call.name, call.arguments)),
      history: output
    }
  },
  writeUser: content => ({ role: 'user', content }),
  writeResults: results =>
    results.map(({ call, value }) => ({
      type: 'function_call_output',
      call_id: call.id,
      output: JSON.stringify(value)
    }))
}

const messages: Family = {
  name: 'messages',
  refusal: { tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
  request: { tool_choice: { type: 'auto', disable_parallel_tool_use: false } },
  async ask({ url, version, model, isStream, more }, history) {
    const tools = names.map(name => ({ name, input_schema: parameters }))
    const body = { model, max_tokens: 100, messages: history, tools, stream: isStream, ...more }
    const { json, frames } = await send(`${url}/${version}/messages`, body)
    const content: Loose[] = isStream ? addUpBlocks(frames) : json.content
    const uses = content.filter(block => block.type === 'tool_use')
    return {
      text: content.map(block => block.text ?? '').join(''),
      calls: uses.map(({ id, name, input }) => ({ id, name, arguments: input })),
      history: [{ role: 'assistant', content }]
    }
  },
  writeUser: content => ({ role: 'user', content }),
  writeResults: results => [
    {
      role: 'user',
      content: results.map(({ call, value }) => ({
        type: 'tool_result',
        tool_use_id: call.id,
        content: JSON.stringify(value)
      }))
    }
  ]
}

/** The blocks that the events of a stream add up to. */
export function addUpBlocks(frames: Loose[]): Loose[] {
  const blocks: Loose[] = []
  for (const { type, index, content_block: block, delta } of frames) {
    if (type === 'content_block_start') blocks[index] = { ...block, json: '' }
    if (type !== 'content_block_delta') continue
    if (delta.text !== undefined) blocks[index].text += delta.text
    if (delta.thinking !== undefined) blocks[index].thinking += delta.thinking
    if (delta.signature !== undefined) blocks[index].signature += delta.signature
    blocks[index].json += delta.partial_json ?? ''
  }
  return blocks.map(({ json, ...block }) => (block.type === 'tool_use' ? { ...block, input: readInput(json) } : block))
}

/** The service sends no arguments as an empty text; of cut ones an SDK keeps an object too. */
function readInput(json: string): object {
  try {
    return JSON.parse(json === '' ? '{}' : json)
  } catch {
    return {}
  }
}

const content: Family = {
  name: 'content',
  async ask({ url, version, model, isStream, more }, contents) {
    const tools = [{ functionDeclarations: names.map(name => ({ name, parametersJsonSchema: parameters })) }]
    const operation = isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'
    const body = { contents, tools, ...more }
    const { json, frames } = await send(`${url}/${version}/v1beta/models/${model}:${operation}`, body)
    const chunks: Loose[] = isStream ? frames : [json]
    const parts = chunks.flatMap(chunk => chunk.candidates?.[0]?.content?.parts ?? [])
    const text = parts.map(part => part.text ?? '').join('')
    const calls = parts.filter(part => part.functionCall !== undefined)
    return {
      text,
      calls: calls.map(({ functionCall: { id, name, args } }) => ({ id, name, arguments: args })),
      history: [{ role: 'model', parts }]
    }
  },
  writeUser: text => ({ role: 'user', parts: [{ text }] }),
  writeResults: results => [
    {
      role: 'user',
      parts: results.map(({ call, value }) => ({
        functionResponse: { id: call.id, name: call.name, response: value }
      }))
    }
  ]
}

function readCall(id: string, name: string, json: string): Call {
  return { id, name, arguments: JSON.parse(json) }
}

export const families: readonly Family[] = [completions, responses, messages, content]
