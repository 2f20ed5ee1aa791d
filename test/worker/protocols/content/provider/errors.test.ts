import t from 'tap'
import { findError, readError } from '../../../../../worker/protocols/content/provider/errors.ts'

function read(status: number, body: unknown, headers: Record<string, string> = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const { code, status: shown, message, retryAfter } = readError({ status, headers }, Buffer.from(text))
  return { code, status: shown, message, retryAfter }
}

const rpc = (code: number, status: string, details?: unknown) => ({
  error: { code, message: 'The words of the provider.', status, ...(details === undefined ? {} : { details }) }
})
const retryInfo = (retryDelay: unknown) => [
  { '@type': 'type.googleapis.com/google.rpc.Help' },
  { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay }
]

t.test('statuses have the meaning that they have for every external provider (bridge.md 8.7)', async t => {
  const words = 'The words of the provider.'
  t.match(read(400, rpc(400, 'INVALID_ARGUMENT')), { code: 'upstream_rejected', status: 400, message: words })
  t.match(read(400, [rpc(400, 'INVALID_ARGUMENT')]), { status: 400, message: words })
  for (const status of [401, 403, 404]) {
    const { message } = read(status, rpc(status, 'PERMISSION_DENIED'))
    t.match(read(status, rpc(status, 'X')), { code: 'provider_failure', status: 502 }, `${status}`)
    t.notMatch(message, words)
  }
  t.match(read(429, rpc(429, 'RESOURCE_EXHAUSTED')), { code: 'rate_limited', status: 429, message: words })
  t.match(read(500, rpc(500, 'INTERNAL')), { code: 'provider_failure', status: 500 })
  t.match(read(503, rpc(503, 'UNAVAILABLE')), { code: 'provider_failure', status: 503 })
  t.match(read(504, rpc(504, 'DEADLINE_EXCEEDED')), { code: 'provider_timeout', status: 504 })
  t.match(read(502, '<html>'), { code: 'provider_failure', status: 502 })
  t.match(read(400, { error: 'plain' }), { status: 400, message: 'plain' })
})

t.test('a key that the provider does not accept is the fault of the operator, not of the client', async t => {
  const details = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }]
  const refused = read(400, rpc(400, 'INVALID_ARGUMENT', details))
  t.match(refused, { code: 'provider_failure', status: 502 })
  t.notMatch(refused.message, 'words')
  t.match(findError(rpc(400, 'INVALID_ARGUMENT', details)), { code: 'provider_failure', status: 502 })
})

t.test('bridge 84: the wait of the details stands in for a missing header', async t => {
  t.match(read(429, rpc(429, 'X', retryInfo('26.2s'))), { retryAfter: '27' })
  t.match(read(503, rpc(503, 'X', retryInfo('3s'))), { retryAfter: '3' })
  t.match(read(429, rpc(429, 'X', retryInfo('26s')), { 'retry-after': '7' }), { retryAfter: '7' })
  t.equal(read(500, rpc(500, 'X', retryInfo('3s'))).retryAfter, undefined)
  for (const odd of ['soon', '', 5, null, '-1s', '99999999999s']) {
    t.equal(read(429, rpc(429, 'X', retryInfo(odd))).retryAfter, undefined, `${odd}`)
  }
  t.equal(read(429, rpc(429, 'X', 'none')).retryAfter, undefined)
  t.match(findError(rpc(429, 'RESOURCE_EXHAUSTED', retryInfo('1.5s'))), { status: 429, retryAfter: '2' })
  t.equal(findError(rpc(500, 'INTERNAL', retryInfo('1.5s')))?.retryAfter, undefined)
})

t.test('an error without a number has that of its word', async t => {
  const statusOf = (status: string) => findError({ error: { status, message: 'a' } })?.status
  t.equal(statusOf('INVALID_ARGUMENT'), 400)
  t.equal(statusOf('RESOURCE_EXHAUSTED'), 429)
  t.equal(statusOf('UNAVAILABLE'), 503)
  t.equal(statusOf('UNAUTHENTICATED'), 502)
  t.equal(statusOf('toString'), 502)
})

t.test('an ordinary body holds no error', async t => {
  t.equal(findError({ candidates: [] }), undefined)
  t.equal(findError({ error: null }), undefined)
})
