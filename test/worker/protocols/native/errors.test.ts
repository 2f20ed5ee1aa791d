import t from 'tap'
import { findPayloadError, mapErrorEvent, readResponseError } from '../../../../worker/protocols/native/errors.ts'

/** The error for a status, a body and a `retry-after`. */
function readError(status: number, text: string | undefined, retryAfter: string | undefined) {
  const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter }
  return readResponseError({ status, headers }, Buffer.from(text ?? ''))
}

const body = (message: string, status = 400) => JSON.stringify({ status, message })

t.test('every status of the upstream gives its error', async t => {
  const table: Array<[status: number, code: string, mapped: number, kind: string]> = [
    [400, 'upstream_rejected', 400, 'invalid-request'],
    [401, 'upstream_unauthorized', 401, 'authentication'],
    [402, 'provider_failure', 402, 'invalid-request'],
    [403, 'upstream_forbidden', 403, 'permission'],
    [404, 'upstream_not_found', 404, 'not-found'],
    [409, 'provider_failure', 409, 'invalid-request'],
    [413, 'upstream_rejected', 413, 'too-large'],
    [422, 'upstream_rejected', 422, 'invalid-request'],
    [429, 'rate_limited', 429, 'rate-limit'],
    [500, 'upstream_error', 500, 'upstream'],
    [501, 'upstream_error', 500, 'upstream'],
    [502, 'provider_failure', 502, 'upstream'],
    [503, 'provider_failure', 503, 'upstream'],
    [504, 'provider_failure', 504, 'upstream'],
    [520, 'upstream_error', 500, 'upstream'],
    [529, 'provider_failure', 503, 'upstream'],
    [204, 'provider_protocol_error', 502, 'upstream'],
    [302, 'provider_protocol_error', 502, 'upstream']
  ]
  for (const [status, code, mapped, kind] of table) {
    const error = readError(status, body('Something', status), undefined)
    t.same([error.code, error.status, error.kind], [code, mapped, kind], String(status))
  }
})

t.test("the message is the upstream's, or a fixed text when it sent none", async t => {
  t.equal(readError(422, body('Invalid params: x'), undefined).message, 'Invalid params: x')
  t.equal(
    readError(401, '{"code":6,"message":"credentials doesn\'t match db data"}', undefined).message,
    "credentials doesn't match db data"
  )
  t.equal(readError(400, '{"error":{"message":"nested"}}', undefined).message, 'nested')
  for (const text of [
    undefined,
    '',
    '<html><body>502 nginx</body></html>',
    '[]',
    '{"message":7}',
    '{"message":""}',
    'plain'
  ]) {
    t.equal(readError(502, text, undefined).message, 'The upstream failed.')
  }
})

t.test('a 404 for an unknown model differs from a 404 for another object', async t => {
  const unknown = readError(404, body('No such model', 404), undefined)
  t.same([unknown.code, unknown.param, unknown.message], ['model_not_found', 'model', 'No such model'])
  t.equal(readError(404, body('No such file', 404), undefined).code, 'upstream_not_found')
  t.equal(readError(404, undefined, undefined).code, 'upstream_not_found')
})

t.test('retry-after is passed on for 429 and 503 only', async t => {
  for (const status of [429, 503, 529]) t.equal(readError(status, undefined, '7').retryAfter, '7')
  for (const status of [400, 500, 502, 504]) t.equal(readError(status, undefined, '7').retryAfter, undefined)
  t.equal(readError(429, undefined, undefined).retryAfter, undefined)
})

t.test('a message has no addresses, markup or secrets, and its length is bounded', async t => {
  const clean = (message: string) => readError(400, body(message), undefined).message
  t.equal(clean('see https://user:pw@internal.test:8443/v1/chat?key=1 there'), 'see [address] there')
  t.notMatch(clean('Authorization: Bearer abcdefgh12345678'), /abcdefgh/)
  t.notMatch(clean('access_token=abcdefgh12345678'), /abcdefgh/)
  t.equal(clean('<!DOCTYPE html><p>x</p>'), 'The upstream rejected the request.')
  t.equal(clean('a\n\n  b'), 'a b')
  t.equal(clean('x'.repeat(5000)).length, 1000)
  t.equal(clean(`${'x'.repeat(999)}👋`), 'x'.repeat(999))
})

t.test('an error inside a payload is found and keeps its status (A16)', async t => {
  const find = (payload: Record<string, unknown>) => {
    const error = findPayloadError(payload)
    return error === undefined ? undefined : [error.code, error.status, error.message]
  }
  t.same(find({ status: 429, message: 'Too Many Requests' }), ['rate_limited', 429, 'Too Many Requests'])
  t.same(find({ error: { message: 'slow down', code: 429 } }), ['rate_limited', 429, 'slow down'])
  t.same(find({ error: { message: 'slow down', status: '429' } }), ['rate_limited', 429, 'slow down'])
  t.same(find({ error: 'boom' }), ['upstream_error', 500, 'boom'])
  t.same(find({ error: true, message: 'boom', status: 404 }), ['upstream_not_found', 404, 'boom'])
  t.equal(find({ status: 200, message: 'fine' }), undefined)
  t.equal(find({ status: 500 }), undefined)
  t.equal(find({ error: null, choices: [] }), undefined)
  t.equal(find({ message: 'x' }), undefined)
})

t.test('an error event is an error even without status and message', async t => {
  t.equal(mapErrorEvent({}).status, 500)
  t.equal(mapErrorEvent({ status: 503 }).status, 503)
  t.equal(mapErrorEvent({ message: 'boom' }).message, 'boom')
})

t.test('cost 19: a message of which nothing can be shown is replaced by a fixed text', async t => {
  for (const text of [body('\ud800', 401), body(' \ud83d ', 401)]) {
    t.equal(readError(401, text, undefined).message, 'The upstream did not accept the credentials.')
  }
})

t.test('the message of the gateway itself has no word of the upstream (decisions.md 96)', async t => {
  for (let status = 300; status < 600; status += 1) {
    const error = readError(status, body('No such model: the reason', status), undefined)
    t.notMatch(error.ownMessage, 'the reason', String(status))
  }
  t.equal(readError(404, body('No such model: x', 404), undefined).ownMessage, 'The model does not exist.')
  // The connection has not failed where the upstream has answered.
  const ownMessage = (status: number) => readError(status, body('the reason', status), undefined).ownMessage
  for (const status of [502, 503, 504, 529]) t.equal(ownMessage(status), 'The upstream failed.', String(status))
  for (const status of [402, 409]) t.equal(ownMessage(status), 'The upstream rejected the request.', String(status))
})
