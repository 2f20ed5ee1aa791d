import t from 'tap'
import { type FamilyErrorCode, familyErrorDefinitions, GatewayError } from '../../../../../worker/normalized/index.ts'
import {
  writeCompletionsError,
  writeCompletionsStreamError
} from '../../../../../worker/protocols/completions/client/errors.ts'
import {
  writeDuration,
  writeLimitHeaders
} from '../../../../../worker/protocols/shared/completions-family/limit-headers.ts'

/** Status, type, param and code that a client gets when the raised error has a code and no other member. */
type Row = [status: number, type: string, param: string | null, code: string | null]

const invalid = 'invalid_request_error'
const table: Record<FamilyErrorCode, Row> = {
  invalid_json: [400, invalid, null, 'invalid_json'],
  invalid_request: [400, invalid, null, 'invalid_request'],
  unsupported_parameter: [400, invalid, null, 'unsupported_parameter'],
  unsupported_response_format: [400, invalid, 'response_format.type', 'unsupported_response_format'],
  unsupported_semantic: [400, invalid, null, 'unsupported_semantic'],
  context_length_exceeded: [400, invalid, null, 'context_length_exceeded'],
  model_required: [400, invalid, 'model', 'model_required'],
  request_entity_too_large: [413, invalid, null, 'request_entity_too_large'],
  request_timeout: [408, invalid, null, 'request_timeout'],
  unsupported_media_type: [415, invalid, 'attachments', 'unsupported_media_type'],
  unsupported_content_encoding: [415, invalid, null, 'unsupported_content_encoding'],
  invalid_url: [400, invalid, 'attachments', 'invalid_url'],
  attachment_download_failed: [400, invalid, 'attachments', 'attachment_download_failed'],
  invalid_attachment_ids: [400, invalid, null, 'invalid_attachment_ids'],
  previous_response_not_found: [404, 'not_found_error', null, 'previous_response_not_found'],
  object_not_found: [404, invalid, null, null],
  conversation_busy: [409, invalid, null, 'conversation_busy'],
  store_unavailable: [503, 'server_error', null, 'store_unavailable'],
  unknown_url: [404, invalid, null, 'unknown_url'],
  upgrade_required: [426, invalid, null, 'upgrade_required'],
  method_not_allowed: [405, invalid, null, 'method_not_allowed'],
  unknown_model_alias: [404, invalid, 'model', 'unknown_model_alias'],
  model_not_found: [404, 'not_found_error', 'model', 'model_not_found'],
  host_not_allowed: [421, invalid, null, 'host_not_allowed'],
  origin_not_allowed: [403, 'permission_denied_error', null, 'origin_not_allowed'],
  invalid_api_key: [401, 'authentication_error', null, 'invalid_api_key'],
  key_expired: [401, 'authentication_error', null, 'key_expired'],
  key_disabled: [401, 'authentication_error', null, 'key_disabled'],
  rate_limit_exceeded: [429, 'rate_limit_error', null, 'rate_limit_exceeded'],
  budget_exceeded: [429, 'insufficient_quota', null, 'budget_exceeded'],
  limits_unavailable: [503, 'server_error', null, 'limits_unavailable'],
  invalid_upstream_authorization: [400, invalid, null, 'invalid_upstream_authorization'],
  gateway_not_ready: [503, 'server_error', null, 'gateway_not_ready'],
  gateway_overloaded: [503, 'server_error', null, 'gateway_overloaded'],
  model_concurrency_limit: [429, 'rate_limit_error', 'model', 'model_concurrency_limit'],
  internal_error: [500, 'server_error', null, null],
  client_disconnected: [499, 'server_error', null, 'client_disconnected'],
  upstream_rejected: [400, invalid, null, null],
  upstream_unauthorized: [401, 'authentication_error', null, 'invalid_api_key'],
  upstream_forbidden: [403, 'permission_denied_error', null, null],
  upstream_not_found: [404, 'not_found_error', null, null],
  rate_limited: [429, 'rate_limit_error', null, null],
  upstream_error: [500, 'server_error', null, null],
  upstream_generation_error: [500, 'server_error', null, 'upstream_generation_error'],
  provider_failure: [502, 'server_error', null, 'provider_failure'],
  provider_timeout: [504, 'server_error', null, 'provider_timeout'],
  provider_connections_exhausted: [503, 'server_error', null, 'provider_connections_exhausted'],
  provider_protocol_error: [502, 'server_error', null, 'provider_protocol_error'],
  destination_mismatch: [502, 'server_error', null, 'destination_mismatch'],
  credential_unavailable: [502, 'server_error', null, 'credential_unavailable']
}

const NOT_REPEATED = new Set<string>(['upstream_generation_error', 'budget_exceeded'])
const KEY_CODES = new Set<string>(['invalid_api_key', 'key_expired', 'key_disabled'])

const codes = Object.keys(familyErrorDefinitions) as FamilyErrorCode[]

t.test('every error has the status, type, param and code of the family (A15)', async t => {
  for (const code of codes) {
    const error = new GatewayError(code)
    const written = writeCompletionsError(error)
    const [status, type, param, publicCode] = table[code]
    t.equal(written.status, status, code)
    t.match(written.body, { error: { message: error.message, type, param, code: publicCode } }, code)
  }
})

t.test('an error body is the top-level envelope and nothing else', async t => {
  for (const code of codes) {
    if (code === 'gateway_not_ready') continue
    const { body } = writeCompletionsError(new GatewayError(code))
    t.strictSame(Object.keys(body), ['error'])
    t.strictSame(Object.keys(body.error as object), ['message', 'type', 'param', 'code'])
  }
})

t.test('the path of the invalid field is the param', async t => {
  const error = new GatewayError('invalid_request', { param: 'messages[0].role', message: 'm' })
  t.strictSame(writeCompletionsError(error).body, {
    error: { message: 'm', type: invalid, param: 'messages[0].role', code: 'invalid_request' }
  })
})

t.test('every error of an attachment has attachments as its param', async t => {
  const param = 'messages[0].content[1]'
  for (const code of ['invalid_url', 'unsupported_media_type', 'request_entity_too_large'] as const) {
    t.match(writeCompletionsError(new GatewayError(code, { param })).body, { error: { param: 'attachments', code } })
  }
})

t.test('an upstream status that the family defines gets no code, any other gets provider_failure', async t => {
  const writtenFor = (code: FamilyErrorCode, status: number) => {
    const { status: written, body } = writeCompletionsError(new GatewayError(code, { status }))
    return [written, body.error]
  }
  for (const status of [400, 409, 413, 422]) {
    t.match(writtenFor('upstream_rejected', status), [status, { type: invalid, code: null }])
  }
  for (const status of [402, 418]) {
    t.match(writtenFor('upstream_rejected', status), [status, { type: invalid, code: 'provider_failure' }])
  }
  for (const status of [402, 409, 418]) {
    t.match(writtenFor('provider_failure', status), [status, { type: invalid, code: 'provider_failure' }])
  }
  for (const status of [502, 503, 504]) {
    for (const code of ['upstream_error', 'provider_failure'] as const) {
      t.match(writtenFor(code, status), [status, { type: 'server_error', code: 'provider_failure' }])
    }
  }
})

t.test('retry-after is sent only with 429 and 503, and with every refusal of the gateway itself', async t => {
  const retryAfter = (code: FamilyErrorCode, options = {}) =>
    writeCompletionsError(new GatewayError(code, options)).headers['retry-after']
  t.equal(retryAfter('rate_limited', { retryAfter: '7' }), '7')
  t.equal(retryAfter('rate_limited'), undefined)
  t.equal(
    retryAfter('provider_failure', { status: 503, retryAfter: 'Wed, 21 Oct 2026 07:28:00 GMT' }),
    'Wed, 21 Oct 2026 07:28:00 GMT'
  )
  t.equal(retryAfter('provider_failure', { status: 502, retryAfter: '7' }), undefined)
  for (const code of [
    'gateway_not_ready',
    'gateway_overloaded',
    'model_concurrency_limit',
    'store_unavailable'
  ] as const) {
    t.equal(retryAfter(code), '1')
    t.equal(retryAfter(code, { retryAfter: '4' }), '4')
  }
})

t.test('each other header is sent only with the error that it belongs to', async t => {
  for (const code of codes) {
    const { headers } = writeCompletionsError(new GatewayError(code))
    t.equal(headers['x-should-retry'], NOT_REPEATED.has(code) ? 'false' : undefined)
    t.equal(headers['www-authenticate'], KEY_CODES.has(code) ? 'Bearer' : undefined)
  }
  const wrongMethod = new GatewayError('method_not_allowed', { allow: 'POST' })
  t.strictSame(writeCompletionsError(wrongMethod).headers, { allow: 'POST' })
})

t.test('the response during a drain is the machine document and the envelope in one body', async t => {
  const error = new GatewayError('gateway_not_ready', { reason: 'gateway_shutting_down' })
  t.strictSame(writeCompletionsError(error), {
    status: 503,
    headers: { 'retry-after': '1' },
    body: {
      schema_version: 'gateway.error.v1',
      error: {
        message: 'Gateway routes are not ready.',
        type: 'server_error',
        param: null,
        code: 'gateway_not_ready',
        details: [{ reason_id: 'gateway_shutting_down' }]
      }
    }
  })
  t.match(writeCompletionsError(new GatewayError('gateway_not_ready')).body, { error: { details: [] } })
})

t.test("in a stream the upstream's failures share one code and every other error keeps its own (A14)", async t => {
  const streamCode = (code: FamilyErrorCode) =>
    writeCompletionsStreamError(new GatewayError(code, { message: 'm' })).error
  const failures: FamilyErrorCode[] = [
    'upstream_rejected',
    'upstream_unauthorized',
    'upstream_forbidden',
    'upstream_not_found',
    'upstream_error',
    'provider_failure',
    'destination_mismatch',
    'credential_unavailable'
  ]
  for (const code of failures) {
    t.strictSame(streamCode(code), { message: 'm', type: 'server_error', param: null, code: 'stream_error' })
  }
  t.match(streamCode('rate_limited'), { type: 'rate_limit_error', code: 'stream_error' })
  const own: FamilyErrorCode[] = [
    'internal_error',
    'provider_timeout',
    'provider_protocol_error',
    'upstream_generation_error',
    'gateway_not_ready'
  ]
  for (const code of own) t.match(streamCode(code), { type: 'server_error', param: null, code })
  t.strictSame(streamCode('model_concurrency_limit'), {
    message: 'm',
    type: 'rate_limit_error',
    param: 'model',
    code: 'model_concurrency_limit'
  })
})

t.test('keys 6: a reached limit and a spent budget have the types of the public service', async t => {
  const message = "The API key 'ci' has reached its limit of 60 requests per minute. Try again in 7 s."
  t.strictSame(writeCompletionsError(new GatewayError('rate_limit_exceeded', { message, retryAfter: '7' })), {
    status: 429,
    headers: { 'retry-after': '7' },
    body: { error: { message, type: 'rate_limit_error', param: null, code: 'rate_limit_exceeded' } }
  })
  t.strictSame(writeCompletionsError(new GatewayError('budget_exceeded', { message: 'm', retryAfter: '86400' })), {
    status: 429,
    headers: { 'retry-after': '86400', 'x-should-retry': 'false' },
    body: { error: { message: 'm', type: 'insufficient_quota', param: null, code: 'budget_exceeded' } }
  })
  const total = writeCompletionsError(new GatewayError('budget_exceeded'))
  t.strictSame(total.headers, { 'x-should-retry': 'false' }, 'a budget without a period has no time to wait')
  t.match(writeCompletionsError(new GatewayError('limits_unavailable')), {
    status: 503,
    headers: { 'retry-after': '1' },
    body: { error: { type: 'server_error', param: null, code: 'limits_unavailable' } }
  })
})

t.test('keys 6: the counters of a key are in the headers that the SDKs of this family read', async t => {
  const requests = { limit: 60, remaining: 59, resetMs: 1000 }
  const tokens = { limit: 150_000, remaining: 149_984, resetMs: 59_016 }
  t.strictSame(writeLimitHeaders({ requests, tokens }), [
    ...['x-ratelimit-limit-requests', '60'],
    ...['x-ratelimit-remaining-requests', '59'],
    ...['x-ratelimit-reset-requests', '1s'],
    ...['x-ratelimit-limit-tokens', '150000'],
    ...['x-ratelimit-remaining-tokens', '149984'],
    ...['x-ratelimit-reset-tokens', '59.016s']
  ])
  t.equal(writeLimitHeaders({ tokens }).length, 6)
  t.strictSame(writeLimitHeaders({}), [])
})

t.test('durations have the form of the public service', async t => {
  const cases: Array<[durationMs: number, text: string]> = [
    [0, '0s'],
    [12, '12ms'],
    [1000, '1s'],
    [8640, '8.64s'],
    [60_000, '1m0s'],
    [86_400, '1m26.4s'],
    [360_000, '6m0s'],
    [3_723_000, '1h2m3s']
  ]
  for (const [durationMs, text] of cases) t.equal(writeDuration(durationMs), text)
})
