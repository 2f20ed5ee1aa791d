// Every way in which a request can end, and the moments that observers see of it: all of them, in order, exactly once, with their facts.

import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { get, post } from '../../support/client.ts'
import { openConnection } from '../http/support.ts'
import { type StubHandler, sendJson } from '../providers/support/stub-upstream.ts'
import { type ObservedWorker, startObservedWorker } from './recorder.ts'

const model = 'GigaChat-2'
const CHAT = '/v1/chat/completions'
const chatBody = { model, messages: [{ role: 'user', content: 'hi' }] }
const streamBody = { ...chatBody, stream: true }
const chatPlan = { model, providerKind: 'native', profileId: 'native-upstream' }
const tokens = { prompt_tokens: 12, completion_tokens: 34, total_tokens: 46 }

function frame(content: string, more: Record<string, unknown> = {}): string {
  return `data: ${JSON.stringify({ choices: [{ delta: { content }, index: 0 }], model: 'm:1', ...more })}\n\n`
}
const FINISH = frame('', { choices: [{ delta: { content: '' }, index: 0, finish_reason: 'stop' }], usage: tokens })

const respondWhole =
  (finishReason = 'stop'): StubHandler =>
  (_request, response) =>
    sendJson(response, 200, {
      choices: [{ index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: finishReason }],
      model: 'm:1',
      usage: tokens
    })

function startFrames(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(frame('a'))
}

const unexpected: StubHandler = () => {
  throw new Error('The upstream must not be called.')
}

/** The bytes of a request, for clients that do more than send one. */
function requestBytes(body: object | undefined, more = ''): string {
  const text = body === undefined ? '' : JSON.stringify(body)
  const length = body === undefined ? '' : `content-length: ${text.length}\r\n`
  return `POST ${CHAT} HTTP/1.1\r\nhost: localhost\r\n${length}${more}\r\n${text}`
}

interface Case {
  name: string
  env?: Record<string, string>
  upstream?: StubHandler
  /** Sends the request, and does what ends it. */
  run: (worker: ObservedWorker, t: Test) => Promise<unknown>
  moments: string[]
  /** Facts of `closed`. */
  ended: {
    status: number
    lifecycle: string
    errorType: string | undefined
    failure?: object | undefined
    facts?: object
  }
  /** What the view says. */
  view?: object
  /** Facts of other moments, by name; of those that come more than once, the first. */
  facts?: Record<string, unknown>
}

const system = { route: 'unmatched', protocol: 'system' }
const chatView = { route: CHAT, protocol: 'openai', method: 'POST', path: CHAT }
const failed = (status: number, errorType = `http_${status}`) => ({ status, lifecycle: 'request_error', errorType })
const aborted = { status: 499, lifecycle: 'request_aborted', errorType: 'request_cancelled' }
const streamAborted = { status: 499, lifecycle: 'streaming_aborted', errorType: 'stream_cancelled' }
const refusedMoments = ['opened', 'firstByte', 'closed']

let releaseUpstream = (): void => undefined

const cases: Case[] = [
  {
    name: 'a success',
    upstream: respondWhole(),
    run: ({ url }) => post(url + CHAT, chatBody),
    moments: ['opened', 'planned', 'upstreamCall', 'usage', 'firstByte', 'closed'],
    ended: {
      status: 200,
      lifecycle: 'request_completed',
      errorType: undefined,
      facts: { ...chatPlan, isStream: false, inputTokens: 12, outputTokens: 34 }
    },
    view: chatView,
    facts: {
      planned: { ...chatPlan, isStream: false },
      upstreamCall: { operation: 'chat', attempt: 0, status: '200', durationMs: Number },
      usage: { inputTokens: 12, outputTokens: 34 },
      firstByte: Number
    }
  },
  {
    name: 'a stream, whose upstream ends its connection later than its events',
    upstream: (_request, response) => {
      startFrames(response)
      response.write(`${FINISH}data: [DONE]\n\n`)
      releaseUpstream = () => response.end()
    },
    async run({ url, recorder }) {
      const { text } = await post(url + CHAT, streamBody)
      if (!text.includes('[DONE]')) throw new Error(text)
      await recorder.whenSeen('usage')
      releaseUpstream()
    },
    moments: ['opened', 'planned', 'firstByte', 'firstToken', 'usage', 'upstreamCall', 'closed'],
    ended: {
      status: 200,
      lifecycle: 'streaming_completed',
      errorType: undefined,
      facts: { ...chatPlan, isStream: true, inputTokens: 12, outputTokens: 34 }
    },
    view: chatView,
    facts: { planned: { ...chatPlan, isStream: true }, firstToken: Number, upstreamCall: { status: '200' } }
  },
  {
    name: 'an odd response',
    upstream: respondWhole('never_heard'),
    run: ({ url }) => post(url + CHAT, chatBody),
    moments: ['opened', 'planned', 'upstreamCall', 'anomaly', 'usage', 'firstByte', 'closed'],
    ended: { status: 200, lifecycle: 'request_completed', errorType: undefined },
    facts: { anomaly: 'finish_reason_unknown' }
  },
  {
    name: 'embeddings',
    upstream: (_request, response) =>
      sendJson(response, 200, { data: [{ index: 0, embedding: [1], usage: { prompt_tokens: 5 } }] }),
    run: ({ url }) => post(`${url}/v1beta/models/${model}:embedContent`, { content: { parts: [{ text: 'a' }] } }),
    moments: ['opened', 'planned', 'upstreamCall', 'usage', 'firstByte', 'closed'],
    ended: { status: 200, lifecycle: 'request_completed', errorType: undefined, facts: { inputTokens: 5 } },
    view: { route: '/v1beta/models/{model}:embedContent', protocol: 'gemini' },
    facts: { upstreamCall: { operation: 'embeddings' }, usage: { inputTokens: 5, outputTokens: null } }
  },
  {
    name: 'a count of tokens',
    upstream: (_request, response) => sendJson(response, 200, [{ tokens: 3 }]),
    run: ({ url }) => post(`${url}/v1/messages/count_tokens`, chatBody),
    moments: ['opened', 'planned', 'upstreamCall', 'firstByte', 'closed'],
    ended: { status: 200, lifecycle: 'request_completed', errorType: undefined },
    view: { route: '/v1/messages/count_tokens', protocol: 'anthropic' },
    facts: { upstreamCall: { operation: 'tokens' } }
  },
  {
    name: 'a model list',
    upstream: (_request, response) => sendJson(response, 200, { data: [{ id: model, object: 'model' }] }),
    run: ({ url }) => get(`${url}/v1/model/info`),
    moments: ['opened', 'upstreamCall', 'firstByte', 'closed'],
    ended: { status: 200, lifecycle: 'request_completed', errorType: undefined, facts: {} },
    view: { route: '/v1/model/info', protocol: 'litellm' },
    facts: { upstreamCall: { operation: 'models' } }
  },
  {
    name: '404',
    run: ({ url }) => post(`${url}/v1/nope?key=k`, '{}'),
    moments: refusedMoments,
    ended: failed(404),
    view: { ...system, path: '/v1/nope', method: 'POST', apiKeyHash: /^hmac-sha256:/ }
  },
  {
    name: '405',
    run: ({ url }) => get(url + CHAT),
    moments: refusedMoments,
    ended: failed(405),
    view: { ...chatView, method: 'GET' }
  },
  {
    name: '413',
    env: { GATEWAY_MAX_REQUEST_BODY_BYTES: '10' },
    run: ({ url }) => post(url + CHAT, chatBody),
    moments: refusedMoments,
    ended: failed(413),
    view: chatView
  },
  {
    name: '413 of a client that closes its connection once it has the response',
    env: { GATEWAY_MAX_REQUEST_BODY_BYTES: '10' },
    async run({ port }, t) {
      const { socket, waitFor } = await openConnection(t, port)
      socket.write(`POST ${CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 300000\r\n\r\nx`)
      await waitFor(/request_entity_too_large/)
      socket.destroy()
    },
    moments: refusedMoments,
    ended: failed(413),
    view: chatView
  },
  {
    name: 'a body that is no JSON',
    run: ({ url }) => post(url + CHAT, '{'),
    moments: refusedMoments,
    ended: failed(400),
    view: chatView
  },
  {
    name: 'a malformed head',
    async run({ port }, t) {
      const { socket, closed } = await openConnection(t, port)
      socket.end('no request\r\n\r\n')
      await closed
    },
    moments: refusedMoments,
    ended: failed(400),
    view: { ...system, method: 'OTHER', path: '' }
  },
  {
    name: 'a head that is too large',
    async run({ port }, t) {
      const { socket, closed } = await openConnection(t, port)
      socket.write(requestBytes(undefined, `x-large: ${'a'.repeat(32 * 1024)}\r\n`))
      await closed
    },
    moments: refusedMoments,
    ended: failed(431),
    view: { ...system, method: 'OTHER', path: '' }
  },
  {
    name: 'a head with a malformed body behind it',
    async run({ port }, t) {
      const { socket, closed } = await openConnection(t, port)
      socket.write(`${requestBytes(undefined, 'transfer-encoding: chunked\r\n')}no chunk\r\n`)
      await closed
    },
    moments: refusedMoments,
    ended: failed(400),
    view: chatView
  },
  {
    name: 'a body that turns malformed while it is read',
    async run({ port, recorder }, t) {
      const { socket, closed } = await openConnection(t, port)
      socket.write(requestBytes(undefined, 'transfer-encoding: chunked\r\n'))
      await recorder.whenSeen('opened')
      socket.write('no chunk\r\n')
      await closed
    },
    moments: refusedMoments,
    ended: { ...failed(400), failure: { code: 'invalid_request' } },
    view: chatView
  },
  {
    name: 'a client that closes its connection within its body',
    async run({ port, recorder }, t) {
      const { socket, closed } = await openConnection(t, port)
      socket.write(`POST ${CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{"model`)
      await recorder.whenSeen('opened')
      socket.end()
      await closed
    },
    moments: ['opened', 'closed'],
    ended: aborted,
    view: chatView
  },
  {
    name: 'a client that closes its connection right behind the head of its body',
    async run({ port }, t) {
      const { socket, closed } = await openConnection(t, port)
      socket.end(`POST ${CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n`)
      await closed
    },
    moments: ['opened', 'closed'],
    ended: aborted,
    view: chatView
  },
  {
    name: 'a refused key',
    env: { GATEWAY_ENABLE_API_KEY_AUTH: 'true', GATEWAY_API_KEY: 'k1' },
    run: ({ url }) => post(url + CHAT, chatBody, { 'x-api-key': 'wrong' }),
    moments: refusedMoments,
    ended: failed(401),
    view: chatView
  },
  {
    name: 'a refused slot',
    env: {
      GATEWAY_MODEL_MAX_CONNECTIONS: JSON.stringify({ [model]: 1 }),
      GATEWAY_MODEL_MAX_CONNECTIONS_ACQUIRE_TIMEOUT: '0'
    },
    upstream: (_request, response) => startFrames(response),
    async run({ port, url }, t) {
      const holder = await openConnection(t, port)
      holder.socket.write(requestBytes(streamBody))
      await holder.waitFor(/data: /)
      await post(url + CHAT, chatBody)
    },
    moments: ['opened', 'planned', 'firstByte', 'closed'],
    ended: { ...failed(429), facts: { ...chatPlan, isStream: false } },
    view: chatView
  },
  {
    name: 'an upstream that refuses',
    upstream: (_request, response) => sendJson(response, 403, { status: 403, message: 'm' }),
    run: ({ url }) => post(url + CHAT, streamBody),
    moments: ['opened', 'planned', 'upstreamCall', 'firstByte', 'closed'],
    ended: { ...failed(403), failure: { code: 'upstream_forbidden', message: 'm' } },
    facts: { upstreamCall: { status: '403' } }
  },
  {
    name: 'an upstream that fails with a status of its own',
    upstream: (_request, response) => sendJson(response, 520, { message: 'm' }),
    run: ({ url }) => post(url + CHAT, chatBody),
    moments: ['opened', 'planned', 'upstreamCall', 'firstByte', 'closed'],
    ended: failed(500, 'http_520'),
    facts: { upstreamCall: { status: '520' } }
  },
  {
    name: 'an upstream whose response cannot be used',
    upstream: (_request, response) => sendJson(response, 200, []),
    run: ({ url }) => post(url + CHAT, chatBody),
    moments: ['opened', 'planned', 'upstreamCall', 'firstByte', 'closed'],
    ended: failed(502, 'protocol_error'),
    facts: { upstreamCall: { status: '200' } }
  },
  {
    name: 'an upstream that breaks within a stream',
    upstream: (_request, response) => {
      startFrames(response)
      releaseUpstream = () => response.destroy()
    },
    async run({ url, recorder }) {
      const response = post(url + CHAT, streamBody)
      await recorder.whenSeen('firstToken')
      releaseUpstream()
      await response
    },
    moments: ['opened', 'planned', 'firstByte', 'firstToken', 'upstreamCall', 'closed'],
    ended: { status: 200, lifecycle: 'streaming_aborted', errorType: 'connect_error' },
    facts: { upstreamCall: { status: 'connect_error' } }
  },
  {
    name: 'an upstream that reports an error within a stream',
    upstream: (_request, response) => {
      startFrames(response)
      releaseUpstream = () => response.end(`data: ${JSON.stringify({ status: 503, message: 'm' })}\n\n`)
    },
    async run({ url, recorder }) {
      const response = post(url + CHAT, streamBody)
      await recorder.whenSeen('firstToken')
      releaseUpstream()
      await response
    },
    moments: ['opened', 'planned', 'firstByte', 'firstToken', 'upstreamCall', 'closed'],
    ended: { status: 200, lifecycle: 'streaming_aborted', errorType: 'http_503' },
    facts: { upstreamCall: { status: '200' } }
  },
  {
    name: 'a client that disconnects before the first byte',
    upstream: () => releaseUpstream(),
    async run({ port }, t) {
      const arrived = new Promise<void>(resolve => {
        releaseUpstream = resolve
      })
      const { socket } = await openConnection(t, port)
      socket.write(requestBytes(chatBody))
      await arrived
      socket.destroy()
    },
    moments: ['opened', 'planned', 'upstreamCall', 'closed'],
    ended: aborted,
    facts: { upstreamCall: { status: 'cancelled' } }
  },
  {
    name: 'a client that disconnects within a stream',
    upstream: (_request, response) => startFrames(response),
    async run({ port }, t) {
      const { socket, waitFor } = await openConnection(t, port)
      socket.write(requestBytes(streamBody))
      await waitFor(/data: /)
      socket.destroy()
    },
    moments: ['opened', 'planned', 'firstByte', 'firstToken', 'upstreamCall', 'closed'],
    ended: streamAborted,
    facts: { upstreamCall: { status: 'cancelled' } }
  },
  {
    name: 'a request that the drain deadline ends',
    upstream: () => releaseUpstream(),
    async run({ url, app }) {
      const arrived = new Promise<void>(resolve => {
        releaseUpstream = resolve
      })
      const response = post(url + CHAT, chatBody)
      await arrived
      app.startDraining()
      app.cancelActive()
      await response
    },
    moments: ['opened', 'planned', 'upstreamCall', 'firstByte', 'closed'],
    ended: aborted,
    facts: { upstreamCall: { status: 'cancelled' } }
  },
  {
    name: 'a stream that the drain deadline ends',
    upstream: (_request, response) => startFrames(response),
    async run({ url, app, recorder }) {
      const response = post(url + CHAT, streamBody)
      await recorder.whenSeen('firstToken')
      app.startDraining()
      app.cancelActive()
      await response
    },
    moments: ['opened', 'planned', 'firstByte', 'firstToken', 'upstreamCall', 'closed'],
    ended: streamAborted,
    facts: { upstreamCall: { status: 'cancelled' } }
  },
  {
    name: 'a request that is refused while draining',
    async run({ url, app }) {
      app.startDraining()
      await post(url + CHAT, chatBody)
    },
    moments: refusedMoments,
    ended: failed(503),
    view: chatView
  },
  {
    name: 'a request whose own time is up',
    env: { GATEWAY_REQUEST_TIMEOUT_SECONDS: '0.05' },
    upstream: () => undefined,
    run: ({ url }) => post(url + CHAT, chatBody),
    moments: ['opened', 'planned', 'upstreamCall', 'firstByte', 'closed'],
    ended: failed(504),
    facts: { upstreamCall: { status: 'cancelled' } }
  },
  {
    name: 'a probe',
    run: ({ url }) => get(`${url}/health`),
    moments: refusedMoments,
    ended: { status: 200, lifecycle: 'request_completed', errorType: undefined },
    view: { route: '/health', protocol: 'system' }
  }
]

for (const { name, env, upstream, run, moments, ended, view, facts = {} } of cases) {
  t.test(`every moment of a request is seen in order, once: ${name}`, async t => {
    const worker = await startObservedWorker(t, upstream ?? unexpected, env === undefined ? {} : { env })
    await run(worker, t)
    await worker.recorder.whenClosed(1)
    // Where another request holds the slot, the one of interest is the one that has ended.
    const [life] = worker.recorder.lives.filter(one => one.closed !== undefined)
    if (life === undefined) throw new Error('Nothing was closed.')
    t.same(
      life.moments.map(([moment]) => moment),
      moments
    )
    t.match(life.closed, { ...ended, durationMs: Number, bytesSent: Number })
    t.equal(life.closed?.errorType, ended.errorType)
    t.match(life.view, { ...view, requestId: /^[0-9a-f-]{36}$/, traceId: String, startedAtMs: Number })
    for (const [moment, wanted] of Object.entries(facts)) {
      t.match(life.moments.find(([seen]) => seen === moment)?.[1], wanted, moment)
    }
  })
}
