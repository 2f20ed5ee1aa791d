// Shared by the tests of the content family: minimal requests, and the chunks of a stream.

import type { createEmulator } from '../../../ops/emulator/server.ts'
import { type HttpResponse, post, postUntilCut } from '../../support/client.ts'

export const model = 'gemini-2.5-pro'
/** The v2 model that may return several calls. */
export const largest = 'GigaChat-2-Max'
export const versions = ['v1', 'v2'] as const
export type Version = (typeof versions)[number]

/** Clients of this family send the vendor's model names; the emulator must know them. */
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
): Promise<HttpResponse> {
  return post(urlOf(gateway, version, operation, options), body, options.headers)
}

function urlOf(gateway: { url: string }, version: Version, operation: string, options: Options): string {
  return `${gateway.url}/${version}/v1beta/models/${options.model ?? model}:${operation}${options.query ?? ''}`
}

/** Requests a stream that fails: the text before its error, and the error, behind which the connection must close. */
export async function failingStream(
  gateway: { url: string },
  version: Version,
  text: string,
  query: '?alt=sse' | '?alt=json' = '?alt=sse'
): Promise<{ response: HttpResponse; chunks: Chunk[]; error: Chunk }> {
  const url = urlOf(gateway, version, 'streamGenerateContent', { query })
  const response = await postUntilCut(url, say(text))
  if (!response.isCut) throw new Error(`The connection stayed open behind: ${response.text}`)
  if (query === '?alt=json') {
    return { response, chunks: response.json.slice(0, -1), error: response.json.at(-1).error }
  }
  const [, frames = '', error = ''] = /^([\s\S]*\n\n)(\{"error":[^\n]+\})\n\n$/.exec(response.text) ?? []
  return { response, chunks: readChunks(frames), error: JSON.parse(error).error }
}

/** Sends one question, or the contents of `more`. */
export function generate(
  gateway: { url: string },
  version: Version,
  text: string,
  more: object = {},
  options: Options = {}
): Promise<HttpResponse> {
  return call(gateway, version, 'generateContent', { ...say(text), ...more }, options)
}

// biome-ignore lint/suspicious/noExplicitAny: a test asserts on the members it expects and fails when they are absent.
export type Chunk = any

/** Requests a stream of server-sent events, as the SDK does. */
export async function stream(
  gateway: { url: string },
  version: Version,
  text: string,
  more: object = {},
  options: Options = {}
): Promise<{ response: HttpResponse; chunks: Chunk[] }> {
  const body = { ...say(text), ...more }
  const response = await call(gateway, version, 'streamGenerateContent', body, { query: '?alt=sse', ...options })
  return { response, chunks: response.status === 200 ? readChunks(response.text) : [] }
}

/** Every frame is one line of data; the SDK knows neither event names nor an end mark, and every frame must be complete. */
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

export function partsOf(response: Chunk): Chunk[] {
  return response.candidates?.[0]?.content?.parts ?? []
}

/** The visible text of one response, or of the chunks of one. */
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
