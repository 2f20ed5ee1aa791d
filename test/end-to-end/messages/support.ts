// Shared by the tests of the messages family: minimal requests, and the events of a stream.

import { type HttpResponse, post } from '../../support/client.ts'

export const model = 'GigaChat-2'
/** The v2 model that may return several calls. */
export const largest = 'GigaChat-2-Max'
export const versions = ['v1', 'v2'] as const
export type Version = (typeof versions)[number]

/** Sends one question, or the messages of `more`. */
export function ask(
  gateway: { url: string },
  version: Version,
  content: unknown,
  more: object = {},
  headers: Record<string, string> = {}
): Promise<HttpResponse> {
  const body = { model, max_tokens: 100, messages: [{ role: 'user', content }], ...more }
  return post(`${gateway.url}/${version}/messages`, body, headers)
}

// biome-ignore lint/suspicious/noExplicitAny: a test asserts on the members it expects and fails when they are absent.
export type StreamEvent = any

/** Requests a stream and reads its events; each frame must have the name of its event, or the SDK would drop it. */
export async function stream(
  gateway: { url: string },
  version: Version,
  content: unknown,
  more: object = {}
): Promise<{ response: HttpResponse; events: StreamEvent[] }> {
  const response = await ask(gateway, version, content, { stream: true, ...more })
  return { response, events: readEvents(response.text) }
}

export function readEvents(text: string): StreamEvent[] {
  if (!text.endsWith('\n\n')) throw new Error('The stream ends inside a frame.')
  return text
    .slice(0, -2)
    .split('\n\n')
    .map(frame => {
      const [name, data, ...rest] = frame.split('\n')
      const event = JSON.parse(data?.replace(/^data: /, '') ?? '')
      if (name !== `event: ${event.type}` || rest.length > 0) throw new Error(`The frame ${frame} is malformed.`)
      return event
    })
}

/** Every block of a stream with its accumulated deltas, by index, and how the message ended. */
export function addUp(events: readonly StreamEvent[]): { blocks: string[]; stop: unknown } {
  const blocks: string[] = []
  let openIndex: number | undefined
  let stop: unknown
  for (const event of events) {
    switch (event.type) {
      case 'content_block_start':
        if (openIndex !== undefined || event.index !== blocks.length) throw new Error('Two blocks are open at once.')
        openIndex = event.index
        blocks.push(`${event.content_block.type}:`)
        break
      case 'content_block_delta': {
        const { text, thinking, partial_json } = event.delta
        if (event.index !== openIndex) throw new Error('A delta belongs to no open block.')
        blocks[event.index] += text ?? thinking ?? partial_json ?? ''
        break
      }
      case 'content_block_stop':
        if (event.index !== openIndex) throw new Error('A block ends that is not open.')
        openIndex = undefined
        break
      case 'message_delta':
        stop = event.delta.stop_reason
        break
    }
  }
  return { blocks, stop }
}
