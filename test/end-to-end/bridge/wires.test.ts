// What providers of the messages and the content wire send, and what every client protocol makes of it, whole and streamed.

import t from 'tap'
import type { HttpResponse } from '../../support/client.ts'
import { readFrames } from '../../support/client.ts'
import { type Family, families, type Loose, type Question, send } from './families.ts'
import { chat, content, type Provider, startBridge } from './providers/index.ts'

const { gateway, emulator } = await startBridge(t)

const messagesFamily = findFamily('messages')

function findFamily(name: string): Family {
  return families.find(family => family.name === name) as Family
}

/** Sends a question to a provider whose next response is given: a whole body, or the frames of a stream. */
function exchange(
  provider: Provider,
  family: Family,
  { body, ...question }: Partial<Question> & { body: object | readonly (object | string)[] }
): Promise<HttpResponse & { isCut: boolean }> {
  const isStream = Array.isArray(body)
  if (isStream) {
    const chunks = body.map(frame => (typeof frame === 'string' ? frame : writeFrame(frame)))
    emulator.respondNext({ chunks, headers: { 'content-type': 'text/event-stream' } })
  } else emulator.respondNext({ body: JSON.stringify(body), headers: { 'content-type': 'application/json' } })
  return send(gateway.url, family, { model: provider.aliases.keyless, prompt: 'hello', isStream, ...question })
}

function writeFrame(frame: Loose): string {
  const name = typeof frame.type === 'string' ? `event: ${frame.type}\n` : ''
  return `${name}data: ${JSON.stringify(frame)}\n\n`
}

t.test('the input tokens of a messages client exclude the cached ones (decisions.md 84)', async t => {
  const completion = { role: 'assistant', content: 'a' }
  const usage = {
    prompt_tokens: 30,
    completion_tokens: 5,
    total_tokens: 35,
    prompt_tokens_details: { cached_tokens: 20 }
  }
  const head = { id: 'c1', created: 1, model: 'up' }
  const usageMetadata = {
    promptTokenCount: 30,
    cachedContentTokenCount: 20,
    candidatesTokenCount: 5,
    totalTokenCount: 35
  }
  const candidate = { index: 0, content: { role: 'model', parts: [{ text: 'a' }] }, finishReason: 'STOP' }
  const bodies: Array<[Provider, object]> = [
    [
      chat,
      { ...head, object: 'chat.completion', choices: [{ index: 0, message: completion, finish_reason: 'stop' }], usage }
    ],
    [
      chat,
      [
        { ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta: completion, finish_reason: 'stop' }] },
        { ...head, object: 'chat.completion.chunk', choices: [], usage },
        'data: [DONE]\n\n'
      ]
    ],
    [content, { candidates: [candidate], usageMetadata }],
    [content, [{ candidates: [candidate], usageMetadata }]]
  ]
  for (const [provider, body] of bodies) {
    const response = await exchange(provider, messagesFamily, { body })
    const frames = Array.isArray(body) ? readFrames(response.text) : [response.json]
    const counted: Loose = frames.findLast(frame => frame.usage !== undefined)
    t.match(
      counted.usage,
      { input_tokens: 10, cache_read_input_tokens: 20, cache_creation_input_tokens: 0, output_tokens: 5 },
      `${provider.name}, ${Array.isArray(body) ? 'streamed' : 'whole'}`
    )
  }
})

t.test('message_start has the input tokens that the provider counted first (decisions.md 82)', async t => {
  const chunk = (text: string, more: object = {}) => ({
    candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] }, ...more }]
  })
  const response = await exchange(content, messagesFamily, {
    body: [
      { ...chunk('a'), usageMetadata: { promptTokenCount: 30, cachedContentTokenCount: 4, totalTokenCount: 30 } },
      {
        ...chunk('b', { finishReason: 'STOP' }),
        usageMetadata: {
          promptTokenCount: 30,
          cachedContentTokenCount: 4,
          candidatesTokenCount: 5,
          totalTokenCount: 35
        }
      }
    ]
  })
  const frames: Loose[] = readFrames(response.text)
  t.match(frames[0], {
    type: 'message_start',
    message: { usage: { input_tokens: 26, cache_read_input_tokens: 4, output_tokens: 0 } }
  })
  t.match(frames.at(-2), { usage: { input_tokens: 26, cache_read_input_tokens: 4, output_tokens: 5 } })
})
