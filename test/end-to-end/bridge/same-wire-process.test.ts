// Passed streams in a gateway with its processes: what a drain does to them, and what a record holds of them.

import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { post, readUntilCut } from '../../support/client.ts'
import { type ServingGateway, startEmulator } from '../../support/in-process-gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import {
  anthropicBaseUrl,
  chatBaseUrl,
  googleBaseUrl,
  startProfileGateway,
  writeChatProfile
} from '../../support/profile-gateway.ts'
import { createTrafficFiles, trafficVariables } from '../../support/recorded-gateway.ts'

const MODEL = 'gemini-3-emulator'

async function start(env: Record<string, string>): Promise<ServingGateway> {
  const emulator = await startEmulator(t, { chatApiKeys: { messages: null, content: null, chat: null } })
  return startProfileGateway(t, {
    profiles: [
      writeChatProfile({
        id: 'messages-vendor',
        kind: 'messages_compatible',
        baseUrl: anthropicBaseUrl(emulator, 'messages'),
        aliases: [{ alias: 'm/alias', model: MODEL }]
      }),
      writeChatProfile({
        id: 'content-vendor',
        kind: 'content_compatible',
        baseUrl: googleBaseUrl(emulator, 'content'),
        aliases: [{ alias: 'c/alias', model: MODEL }]
      }),
      writeChatProfile({ id: 'chat-vendor', baseUrl: chatBaseUrl(emulator, 'chat'), aliases: [{ alias: 'e/alias' }] })
    ],
    env
  })
}

function ask(url: string, prompt: string): Promise<Response[]> {
  const messages = { model: 'm/alias', max_tokens: 64, stream: true, messages: [{ role: 'user', content: prompt }] }
  const content = { contents: [{ role: 'user', parts: [{ text: prompt }] }] }
  return Promise.all([
    fetch(`${url}/v1/messages`, { method: 'POST', body: JSON.stringify(messages) }),
    fetch(`${url}/v1beta/models/c%2Falias:streamGenerateContent?alt=sse`, {
      method: 'POST',
      body: JSON.stringify(content)
    })
  ])
}

t.test(
  'at the deadline of a drain an endless stream ends with an error of the family, behind whole frames',
  async t => {
    const gateway = await start({ GATEWAY_SHUTDOWN_TIMEOUT_SECONDS: '2' })
    // The head of a stream is sent with its first event.
    const streams = await ask(gateway.url, '[[tick:100]][[len:5000]]')
    const ended = gateway.stop()
    const [messages, content] = await Promise.all(streams.map(response => readUntilCut(response)))
    const frames = messages?.text.split('\n\n') ?? []
    t.equal(frames.pop(), '')
    t.match(frames.pop(), /^event: error\ndata: \{"type":"error".*Gateway routes are not ready/)
    for (const frame of frames) t.match(frame, /^event: [a-z_]+\ndata: \{.*\}$/)
    t.match(frames[0], '"model":"m/alias"')

    const chunks = content?.text.split(/(?:\r?\n){2}/) ?? []
    t.equal(chunks.pop(), '')
    t.match(JSON.parse(chunks.pop() ?? ''), { error: { message: /Gateway routes are not ready/ } })
    for (const chunk of chunks) t.match(JSON.parse(chunk.replace(/^data: /, '')), { modelVersion: 'c/alias' })
    t.ok(content?.isCut)
    t.equal(await ended, 0)
  }
)

t.test('the record of a passed stream holds its message, and the whole request', async t => {
  const files = createTrafficFiles(t)
  const gateway = await start({ ...trafficVariables(files), GATEWAY_TRAFFIC_LOG_CAPTURE_CONTENT: 'true' })
  const readAll = () => {
    const text = existsSync(files.jsonl) ? readFileSync(files.jsonl, 'utf8') : ''
    const lines = text.split('\n').filter(line => line !== '')
    return lines.map(line => JSON.parse(line))
  }
  const read = () => readAll().filter(record => record.response_body_redacted?.object === 'stream')
  for (const response of await ask(gateway.url, '[[chunks:Hello|, |world]]')) t.match(await response.text(), 'world')
  await waitUntil(() => read().length === 2, 'both records are written')
  for (const record of read()) {
    t.match(record.response_body_redacted, { object: 'stream', role: 'assistant', content: 'Hello, world' })
    t.match(JSON.stringify(record.request_body_redacted), 'chunks:Hello')
    t.match(record.metadata.stream, { event_count: Number, first_event_ms: Number, last_event_ms: Number })
    t.notOk('bytes_sent' in record.metadata, 'it reached its end')
  }

  t.comment('the record of a count tells whether the gateway made it (D6)')
  for (const [model, made] of [
    ['e/alias', 'estimate'],
    ['m/alias', undefined]
  ] as const) {
    const body = { model, messages: [{ role: 'user', content: 'hi' }] }
    const { status, headers } = await post(`${gateway.url}/v1/messages/count_tokens`, body)
    t.equal(status, 200)
    t.equal(headers.get('x-gateway-token-count') ?? undefined, made)
    const find = () => readAll().find(record => record.request_id === headers.get('x-request-id'))
    await waitUntil(() => find() !== undefined, 'the record of the count is written')
    t.equal(find().metadata.token_count, made)
  }
})
