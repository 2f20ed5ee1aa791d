// Providers whose streams the test writes, on each wire, and streams with a large picture in one event.

import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import t, { type Test } from 'tap'
import { type ChatProfileOptions, startProfileGateway, writeChatProfile } from '../../support/profile-gateway.ts'
import { families, send } from './families.ts'

export type Kind = NonNullable<ChatProfileOptions['kind']>

/** A provider whose streams the test writes. */
export async function startProvider(t: Test, write: (response: ServerResponse) => Promise<void>) {
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      write(response).catch(() => undefined)
    })
  })
  server.on('connection', socket => sockets.add(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { origin: `http://127.0.0.1:${port}`, sockets }
}

const data = (value: object) => `data: ${JSON.stringify(value)}\n\n`
const event = (value: { type: string }) => `event: ${value.type}\n${data(value)}`

/** The first text of a stream on each wire. */
export const starts: Record<Kind, string> = {
  chat_compatible: data({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta: { role: 'assistant', content: 'one' }, finish_reason: null }]
  }),
  messages_compatible:
    event({
      type: 'message_start',
      ...{
        message: { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], usage: { input_tokens: 1 } }
      }
    }) +
    event({ type: 'content_block_start', ...{ index: 0, content_block: { type: 'text', text: '' } } }) +
    event({ type: 'content_block_delta', ...{ index: 0, delta: { type: 'text_delta', text: 'one' } } }),
  content_compatible: data({ candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'one' }] } }] })
}

const chunk = (delta: object, finishReason: string | null = null) =>
  data({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finishReason }]
  })
const answerOf = (output: object[]) => ({
  id: 'r',
  object: 'response',
  created_at: 1,
  model: 'm',
  status: 'completed',
  output
})

interface PictureStream {
  profile: Partial<ChatProfileOptions>
  stream: string
  /** The families whose clients get the picture. */
  takers: string[]
}

/** A stream with a picture in one event, on each wire that has pictures. */
function writePictures(picture: string): Record<string, PictureStream> {
  const item = { id: 'ig_1', type: 'image_generation_call', status: 'completed', output_format: 'png', result: picture }
  return {
    content: {
      profile: { kind: 'content_compatible' },
      stream:
        starts.content_compatible +
        data({
          candidates: [
            {
              index: 0,
              content: { role: 'model', parts: [{ inlineData: { mimeType: 'image/png', data: picture } }] },
              finishReason: 'STOP'
            }
          ]
        }),
      takers: ['completions', 'content', 'responses']
    },
    // The wire has no pictures of its own: some services add a member, which only a client of the same wire gets.
    completions: {
      profile: {},
      stream:
        starts.chat_compatible +
        chunk({ images: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } }] }) +
        chunk({}, 'stop') +
        'data: [DONE]\n\n',
      takers: ['completions']
    },
    responses: {
      profile: { more: { wire: 'responses' } },
      stream:
        event({ type: 'response.created', ...{ response: { ...answerOf([]), status: 'in_progress' } } }) +
        event({
          type: 'response.output_item.added',
          ...{ output_index: 0, item: { ...item, status: 'in_progress', result: null } }
        }) +
        event({ type: 'response.output_item.done', ...{ output_index: 0, item } }) +
        event({ type: 'response.completed', ...{ response: answerOf([item]) } }),
      takers: ['completions', 'content', 'responses']
    }
  }
}

/** Tests that a picture of so many bytes is streamed to the clients that take it, on every wire. */
export function testPictures(bytes: number): void {
  const picture = Buffer.alloc(bytes, 'picture').toString('base64')
  for (const [wire, { profile, stream, takers }] of Object.entries(writePictures(picture))) {
    t.test(
      `providers 11: a picture of ${bytes / 1_000_000} MB in one event on the wire of ${wire} is streamed to the clients that take it`,
      async t => {
        const { origin } = await startProvider(t, async response => void response.end(stream))
        const baseUrl = profile.kind === 'content_compatible' ? origin : `${origin}/v1`
        const gateway = await startProfileGateway(t, {
          profiles: [writeChatProfile({ id: 'p', baseUrl, aliases: [{ alias: 'flood/a' }], ...profile })]
        })
        for (const family of families) {
          const response = await send(gateway.url, family, { model: 'flood/a', prompt: 'hi', isStream: true })
          t.equal(response.isCut, false, `${family.name}: ${response.text.slice(-300)}`)
          t.equal(response.status, 200, family.name)
          t.equal(response.text.includes(picture), takers.includes(family.name), family.name)
        }
      }
    )
  }
}
