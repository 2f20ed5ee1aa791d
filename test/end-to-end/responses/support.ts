// Shared by the tests of the Responses operation: minimal requests, and streams that are read twice, strictly by
// the contract and by the SDK's helper.

import OpenAI from 'openai'
import { readResponsesStrictly } from '../../properties/responses-events.ts'
import { type HttpResponse, post } from '../../support/client.ts'

export const model = 'GigaChat-2'
/** The v2 model that may return several calls. */
export const largest = 'GigaChat-2-Max'
export const versions = ['v1', 'v2'] as const
export type Version = (typeof versions)[number]

/** The schema S1 of the contract: it has every feature that a translation could lose. */
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

/** Sends a request with this input and the members of `more`. */
export function ask(
  gateway: { url: string },
  version: Version,
  input: unknown,
  more: object = {},
  headers: Record<string, string> = {}
): Promise<HttpResponse> {
  return post(`${gateway.url}/${version}/responses`, { model, input, ...more }, headers)
}

export function createClient(gateway: { url: string }, version: Version): OpenAI {
  return new OpenAI({ baseURL: `${gateway.url}/${version}`, apiKey: 'unused', maxRetries: 0 })
}

// biome-ignore lint/suspicious/noExplicitAny: a test asserts on the members it expects and fails when they are absent.
export type Loose = any

export interface ReadStream {
  httpResponse: HttpResponse
  events: Loose[]
  types: string[]
  /** The response of the terminal event. */
  response: Loose
}

/** Requests a stream and reads it strictly: numbers without gaps, one terminal event, every rule of the SDK's accumulation. */
export async function stream(
  gateway: { url: string },
  version: Version,
  input: unknown,
  more: object = {}
): Promise<ReadStream> {
  const httpResponse = await ask(gateway, version, input, { stream: true, ...more })
  if (httpResponse.status !== 200) throw new Error(httpResponse.text)
  const { events, response } = readResponsesStrictly(httpResponse.text)
  return { httpResponse, events, types: events.map(({ type }) => String(type)), response }
}

/** The response that the SDK's stream helper accumulates for the same request. */
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
