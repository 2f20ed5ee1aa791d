import t from 'tap'
import { clientFaces } from '../../../../../worker/protocols/registry.ts'
import {
  findExternalError,
  readExternalError,
  readExternalErrorEvent
} from '../../../../../worker/protocols/shared/errors/external-error.ts'

/** The error for a status, a body and a `retry-after`. */
function readError(status: number, text = '', retryAfter?: string) {
  return readExternalError(
    { status, headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter } },
    Buffer.from(text)
  )
}

const body = (message: unknown) => JSON.stringify({ error: { message, type: 'x', code: 'its_code' } })

/** As the tables of bridge.md 8.7: what each client family gets of a status. */
const table: Array<{
  from: number
  status: number
  code: string | null
  type: string
  messages: string
  content: string
}> = [
  {
    from: 400,
    status: 400,
    code: 'its_code',
    type: 'invalid_request_error',
    messages: 'invalid_request_error',
    content: 'INVALID_ARGUMENT'
  },
  {
    from: 409,
    status: 409,
    code: null,
    type: 'invalid_request_error',
    messages: 'invalid_request_error',
    content: 'INVALID_ARGUMENT'
  },
  {
    from: 413,
    status: 413,
    code: 'its_code',
    type: 'invalid_request_error',
    messages: 'request_too_large',
    content: 'INVALID_ARGUMENT'
  },
  {
    from: 422,
    status: 422,
    code: 'its_code',
    type: 'invalid_request_error',
    messages: 'invalid_request_error',
    content: 'INVALID_ARGUMENT'
  },
  ...[401, 403, 404, 402, 418, 451].map(from => ({
    from,
    status: 502,
    code: 'provider_failure',
    type: 'server_error',
    messages: 'api_error',
    content: 'UNAVAILABLE'
  })),
  {
    from: 408,
    status: 504,
    code: 'provider_timeout',
    type: 'server_error',
    messages: 'timeout_error',
    content: 'DEADLINE_EXCEEDED'
  },
  {
    from: 429,
    status: 429,
    code: 'its_code',
    type: 'rate_limit_error',
    messages: 'rate_limit_error',
    content: 'RESOURCE_EXHAUSTED'
  },
  ...[301, 302, 307].map(from => ({
    from,
    status: 502,
    code: 'destination_mismatch',
    type: 'server_error',
    messages: 'api_error',
    content: 'UNAVAILABLE'
  })),
  {
    from: 502,
    status: 502,
    code: 'provider_failure',
    type: 'server_error',
    messages: 'api_error',
    content: 'UNAVAILABLE'
  },
  ...[503, 529].map(from => ({
    from,
    status: 503,
    code: 'provider_failure',
    type: 'server_error',
    messages: 'overloaded_error',
    content: 'UNAVAILABLE'
  })),
  {
    from: 504,
    status: 504,
    code: 'provider_timeout',
    type: 'server_error',
    messages: 'timeout_error',
    content: 'DEADLINE_EXCEEDED'
  },
  ...[500, 501, 520].map(from => ({
    from,
    status: 500,
    code: 'provider_failure',
    type: 'server_error',
    messages: 'api_error',
    content: 'INTERNAL'
  })),
  {
    from: 204,
    status: 502,
    code: 'provider_protocol_error',
    type: 'server_error',
    messages: 'api_error',
    content: 'UNAVAILABLE'
  }
]

t.test('every status of a provider gives its error in every family', async t => {
  for (const { from, status, code, type, messages, content } of table) {
    const error = readError(from, body('m'))
    const written = (family: 'completions' | 'responses' | 'messages' | 'content') =>
      clientFaces[family].writeError(error, { requestId: 'r' })
    for (const family of ['completions', 'responses'] as const) {
      t.match(written(family), { status, body: { error: { type, code } } }, `${family} ${from}`)
    }
    t.match(written('messages'), { status, body: { error: { type: messages } } }, `messages ${from}`)
    t.match(written('content'), { status, body: { error: { status: content, code: status } } }, `content ${from}`)
    t.equal(error.cause, `upstream status ${from}`)
  }
})

t.test('only the message of a refused request is passed on, bounded and without addresses', async t => {
  for (const status of [400, 413, 422, 429]) t.equal(readError(status, body('the reason')).message, 'the reason')
  for (const status of [401, 403, 404, 409, 418, 500, 502, 503]) {
    t.notMatch(readError(status, body('the reason')).message, /reason/, String(status))
  }
  t.equal(readError(400, body('x'.repeat(900))).message.length, 500)
  t.equal(readError(400, body('see http://10.0.0.1:8000/x now')).message, 'see [address] now')
  for (const text of ['{"error":"m"}', '{"message":"m"}', '{"detail":"m"}', '[{"error":{"message":"m"}}]']) {
    t.equal(readError(422, text).message, 'm', text)
  }
  for (const text of ['', '<html><body>no</body></html>', '[]', '{"error":{"message":7}}', 'plain']) {
    t.equal(readError(400, text).message, 'The upstream rejected the request.', text)
  }
})

t.test('what a client does not see of the words is for the log, with the same bounds (decisions.md 81)', async t => {
  for (const status of [401, 402, 403, 404, 409, 418, 500, 502, 503, 529]) {
    t.equal(readError(status, body('the reason')).providerText, 'the reason', String(status))
  }
  for (const status of [400, 413, 422, 429]) t.equal(readError(status, body('the reason')).providerText, undefined)
  t.equal(readError(500, body('x'.repeat(900))).providerText?.length, 500)
  t.equal(readError(500, body('see http://10.0.0.1:8000/x now')).providerText, 'see [address] now')
  t.equal(readError(502, 'upstream connect error').providerText, 'upstream connect error')
  for (const text of ['', '<html><body>no</body></html>', '[]', '{"error":{"message":7}}']) {
    t.equal(readError(500, text).providerText, undefined, text)
  }
  t.equal(findExternalError({ error: { message: 'm', code: 503 } })?.providerText, 'm')
})

t.test('code and member of a refusal are kept when they are short words (decisions.md 81, 114)', async t => {
  const words = (status: number, error: object) => {
    const { providerCode, providerParam } = readError(status, JSON.stringify({ error: { message: 'm', ...error } }))
    return [providerCode, providerParam]
  }
  const given = { code: 'context_length_exceeded', param: 'messages[0].content' }
  for (const status of [400, 413, 422, 429]) t.same(words(status, given), Object.values(given))
  for (const status of [401, 404, 409, 500, 503]) t.same(words(status, given), [undefined, undefined])
  for (const value of ['1113', '', ' a', 'two words', 'ä', 7, null, ['a'], 'x'.repeat(65)]) {
    t.same(words(400, { code: value, param: value }), [undefined, undefined], String(value))
  }
  t.same(words(400, { code: 400, type: 'exceed_context_size_error' }), ['context_length_exceeded', undefined])
  t.same(words(400, { details: { error_code: 'thread_not_found' } }), ['thread_not_found', undefined])
  const self = { object: 'error', message: 'm', type: 'BadRequestError', param: 'messages', code: 'too_long' }
  t.match(readError(400, JSON.stringify(self)), { providerCode: 'too_long', providerParam: 'messages' })
  const first = { error: { message: 'm', type: 'invalid_request_error', ...given } }
  t.match(findExternalError(first), { status: 400, providerCode: given.code, providerParam: given.param })
  t.match(findExternalError({ error: { message: 'm', code: 'insufficient_quota' } }), {
    status: 429,
    providerCode: 'insufficient_quota'
  })
})

t.test('retry-after comes from 429 and 503 only, as digits or a date', async t => {
  const date = 'Wed, 21 Oct 2099 07:28:00 GMT'
  for (const status of [429, 503, 529]) {
    t.equal(readError(status, '', '7').retryAfter, '7')
    t.equal(readError(status, '', date).retryAfter, date)
    for (const value of ['1.5', '-1', 'soon', '\u00e4', ''])
      t.equal(readError(status, '', value).retryAfter, undefined, value)
  }
  for (const status of [400, 500, 502]) t.equal(readError(status, '', '7').retryAfter, undefined)
})

t.test('an error in a body of status 200 is found (A16)', async t => {
  const find = (payload: Record<string, unknown>) => {
    const error = findExternalError(payload)
    return error === undefined ? undefined : [error.code, error.status, error.message]
  }
  t.same(find({ error: { message: 'm', code: 429 } }), ['rate_limited', 429, 'm'])
  t.same(find({ error: { message: 'm', type: 'invalid_request_error' } }), ['upstream_rejected', 400, 'm'])
  t.match(find({ error: { message: 'm', code: '503' } }), ['provider_failure', 503])
  t.match(find({ error: { message: 'm' } }), ['provider_failure', 502, /^The provider failed/])
  t.match(find({ error: 'm' }), ['provider_failure', 502])
  t.match(find({ error: true }), ['provider_failure', 502])
  t.match(find({ status: 400, message: 'm' }), ['upstream_rejected', 400, 'm'])
  const self = { object: 'error', message: 'm', type: 'BadRequestError', param: null }
  t.match(find({ ...self, code: 400 }), ['upstream_rejected', 400, 'm'])
  t.match(find({ ...self, error: null, status_code: 429 }), ['rate_limited', 429, 'm'])
  t.match(find({ ...self, type: 'invalid_request_error' }), ['upstream_rejected', 400, 'm'])
  t.match(find({ ...self, code: null }), ['provider_failure', 502, /^The provider failed/])
  t.equal(find({ object: 'chat.completion', message: 'm', code: 400 }), undefined)
  t.equal(find({ error: null, choices: [] }), undefined)
  t.equal(find({ message: 'm' }), undefined)
  t.match(readExternalErrorEvent({ message: 'm', code: 429 }), { code: 'rate_limited', message: 'm' })
})

t.test('the message of the gateway itself has no word of the provider (decisions.md 96)', async t => {
  for (let status = 300; status < 600; status += 1) {
    const error = readError(status, body('the reason'))
    t.notMatch(error.ownMessage, 'the reason', String(status))
    if (!error.message.includes('the reason')) t.equal(error.ownMessage, error.message)
  }
  t.equal(readError(400, body('the reason')).with({ param: 'model' }).ownMessage, 'The upstream rejected the request.')
})
