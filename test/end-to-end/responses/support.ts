// What the tests of the Responses operation have in common: requests of the smallest form, and streams that are read twice, by
// the letter of the contract and by the SDK's own helper.

import OpenAI from 'openai'
import { readResponsesStrictly } from '../../properties/responses-events.ts'
import { type Answer, post } from '../../support/client.ts'

export const model = 'GigaChat-2'
/** The model of v2 that may make several calls. */
export const largest = 'GigaChat-2-Max'
export const versions = ['v1', 'v2'] as const
export type Version = (typeof versions)[number]

/** The schema S1 of the contract: everything that an upstream could be tempted to lose. */
export const schema = {
  type: 'object',
  properties: {
    a: { $ref: '#/$defs/A' },
    b: { anyOf: [{ type: 'string', format: 'email' }, { type: 'null' }] },
    c: true,
    d: { type: ['integer', 'null'], enum: [1, 2] },
    e: {}
  },
  required: ['a'],
  additionalProperties: false,
  $defs: { A: { type: 'object', properties: { next: { $ref: '#/$defs/A' } } } }
}

export const tool = (name: string, parameters: object = { type: 'object', properties: {} }) => ({
  type: 'function',
  name,
  parameters
})

/** Sends an input with the members of `more`. */
export function ask(
  gateway: { url: string },
  version: Version,
  input: unknown,
  more: object = {},
  headers: Record<string, string> = {}
): Promise<Answer> {
  return post(`${gateway.url}/${version}/responses`, { model, input, ...more }, headers)
}

export function createClient(gateway: { url: string }, version: Version): OpenAI {
  return new OpenAI({ baseURL: `${gateway.url}/${version}`, apiKey: 'unused', maxRetries: 0 })
}

// biome-ignore lint/suspicious/noExplicitAny: a test asserts on the members it expects and fails when they are not there.
export type Loose = any

export interface ReadStream {
  answer: Answer
  events: Loose[]
  types: string[]
  /** The response of the terminal event. */
  response: Loose
}

/** Asks for a stream and reads it strictly: numbers without gaps, one terminal event, every rule of the SDK's accumulation. */
export async function stream(
  gateway: { url: string },
  version: Version,
  input: unknown,
  more: object = {}
): Promise<ReadStream> {
  const answer = await ask(gateway, version, input, { stream: true, ...more })
  if (answer.status !== 200) throw new Error(answer.text)
  const { events, response } = readResponsesStrictly(answer.text)
  return { answer, events, types: events.map(({ type }) => String(type)), response }
}

/** What the SDK's stream helper makes of a stream to the same request. */
export async function accumulate(gateway: { url: string }, version: Version, input: string, more: object = {}) {
  const request = { model, input, ...more } as Parameters<OpenAI['responses']['stream']>[0]
  return createClient(gateway, version).responses.stream(request).finalResponse()
}

/** The text of all messages of a response. */
export function textOf(response: Loose): string {
  return response.output
    .filter((item: Loose) => item.type === 'message')
    .flatMap((item: Loose) => item.content)
    .map((part: Loose) => part.text ?? '')
    .join('')
}

export function callsOf(response: Loose): Loose[] {
  return response.output.filter((item: Loose) => item.type === 'function_call')
}
