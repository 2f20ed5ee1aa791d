// Providers that are slow, with the real times: one that thinks for 40 s, and as many open streams
// at once as a worker serves (decisions.md 87 and 106).

import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { startProfileGateway, writeChatProfile } from '../../support/profile-gateway.ts'

type Respond = (response: ServerResponse, isStream: boolean) => void

/** A provider of the wire of chat completions; `opened` is the number of its calls at the moment. */
async function startProvider(t: Test, respond: Respond) {
  const open = new Set<ServerResponse>()
  const server = createServer((request, response) => {
    open.add(response)
    response.on('close', () => open.delete(response))
    const pieces: Buffer[] = []
    request.on('data', piece => pieces.push(piece))
    request.on('end', () => respond(response, JSON.parse(Buffer.concat(pieces).toString()).stream === true))
  })
  server.listen(0, '127.0.0.1', 4096)
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, open }
}

const BODY = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'late' }, finish_reason: 'stop' }]
}

function frame(delta: object, finishReason: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finishReason }]
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices })}\n\n`
}

const STREAM = { 'content-type': 'text/event-stream' }
const END = `${frame({}, 'stop')}data: [DONE]\n\n`

function answer(response: ServerResponse, isStream: boolean): void {
  if (isStream) response.writeHead(200, STREAM).end(frame({ role: 'assistant', content: 'late' }) + END)
  else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(BODY))
}

function startGateway(t: Test, baseUrl: string) {
  return startProfileGateway(t, { profiles: [writeChatProfile({ id: 'p', baseUrl, aliases: [{ alias: 'slow/a' }] })] })
}

async function ask(url: string, stream: boolean, path = '/v1/chat/completions'): Promise<Response> {
  const body = { model: 'slow/a', max_tokens: 100, messages: [{ role: 'user', content: 'hello' }], stream }
  const headers = { 'content-type': 'application/json' }
  return fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
}

t.test('chat-slow-head: a provider that says nothing for 40 s is served by default', async t => {
  const { baseUrl } = await startProvider(t, async (response, isStream) => {
    await setTimeout(40_000)
    answer(response, isStream)
  })
  const { url } = await startGateway(t, baseUrl)
  const ways = ['/v1/chat/completions', '/v1/messages'].flatMap(path => [false, true].map(stream => ({ path, stream })))
  await Promise.all(
    ways.map(async ({ path, stream }) => {
      const response = await ask(url, stream, path)
      t.equal(response.status, 200, `${path} ${stream}`)
      t.match(await response.text(), /late/, `${path} ${stream}`)
    })
  )
})

t.test('languages-connections: a thousand slow streams on one alias and one worker are served at once', async t => {
  const STREAMS = 1000
  const { baseUrl, open } = await startProvider(t, (response, isStream) => {
    if (isStream) response.writeHead(200, STREAM).write(frame({ role: 'assistant', content: 'begun' }))
    else answer(response, false)
  })
  const { url } = await startGateway(t, baseUrl)
  const streams = await Promise.all(
    Array.from({ length: STREAMS }, async () => {
      const response = await ask(url, true)
      const reader = response.body?.getReader()
      const first = await reader?.read()
      return { status: response.status, reader, text: Buffer.from(first?.value ?? []).toString() }
    })
  )
  t.ok(
    streams.every(({ status, text }) => status === 200 && text.includes('begun')),
    'every stream has begun'
  )
  t.equal(open.size, STREAMS, 'all of them are open at the provider')
  t.equal((await ask(url, false)).status, 200, 'a plain request meanwhile')
  for (const response of open) response.end(END)
  const rests = await Promise.all(
    streams.map(async ({ reader }) => {
      let rest = ''
      for (;;) {
        const read = await reader?.read()
        if (read === undefined || read.done) return rest
        rest += Buffer.from(read.value).toString()
      }
    })
  )
  t.ok(
    rests.every(rest => rest.includes('[DONE]')),
    'every stream ended well'
  )
})
