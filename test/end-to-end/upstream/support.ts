// What the tests of the upstream contract have in common: prompts through a gateway, and what the embedded upstream saw of them.

import type { Emulator, RecordedRequest } from '../../../ops/emulator/server.ts'
import { type HttpResponse, post, readFrames } from '../../support/client.ts'

export const model = 'GigaChat-2'
export const versions = ['v1', 'v2'] as const
export type Version = (typeof versions)[number]

export interface Prompt {
  /** Members of the body beside model and messages; they win. */
  more?: object
  headers?: Record<string, string>
}

/** Asks one question over the completions family. */
export function ask(
  gateway: { url: string },
  version: Version,
  content: unknown,
  prompt: Prompt = {}
): Promise<HttpResponse> {
  const body = { model, messages: [{ role: 'user', content }], ...prompt.more }
  return post(`${gateway.url}/${version}/chat/completions`, body, prompt.headers)
}

/** Asks for a stream and reads its frames. */
export async function stream(gateway: { url: string }, version: Version, content: unknown, prompt: Prompt = {}) {
  const response = await ask(gateway, version, content, { ...prompt, more: { ...prompt.more, stream: true } })
  return { response, frames: response.status === 200 ? readFrames(response.text) : [] }
}

interface Chunk {
  choices?: Array<{ delta: { content?: string | null; reasoning_content?: string } }>
}

/** The text that the content deltas of a stream make together. */
export function textOf(frames: Chunk[]): string {
  return frames.map(frame => frame.choices?.[0]?.delta.content ?? '').join('')
}

export function reasoningOf(frames: Chunk[]): string {
  return frames.map(frame => frame.choices?.[0]?.delta.reasoning_content ?? '').join('')
}

/** The requests whose path ends so, oldest first. */
export function received(emulator: Emulator, pathEnd: string): RecordedRequest[] {
  return emulator.requests.filter(({ path }) => path.endsWith(pathEnd))
}

/** The newest request whose path ends so. */
export function lastReceived(emulator: Emulator, pathEnd: string): RecordedRequest {
  const request = received(emulator, pathEnd).at(-1)
  if (request === undefined) throw new Error(`The upstream received nothing on ${pathEnd}.`)
  return request
}

let pictures = 0

/** An image part with bytes that no other test uses, so that the upload cache has no entry for it. */
export function imagePart(type = 'image/png'): object {
  const data = Buffer.from(`picture ${process.pid} ${pictures++}`).toString('base64')
  return { type: 'image_url', image_url: { url: `data:${type};base64,${data}` } }
}

export const textPart = (text: string): object => ({ type: 'text', text })
