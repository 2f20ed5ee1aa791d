// A request for a model that is refused before any provider is called has the span of its operation
// (operations.md 11.2; specification.md 6.3).

import t from 'tap'
import { get, type HttpResponse, post, upstreamChats } from '../../support/client.ts'
import { emulatorVariables, startEmulator } from '../../support/in-process-gateway.ts'
import { startOtlpReceiver } from '../../support/otlp/receiver.ts'
import { chatBaseUrl, startProfileGateway, writeChatProfile } from '../../support/profile-gateway.ts'
import { type AskOptions, askIn, type Family, families, openStream, urlOf } from '../system/support.ts'
import { spansOf, tracingVariables } from './support.ts'

const SPAN_NAMES: Readonly<Record<Family, string>> = {
  completions: 'Chat-Completions',
  responses: 'Responses-API',
  messages: 'Messages-API',
  content: 'Content-Generation'
}
const MODEL = 'outside'
const key = { 'x-api-key': 'k1' }

const emulator = await startEmulator(t)
const receiver = await startOtlpReceiver(t, 'http')
const gateway = await startProfileGateway(t, {
  profiles: [writeChatProfile({ id: 'p1', baseUrl: chatBaseUrl(emulator), aliases: [{ alias: MODEL }] })],
  env: {
    ...emulatorVariables(emulator),
    ...tracingVariables(receiver.url, 'http'),
    GATEWAY_ENABLE_API_KEY_AUTH: 'true',
    GATEWAY_API_KEY: 'k1',
    GATEWAY_MAX_REQUEST_BODY_BYTES: '2000',
    GATEWAY_MODEL_MAX_CONNECTIONS_DEFAULT: '1',
    GATEWAY_MODEL_MAX_CONNECTIONS_ACQUIRE_TIMEOUT: '0'
  }
})

const ask = (family: Family, text: string, options: AskOptions = {}): Promise<HttpResponse> =>
  askIn(gateway, family, text, { model: MODEL, headers: key, ...options })

/** Refusals whose reason stands in the request alone. */
const refusals: ReadonlyArray<[status: number, reason: string, send: (family: Family) => Promise<HttpResponse>]> = [
  [400, 'no JSON', family => post(urlOf(gateway, family, { model: MODEL }), '{', key)],
  [400, 'no object', family => post(urlOf(gateway, family, { model: MODEL }), '[]', key)],
  [401, 'no key', family => ask(family, 'hi', { headers: {} })],
  [404, 'an unknown model', family => ask(family, 'hi', { model: 'no/such/model' })],
  [413, 'a large body', family => ask(family, 'x'.repeat(3000))]
]

for (const family of families) {
  t.test(`operations 100: a refused request of ${family} has the span of its operation`, async t => {
    const expectSpan = async (status: number, reason: string, response: HttpResponse): Promise<void> => {
      t.equal(response.status, status, reason)
      const spans = await spansOf(receiver, response.headers.get('x-request-id'))
      t.equal(spans.length, 1, `${reason}: nothing was called`)
      t.match(spans[0], {
        name: SPAN_NAMES[family],
        kind: 'SERVER',
        status: { code: 'ERROR', message: /\w/ },
        attributes: {
          status: 'ERROR',
          'llm.response.status': 'ERROR',
          'otel.status_code': 'ERROR',
          status_code: status,
          'http.response.status_code': status,
          error_type: `http_${status}`,
          'error.type': `http_${status}`,
          'gateway.api_format': String,
          'gen_ai.operation.name': String
        }
      })
    }

    for (const [status, reason, send] of refusals) await expectSpan(status, reason, await send(family))
    t.same(upstreamChats(emulator), [], 'no provider was called')

    const aborted = new AbortController()
    const running = { model: MODEL, headers: key, signal: aborted.signal }
    await openStream(gateway, 'messages', '[[tick:50]][[len:5000]]', running)
    for (const stream of [false, true])
      await expectSpan(429, 'a model at its limit', await ask(family, 'hi', { stream }))
    const before = emulator.stats.aborted
    aborted.abort()
    await emulator.waitFor(({ stats }) => stats.aborted > before)
    emulator.reset()
  })
}

t.test('refused embeddings have the span of theirs', async t => {
  for (const headers of [key, undefined]) {
    const response = await post(`${gateway.url}/v1/embeddings`, { model: 'no/such/model', input: 'a' }, headers)
    t.equal(response.status, headers === undefined ? 401 : 404)
    const [span] = await spansOf(receiver, response.headers.get('x-request-id'))
    t.match(span, { name: 'Embeddings', attributes: { 'gateway.api_format': 'embeddings', status: 'ERROR' } })
  }
})

t.test('what asks for no model on such a path is a plain request', async t => {
  const url = urlOf(gateway, 'completions')
  const preflight = { origin: 'https://app.example', 'access-control-request-method': 'POST' }
  const asked = [await get(url, key), await fetch(url, { method: 'OPTIONS', headers: preflight })]
  for (const response of asked) {
    const [span] = await spansOf(receiver, response.headers.get('x-request-id'))
    t.equal(span?.name, 'gateway.request', `${response.status}`)
  }
})
