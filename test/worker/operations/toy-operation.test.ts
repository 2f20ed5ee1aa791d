// An operation that only this test defines: one entry, one handler, one reader, one writer. Every part of the gateway that knows
// operations serves it as it serves those of the product.

import { pino } from 'pino'
import t from 'tap'
import { parseSettings } from '../../../shared/settings.ts'
import type { OperationHandler } from '../../../worker/http/mount-operations.ts'
import type { Operation } from '../../../worker/operations/operation.ts'
import { operations } from '../../../worker/operations/table.ts'
import type { ChatClientFace } from '../../../worker/protocols/client-face.ts'
import { completionsFace } from '../../../worker/protocols/completions/client/face.ts'
import { providerFaces } from '../../../worker/protocols/registry.ts'
import { providerKinds } from '../../../worker/providers/registry.ts'
import { createChatHandler } from '../../../worker/routes/chat.ts'
import { servedOperations } from '../../../worker/routes/operation-handlers.ts'
import type { WorkerRuntime } from '../../../worker/routes/worker-runtime.ts'
import { get, post } from '../../support/client.ts'
import { startOtlpReceiver } from '../../support/otlp/receiver.ts'
import { toyFaces, toyKind } from '../../support/toy-provider/kind.ts'
import { createToyProfileSet, toyCredentials } from '../../support/toy-provider/profiles.ts'
import { startToyServer } from '../../support/toy-provider/server.ts'
import { startWorker, workerOptions } from '../../support/worker-app.ts'

const entry = {
  id: 'answerRiddle',
  method: 'POST',
  path: '/riddles/{tone}/answers',
  prefixes: ['', '/v2', '/v2/v3toy'],
  family: 'messages',
  isModelRequest: true,
  span: {
    spanName: 'Riddles',
    apiFormat: 'messages',
    kind: 'LLM',
    operation: 'chat',
    genAiOperation: 'chat'
  },
  payloadEvents: { response: 'riddle_response', chunk: 'riddle_chunk' },
  tag: 'Anthropic / Messages',
  summary: 'Answer a riddle'
} as const satisfies Operation

/** Its reader: a riddle is a chat of one message, and the tone of the path begins it. */
function readRiddle(body: Uint8Array, tone: string): object {
  const { model, riddle } = JSON.parse(Buffer.from(body).toString('utf8')) as { model: string; riddle: string }
  return { model, messages: [{ role: 'user', content: `${tone}: ${riddle}` }] }
}

/** Its writer. */
const riddleFace: ChatClientFace = {
  ...completionsFace,
  writeResponse: ({ items }) => ({ answer: items.map(item => (item.type === 'text' ? item.text : '')).join('') })
}

function createHandler(runtime: WorkerRuntime): OperationHandler {
  const chat = createChatHandler(runtime, { protocol: 'completions', face: riddleFace })
  return (request, reply, { tone = '' }) => {
    request.context.body = Buffer.from(JSON.stringify(readRiddle(request.context.body, tone)))
    return chat(request, reply)
  }
}

const receiver = await startOtlpReceiver(t, 'http')
const settings = parseSettings({
  GATEWAY_LOG_LEVEL: 'DEBUG',
  GATEWAY_OBSERVABILITY_ENABLED: 'true',
  GATEWAY_TRACE_COLLECTOR_ENDPOINT: receiver.url,
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf'
})
const logged: Array<Record<string, unknown>> = []
const { baseUrl } = await startToyServer(t)
const log = pino({ level: 'debug' }, { write: line => logged.push(JSON.parse(line)) })
const { app, url } = await startWorker(
  t,
  { ...workerOptions(settings), profiles: createToyProfileSet(settings, baseUrl), credentials: toyCredentials, log },
  {
    faces: { ...providerFaces, ...toyFaces },
    kinds: { ...providerKinds, toy: toyKind },
    operations: {
      table: [...operations, entry],
      createHandlers: runtime => ({
        ...servedOperations.createHandlers(runtime),
        answerRiddle: createHandler(runtime)
      })
    }
  }
)
const body = { model: 'toy/model', riddle: 'who am I?' }

t.test('it is mounted under its prefixes, and its paths are repaired', async t => {
  for (const path of [
    '/riddles/kind/answers',
    '/v2/riddles/kind/answers',
    '/v2/v3toy/riddles/kind/answers',
    '/any/proxy/riddles/kind/answers',
    '/v2/v1/riddles/kind/answers/',
    '/v2/any/v3toy/riddles/kind/answers'
  ]) {
    const { status, json } = await post(url + path, body)
    t.equal(status, 200, path)
    t.same(json, { answer: 'You said kind: who am I?.' })
  }
  const decoded = await post(`${url}/riddles/very%20kind/answers`, body)
  t.same(decoded.json, { answer: 'You said very kind: who am I?.' })
  t.equal((await post(`${url}/v1/riddles/kind/answers`, body)).status, 404, 'not one of its prefixes')
})

t.test('its errors have the form of its family, also where no route or another method serves the path', async t => {
  for (const [method, path, status] of [
    ['POST', '/v2/riddles/kind/answers', 400],
    ['POST', '/riddles/kind/nothing', 404],
    ['POST', '/riddles//answers', 404],
    ['PUT', '/v2/riddles/kind/answers', 405]
  ] as const) {
    const response = await fetch(url + path, { method, body: '{"model":7}' })
    t.equal(response.status, status, path)
    t.match(await response.json(), { type: 'error', request_id: String }, path)
  }
})

t.test('its span and the events of its payloads have the names of its entry', async t => {
  logged.length = 0
  const { headers } = await post(`${url}/v2/riddles/kind/answers`, body)
  const id = headers.get('x-request-id')
  const find = () => receiver.spans.find(({ attributes }) => attributes.request_id === id)
  await receiver.until(() => find() !== undefined)
  t.match(find(), {
    name: 'Riddles',
    attributes: { 'http.route': '/v2/riddles/{tone}/answers', protocol: 'anthropic', 'gateway.api_format': 'messages' }
  })
  t.match(
    logged.filter(({ event }) => event === 'riddle_response'),
    [{ request_id: id, status: 200, response: { answer: 'You said kind: who am I?.' } }]
  )
})

t.test('the API document lists it under each prefix', async t => {
  const { json } = await get(`${url}/openapi.json`)
  for (const [prefix, operationId] of [
    ['', 'answerRiddle'],
    ['/v2', 'answerRiddleV2'],
    ['/v2/v3toy', 'answerRiddleV2V3toy']
  ]) {
    t.match(json.paths[`${prefix}/riddles/{tone}/answers`].post, {
      operationId,
      summary: 'Answer a riddle',
      tags: ['Anthropic / Messages'],
      parameters: [{ name: 'tone', in: 'path', required: true }],
      responses: { 503: { $ref: '#/components/responses/Messages503' } }
    })
  }
})

t.test('it is refused in the drain, and its unserved paths too', async t => {
  app.startDraining()
  for (const path of ['/v2/riddles/kind/answers', '/v1/riddles/kind/answers']) {
    const { status, headers, json } = await post(url + path, body)
    t.equal(status, 503, path)
    t.equal(headers.get('connection'), 'close')
    t.match(json, { type: 'error', error: { code: 'gateway_not_ready' } })
  }
})
