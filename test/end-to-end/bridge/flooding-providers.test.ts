// Providers that send more than a response may have: what is read of them once a bound is met, and
// pictures that are large and within the bounds.

import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import t, { type Test } from 'tap'
import { waitUntil } from '../../support/processes.ts'
import { type ChatProfileOptions, startProfileGateway, writeChatProfile } from '../../support/profile-gateway.ts'
import { type Family, families, send } from './families.ts'

const MEBIBYTE = 1024 * 1024
/** What the kernels and the connections hold on the way: it leaves the provider although nothing of it is read. */
const ON_THE_WAY_MAX = 24 * MEBIBYTE

type Kind = NonNullable<ChatProfileOptions['kind']>

/** A provider whose streams the test writes. */
async function startProvider(t: Test, write: (response: ServerResponse) => Promise<void>) {
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

async function flood(response: ServerResponse, start: string, piece: string): Promise<void> {
  response.write(start)
  while (!response.destroyed) if (!response.write(piece)) await once(response, 'drain')
}

const data = (value: object) => `data: ${JSON.stringify(value)}\n\n`
const event = (value: { type: string }) => `event: ${value.type}\n${data(value)}`

/** The first text of a stream on each wire. */
const starts: Record<Kind, string> = {
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

const floods: Record<string, string> = {
  'one endless frame': 'x'.repeat(64 * 1024),
  'frames that break the wire': `data: {"a":\n\n${': comment\n\n'.repeat(4096)}`
}

for (const kind of Object.keys(starts) as Kind[]) {
  t.test(`a response of a ${kind} provider that fails at a bound ends its call at once`, async t => {
    let piece = ''
    const { origin, sockets } = await startProvider(t, response => flood(response, starts[kind], piece))
    const baseUrl = kind === 'chat_compatible' ? `${origin}/v1` : origin
    const gateway = await startProfileGateway(t, {
      profiles: [writeChatProfile({ id: 'p', kind, baseUrl, aliases: [{ alias: 'flood/a' }] })]
    })
    const check = async (family: Family, name: string) => {
      sockets.clear()
      const response = await send(gateway.url, family, { model: 'flood/a', prompt: 'hi', isStream: true })
      t.ok(family.readStreamFailure(response.text), `${family.name}: ${name}`)
      await waitUntil(() => [...sockets].every(socket => socket.destroyed), 'the connection is closed', 5000)
      const sent = [...sockets].reduce((sum, { bytesWritten }) => sum + bytesWritten, 0)
      t.ok(sent < 64 * MEBIBYTE + ON_THE_WAY_MAX, `${family.name}: ${name}: ${sent} bytes`)
    }
    for (const [name, text] of Object.entries(floods)) {
      piece = text
      for (const family of families) await check(family, name)
    }
  })
}

const PICTURE = Buffer.alloc(20_000_000, 'picture').toString('base64')
const chunk = (delta: object, finishReason: string | null = null) =>
  data({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finishReason }]
  })
const item = { id: 'ig_1', type: 'image_generation_call', status: 'completed', output_format: 'png', result: PICTURE }
const answerOf = (output: object[]) => ({
  id: 'r',
  object: 'response',
  created_at: 1,
  model: 'm',
  status: 'completed',
  output
})

/** A stream with a picture of 20 MB in one event on each wire that has pictures, and who gets it. */
const pictures: Record<string, { profile: Partial<ChatProfileOptions>; stream: string; takers: string[] }> = {
  content: {
    profile: { kind: 'content_compatible' },
    stream:
      starts.content_compatible +
      data({
        candidates: [
          {
            index: 0,
            content: { role: 'model', parts: [{ inlineData: { mimeType: 'image/png', data: PICTURE } }] },
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
      chunk({ images: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${PICTURE}` } }] }) +
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

for (const [wire, { profile, stream, takers }] of Object.entries(pictures)) {
  t.test(
    `providers 11: a picture of 20 MB in one event on the wire of ${wire} is streamed to the clients that take it`,
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
        t.equal(response.text.includes(PICTURE), takers.includes(family.name), family.name)
      }
    }
  )
}
