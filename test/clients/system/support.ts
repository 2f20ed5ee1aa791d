// The four client families behind one interface, for tests of what must hold in each of them.

import { type Answer, post } from '../../support/client.ts'

export const model = 'GigaChat-2'
export const families = ['completions', 'responses', 'messages', 'content'] as const
export type Family = (typeof families)[number]

export interface AskOptions {
  stream?: boolean
  model?: string
  headers?: Record<string, string>
  /** Before the path, such as `/v2`; each family has its own usual one. */
  prefix?: string
  /** Behind the path, such as `?key=k`. */
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

/** Asks one question in the words of a family. */
export function askIn(
  gateway: { url: string },
  family: Family,
  text: string,
  options: AskOptions = {}
): Promise<Answer> {
  return post(urlOf(gateway, family, options), bodyOf(family, text, options), options.headers)
}

/** Opens a stream and leaves it to the caller to read it, or not. */
export function openStream(
  gateway: { url: string },
  family: Family,
  text: string,
  options: AskOptions & { signal?: AbortSignal } = {}
): Promise<Response> {
  const streamed = { ...options, stream: true }
  return fetch(urlOf(gateway, family, streamed), {
    method: 'POST',
    body: JSON.stringify(bodyOf(family, text, streamed)),
    headers: { 'content-type': 'application/json', ...options.headers },
    ...(options.signal === undefined ? {} : { signal: options.signal })
  })
}

/** The text of a whole answer. */
export function textIn(family: Family, answer: Answer): string {
  const { json } = answer
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
  /** The word for the class of the error: `type` or `status`. */
  kind: string
  code: string | null
  message: string
}

/**
 * Reads an error in the family's envelope. Throws when the body holds anything but that envelope, so that every test that looks at an
 * error also proves its form.
 */
export function readError(family: Family, answer: Answer): ReadError {
  const { json, headers } = answer
  const fail = (): never => {
    throw new Error(`No envelope of ${family}: ${answer.status} ${answer.text}`)
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
      if (json.error.code !== answer.status) fail()
      const info = json.error.details?.find((detail: { '@type': string }) => detail['@type'].endsWith('ErrorInfo'))
      return { kind: json.error.status, code: info?.reason ?? null, message: json.error.message }
    }
  }
}

function expectMembers(object: object, names: string[], fail: () => never): void {
  if (Object.keys(object).sort().join() !== names.sort().join()) fail()
}
