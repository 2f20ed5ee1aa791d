import t from 'tap'
import { readResponses } from '../../../ops/fuzz/http-responses.ts'
import { type Asked, findBrokenRule, findUpstreamFault, type RuleContext } from '../../../ops/fuzz/rules.ts'

const chat: Asked = { family: 'completions', form: 'chat' }
const context: RuleContext = { upstream: [], secrets: ['s3cret'], isFieldFault: true, isUpstreamHonest: true }

function judge(status: number, body: string | Buffer, asked = chat, more: { type?: string; retryAfter?: string } = {}) {
  const headers = new Headers({ 'content-type': more.type ?? 'application/json' })
  if (more.retryAfter !== undefined) headers.set('retry-after', more.retryAfter)
  return findBrokenRule({ status, headers, bytes: Buffer.from(body), end: 'complete' }, asked, context)
}

function writeError(message: string, param: string | null = 'messages'): string {
  return JSON.stringify({ error: { message, type: 'invalid_request_error', param, code: 'invalid_request' } })
}

t.test('what is right breaks no rule', async t => {
  t.equal(judge(200, '{"choices":[{}]}'), undefined)
  t.equal(judge(400, writeError('m')), undefined)
})

t.test('every broken rule of a response is found', async t => {
  t.match(judge(200, '{"choices":[]}'), /not one choice/)
  t.match(judge(200, '{"choices"'), /not JSON/)
  t.match(judge(200, Buffer.from([0x22, 0xff, 0x22])), /not UTF-8/)
  t.match(judge(500, writeError('Internal server error', null)), /internal error/)
  t.match(judge(500, writeError('m', null)), /without a cause/)
  t.match(judge(400, writeError('m', null)), /names no field/)
  t.match(judge(400, writeError('s3cret')), /secret/)
  t.match(judge(400, '{"error":"m"}'), /No envelope/)
  t.match(judge(429, writeError('m'), chat, { retryAfter: '\xe4' }), /not ASCII/)
  t.match(judge(200, 'data: {}\n\n', { ...chat, form: 'stream' }, { type: 'text/event-stream' }), /stream/)
})

t.test('every broken rule of an upstream request is found', async t => {
  const request = (body: string | Buffer) => [
    { method: 'POST', path: '/x', contentType: 'application/json', body: Buffer.from(body), status: 200 }
  ]
  t.equal(findUpstreamFault(request('{"a":[1]}'), false), undefined)
  t.equal(findUpstreamFault(request('{"a":[null]}'), true), undefined)
  t.match(findUpstreamFault(request('{"a":[null]}'), false), /a null/)
  t.match(findUpstreamFault(request('{"a":"\\ud800"}'), true), /surrogate/)
  t.match(findUpstreamFault(request('{'), true), /not JSON/)
  t.match(findUpstreamFault(request(Buffer.from([0x22, 0xff, 0x22])), true), /not UTF-8/)
})

t.test('the bytes of a connection are read as responses, and anything else is an error', async t => {
  const first = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi'
  const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nho\r\n0\r\n\r\n'
  const head = 'HTTP/1.1 404 Not Found\r\ncontent-length: 9\r\n\r\n'
  const read = readResponses(Buffer.from(first + chunked + head), ['GET', 'GET', 'HEAD'], false)
  t.same(
    read.map(({ status, body }) => [status, body.toString()]),
    [
      [200, 'hi'],
      [200, 'ho'],
      [404, '']
    ]
  )
  t.throws(() => readResponses(Buffer.from(`${first}x`), ['GET'], false))
  t.throws(() => readResponses(Buffer.from(first.slice(0, -1)), ['GET'], false), /breaks off/)
  t.throws(() => readResponses(Buffer.from('nonsense\r\n\r\n'), ['GET'], false), /no response head/)
})
