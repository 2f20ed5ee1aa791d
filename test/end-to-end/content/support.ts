// What the tests of the content family have in common: requests of the smallest form, and the chunks of a stream.

import type { createEmulator } from '../../../ops/emulator/server.ts'
import { type Answer, post } from '../../support/client.ts'

export const model = 'gemini-2.5-pro'
/** The model of v2 that may make several calls. */
export const largest = 'GigaChat-2-Max'
export const versions = ['v1', 'v2'] as const
export type Version = (typeof versions)[number]

/** Clients of this family bring model names of their own; the embedded upstream must know them. */
export const emulatorOptions: Parameters<typeof createEmulator>[0] = {
  extraModels: [model, 'gemini-x', 'google/gemini-x', 'X']
}

export const user = (...parts: object[]) => ({ role: 'user', parts })
export const modelTurn = (...parts: object[]) => ({ role: 'model', parts })
export const say = (text: string) => ({ contents: [user({ text })] })

export interface Options {
  model?: string
  headers?: Record<string, string>
  query?: string
}

/** Calls an operation of the family, such as `generateContent`. */
export function call(
  gateway: { url: string },
  version: Version,
  operation: string,
  body: object | string,
  options: Options = {}
): Promise<Answer> {
  const path = `/${version}/v1beta/models/${options.model ?? model}:${operation}${options.query ?? ''}`
  return post(gateway.url + path, body, options.headers)
}

/** Asks one question, or sends the contents of `more`. */
export function generate(
  gateway: { url: string },
  version: Version,
  text: string,
  more: object = {},
  options: Options = {}
): Promise<Answer> {
  return call(gateway, version, 'generateContent', { ...say(text), ...more }, options)
}

// biome-ignore lint/suspicious/noExplicitAny: a test asserts on the members it expects and fails when they are not there.
export type Chunk = any

/** Asks for a stream as server-sent events, as the SDK does. */
export async function stream(
  gateway: { url: string },
  version: Version,
  text: string,
  more: object = {},
  options: Options = {}
): Promise<{ answer: Answer; chunks: Chunk[] }> {
  const body = { ...say(text), ...more }
  const answer = await call(gateway, version, 'streamGenerateContent', body, { query: '?alt=sse', ...options })
  return { answer, chunks: answer.status === 200 ? readChunks(answer.text) : [] }
}

/** Every frame is one line of data; the SDK knows neither event names nor an end mark, and no frame may be cut off. */
export function readChunks(text: string): Chunk[] {
  if (!text.endsWith('\n\n')) throw new Error('The stream ends inside a frame.')
  return text
    .slice(0, -2)
    .split('\n\n')
    .map(frame => {
      if (!frame.startsWith('data: ') || frame.includes('\n')) throw new Error(`The frame ${frame} is malformed.`)
      return JSON.parse(frame.slice('data: '.length))
    })
}

export function partsOf(answer: Chunk): Chunk[] {
  return answer.candidates?.[0]?.content?.parts ?? []
}

/** The visible text of one answer, or of the chunks of one. */
export function textOf(...chunks: Chunk[]): string {
  return chunks
    .flatMap(partsOf)
    .filter(part => part.thought !== true)
    .map(part => part.text ?? '')
    .join('')
}

export function callsOf(...chunks: Chunk[]): Chunk[] {
  return chunks.flatMap(partsOf).flatMap(part => (part.functionCall === undefined ? [] : [part.functionCall]))
}
