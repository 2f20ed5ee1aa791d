// What observers are told of a call: what it asks for and what its response holds, on every path that a request can take.

import t, { type Test } from 'tap'
import type { NormalizedEvent } from '../../../worker/normalized/index.ts'
import type {
  CallDescription,
  DescriptionOptions,
  RequestObserver,
  RequestView
} from '../../../worker/observation/observer.ts'
import { NO_CONTENT } from '../../../worker/translation/call-description.ts'
import { post } from '../../support/client.ts'
import { aliasOf, edgeProfile, fileOf } from '../../support/profile-sets.ts'
import { ALL_FEATURES } from '../../support/profiles.ts'
import { openConnection } from '../http/support.ts'
import { type StubHandler, sendJson } from '../providers/support/stub-upstream.ts'
import { type ObservedWorkerOptions, startObservedWorker } from './recorder.ts'

const model = 'GigaChat-2'
const parameters = { type: 'object', properties: { city: { type: 'string' } } }
const tokens = { prompt_tokens: 12, completion_tokens: 34, total_tokens: 46 }
const CANARY = 'canary-7f3a'

interface Call {
  order: string[]
  descriptions: CallDescription[]
  batches: NormalizedEvent[][]
}

/** An observer of calls, and what it saw of the last request. */
function createCallObserver(more: Partial<RequestObserver> = {}): { observer: RequestObserver; call: Call } {
  const call: Call = { order: [], descriptions: [], batches: [] }
  const observer: RequestObserver = {
    name: 'calls',
    described(_request, description) {
      call.order.push('described')
      call.descriptions.push(description)
    },
    planned: () => call.order.push('planned'),
    events(_request, events) {
      call.order.push('events')
      call.batches.push([...events])
    },
    ...more
  }
  return { observer, call }
}

async function start(
  t: Test,
  handler: StubHandler,
  { more, ...options }: ObservedWorkerOptions & { more?: Partial<RequestObserver> } = {}
) {
  const { observer, call } = createCallObserver(more)
  const worker = await startObservedWorker(t, handler, { ...options, observers: [observer] })
  return { ...worker, call }
}

const respond: StubHandler = ({ body }, response) => {
  const isStream = (JSON.parse(body.toString()) as { stream?: boolean }).stream === true
  const message = { role: 'assistant', content: 'Hello' }
  if (!isStream) {
    sendJson(response, 200, {
      choices: [{ index: 0, message, finish_reason: 'stop' }],
      model: 'm:1',
      usage: tokens
    })
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const first = { choices: [{ delta: message, index: 0 }], model: 'm:1' }
  const last = { choices: [{ delta: { content: '' }, index: 0, finish_reason: 'stop' }], model: 'm:1', usage: tokens }
  response.end(`data: ${JSON.stringify(first)}\n\ndata: ${JSON.stringify(last)}\n\ndata: [DONE]\n\n`)
}

interface FamilyCase {
  path: string
  body: (isStream: boolean) => object
  streamPath?: string
}

const schema = { name: 'weather', description: CANARY, parameters }
const families: Record<string, FamilyCase> = {
  completions: {
    path: '/v1/chat/completions',
    body: stream => ({
      model,
      stream,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: CANARY }
      ],
      tools: [{ type: 'function', function: schema }],
      temperature: 0.5,
      max_tokens: 64
    })
  },
  responses: {
    path: '/v1/responses',
    body: stream => ({
      model,
      stream,
      instructions: 'Be brief.',
      input: CANARY,
      tools: [{ type: 'function', ...schema }],
      temperature: 0.5,
      max_output_tokens: 64
    })
  },
  messages: {
    path: '/v1/messages',
    body: stream => ({
      model,
      stream,
      system: 'Be brief.',
      messages: [{ role: 'user', content: CANARY }],
      tools: [{ name: 'weather', description: CANARY, input_schema: parameters }],
      temperature: 0.5,
      max_tokens: 64
    })
  },
  content: {
    path: `/v1beta/models/${model}:generateContent`,
    streamPath: `/v1beta/models/${model}:streamGenerateContent?alt=sse`,
    body: () => ({
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [{ role: 'user', parts: [{ text: CANARY }] }],
      tools: [{ functionDeclarations: [schema] }],
      generationConfig: { temperature: 0.5, maxOutputTokens: 64 }
    })
  }
}

const places = { inline: {}, 'in a thread': { GATEWAY_POOL_THRESHOLD_BYTES: '1' } }
const WHOLE_EVENTS = ['start', 'text-start', 'text-delta', 'text-end', 'usage', 'finish']

for (const [place, env] of Object.entries(places)) {
  for (const [protocol, family] of Object.entries(families)) {
    for (const isStream of [false, true]) {
      t.test(
        `observers see what a chat asks for and holds: ${protocol}, ${isStream ? 'streamed' : 'whole'}, ${place}`,
        async t => {
          const { url, call, recorder } = await start(t, respond, { env })
          const path = isStream ? (family.streamPath ?? family.path) : family.path
          const { status } = await post(url + path, family.body(isStream))
          t.equal(status, 200)
          await recorder.whenClosed(1)
          t.same(call.order.slice(0, 3), ['described', 'planned', 'events'])
          t.same(call.descriptions, [
            {
              type: 'chat',
              protocol,
              requestedModel: model,
              isStream,
              messageCount: 2,
              toolCount: 1,
              toolNames: ['weather'],
              toolChoice: undefined,
              parameters: { temperature: 0.5, max_tokens: 64 },
              responseFormat: undefined,
              previousResponseId: undefined,
              threadId: undefined
            }
          ])
          t.notMatch(JSON.stringify(call.descriptions), CANARY)
          if (!isStream) t.equal(call.batches.length, 1, 'a whole response comes at once')
          t.same(
            call.batches.flat().map(({ type }) => type),
            WHOLE_EVENTS
          )
        }
      )
    }
  }

  t.test(`content is described only where it is asked for, and bounded: ${place}`, async t => {
    const descriptionOptions: DescriptionOptions = { messages: true, tools: true, extensions: true, charactersMax: 100 }
    const { url, call, recorder } = await start(t, respond, { env, more: { descriptionOptions } })
    const family = families.completions as FamilyCase
    await post(url + family.path, { ...family.body(false), profanity_check: true })
    const huge = `${CANARY} ${'word '.repeat(100_000)}`
    await post(url + family.path, { ...family.body(false), messages: [{ role: 'user', content: huge }] })
    await recorder.whenClosed(2)
    const [small, large] = call.descriptions
    t.match(small, {
      messages: {
        value: [
          { content: 'Be brief.', role: 'system' },
          { content: CANARY, role: 'user' }
        ],
        isCut: false
      },
      tools: { value: [{ ...schema, type: 'function' }], isCut: false },
      extensions: { value: { profanity_check: true }, isCut: false }
    })
    t.match(large, { messages: { isCut: true } })
    t.ok(JSON.stringify(large).length < 6000)
  })

  t.test(`embeddings are described: ${place}`, async t => {
    const data = [0, 1].map(index => ({ index, embedding: [1], usage: { prompt_tokens: 5 } }))
    const { url, call, recorder } = await start(t, (_request, response) => sendJson(response, 200, { data }), { env })
    await post(`${url}/v1/embeddings`, {
      model: 'Embeddings',
      input: [CANARY, 'b'],
      encoding_format: 'base64',
      user: 'u1'
    })
    await post(`${url}/v1beta/models/Embeddings:batchEmbedContents`, {
      requests: [CANARY, 'b'].map(text => ({ model: 'models/Embeddings', content: { parts: [{ text }] } }))
    })
    await recorder.whenClosed(2)
    const common = { type: 'embeddings', requestedModel: 'Embeddings', inputCount: 2, dimensions: undefined }
    t.same(call.descriptions, [
      { ...common, encodingFormat: 'base64', user: 'u1' },
      { ...common, encodingFormat: 'float', user: undefined }
    ])
    t.same(call.order, ['described', 'planned', 'described', 'planned'])
  })

  t.test(`token counts are described: ${place}`, async t => {
    const { url, call, recorder } = await start(t, (_request, response) => sendJson(response, 200, [{ tokens: 3 }]), {
      env
    })
    const body = { model, messages: [{ role: 'user', content: CANARY }] }
    await post(`${url}/v1/messages/count_tokens`, body)
    const contents = [{ parts: [{ text: CANARY }] }]
    await post(`${url}/v1beta/models/${model}:countTokens`, { contents })
    await post(`${url}/v1beta/models/${model}:countTokens`, { contents: [] })
    await recorder.whenClosed(3)
    const common = { type: 'token-count', requestedModel: model }
    t.same(call.descriptions, [
      { ...common, protocol: 'messages', inputCount: 1 },
      { ...common, protocol: 'content', inputCount: 1 },
      { ...common, protocol: 'content', inputCount: 0 }
    ])
    t.same(call.batches, [])
  })
}

t.test('a body that cannot be read is not described', async t => {
  const { url, call, recorder } = await start(t, respond)
  await post(`${url}/v1/chat/completions`, { model, messages: 'x' })
  await recorder.whenClosed(1)
  t.same(call.order, [])
})

t.test('the events of a response that is passed on as bytes are seen, with its tool calls', async t => {
  const calls = [{ id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } }]
  const choice = {
    index: 0,
    message: { role: 'assistant', content: null, tool_calls: calls },
    finish_reason: 'tool_calls'
  }
  const payload = {
    id: 'chatcmpl-9',
    object: 'chat.completion',
    created: 1,
    model: 'up',
    choices: [choice],
    usage: tokens
  }
  const { url, call, recorder } = await start(t, (_request, response) => sendJson(response, 200, payload), {
    profiles: origin =>
      fileOf([edgeProfile([aliasOf('fast', 'up', { features: ALL_FEATURES })], { baseUrl: `${origin}/v1` })])
  })
  const tools = [{ type: 'function', function: { name: 'weather', parameters } }]
  const { json } = await post(`${url}/v1/chat/completions`, {
    model: 'fast',
    messages: [{ role: 'user', content: 'hi' }],
    tools
  })
  t.same(json, { ...payload, model: 'fast' })
  const [life] = await recorder.whenClosed(1)
  t.match(life?.closed?.facts, { model: 'fast', upstreamModel: 'up', inputTokens: 12, outputTokens: 34 })
  t.equal(call.batches.length, 1)
  t.match(call.batches[0], [
    { type: 'start', providerModel: 'up', identity: { id: 'chatcmpl-9' } },
    { type: 'tool-call-start', name: 'weather' },
    { type: 'tool-call-delta', arguments: '{"city":"Rome"}' },
    { type: 'tool-call-end' },
    { type: 'usage' },
    { type: 'finish', reason: 'tool-calls' }
  ])
})

const firstFrame = `data: ${JSON.stringify({ choices: [{ delta: { content: 'a' }, index: 0 }], model: 'm' })}\n\n`
const streamBody = { model, stream: true, messages: [{ role: 'user', content: 'hi' }] }

t.test('an error before the first event has no events, and an error after it is the last one', async t => {
  let isBroken = false
  const { url, call, recorder } = await start(t, (_request, response) => {
    if (!isBroken) return sendJson(response, 403, { status: 403, message: 'm' })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`${firstFrame}data: ${JSON.stringify({ status: 503, message: 'm' })}\n\n`)
  })
  await post(`${url}/v1/chat/completions`, streamBody)
  await recorder.whenClosed(1)
  t.same(call.batches, [])
  isBroken = true
  await post(`${url}/v1/chat/completions`, streamBody)
  await recorder.whenClosed(2)
  t.match(call.batches.flat().at(-1), { type: 'error', error: { code: 'provider_failure' } })
})

const hang: StubHandler = (_request, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(firstFrame)
}
const written = ['start', 'text-start', 'text-delta']

t.test('a stream that its client leaves has the events that were written', async t => {
  const { port, call, recorder } = await start(t, hang)
  const { socket, waitFor } = await openConnection(t, port)
  const text = JSON.stringify(streamBody)
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${text.length}\r\n\r\n${text}`)
  await waitFor(/data: /)
  socket.destroy()
  await recorder.whenClosed(1)
  t.same(
    call.batches.flat().map(({ type }) => type),
    written
  )
})

t.test('a stream that the drain deadline ends has an error as its last event', async t => {
  const { url, app, call, recorder } = await start(t, hang)
  const response = post(`${url}/v1/chat/completions`, streamBody)
  await recorder.whenSeen('firstToken')
  app.startDraining()
  app.cancelActive()
  await response
  await recorder.whenClosed(1)
  t.same(
    call.batches.flat().map(({ type }) => type),
    [...written, 'error']
  )
})

t.test('nothing is computed for a request that no observer follows, and follows is asked once', async t => {
  const asked: RequestView[] = []
  const follows = (request: RequestView): boolean => {
    asked.push(request)
    return asked.length > 1
  }
  const { url, call, recorder } = await start(t, respond, { more: { follows } })
  await post(`${url}/v1/chat/completions`, streamBody)
  await recorder.whenClosed(1)
  t.same(call.order, ['planned'])
  t.equal(asked.length, 1)
  await post(`${url}/v1/chat/completions`, streamBody)
  await recorder.whenClosed(2)
  t.same(call.order.slice(1, 4), ['described', 'planned', 'events'])
  t.equal(asked.length, 2)
})

t.test('observers without these moments cause no description', async t => {
  const { url, recorder } = await startObservedWorker(t, respond)
  await post(`${url}/v1/chat/completions`, streamBody)
  const [life] = await recorder.whenClosed(1)
  t.notOk(life?.moments.some(([name]) => name === 'described' || name === 'events'))
  t.same(NO_CONTENT, { messages: false, tools: false, extensions: false, charactersMax: 0 })
})
