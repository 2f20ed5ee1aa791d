// One interface for the four client families, for tests that apply to each of them.

import { endsWithError, type HttpResponse, post, postUntilCut } from '../../support/client.ts'

export const model = 'GigaChat-2'
export const families = ['completions', 'responses', 'messages', 'content'] as const
export type Family = (typeof families)[number]

export interface AskOptions {
  stream?: boolean
  model?: string
  headers?: Record<string, string>
  /** Prefix of the path, such as `/v2`; each family has a default. */
  prefix?: string
  /** Appended to the path, such as `?key=k`. */
  query?: string
  /** Further members of the body. */
  more?: object
}

/** The address of the family's main operation. */
export function urlOf(gateway: { url: string }, family: Family, options: AskOptions = {}): string {
  const { query = '' } = options
  switch (family) {
    case 'completions':
      return `${gateway.url}${options.prefix ?? '/v1'}/chat/completions${query}`
    case 'responses':
      return `${gateway.url}${options.prefix ?? '/v1'}/responses${query}`
    case 'messages':
      return `${gateway.url}${options.prefix ?? '/v1'}/messages${query}`
    case 'content': {
      const operation = options.stream === true ? 'streamGenerateContent' : 'generateContent'
      return `${gateway.url}${options.prefix ?? '/v1beta'}/models/${options.model ?? model}:${operation}${query}`
    }
  }
}

/** The body of the family's main operation with one user text. */
export function bodyOf(family: Family, text: string, options: AskOptions = {}): object {
  const base = { model: options.model ?? model, ...(options.stream === true ? { stream: true } : {}) }
  switch (family) {
    case 'completions':
      return { ...base, messages: [{ role: 'user', content: text }], ...options.more }
    case 'responses':
      return { ...base, input: text, ...options.more }
    case 'messages':
      return { ...base, max_tokens: 1000, messages: [{ role: 'user', content: text }], ...options.more }
    case 'content':
      return { contents: [{ role: 'user', parts: [{ text }] }], ...options.more }
  }
}

/** Sends one question in the form of a family. Only a failed stream breaks off, behind its error (decisions.md 108). */
export async function askIn(
  gateway: { url: string },
  family: Family,
  text: string,
  options: AskOptions = {}
): Promise<HttpResponse> {
  const request = [urlOf(gateway, family, options), bodyOf(family, text, options), options.headers] as const
  if (options.stream !== true) return post(...request)
  const response = await postUntilCut(...request)
  const isFailed =
    response.status === 200 && (endsWithError(response.text) || /"error":[^\n]+\}\]$/.test(response.text))
  if (response.isCut !== isFailed) throw new Error(`A stream breaks off if and only if it fails: ${response.text}`)
  return response
}

/** Keeps open streams referenced: a collected response closes its connection. */
const openedStreams: Response[] = []

/** Opens a stream without reading it. */
export async function openStream(
  gateway: { url: string },
  family: Family,
  text: string,
  options: AskOptions & { signal?: AbortSignal } = {}
): Promise<Response> {
  const streamed = { ...options, stream: true }
  const response = await fetch(urlOf(gateway, family, streamed), {
    method: 'POST',
    body: JSON.stringify(bodyOf(family, text, streamed)),
    headers: { 'content-type': 'application/json', ...options.headers },
    ...(options.signal === undefined ? {} : { signal: options.signal })
  })
  openedStreams.push(response)
  return response
}

/** The text of a whole response. */
export function textIn(family: Family, response: HttpResponse): string {
  const { json } = response
  switch (family) {
    case 'completions':
      return json.choices[0].message.content
    case 'responses':
      return json.output.flatMap((item: { content?: Array<{ text?: string }> }) => item.content ?? [])[0]?.text ?? ''
    case 'messages':
      return json.content[0]?.text ?? ''
    case 'content':
      return json.candidates[0].content.parts[0]?.text ?? ''
  }
}

export interface ReadError {
  /** The class of the error: `type` or `status`. */
  kind: string
  code: string | null
  message: string
}

/**
 * Reads an error in the family's envelope. Throws when the body holds anything but that envelope, so that every test that looks at an
 * error also proves its form.
 */
export function readError(family: Family, response: HttpResponse): ReadError {
  const { json, headers } = response
  const fail = (): never => {
    throw new Error(`No envelope of ${family}: ${response.status} ${response.text}`)
  }
  if (!/^application\/json/.test(headers.get('content-type') ?? '')) fail()
  if (typeof json?.error?.message !== 'string' || json.error.message === '') fail()
  switch (family) {
    case 'completions':
    case 'responses': {
      const isMachineDocument = json.schema_version === 'gateway.error.v1'
      expectMembers(json, isMachineDocument ? ['error', 'schema_version'] : ['error'], fail)
      const own = ['code', 'message', 'param', 'type']
      expectMembers(json.error, isMachineDocument ? [...own, 'details'] : own, fail)
      return { kind: json.error.type, code: json.error.code, message: json.error.message }
    }
    case 'messages':
      expectMembers(json, ['error', 'request_id', 'type'], fail)
      if (json.type !== 'error' || json.request_id !== headers.get('x-request-id')) fail()
      if (headers.get('request-id') !== headers.get('x-request-id')) fail()
      return { kind: json.error.type, code: json.error.code ?? null, message: json.error.message }
    case 'content': {
      expectMembers(json, ['error'], fail)
      if (json.error.code !== response.status) fail()
      const info = json.error.details?.find((detail: { '@type': string }) => detail['@type'].endsWith('ErrorInfo'))
      return { kind: json.error.status, code: info?.reason ?? null, message: json.error.message }
    }
  }
}

function expectMembers(object: object, names: string[], fail: () => never): void {
  if (Object.keys(object).sort().join() !== names.sort().join()) fail()
}

/** A server-sent event as it is sent. */
export interface SentEvent {
  /** '' when the frame has no name. */
  name: string
  /** Parsed JSON, or the text when it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: a test asserts on the members it expects and fails when they are absent.
  data: any
}

/** The events of an SSE text, without comments. */
export function readEvents(text: string): SentEvent[] {
  return withFrameOfError(text)
    .split('\n\n')
    .map(frame => frame.split('\n').filter(line => !line.startsWith(':')))
    .filter(lines => lines.some(line => line.startsWith('data:')))
    .map(lines => {
      const name =
        lines
          .find(line => line.startsWith('event:'))
          ?.slice(6)
          .trim() ?? ''
      const data = lines
        .filter(line => line.startsWith('data:'))
        .map(line => line.slice(5).trim())
        .join('\n')
      try {
        return { name, data: JSON.parse(data) }
      } catch {
        return { name, data }
      }
    })
}

/**
 * The content family's error stands alone at the end of a stream (decisions.md 52): here it becomes
 * an event like the others.
 */
function withFrameOfError(text: string): string {
  return text.replace(/(?<=^|\n\n)(?=\{"error":[^\n]+\}\n\n$)/, 'data: ')
}

/** The joined text of a stream's deltas. */
export function streamedTextIn(family: Family, text: string): string {
  return readEvents(text)
    .map(({ name, data }) => {
      switch (family) {
        case 'completions':
          return data.choices?.[0]?.delta.content ?? ''
        case 'responses':
          return name === 'response.output_text.delta' ? data.delta : ''
        case 'messages':
          return data.delta?.type === 'text_delta' ? data.delta.text : ''
        case 'content':
          return (data.candidates?.[0]?.content?.parts ?? [])
            .map((part: { text?: string; thought?: boolean }) => (part.thought === true ? '' : (part.text ?? '')))
            .join('')
      }
      return ''
    })
    .join('')
}

/** How a stream ended. Throws when the family's SDK does not know that kind of end. */
export function readEnd(family: Family, text: string): 'success' | 'error' {
  const events = readEvents(text)
  const last = events.at(-1)
  const isError = ({ name, data }: SentEvent): boolean =>
    family === 'responses' ? name === 'response.failed' || name === 'error' : data?.error !== undefined
  const isSuccess = ({ name, data }: SentEvent): boolean => {
    switch (family) {
      case 'completions':
        return typeof data.choices?.[0]?.finish_reason === 'string'
      case 'responses':
        return name === 'response.completed' || name === 'response.incomplete'
      case 'messages':
        return name === 'message_stop'
      case 'content':
        return data.candidates?.[0]?.finishReason !== undefined
    }
    return false
  }
  const ends = events.filter(event => isError(event) || isSuccess(event))
  const isMarked = family === 'completions' && ends.every(isSuccess)
  const hasLastEnd = isMarked ? last?.data === '[DONE]' : last !== undefined && ends.includes(last)
  if (ends.length !== 1 || !hasLastEnd) throw new Error(`No clear end of ${family}: ${text}`)
  return ends.some(isError) ? 'error' : 'success'
}
