import t from 'tap'
import { createKeyRing } from '../../../shared/keys/key-ring.ts'
import type { KeySet } from '../../../shared/keys/key-set.ts'
import { parseSettings } from '../../../shared/settings.ts'
import { summarize, type TrafficSummary } from '../../../shared/traffic/query.ts'
import {
  createReplays,
  REPLAY_BYTES_MAX,
  type ReplayOptions,
  readReplayBody,
  readReplayOptions,
  readReplayPath
} from '../../../worker/admin/replay.ts'
import { createRecord } from '../../supervisor/writer/records.ts'
import { writeKeySet } from '../../support/key-sets.ts'

const summary = summarize(createRecord({ request_id: 'source' }))
const mark = { source_log_id: summary.id, source_request_id: 'source', replayed_at: '2026-01-05T10:00:00.000000+00:00' }
const options = { overrides: {}, stream: undefined, timeoutMs: 1000 }
const payload = { request_headers: null, request_body: null, response_body: null }

function summaryAt(route: string, path: string): TrafficSummary {
  return { ...summary, route, metadata: { lifecycle: 'request_completed', path } }
}

t.test('the path of a record is where it is sent', async t => {
  const route = '/v1beta/models/{model}:generateContent'
  t.equal(readReplayPath(summaryAt(route, '/v1beta/models/x:generateContent')), '/v1beta/models/x:generateContent')
  t.throws(() => readReplayPath({ ...summary, method: 'GET' }), {
    code: 'replay_not_supported',
    message: 'Only POST traffic log requests can be replayed'
  })
  t.throws(() => readReplayPath(summaryAt('unmatched', '/x')), { message: 'Invalid replay route' })
  t.throws(() => readReplayPath(summaryAt('/x', 'http://elsewhere')), { message: 'Invalid replay route' })
  for (const path of ['/_admin/logs', '/_debug/translate', '/logs', '/debug/explain/openai', '//_admin/logs']) {
    for (const [route, raw] of [
      [path, path],
      ['/v1/chat/completions', path]
    ] as const) {
      t.throws(() => readReplayPath(summaryAt(route, raw)), {
        code: 'replay_not_supported',
        message: 'Admin, debug, and log routes cannot be replayed'
      })
    }
  }
})

t.test('only a whole object can be sent again', async t => {
  const whole = { ...payload, request_body: { model: 'm' } }
  t.same(readReplayBody(summary, whole), { model: 'm' })
  const shortened = (names: string[]) => ({ ...summary, metadata: { content_shortened: names } })
  t.same(readReplayBody(shortened(['response_body']), whole), { model: 'm' })
  t.throws(() => readReplayBody(shortened(['request_body']), whole), { code: 'request_body_not_captured' })
  for (const request_body of [null, 'text', 1, [], { truncated: true, max_bytes: 9, body: '{"a"' }]) {
    t.throws(() => readReplayBody(summary, { ...payload, request_body }), {
      code: 'request_body_not_captured',
      status: 409
    })
  }
  t.throws(() => readReplayBody(summary, null), { code: 'request_body_not_captured' })
})

t.test('the options are checked', async t => {
  const settings = parseSettings({})
  const read = (body: string) => readReplayOptions(Buffer.from(body), settings)
  t.match(read(''), { overrides: {}, stream: undefined })
  t.match(read('{"overrides":{"model":"x"},"stream":false,"timeout_seconds":1.5}'), {
    overrides: { model: 'x' },
    stream: false,
    timeoutMs: 1500
  })
  for (const body of ['[]', 'null', '{', '"x"']) t.throws(() => read(body), { code: 'invalid_json' }, body)
  for (const body of ['{"overrides":[]}', '{"stream":1}', '{"timeout_seconds":0}', '{"timeout_seconds":"1"}']) {
    t.throws(() => read(body), { code: 'invalid_request' }, body)
  }
})

function createReplaysOf(env: Record<string, string>, keySet?: KeySet) {
  const settings = parseSettings(env)
  return createReplays(settings, createKeyRing(settings, keySet))
}

t.test('a replay is redacted again, marked where the body has metadata, and has the name of a key', async t => {
  const replays = createReplaysOf({ GATEWAY_MODE: 'PROD', GATEWAY_API_KEY: 'ключ' })
  const body = { model: 'm', password: 'p', metadata: 'text', messages: [{ content: 'Bearer abc' }] }
  const planned = replays.plan({ summary, path: '/v1/chat/completions', body, options, mark })
  // Its connection is marked, so no secret of a key is needed (keys.md 2).
  t.same(planned.headers, { 'content-type': 'application/json', 'x-gateway-replay': 'true' })
  t.same(planned.replay, { sourceId: summary.id, keyName: 'default', scope: undefined })
  t.same(JSON.parse(planned.body), {
    model: 'm',
    password: '***',
    metadata: { gateway_replay: mark },
    messages: [{ content: 'Bearer ***' }]
  })
  const other = replays.plan({
    summary: summaryAt('/v1/embeddings', '/v1/embeddings'),
    path: '/v1/embeddings',
    body: { input: 'x', metadata: { a: 'b' } },
    options: { ...options, overrides: { input: 'y' }, stream: false },
    mark
  })
  t.same(JSON.parse(other.body), { input: 'y', metadata: { a: 'b' }, stream: false })
  const keyName = (env: Record<string, string>) =>
    createReplaysOf(env).plan({ summary, path: '/x', body, options, mark }).replay.keyName
  t.equal(keyName({}), undefined, 'no key is needed')
  t.equal(keyName({ GATEWAY_ENABLE_API_KEY_AUTH: 'true', GATEWAY_API_KEYS: '{"team":"k1"}' }), 'team')
})

t.test('keys 3: a replay may name the models of the key that made the record', async t => {
  const models = ['demo/*']
  const replays = createReplaysOf({}, writeKeySet({ keys: [{ name: 'ci', models }] }))
  const plan = (api_key_name: string) => {
    const made = { ...summary, metadata: { lifecycle: 'request_completed', api_key_name } }
    return replays.plan({ summary: made, path: '/x', body: {}, options, mark }).replay
  }
  t.same(plan('ci'), { sourceId: summary.id, keyName: undefined, scope: [models] })
  t.equal(plan('gone').scope, undefined)
})

t.test('the model and the stream of a content route are part of its path', async t => {
  const replays = createReplaysOf({})
  const plan = (method: string, changed: Partial<ReplayOptions>) => {
    const path = `/v1beta/models/m1:${method}`
    const { path: sentTo, body } = replays.plan({
      summary: summaryAt(`/v1beta/models/{model}:${method}`, path),
      path,
      body: { contents: [] },
      options: { ...options, ...changed },
      mark
    })
    return [sentTo.slice('/v1beta/models/'.length), JSON.parse(body)]
  }
  t.same(plan('generateContent', {}), ['m1:generateContent', { contents: [] }])
  t.same(plan('generateContent', { overrides: { model: 'models/a b' }, stream: true }), [
    'a%20b:streamGenerateContent',
    { contents: [] }
  ])
  t.same(plan('streamGenerateContent', { overrides: { contents: ['x'] }, stream: false }), [
    'm1:generateContent',
    { contents: ['x'] }
  ])
  t.same(plan('embedContent', { stream: true }), ['m1:embedContent', { contents: [] }])
  t.throws(() => plan('generateContent', { overrides: { model: 1 } }), { code: 'invalid_request', status: 400 })
})

t.test('a response is shown as JSON, as text, or not at all, and never with a secret', async t => {
  const replays = createReplaysOf({ GATEWAY_TRAFFIC_LOG_REDACT_EXTRA_KEYS: '["customer_token"]' })
  const request = replays.plan({ summary, path: '/v1/chat/completions', body: { model: 'm' }, options, mark })
  const show = (body: string, more: object = {}) =>
    replays.show(
      { id: summary.id, request, mark, summary },
      { status: 200, headers: { 'set-cookie': ['a=b'] }, body: Buffer.from(body), isCut: false, ...more }
    )
  t.match(show('{"customer_token":"x","n":1}'), {
    id: summary.id,
    request_id: 'source',
    replayed: true,
    request: { method: 'POST', path: '/v1/chat/completions', metadata: { gateway_replay: mark }, redacted: false },
    response: { status_code: 200, headers: { 'set-cookie': '***' }, body: { customer_token: '***', n: 1 } }
  })
  t.match(show('data: Bearer abc\n\n'), { response: { body: 'data: Bearer ***\n\n' } })
  t.match(show(''), { response: { body: null } })
  t.match(show('{"a":', { isCut: true }), {
    response: { body: { truncated: true, max_bytes: REPLAY_BYTES_MAX, body: '{"a":' } }
  })
})
