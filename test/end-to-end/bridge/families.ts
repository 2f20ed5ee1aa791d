// Every client protocol in one form: a question and what came back of it, whole and streamed, and how each shows an error.

import { type HttpResponse, postUntilCut, readFrames } from '../../support/client.ts'

// biome-ignore lint/suspicious/noExplicitAny: a test asserts on the members it expects and fails when they are absent.
export type Loose = any

export interface Question {
  model: string
  prompt: string
  isStream?: boolean
  /** Further members of the body. */
  more?: object
  headers?: Record<string, string>
}

export interface Call {
  id: string
  name: string
  arguments: unknown
}

/** What a response says, in words of no protocol. */
export interface Outcome {
  text: string
  reasoning: string
  refusal: string
  calls: Call[]
  finish: string
  model: string
  usage: { input: number; output: number; cached: number } | undefined
}

export interface Failure {
  message: string
  /** The error type or, for content, the status word. */
  type: string
  code: string | null
  param: string | null
}

export type FamilyName = 'completions' | 'responses' | 'messages' | 'content'

export interface Family {
  name: FamilyName
  /** The members that declare the weather tool and another one. */
  tools: object
  /** The members without which the protocol does not show reasoning. */
  showsReasoning?: object
  path(question: Question): string
  body(question: Question): object
  read(response: HttpResponse): Outcome
  readStream(response: HttpResponse): Outcome
  /** The error of a response with an error status. */
  readFailure(response: HttpResponse): Failure
  /** The error within a stream that has begun; undefined when there is none. */
  readStreamFailure(text: string): Failure | undefined
}

/** Sends a question and reads the whole response, also of a stream that is cut. */
export function send(url: string, family: Family, question: Question): Promise<HttpResponse & { isCut: boolean }> {
  return postUntilCut(url + family.path(question), family.body(question), question.headers)
}

/** Sends a question and resolves with the head of the response: that of a stream comes with its first event. */
export function openStream(url: string, family: Family, question: Question, signal?: AbortSignal): Promise<Response> {
  return fetch(url + family.path(question), {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...question.headers },
    body: JSON.stringify(family.body(question)),
    ...(signal === undefined ? {} : { signal })
  })
}

/** Sends a question that must succeed. Rejects with the body of any other response. */
export async function ask(url: string, family: Family, question: Question): Promise<Outcome> {
  const response = await send(url, family, question)
  if (response.status !== 200 || response.isCut) throw new Error(`${response.status}: ${response.text}`)
  return question.isStream === true ? family.readStream(response) : family.read(response)
}

const names = ['weather', 'clock'] as const
const parameters = { type: 'object', properties: { city: { type: 'string' } } }
const description = 'A tool'

const completions: Family = {
  name: 'completions',
  tools: { tools: names.map(name => ({ type: 'function', function: { name, description, parameters } })) },
  path: () => '/v1/chat/completions',
  body: ({ model, prompt, isStream, more }) => ({
    model,
    messages: [{ role: 'user', content: prompt }],
    ...(isStream === true ? { stream: true, stream_options: { include_usage: true } } : {}),
    ...more
  }),
  read({ json }) {
    const { message, finish_reason: finish } = json.choices[0]
    return {
      text: message.content ?? '',
      // On its own wire a provider's name for it stays.
      reasoning: message.reasoning_content ?? message.reasoning ?? '',
      refusal: message.refusal ?? '',
      calls: (message.tool_calls ?? []).map(readChatCall),
      finish,
      model: json.model,
      usage: readChatUsage(json.usage)
    }
  },
  readStream({ text }) {
    const chunks: Loose[] = readFrames(text).filter(frame => frame !== '[DONE]')
    const choices = chunks.flatMap(chunk => chunk.choices)
    const calls: Loose[] = []
    for (const { index, id, function: piece } of choices.flatMap(({ delta }) => delta.tool_calls ?? [])) {
      calls[index] ??= { id, function: { name: piece.name, arguments: '' } }
      calls[index].function.arguments += piece.arguments ?? ''
    }
    const join = (name: string) => choices.map(({ delta }) => delta[name] ?? '').join('')
    return {
      text: join('content'),
      reasoning: choices.map(({ delta }) => delta.reasoning_content ?? delta.reasoning ?? '').join(''),
      refusal: join('refusal'),
      calls: calls.map(readChatCall),
      finish: choices.findLast(choice => choice.finish_reason)?.finish_reason,
      model: chunks[0]?.model,
      usage: readChatUsage(chunks.findLast(chunk => chunk.usage)?.usage)
    }
  },
  readFailure: ({ json }) => readOpenAiError(json.error),
  readStreamFailure(text) {
    const frame = readFrames(text).findLast(one => one.error !== undefined)
    return frame === undefined ? undefined : readOpenAiError(frame.error)
  }
}

function readChatCall({ id, function: { name, arguments: text } }: Loose): Call {
  return { id, name, arguments: JSON.parse(text) }
}

function readChatUsage(usage: Loose): Outcome['usage'] {
  if (usage === undefined || usage === null) return undefined
  return {
    input: usage.prompt_tokens,
    output: usage.completion_tokens,
    cached: usage.prompt_tokens_details?.cached_tokens ?? 0
  }
}

function readOpenAiError({ message, type, code, param }: Loose): Failure {
  return { message, type, code, param }
}

const responses: Family = {
  name: 'responses',
  tools: { tools: names.map(name => ({ type: 'function', name, description, parameters, strict: false })) },
  path: () => '/v1/responses',
  body: ({ model, prompt, isStream, more }) => ({
    model,
    input: prompt,
    ...(isStream === true ? { stream: true } : {}),
    ...more
  }),
  read: ({ json }) => readResponse(json),
  readStream({ text }) {
    const last = readFrames(text).findLast(frame => frame.response !== undefined)
    return readResponse(last?.response)
  },
  readFailure: ({ json }) => readOpenAiError(json.error),
  readStreamFailure(text) {
    const frames = readFrames(text)
    const failed = frames.findLast(frame => frame.type === 'response.failed' || frame.type === 'error')
    if (failed === undefined) return undefined
    const error = failed.response?.error ?? failed
    return { message: error.message, type: failed.type, code: error.code, param: null }
  }
}

function readResponse({ output, status, incomplete_details: details, model, usage }: Loose): Outcome {
  const parts = output.flatMap((item: Loose) => (item.type === 'message' ? item.content : []))
  const calls = output.filter((item: Loose) => item.type === 'function_call')
  const thoughts = output.flatMap((item: Loose) => (item.type === 'reasoning' ? item.summary : []))
  return {
    text: parts.map((part: Loose) => part.text ?? '').join(''),
    reasoning: thoughts.map((part: Loose) => part.text).join(''),
    refusal: parts.map((part: Loose) => part.refusal ?? '').join(''),
    calls: calls.map((call: Loose) => ({ id: call.call_id, name: call.name, arguments: JSON.parse(call.arguments) })),
    finish: details === null ? status : details.reason,
    model,
    usage:
      usage === null
        ? undefined
        : {
            input: usage.input_tokens,
            output: usage.output_tokens,
            cached: usage.input_tokens_details.cached_tokens
          }
  }
}

const messages: Family = {
  name: 'messages',
  tools: { tools: names.map(name => ({ name, description, input_schema: parameters })) },
  path: () => '/v1/messages',
  body: ({ model, prompt, isStream, more }) => ({
    model,
    max_tokens: 256,
    messages: [{ role: 'user', content: prompt }],
    ...(isStream === true ? { stream: true } : {}),
    ...more
  }),
  read: ({ json }) => readMessage(json),
  readStream({ text }) {
    const blocks: Loose[] = []
    let message: Loose
    for (const event of readFrames(text)) {
      switch (event.type) {
        case 'message_start':
          message = event.message
          break
        case 'content_block_start':
          blocks[event.index] = { ...event.content_block, json: '' }
          break
        case 'content_block_delta': {
          const { text: piece = '', thinking = '', partial_json = '' } = event.delta
          const block = blocks[event.index]
          if (block.type === 'text') block.text += piece
          if (block.type === 'thinking') block.thinking += thinking
          block.json += partial_json
          break
        }
        case 'message_delta':
          message = { ...message, stop_reason: event.delta.stop_reason, usage: event.usage }
          break
      }
    }
    const content = blocks.map(({ json, ...block }) =>
      block.type === 'tool_use' ? { ...block, input: JSON.parse(json === '' ? '{}' : json) } : block
    )
    return readMessage({ ...message, content })
  },
  readFailure: ({ json }) => readMessagesError(json),
  readStreamFailure(text) {
    const frame = readFrames(text).findLast(one => one.type === 'error')
    return frame === undefined ? undefined : readMessagesError(frame)
  }
}

function readMessage({ content, stop_reason: finish, model, usage }: Loose): Outcome {
  const uses = content.filter((block: Loose) => block.type === 'tool_use')
  const text = content.map((block: Loose) => block.text ?? '').join('')
  return {
    // A refusal is a text here; only the stop reason tells it.
    text: finish === 'refusal' ? '' : text,
    reasoning: content.map((block: Loose) => block.thinking ?? '').join(''),
    refusal: finish === 'refusal' ? text : '',
    calls: uses.map(({ id, name, input }: Loose) => ({ id, name, arguments: input })),
    finish,
    model,
    usage: {
      // The three counts of the input add up (decisions.md 84).
      input: usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0),
      output: usage.output_tokens,
      cached: usage.cache_read_input_tokens ?? 0
    }
  }
}

function readMessagesError({ error: { message, type, code, details } }: Loose): Failure {
  // The envelope of this protocol has no member for the field; the message begins with its path.
  const path = /^((?:\w+\.)*\w+): /.exec(message)?.[1]?.replaceAll(/\.(\d+)/g, '[$1]')
  return { message, type, code: code ?? details?.error_code ?? null, param: path ?? null }
}

const content: Family = {
  name: 'content',
  tools: {
    tools: [{ functionDeclarations: names.map(name => ({ name, description, parametersJsonSchema: parameters })) }]
  },
  showsReasoning: { generationConfig: { thinkingConfig: { includeThoughts: true } } },
  path: ({ model, isStream }) =>
    `/v1beta/models/${model}:${isStream === true ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  body: ({ prompt, more }) => ({ contents: [{ role: 'user', parts: [{ text: prompt }] }], ...more }),
  read: ({ json }) => readChunks([json]),
  readStream: ({ text }) => readChunks(readFrames(text)),
  readFailure: ({ json }) => readContentError(json.error),
  readStreamFailure(text) {
    const line = text.split('\n').findLast(one => one.startsWith('{"error":'))
    return line === undefined ? undefined : readContentError(JSON.parse(line).error)
  }
}

function readChunks(chunks: Loose[]): Outcome {
  const parts = chunks.flatMap(chunk => chunk.candidates?.[0]?.content?.parts ?? [])
  const usage = chunks.findLast(chunk => chunk.usageMetadata !== undefined)?.usageMetadata
  const calls = parts.flatMap(part => (part.functionCall === undefined ? [] : [part.functionCall]))
  const finish = chunks.findLast(chunk => chunk.candidates?.[0]?.finishReason !== undefined)?.candidates[0].finishReason
  const text = parts.map(part => (part.thought === true ? '' : (part.text ?? ''))).join('')
  return {
    text,
    reasoning: parts.map(part => (part.thought === true ? part.text : '')).join(''),
    refusal: '',
    calls: calls.map(({ id, name, args }) => ({ id, name, arguments: args })),
    finish,
    model: chunks[0]?.modelVersion,
    usage:
      usage === undefined
        ? undefined
        : {
            input: usage.promptTokenCount,
            output: (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0),
            cached: usage.cachedContentTokenCount ?? 0
          }
  }
}

function readContentError({ message, status, details = [] }: Loose): Failure {
  const info = details.find((detail: Loose) => detail['@type']?.endsWith('ErrorInfo'))
  const field = details.find((detail: Loose) => detail['@type']?.endsWith('BadRequest'))
  return {
    message,
    type: status,
    code: info?.reason ?? null,
    param: field?.fieldViolations?.[0]?.field ?? null
  }
}

export const families: readonly Family[] = [completions, responses, messages, content]
