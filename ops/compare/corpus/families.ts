// The main operation of each client family, for cases that hold in all of them.

import type { CaseRequest, CompareCase, WireResponse } from '../types.ts'

export const families = ['completions', 'responses', 'messages', 'content'] as const
export type Family = (typeof families)[number]
export const versions = ['v1', 'v2'] as const
export type Version = (typeof versions)[number]

export const model = 'GigaChat-2'
/** The model of v2 that may make several calls in one response. */
export const largest = 'GigaChat-2-Max'

/** One way to ask for a response. */
export interface Form {
  family: Family
  version: Version
  isStream: boolean
}

/** Every family, contract and form of the response. */
export const forms: Form[] = families.flatMap(family =>
  versions.flatMap(version => [false, true].map(isStream => ({ family, version, isStream })))
)

export function nameForm({ family, version, isStream }: Form): string {
  return `${family} ${version} ${isStream ? 'streamed' : 'whole'}`
}

/** A request with the members of `more` in its body; `model` names another model. */
export function writeChat(form: Form, more: object, options: { model?: string } = {}): CaseRequest {
  const { family, version, isStream } = form
  const name = options.model ?? model
  const body = { model: name, ...(isStream ? { stream: true } : {}), ...more }
  switch (family) {
    case 'completions':
      return { path: `/${version}/chat/completions`, body }
    case 'responses':
      return { path: `/${version}/responses`, body }
    case 'messages':
      return { path: `/${version}/messages`, body: { max_tokens: 1000, ...body } }
    case 'content': {
      const operation = isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'
      return { path: `/${version}/v1beta/models/${name}:${operation}`, body: more }
    }
  }
}

/** The members that carry one user text. */
export function writePrompt(family: Family, text: string): object {
  switch (family) {
    case 'completions':
    case 'messages':
      return { messages: [{ role: 'user', content: text }] }
    case 'responses':
      return { input: text }
    case 'content':
      return { contents: [{ role: 'user', parts: [{ text }] }] }
  }
}

/** A user message with parts in the family's own words. */
export function writeParts(family: Family, parts: readonly object[]): object {
  switch (family) {
    case 'completions':
    case 'messages':
      return { messages: [{ role: 'user', content: parts }] }
    case 'responses':
      return { input: [{ role: 'user', content: parts }] }
    case 'content':
      return { contents: [{ role: 'user', parts }] }
  }
}

/** A case of one request. */
export function createCase(name: string, request: CaseRequest): CompareCase {
  return {
    name,
    async run({ send }) {
      await send(request)
    }
  }
}

/** The same members in every contract and form of a family, one case for each. */
export function createFamilyCases(family: Family, group: string, bodies: readonly object[]): CompareCase[] {
  return forms
    .filter(form => form.family === family)
    .flatMap(form =>
      bodies.map(body =>
        createCase(`${group} ${nameForm(form)} ${JSON.stringify(body).slice(0, 120)}`, writeChat(form, body))
      )
    )
}

/** The parsed JSON of a whole response, or of the data of every event of a stream. */
export function readJson(response: WireResponse): Loose[] {
  const text = response.body.toString('utf8')
  if (text.startsWith('{')) return [JSON.parse(text)]
  return text
    .split('\n')
    .filter(line => line.startsWith('data: {'))
    .map(line => JSON.parse(line.slice('data: '.length)))
}

// biome-ignore lint/suspicious/noExplicitAny: the members of foreign JSON; what is missing shows as a difference or as an exception.
export type Loose = any
