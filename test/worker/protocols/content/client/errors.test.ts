import t from 'tap'
import {
  type FamilyErrorCode,
  familyErrorDefinitions,
  GatewayError,
  invalidRequest
} from '../../../../../worker/normalized/index.ts'
import { writeContentError } from '../../../../../worker/protocols/content/client/errors.ts'

const context = { requestId: 'r1' }
const codes = Object.keys(familyErrorDefinitions) as FamilyErrorCode[]

function write(code: FamilyErrorCode, options: ConstructorParameters<typeof GatewayError>[1] = {}) {
  return writeContentError(new GatewayError(code, options), context)
}

function errorInfo(reason: string) {
  return { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'gateway' }
}

/** The contract's table (section 7) per code: status, RPC status, and the reason if there is one. */
const expected: Record<FamilyErrorCode, [status: number, rpcStatus: string, reason?: string]> = {
  invalid_json: [400, 'INVALID_ARGUMENT', 'invalid_json'],
  invalid_request: [400, 'INVALID_ARGUMENT'],
  unsupported_parameter: [400, 'INVALID_ARGUMENT'],
  unsupported_response_format: [400, 'INVALID_ARGUMENT'],
  unsupported_semantic: [400, 'INVALID_ARGUMENT', 'unsupported_semantic'],
  context_length_exceeded: [400, 'INVALID_ARGUMENT', 'context_length_exceeded'],
  model_required: [400, 'INVALID_ARGUMENT', 'model_required'],
  request_entity_too_large: [413, 'INVALID_ARGUMENT', 'request_entity_too_large'],
  request_timeout: [408, 'DEADLINE_EXCEEDED'],
  unsupported_media_type: [400, 'INVALID_ARGUMENT'],
  unsupported_content_encoding: [415, 'INVALID_ARGUMENT'],
  invalid_url: [400, 'INVALID_ARGUMENT'],
  attachment_download_failed: [400, 'INVALID_ARGUMENT'],
  invalid_attachment_ids: [400, 'INVALID_ARGUMENT'],
  previous_response_not_found: [404, 'NOT_FOUND'],
  object_not_found: [404, 'NOT_FOUND'],
  conversation_busy: [409, 'INVALID_ARGUMENT'],
  store_unavailable: [503, 'UNAVAILABLE', 'store_unavailable'],
  unknown_url: [404, 'NOT_FOUND'],
  upgrade_required: [426, 'FAILED_PRECONDITION'],
  method_not_allowed: [405, 'UNIMPLEMENTED'],
  unknown_model_alias: [404, 'NOT_FOUND', 'unknown_model_alias'],
  model_not_found: [404, 'NOT_FOUND'],
  host_not_allowed: [421, 'FAILED_PRECONDITION', 'host_not_allowed'],
  origin_not_allowed: [403, 'PERMISSION_DENIED', 'origin_not_allowed'],
  invalid_api_key: [401, 'UNAUTHENTICATED', 'API_KEY_INVALID'],
  key_expired: [401, 'UNAUTHENTICATED', 'key_expired'],
  key_disabled: [401, 'UNAUTHENTICATED', 'key_disabled'],
  rate_limit_exceeded: [429, 'RESOURCE_EXHAUSTED', 'rate_limit_exceeded'],
  budget_exceeded: [429, 'RESOURCE_EXHAUSTED', 'budget_exceeded'],
  limits_unavailable: [503, 'UNAVAILABLE', 'limits_unavailable'],
  invalid_upstream_authorization: [400, 'INVALID_ARGUMENT', 'invalid_upstream_authorization'],
  gateway_not_ready: [503, 'UNAVAILABLE', 'gateway_not_ready'],
  gateway_overloaded: [503, 'UNAVAILABLE', 'gateway_overloaded'],
  model_concurrency_limit: [429, 'RESOURCE_EXHAUSTED', 'model_concurrency_limit'],
  internal_error: [500, 'INTERNAL'],
  client_disconnected: [499, 'CANCELLED'],
  upstream_rejected: [400, 'INVALID_ARGUMENT'],
  upstream_unauthorized: [401, 'UNAUTHENTICATED'],
  upstream_forbidden: [403, 'PERMISSION_DENIED'],
  upstream_not_found: [404, 'NOT_FOUND'],
  rate_limited: [429, 'RESOURCE_EXHAUSTED'],
  upstream_error: [500, 'INTERNAL'],
  upstream_generation_error: [500, 'INTERNAL'],
  provider_failure: [502, 'UNAVAILABLE', 'provider_failure'],
  provider_timeout: [504, 'DEADLINE_EXCEEDED', 'provider_timeout'],
  provider_connections_exhausted: [503, 'UNAVAILABLE', 'provider_connections_exhausted'],
  provider_protocol_error: [502, 'UNAVAILABLE', 'provider_protocol_error'],
  destination_mismatch: [502, 'UNAVAILABLE', 'destination_mismatch'],
  credential_unavailable: [502, 'UNAVAILABLE', 'credential_unavailable']
}

t.test('every code has its status, RPC status and reason, and the body is only the envelope', async t => {
  for (const code of codes) {
    const [status, rpcStatus, reason] = expected[code]
    const message = familyErrorDefinitions[code].text
    const details = reason === undefined ? {} : { details: [errorInfo(reason)] }
    const written = write(code)
    t.equal(written.status, status, code)
    t.same(written.body, { error: { code: status, message, status: rpcStatus, ...details } }, code)
  }
})

t.test('the RPC status follows a status that comes from the upstream', async t => {
  const cases: Array<[code: FamilyErrorCode, status: number, rpcStatus: string]> = [
    ['upstream_rejected', 413, 'INVALID_ARGUMENT'],
    ['upstream_rejected', 409, 'INVALID_ARGUMENT'],
    ['provider_failure', 409, 'FAILED_PRECONDITION'],
    ['upstream_rejected', 418, 'FAILED_PRECONDITION'],
    ['upstream_rejected', 422, 'INVALID_ARGUMENT'],
    ['upstream_error', 500, 'INTERNAL'],
    ['provider_failure', 502, 'UNAVAILABLE'],
    ['provider_failure', 503, 'UNAVAILABLE'],
    ['provider_timeout', 504, 'DEADLINE_EXCEEDED']
  ]
  for (const [code, status, rpcStatus] of cases) {
    const written = write(code, { status })
    t.equal(written.status, status)
    t.match(written.body, { error: { code: status, status: rpcStatus } }, `${code} ${status}`)
  }
})

t.test('an error about the body contains the path of the field', async t => {
  const violation = (field: string, description: string) => ({
    '@type': 'type.googleapis.com/google.rpc.BadRequest',
    fieldViolations: [{ field, description }]
  })
  const missing = writeContentError(invalidRequest('contents', 'contents is not specified'), context)
  t.same(missing.body, {
    error: {
      code: 400,
      message: 'contents is not specified',
      status: 'INVALID_ARGUMENT',
      details: [violation('contents', 'contents is not specified')]
    }
  })
  const semantic = write('unsupported_semantic', { param: 'tools', message: 'no' })
  t.match(semantic.body, { error: { details: [errorInfo('unsupported_semantic'), violation('tools', 'no')] } })
})

t.test('an exceeded limit has the seconds to wait in the header and in the details', async t => {
  const limited = write('rate_limited', { retryAfter: '7' })
  t.same(limited.headers, { 'retry-after': '7' })
  t.match(limited.body, {
    error: { details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '7s' }] }
  })
  const dated = write('rate_limited', { retryAfter: 'Wed, 21 Oct 2026 07:28:00 GMT' })
  t.same(dated.headers, { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' })
  t.notMatch(JSON.stringify(dated.body), /RetryInfo/)
})

t.test('operations 57: a refusal during the drain has its reason and the time to wait', async t => {
  const written = write('gateway_not_ready', { reason: 'gateway_shutting_down' })
  t.equal(written.status, 503)
  t.same(written.headers, { 'retry-after': '1' })
  t.same(written.body, {
    error: {
      code: 503,
      message: 'Gateway routes are not ready.',
      status: 'UNAVAILABLE',
      details: [errorInfo('gateway_shutting_down')]
    }
  })
})

t.test('the cause of an error is not sent', async t => {
  const written = write('provider_failure', { cause: new Error('connect ECONNREFUSED 10.0.0.1:443') })
  t.notMatch(JSON.stringify(written), /10\.0\.0\.1/)
})

t.test('keys 6: a reached limit has the details of a quota that failed, and when to try again', async t => {
  const message = "The API key 'ci' has reached its limit of 60 requests per minute. Try again in 7 s."
  const limit = { name: 'requests_per_minute', holder: 'key', key: 'ci', amount: 60, retryAfterMs: 6_500 } as const
  t.strictSame(write('rate_limit_exceeded', { message, retryAfter: '7', limit }), {
    status: 429,
    headers: { 'retry-after': '7' },
    body: {
      error: {
        code: 429,
        message,
        status: 'RESOURCE_EXHAUSTED',
        details: [
          errorInfo('rate_limit_exceeded'),
          {
            '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
            violations: [{ subject: 'key:ci', description: message, quotaId: 'requests_per_minute' }]
          },
          { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '7s' }
        ]
      }
    }
  })
  const spent = { ...limit, name: 'budget', retryAfterMs: null } as const
  const budget = write('budget_exceeded', { message: 'm', limit: spent })
  t.strictSame(budget.headers, { 'x-should-retry': 'false' })
  t.match(budget.body, {
    error: { details: [errorInfo('budget_exceeded'), { violations: [{ subject: 'key:ci', quotaId: 'budget' }] }] }
  })
  t.notMatch(JSON.stringify(budget.body), /RetryInfo/, 'a budget without a period has no time to wait')
})
