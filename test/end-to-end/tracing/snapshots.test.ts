// The spans of every route, whole and streamed, well and not, as an in-process collector decodes
// them from OTLP: the same over HTTP and gRPC (operations.md 11.2 to 11.6; field-lessons.md K7).

import t, { type Test } from 'tap'
import { readGoldenSpans, writeSpans } from '../../golden/spans.ts'
import { get, post } from '../../support/client.ts'
import { openConnection } from '../../worker/http/support.ts'
import { type AskOptions, askIn, type Family, families, openStream } from '../system/support.ts'
import { startTracedGateway, type TracedGateway } from './support.ts'

const key = { 'x-api-key': 'k1', 'user-agent': 'snapshot/1' }
const model = 'GigaChat-2'

const parameters = { type: 'object', properties: { city: { type: 'string' } } }
/** One tool in the form of each family. */
const tools: Readonly<Record<Family, object>> = {
  completions: { tools: [{ type: 'function', function: { name: 'get_weather', parameters } }], temperature: 0.5 },
  responses: { tools: [{ type: 'function', name: 'get_weather', parameters }], max_output_tokens: 77 },
  messages: { tools: [{ name: 'get_weather', input_schema: parameters }], tool_choice: { type: 'any' } },
  content: { tools: [{ functionDeclarations: [{ name: 'get_weather', parameters }] }], generationConfig: { topP: 0.5 } }
}
const call = '[[tool:get_weather {"city":"Oslo"}]]'

type Sent = Promise<{ headers: Headers }>
type Send = (gateway: TracedGateway) => Sent

const ask =
  (family: Family, text: string, options: AskOptions = {}): Send =>
  gateway =>
    askIn(gateway, family, text, { headers: key, ...options })
const send =
  (path: string, body: object, headers: Record<string, string> = key): Send =>
  gateway =>
    post(gateway.url + path, body, headers)
const read =
  (path: string, headers: Record<string, string> = key): Send =>
  gateway =>
    get(gateway.url + path, headers)

/** The upstream fails all attempts. */
const failing =
  (status: number, request: Send): Send =>
  async gateway => {
    gateway.emulator.failNext({ path: '/chat/completions', times: 10, status })
    const response = await request(gateway)
    gateway.emulator.reset()
    return response
  }

/** The client leaves in the middle of the stream. */
const leaving =
  (family: Family): Send =>
  async gateway => {
    const aborted = new AbortController()
    const stream = { signal: aborted.signal, headers: key }
    const response = await openStream(gateway, family, '[[chunks:abc|def]][[hang:1]]', stream)
    await response.body?.getReader().read()
    aborted.abort()
    return response
  }

const cases = new Map<string, Send>([
  ...families.flatMap(
    (family): Array<[string, Send]> => [
      [`${family}-whole`, ask(family, '[[text:Hello]]')],
      [`${family}-stream`, ask(family, '[[chunks:He|llo]]', { stream: true })],
      [`${family}-tool-whole`, ask(family, call, { more: tools[family] })],
      [`${family}-tool-stream`, ask(family, call, { more: tools[family], stream: true })],
      [`${family}-reasoning-stream`, ask(family, '[[reason:Because.]][[text:Hello]]', { stream: true })],
      [`${family}-upstream-500`, failing(500, ask(family, 'hi'))],
      [`${family}-upstream-429-stream`, failing(429, ask(family, 'hi', { stream: true }))],
      [`${family}-aborted`, leaving(family)],
      [`${family}-invalid-body`, ask(family, 'hi', { more: { messages: 5, input: 5, contents: 5 } })],
      [`${family}-401`, ask(family, 'hi', { headers: { 'user-agent': 'snapshot/1' } })]
    ]
  ),
  ['embeddings', send('/v1/embeddings', { model: 'Embeddings', input: ['a', 'b'] })],
  ['embed-content', send('/v1beta/models/Embeddings:embedContent', { content: { parts: [{ text: 'a' }] } })],
  [
    'batch-embed-contents',
    send('/v1beta/models/Embeddings:batchEmbedContents', {
      requests: [{ model: 'models/Embeddings', content: { parts: [{ text: 'a' }] } }]
    })
  ],
  ['count-messages', send('/v1/messages/count_tokens', { model, messages: [{ role: 'user', content: 'a' }] })],
  ['count-content', send(`/v1beta/models/${model}:countTokens`, { contents: [{ parts: [{ text: 'a' }] }] })],
  ['models', read('/v1/models')],
  ['model', read(`/v1/models/${model}`)],
  ['content-models', read('/v1beta/models')],
  ['health', read('/health')],
  ['ready', read('/ready')],
  ['unknown-path', read('/v1/nope')],
  ['wrong-method', read('/v1/chat/completions')],
  ['models-401', read('/v1/models', { 'user-agent': 'snapshot/1' })]
])

for (const transport of ['http', 'grpc'] as const) {
  t.test(`the spans of every route, over ${transport}`, async t => {
    const gateway = await startTracedGateway(t, {
      transport,
      env: { GATEWAY_ENABLE_API_KEY_AUTH: 'true', GATEWAY_API_KEY: 'k1' }
    })
    const responses = new Map<string, { headers: Headers }>()
    for (const [name, request] of cases) responses.set(name, await request(gateway))
    for (const [name, response] of responses) expectGolden(t, name, writeSpans(await gateway.spansOf(response)))
    expectGolden(t, 'drain-refusal', await refuseAtDrain(t, gateway))
    t.match(gateway.receiver.spans[0]?.resource, {
      'service.name': 'llm-gateway',
      'service.version': /^\d/,
      'service.instance.id': /^[0-9a-f-]{36}$/,
      'process.pid': Number,
      'gateway.worker.id': 1,
      'project.name': 'gateway',
      'openinference.project.name': 'gateway',
      'telemetry.sdk.name': 'opentelemetry'
    })
    t.same([...new Set(gateway.receiver.spans.map(({ scope }) => scope))], ['llm-gateway'])
  })
}

t.test('the spans of a chat with everything captured', async t => {
  const env = Object.fromEntries(
    ['CONTENT', 'MESSAGES', 'TOOL_ARGS', 'RESPONSES'].map(what => [`GATEWAY_OBSERVABILITY_CAPTURE_${what}`, 'true'])
  )
  const gateway = await startTracedGateway(t, { env })
  for (const family of families) {
    const response = await askIn(gateway, family, `${call}[[reason:Because.]]`, {
      more: tools[family],
      stream: true,
      headers: key
    })
    expectGolden(t, `${family}-captured`, writeSpans(await gateway.spansOf(response)))
  }
})

function expectGolden(t: Test, name: string, actual: string): void {
  t.equal(actual, readGoldenSpans(name, actual), name)
}

/** A request on a connection that was open before the drain began; resolves with its spans, which leave with the worker. */
async function refuseAtDrain(t: Test, gateway: TracedGateway): Promise<string> {
  const { emulator } = gateway
  const connection = await openConnection(t, Number(new URL(gateway.url).port))
  connection.socket.write('GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await connection.waitFor(/\r\n\r\n/)
  const aborted = new AbortController()
  const before = emulator.stats.activeChatRequests
  await openStream(gateway, 'completions', '[[chunks:abc|def]][[hang:1]]', { signal: aborted.signal, headers: key })
  await emulator.waitFor(({ stats }) => stats.activeChatRequests > before)
  const exited = gateway.stop()
  const ready = () => get(`${gateway.url}/ready`).then(({ status }) => status)
  while ((await ready().catch(() => 503)) !== 503) await new Promise(resolve => setImmediate(resolve))
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'too late' }] })
  const head = `host: localhost\r\nuser-agent: snapshot/1\r\nx-api-key: k1\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`
  connection.socket.write(`POST /v1/chat/completions HTTP/1.1\r\n${head}\r\n\r\n${body}`)
  await connection.closed
  const id = /HTTP\/1\.1 503 [\s\S]*x-request-id: ([0-9a-f-]{36})/.exec(connection.received())?.[1]
  aborted.abort()
  t.equal(await exited, 0)
  return writeSpans(await gateway.spansOf({ headers: new Headers({ 'x-request-id': id ?? '' }) }))
}
