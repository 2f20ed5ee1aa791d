import t from 'tap'
import { GatewayError } from '../../../../worker/normalized/index.ts'
import {
  CallFailure,
  protocolFailure,
  timeoutFailure,
  transportFailure
} from '../../../../worker/providers/http/call-failure.ts'
import {
  createProfileRetries,
  createSettingsRetries,
  decideRetry,
  type RetryPolicy,
  readRetryAfter
} from '../../../../worker/providers/http/retry.ts'

const policy: RetryPolicy = createSettingsRetries({
  retriesMax: 3,
  backoffSeconds: 0.5,
  statuses: [429, 500, 502, 503, 504]
})
const clock = { nowMs: Date.UTC(2026, 0, 1), random: () => 0 }

function failure(facts: { status?: number; retryAfter?: string; isRetryable?: boolean }): CallFailure {
  return new CallFailure(new GatewayError('upstream_error'), facts)
}

t.test('without the setting nothing is attempted again', async t => {
  t.equal(decideRetry(failure({ status: 503 }), 0, { ...policy, retriesMax: 0 }, clock), undefined)
  t.equal(decideRetry(failure({}), 0, { ...policy, retriesMax: 0 }, clock), undefined)
})

t.test('the list of statuses decides, and every transport failure counts', async t => {
  t.ok(decideRetry(failure({ status: 429 }), 0, policy, clock))
  t.equal(decideRetry(failure({ status: 429 }), 0, { ...policy, statuses: [503] }, clock), undefined)
  t.equal(decideRetry(failure({ status: 501 }), 0, policy, clock), undefined)
  t.equal(decideRetry(failure({ status: 400 }), 0, policy, clock), undefined)
  t.ok(decideRetry(failure({}), 0, { ...policy, statuses: [] }, clock))
  t.equal(decideRetry(failure({ isRetryable: false }), 0, policy, clock), undefined)
})

t.test('the delay doubles, with up to half a second of jitter, up to a minute', async t => {
  t.same(
    [0, 1, 2].map(attempt => decideRetry(failure({ status: 503 }), attempt, policy, clock)?.delayMs),
    [500, 1000, 2000]
  )
  t.same(decideRetry(failure({}), 0, policy, { ...clock, random: () => 0.5 }), { delayMs: 750 })
  t.same(decideRetry(failure({}), 9, { ...policy, retriesMax: 10 }, clock), { delayMs: 60_000 })
  t.equal(decideRetry(failure({}), 3, policy, clock), undefined)
})

t.test('retry-after sets the delay, unless it is longer than a minute', async t => {
  t.same(decideRetry(failure({ status: 429, retryAfter: '7' }), 0, policy, clock), { delayMs: 7000 })
  t.same(decideRetry(failure({ status: 503, retryAfter: 'Thu, 01 Jan 2026 00:00:03 GMT' }), 0, policy, clock), {
    delayMs: 3000
  })
  t.equal(decideRetry(failure({ status: 429, retryAfter: '61' }), 0, policy, clock), undefined)
  t.same(decideRetry(failure({ status: 429, retryAfter: '0' }), 0, policy, clock), { delayMs: 500 })
  t.same(decideRetry(failure({ status: 500, retryAfter: '7' }), 0, policy, clock), { delayMs: 500 })
})

t.test('retry-after is a number of seconds or a date', async t => {
  t.equal(readRetryAfter(' 2.5 ', 0), 2500)
  t.equal(readRetryAfter('Thu, 01 Jan 1970 00:00:01 GMT', 0), 1000)
  t.equal(readRetryAfter('Thu, 01 Jan 1970 00:00:01 GMT', 5000), 0)
  for (const text of ['', '-1', 'soon', '2026-01-01', '1e3', 'Thu, 99 Foo 1970 GMT'])
    t.equal(readRetryAfter(text, 0), undefined, text)
})

const profile = createProfileRetries(3)

function broken(code: string): CallFailure {
  return transportFailure(Object.assign(new Error(code), { code }))
}

t.test('retries of a profile repeat refused and reset connections, and statuses that pass', async t => {
  for (const status of [429, 502, 503, 504, 529]) t.ok(decideRetry(failure({ status }), 0, profile, clock), `${status}`)
  for (const status of [400, 401, 404, 408, 409, 500]) {
    t.equal(decideRetry(failure({ status }), 0, profile, clock), undefined, `${status}`)
  }
  for (const code of ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']) {
    t.ok(decideRetry(broken(code), 0, profile, clock), code)
  }
  for (const code of ['ENOTFOUND', 'ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT', 'CERT_HAS_EXPIRED', 'HPE_INVALID_VERSION']) {
    t.equal(decideRetry(broken(code), 0, profile, clock), undefined, code)
  }
  for (const other of [
    timeoutFailure('the head', 1),
    protocolFailure('unexpected_content_type', { isRetryable: true })
  ]) {
    t.equal(decideRetry(other, 0, profile, clock), undefined)
  }
  const overloaded = new CallFailure(new GatewayError('provider_failure', { upstreamStatus: 529 }))
  t.ok(decideRetry(overloaded, 0, profile, clock), 'an error as the first event of a stream')
  const refused = new CallFailure(new GatewayError('upstream_rejected', { upstreamStatus: 400 }))
  t.equal(decideRetry(refused, 0, profile, clock), undefined)
})

t.test('retries of a profile wait 250 ms, doubled, with jitter, or what the provider asks for up to 5 s', async t => {
  const delays = (random: number) =>
    [0, 1, 2, 3].map(attempt =>
      decideRetry(failure({ status: 503 }), attempt, profile, { ...clock, random: () => random })
    )
  t.same(delays(0), [{ delayMs: 250 }, { delayMs: 500 }, { delayMs: 1000 }, undefined])
  t.same(delays(1), [{ delayMs: 375 }, { delayMs: 625 }, { delayMs: 1125 }, undefined])
  for (const status of [429, 502, 503, 504, 529]) {
    t.same(decideRetry(failure({ status, retryAfter: '5' }), 0, profile, clock), { delayMs: 5000 })
    t.equal(decideRetry(failure({ status, retryAfter: '6' }), 0, profile, clock), undefined)
  }
})
