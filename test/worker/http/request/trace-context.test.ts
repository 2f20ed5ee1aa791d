import t from 'tap'
import { readRemoteParent, readSpanId, readTraceId } from '../../../../worker/http/request/trace-context.ts'

const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
const parent = '00f067aa0ba902b7'

t.test('a parent is read from a traceparent that is valid, and from no other', async t => {
  for (const [valid, isSampled] of [
    [`00-${trace}-${parent}-01`, true],
    [`00-${trace}-${parent}-00`, false],
    [`01-${trace}-${parent}-03-more`, true]
  ] as const) {
    const read = readRemoteParent({ traceparent: valid, tracestate: 'a=1' })
    t.same(read, { traceId: trace, spanId: parent, isSampled, tracestate: 'a=1' }, valid)
  }
  for (const invalid of [
    undefined,
    '',
    'x',
    `ff-${trace}-${parent}-01`,
    `00-${trace}-${parent}-01-more`,
    `00-${trace}-${parent}`,
    `00-${'0'.repeat(32)}-${parent}-01`,
    `00-${trace}-${'0'.repeat(16)}-01`,
    `00-${trace.toUpperCase()}-${parent}-01`,
    `00-${trace.slice(1)}-${parent}-01`
  ]) {
    t.equal(readRemoteParent({ traceparent: invalid }), undefined, `not valid: ${invalid}`)
  }
})

t.test('x-trace-id goes before traceparent, and the request id stands in for both', async t => {
  const traceparent = `00-${trace}-${parent}-01`
  t.equal(readTraceId({ 'x-trace-id': ' t1 ', traceparent }, { requestId: 'r1' }), 't1')
  t.equal(readTraceId({ 'x-trace-id': ' ', traceparent }, { requestId: 'r1' }), trace)
  t.equal(readTraceId({ traceparent: 'broken' }, { requestId: 'r1' }), 'r1')
  t.equal(readTraceId({}, { requestId: 'r1' }), 'r1')
  const traceContext = { traceId: 'own', spanId: 's', isSampled: true, traceparent: '', tracestate: undefined }
  t.equal(readTraceId({}, { requestId: 'r1', traceContext }), 'own')
  t.equal(readTraceId({ 'x-trace-id': 't1' }, { requestId: 'r1', traceContext }), 't1')
})

t.test('a span id is the x-span-id of the client', async t => {
  t.equal(readSpanId({ 'x-span-id': ' s1 ' }), 's1')
  t.equal(readSpanId({ 'x-span-id': '' }), undefined)
})
