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
      t.ok(sent < 50 * MEBIBYTE + ON_THE_WAY_MAX, `${family.name}: ${name}: ${sent} bytes`)
    }
    for (const [name, text] of Object.entries(floods)) {
      piece = text
      for (const family of families) await check(family, name)
    }
  })
}

t.test('providers 11: a picture of 20 MB is streamed to the clients that take pictures', async t => {
  const picture = Buffer.alloc(20_000_000, 'picture').toString('base64')
  const { origin } = await startProvider(t, async response => {
    const part = { inlineData: { mimeType: 'image/png', data: picture } }
    response.write(starts.content_compatible)
    response.end(data({ candidates: [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }] }))
  })
  const gateway = await startProfileGateway(t, {
    profiles: [
      writeChatProfile({ id: 'p', kind: 'content_compatible', baseUrl: origin, aliases: [{ alias: 'flood/a' }] })
    ]
  })
  for (const family of families) {
    const response = await send(gateway.url, family, { model: 'flood/a', prompt: 'hi', isStream: true })
    t.equal(response.isCut, false, `${family.name}: ${response.text.slice(-300)}`)
    if (family.name === 'content' || family.name === 'responses') t.ok(response.text.includes(picture), family.name)
  }
})
