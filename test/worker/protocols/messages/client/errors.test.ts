import t from 'tap'
import {
  type FamilyErrorCode,
  familyErrorDefinitions,
  GatewayError,
  invalidRequest
} from '../../../../../worker/normalized/index.ts'
import { writeMessagesError } from '../../../../../worker/protocols/messages/client/errors.ts'
import { writeMessagesLimitHeaders } from '../../../../../worker/protocols/messages/client/limit-headers.ts'
import { readResponseError } from '../../../../../worker/protocols/native/errors.ts'

const context = { requestId: 'r1' }
const codes = Object.keys(familyErrorDefinitions) as FamilyErrorCode[]

function write(code: FamilyErrorCode, options: ConstructorParameters<typeof GatewayError>[1] = {}) {
  return writeMessagesError(new GatewayError(code, options), context)
}

/** Status and type of each code in the contract (section 8), and whether the body has the code itself. */
const expected: Record<FamilyErrorCode, [status: number, type: string, isNamed?: true]> = {
  invalid_json: [400, 'invalid_request_error'],
  invalid_request: [400, 'invalid_request_error'],
  unsupported_parameter: [400, 'invalid_request_error'],
  unsupported_response_format: [400, 'invalid_request_error'],
  unsupported_semantic: [400, 'invalid_request_error', true],
  context_length_exceeded: [400, 'invalid_request_error', true],
  model_required: [400, 'invalid_request_error', true],
  request_entity_too_large: [413, 'request_too_large'],
  request_timeout: [408, 'timeout_error'],
  unsupported_media_type: [400, 'invalid_request_error'],
  unsupported_content_encoding: [415, 'invalid_request_error'],
  invalid_url: [400, 'invalid_request_error'],
  attachment_download_failed: [400, 'invalid_request_error'],
  invalid_attachment_ids: [400, 'invalid_request_error'],
  previous_response_not_found: [404, 'not_found_error'],
  object_not_found: [404, 'not_found_error'],
  conversation_busy: [409, 'invalid_request_error'],
  store_unavailable: [503, 'overloaded_error', true],
  unknown_url: [404, 'not_found_error'],
  upgrade_required: [426, 'invalid_request_error'],
  method_not_allowed: [405, 'invalid_request_error'],
  unknown_model_alias: [404, 'not_found_error', true],
  model_not_found: [404, 'not_found_error'],
  host_not_allowed: [421, 'invalid_request_error', true],
  origin_not_allowed: [403, 'permission_error', true],
  invalid_api_key: [401, 'authentication_error'],
  key_expired: [401, 'authentication_error', true],
  key_disabled: [401, 'authentication_error', true],
  rate_limit_exceeded: [429, 'rate_limit_error', true],
  budget_exceeded: [429, 'rate_limit_error', true],
  limits_unavailable: [503, 'overloaded_error', true],
  invalid_upstream_authorization: [400, 'invalid_request_error', true],
  gateway_not_ready: [503, 'overloaded_error', true],
  gateway_overloaded: [503, 'overloaded_error', true],
  model_concurrency_limit: [429, 'rate_limit_error', true],
  internal_error: [500, 'api_error'],
  client_disconnected: [499, 'invalid_request_error'],
  upstream_rejected: [400, 'invalid_request_error'],
  upstream_unauthorized: [401, 'authentication_error'],
  upstream_forbidden: [403, 'permission_error'],
  upstream_not_found: [404, 'not_found_error'],
  rate_limited: [429, 'rate_limit_error'],
  upstream_error: [500, 'api_error'],
  upstream_generation_error: [500, 'api_error'],
  provider_failure: [502, 'api_error', true],
  provider_timeout: [504, 'timeout_error', true],
  provider_connections_exhausted: [503, 'overloaded_error', true],
  provider_protocol_error: [502, 'api_error', true],
  destination_mismatch: [502, 'api_error', true],
  credential_unavailable: [502, 'api_error', true]
}

t.test('every code has its status and type, and the body has no other members', async t => {
  for (const code of codes) {
    const [status, type, isNamed] = expected[code]
    const message = familyErrorDefinitions[code].text
    const named = isNamed === true ? { code, details: { error_code: code } } : {}
    const written = write(code)
    t.equal(written.status, status, code)
    t.same(written.body, { type: 'error', error: { type, message, ...named }, request_id: 'r1' }, code)
  }
})

t.test('the type follows the status of the upstream where that is kept', async t => {
  const cases: Array<[code: FamilyErrorCode, status: number, type: string]> = [
    ['upstream_rejected', 402, 'invalid_request_error'],
    ['upstream_rejected', 413, 'request_too_large'],
    ['upstream_rejected', 418, 'invalid_request_error'],
    ['upstream_rejected', 422, 'invalid_request_error'],
    ['upstream_error', 500, 'api_error'],
    ['provider_failure', 502, 'api_error'],
    ['provider_failure', 503, 'overloaded_error'],
    ['provider_timeout', 504, 'timeout_error']
  ]
  for (const [code, status, type] of cases) {
    const written = write(code, { status })
    t.equal(written.status, status)
    t.match(written.body, { error: { type } }, `${code} ${status}`)
  }
})

t.test('the message names the wrong field once', async t => {
  const field = writeMessagesError(invalidRequest('messages', 'Field required'), context)
  t.match(field.body, { error: { message: 'messages: Field required' } })
  const named = write('unsupported_semantic', { param: 'thinking', message: 'thinking cannot be preserved.' })
  t.match(named.body, { error: { message: 'thinking cannot be preserved.' } })
})

t.test('operations 57: an error during shutdown has its reason and a retry time', async t => {
  const written = write('gateway_not_ready', { reason: 'gateway_shutting_down' })
  t.equal(written.status, 503)
  t.same(written.headers, { 'retry-after': '1' })
  t.same(written.body, {
    type: 'error',
    error: {
      type: 'overloaded_error',
      message: 'Gateway routes are not ready.',
      code: 'gateway_not_ready',
      details: { error_code: 'gateway_shutting_down' }
    },
    request_id: 'r1'
  })
})

t.test('headers have the retry time, the allowed methods and the authentication scheme', async t => {
  t.same(write('rate_limited', { retryAfter: '7' }).headers, { 'retry-after': '7' })
  t.same(write('provider_failure', { status: 503, retryAfter: '9' }).headers, { 'retry-after': '9' })
  t.same(write('upstream_error', { retryAfter: '9' }).headers, {}, 'no retry time for an error that is not retryable')
  t.same(write('model_concurrency_limit').headers, { 'retry-after': '1' })
  t.same(write('method_not_allowed', { allow: 'POST' }).headers, { allow: 'POST' })
  t.same(write('invalid_api_key').headers, { 'www-authenticate': 'Bearer' })
})

t.test('the internal cause is not in the response', async t => {
  const written = write('provider_failure', { cause: new Error('connect ECONNREFUSED 10.0.0.1:443') })
  t.notMatch(JSON.stringify(written), /10\.0\.0\.1/)
})

t.test('the path of a field is written as names and numbers separated by dots', async t => {
  const missing = writeMessagesError(invalidRequest('messages[2].content[0].text', 'Field required'), context)
  t.match(missing.body, { error: { message: 'messages.2.content.0.text: Field required' } })
  const quoted = writeMessagesError(invalidRequest('tools[0].name', "'tools[0].name' must be a string."), context)
  t.match(quoted.body, { error: { message: 'tools.0.name: must be a string.' } })
})

t.test('the SDK does not retry a generation failure', async t => {
  t.same(write('upstream_generation_error').headers, { 'x-should-retry': 'false' })
})

t.test('the upstream status decides the type, and 429 and 503 have a retry time', async t => {
  const cases: Array<[status: number, type: string]> = [
    [400, 'invalid_request_error'],
    [401, 'authentication_error'],
    [403, 'permission_error'],
    [404, 'not_found_error'],
    [413, 'request_too_large'],
    [422, 'invalid_request_error'],
    [429, 'rate_limit_error'],
    [500, 'api_error'],
    [502, 'api_error'],
    [503, 'overloaded_error'],
    [504, 'timeout_error'],
    [599, 'api_error'],
    [418, 'invalid_request_error']
  ]
  for (const [status, type] of cases) {
    const written = writeMessagesError(
      readResponseError({ status, headers: { 'retry-after': '7' } }, Buffer.from('{"message":"Told."}')),
      context
    )
    t.equal(written.status, status === 599 ? 500 : status)
    t.match(written.body, { error: { type, message: 'Told.' } }, String(status))
    t.equal(written.headers['retry-after'], status === 429 || status === 503 ? '7' : undefined)
  }
})

t.test('the code of a provider stands where the SDK reads it (decisions.md 81)', async t => {
  const { body } = write('upstream_rejected', { providerCode: 'thread_unsupported_request' })
  t.match(body, { error: { details: { error_code: 'thread_unsupported_request' } } })
  t.notOk('code' in (body as { error: object }).error)
})

t.test('keys 6: a reached limit and a spent budget are rate limit errors with the code of their own', async t => {
  const message = "The API key 'ci' has reached its limit of 60 requests per minute. Try again in 7 s."
  t.strictSame(write('rate_limit_exceeded', { message, retryAfter: '7' }), {
    status: 429,
    headers: { 'retry-after': '7' },
    body: {
      type: 'error',
      error: {
        type: 'rate_limit_error',
        message,
        code: 'rate_limit_exceeded',
        details: { error_code: 'rate_limit_exceeded' }
      },
      request_id: 'r1'
    }
  })
  t.match(write('budget_exceeded', { retryAfter: '86400' }), {
    status: 429,
    headers: { 'retry-after': '86400', 'x-should-retry': 'false' },
    body: { error: { type: 'rate_limit_error', code: 'budget_exceeded' } }
  })
  t.strictSame(write('budget_exceeded').headers, { 'x-should-retry': 'false' })
  t.match(write('limits_unavailable'), { status: 503, headers: { 'retry-after': '1' } })
})

t.test('keys 6: the counters of a key are in the headers of this protocol, resets as times', async t => {
  const nowMs = Date.UTC(2026, 10, 29, 12, 0, 0, 1)
  const requests = { limit: 60, remaining: 59, resetMs: 1000 }
  const tokens = { limit: 150_000, remaining: 149_984, resetMs: 59_999 }
  t.strictSame(writeMessagesLimitHeaders({ requests, tokens }, nowMs), [
    ...['anthropic-ratelimit-requests-limit', '60'],
    ...['anthropic-ratelimit-requests-remaining', '59'],
    ...['anthropic-ratelimit-requests-reset', '2026-11-29T12:00:02Z'],
    ...['anthropic-ratelimit-tokens-limit', '150000'],
    ...['anthropic-ratelimit-tokens-remaining', '149984'],
    ...['anthropic-ratelimit-tokens-reset', '2026-11-29T12:01:00Z']
  ])
  t.strictSame(writeMessagesLimitHeaders({}, nowMs), [])
})
