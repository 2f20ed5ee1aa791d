// What providers of the messages and the content wire send, and what every client protocol makes of it, whole and streamed.

import t from 'tap'
import { embedText } from '../../../ops/emulator/embeddings.ts'
import type { HttpResponse } from '../../support/client.ts'
import { post, readFrames } from '../../support/client.ts'
import { readEnd } from '../system/support.ts'
import { type Family, families, type Loose, type Question, send } from './families.ts'
import { writeImageQuestion } from './image-questions.ts'
import { chat, content, messages, type Provider, startBridge } from './providers/index.ts'

const { gateway, emulator, received } = await startBridge(t)

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

const messageStart = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'up',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 3, output_tokens: 0 }
  }
}
const startBlock = (index: number, block: object) => ({ type: 'content_block_start', index, content_block: block })
const addDelta = (index: number, delta: object) => ({ type: 'content_block_delta', index, delta })
const stopBlock = (index: number) => ({ type: 'content_block_stop', index })
const messageDelta = (reason: string | null) => ({
  type: 'message_delta',
  delta: { stop_reason: reason, stop_sequence: null },
  usage: { output_tokens: 2 }
})
const messageStop = { type: 'message_stop' }

for (const family of families) {
  t.test(`a messages stream without message_stop ends well after a stop reason: ${family.name}`, async t => {
    const blocks = [
      messageStart,
      startBlock(0, { type: 'text', text: '' }),
      addDelta(0, { type: 'text_delta', text: 'hey' }),
      stopBlock(0)
    ]
    const ended = await exchange(messages, family, { body: [...blocks, messageDelta('end_turn')] })
    t.notOk(ended.isCut)
    t.equal(family.readStream(ended).text, 'hey')
    t.equal(family.readStreamFailure(ended.text), undefined)
    t.equal(readEnd(family.name, ended.text), 'success')
    const cut = await exchange(messages, family, { body: blocks })
    t.ok(family.readStreamFailure(cut.text), 'a stream without a stop reason is a failure')
  })

  t.test(`the thinking of a server that ends its blocks late is whole: ${family.name}`, async t => {
    const more = family.showsReasoning === undefined ? {} : { more: family.showsReasoning }
    const response = await exchange(messages, family, {
      ...more,
      body: [
        messageStart,
        startBlock(0, { type: 'thinking', thinking: '' }),
        addDelta(0, { type: 'thinking_delta', thinking: 'because' }),
        startBlock(1, { type: 'text', text: '' }),
        addDelta(1, { type: 'text_delta', text: 'so' }),
        addDelta(0, { type: 'signature_delta', signature: '' }),
        stopBlock(0),
        stopBlock(1),
        messageDelta('end_turn'),
        messageStop
      ]
    })
    t.equal(readEnd(family.name, response.text), 'success')
    t.match(family.readStream(response), { text: 'so', reasoning: 'because' })
  })

  t.test(`an event named error never reaches a client as it is: ${family.name}`, async t => {
    const response = await exchange(messages, family, {
      body: [
        messageStart,
        startBlock(0, { type: 'text', text: '' }),
        addDelta(0, { type: 'text_delta', text: 'hey' }),
        'event: error\ndata: {"secret":"of the provider"}\n\n'
      ]
    })
    t.match(family.readStreamFailure(response.text), { message: 'The provider failed.' })
    t.notMatch(response.text, 'of the provider')
  })
}

for (const family of families) {
  t.test(`the thinking of a local server, and its calls, are whole: ${family.name}`, async t => {
    const model = messages.aliases.keyless
    for (const isStream of [false, true]) {
      const prompt =
        '[[shape:llama.cpp]][[reason:because]][[text:I look.]][[tool:weather {"city":"Oslo"}]][[tool:clock {}]]'
      const more = { ...family.tools, ...family.showsReasoning }
      const response = await send(gateway.url, family, { model, prompt, isStream, more })
      t.equal(response.status, 200, response.text)
      const outcome = isStream ? family.readStream(response) : family.read(response)
      t.match(outcome, {
        text: 'I look.',
        reasoning: 'because',
        calls: [{ name: 'weather', arguments: { city: 'Oslo' } }, { name: 'clock' }]
      })
    }
  })
}

const candidateOf = (finishReason: string, parts?: object[]) => ({
  candidates: [{ index: 0, ...(parts === undefined ? {} : { content: { role: 'model', parts } }), finishReason }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
  modelVersion: 'up',
  responseId: 'r1'
})

for (const family of families) {
  // A client of the same protocol gets what the provider wrote.
  if (family.name === content.passes) continue
  for (const isStream of [false, true]) {
    const how = `${family.name}, ${isStream ? 'streamed' : 'whole'}`
    const shape = (body: object) => (isStream ? [body] : body)

    t.test(`a malformed call with nothing but a signature is a failure (decisions.md 83): ${how}`, async t => {
      const body = candidateOf('MALFORMED_FUNCTION_CALL', [{ text: '', thoughtSignature: 'QUJD' }])
      const response = await exchange(content, family, { body: shape(body), more: family.tools })
      if (response.status === 200) t.ok(family.readStreamFailure(response.text), response.text)
      else t.match(family.readFailure(response), { message: /./ })
    })

    t.test(`an overloaded provider of the content wire is 503 with its wait: ${how}`, async t => {
      emulator.respondNext({
        status: 529,
        headers: { 'retry-after': '7', 'content-type': 'application/json' },
        body: JSON.stringify({ error: { code: 529, message: 'too much load', status: 'UNAVAILABLE' } })
      })
      const response = await send(gateway.url, family, { model: content.aliases.keyless, prompt: 'q', isStream })
      t.equal(response.status, 503)
      t.equal(response.headers.get('retry-after'), '7')
      if (family.name === 'messages') t.match(response.json.error, { type: 'overloaded_error' })
    })

    t.test(`MODEL_ARMOR is a block (decisions.md 83): ${how}`, async t => {
      const response = await exchange(content, family, { body: shape(candidateOf('MODEL_ARMOR')) })
      t.equal(response.status, 200)
      const { finish } = isStream ? family.readStream(response) : family.read(response)
      t.match(finish, /^(content_filter|refusal)$/)
    })
  }
}

const EMBEDDER = 'content/embeddings'
const batchCalls = () => received(content).filter(({ path }) => path.endsWith(':batchEmbedContents'))
const textsOf = (count: number) => Array.from({ length: count }, (_, index) => `t${index}`)

t.test('embeddings go to the content wire in batches, joined in order (decisions.md 83)', async t => {
  for (const [count, sizes] of [
    [100, [100]],
    [101, [1, 100]],
    [450, [50, 100, 100, 100, 100]]
  ] as const) {
    const before = batchCalls().length
    const texts = textsOf(count)
    const response = await post(`${gateway.url}/v1/embeddings`, { model: EMBEDDER, input: texts, dimensions: 4 })
    t.equal(response.status, 200, response.text.slice(0, 300))
    const calls: Loose[] = batchCalls().slice(before)
    t.strictSame(
      calls.map(({ body }) => body.requests.length).sort((left, right) => left - right),
      sizes
    )
    const { data, usage } = response.json
    t.strictSame(
      data.map(({ embedding, index }: Loose) => [index, embedding.map(Math.fround)]),
      texts.map((text, index) => [index, embedText(text, 4).map(Math.fround)])
    )
    t.equal(usage.prompt_tokens, texts.length * 6, 'the tokens of all batches')
  }
  const requests = textsOf(150).map((text, index) => ({
    content: { parts: [{ text }] },
    outputDimensionality: index === 120 ? 3 : 4
  }))
  const { json } = await post(`${gateway.url}/v1beta/models/${EMBEDDER}:batchEmbedContents`, { requests })
  t.strictSame(
    json.embeddings.map(({ values }: Loose) => values),
    textsOf(150).map((text, index) => embedText(text, index === 120 ? 3 : 4)),
    'each request has its own length'
  )
})

t.test('batches of a large request, which a thread writes, arrive whole', async t => {
  const texts = textsOf(150).map(text => `${text} ${'word '.repeat(4000)}`)
  const { json, status } = await post(`${gateway.url}/v1/embeddings`, { model: EMBEDDER, input: texts, dimensions: 2 })
  t.equal(status, 200)
  t.strictSame(
    json.data.map(({ embedding }: Loose) => embedding.map(Math.fround)),
    texts.map(text => embedText(text, 2).map(Math.fround))
  )
})

t.test('a failed batch fails the request and aborts the others', async t => {
  const before = batchCalls().length
  emulator.failNext({ path: 'batchEmbedContents', hang: true, times: 3 })
  emulator.failNext({ path: 'batchEmbedContents', status: 429, message: 'too many', retryAfter: 3 })
  const aborted = emulator.stats.aborted
  const response = await post(`${gateway.url}/v1/embeddings`, { model: EMBEDDER, input: textsOf(2000) })
  t.equal(response.status, 429)
  t.equal(response.headers.get('retry-after'), '3')
  await emulator.waitFor(({ stats }) => stats.aborted >= aborted + 3)
  t.equal(batchCalls().length - before, 4, 'no further batch is sent')
})

for (const provider of [chat, messages, content]) {
  for (const family of families) {
    t.test(
      `addresses that must not be read reach no provider (decisions.md 105): ${family.name} to ${provider.name}`,
      async t => {
        const model = provider.aliases.keyless
        for (const url of [
          'file:///etc/passwd',
          'http://127.0.0.1/a.png',
          'http://169.254.169.254/latest/',
          'http://0x7f.1/'
        ]) {
          const before = received(provider).length
          const now = await send(gateway.url, family, {
            model,
            prompt: 'q',
            more: writeImageQuestion(family, url, false)
          })
          t.equal(now.status, 400, url)
          t.equal(received(provider).length, before, 'the provider is not called')
          const earlier = await send(gateway.url, family, {
            model,
            prompt: 'q',
            more: writeImageQuestion(family, url, true)
          })
          t.equal(earlier.status, 200, `${url} in the history: ${earlier.text}`)
          const sent: Loose = received(provider).at(-1)?.body
          t.notMatch(JSON.stringify(sent), /"(?:url|fileUri)":"(?:file|http)/, 'the address is a description')
          t.match(JSON.stringify(sent), 'this address cannot be read')
        }
      }
    )
  }
}
