import t from 'tap'
import { createHeadSampler } from '../../../../worker/observation/tracing/head-sampler.ts'
import { makeRequestIds, writeTraceparent } from '../../../../worker/observation/tracing/trace-ids.ts'
import * as fc from '../../../support/properties.ts'

const requestId = '7c4bbb91-635f-4519-9b1b-2854e9794170'
const parent = {
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: '00f067aa0ba902b7',
  isSampled: true,
  tracestate: undefined
}

t.test('the ids of a request are made of its request id', async t => {
  t.same(makeRequestIds(requestId, undefined), {
    traceId: '7c4bbb91635f45199b1b2854e9794170',
    serverSpanId: '9b1b2854e9794170',
    clientSpanId: '7c4bbb91635f4519'
  })
  t.equal(makeRequestIds(requestId, parent).traceId, parent.traceId)
})

t.test('ids are valid and unique for any request id', async () => {
  fc.assert(
    fc.property(fc.uuid({ version: 4 }), id => {
      const { traceId, serverSpanId, clientSpanId } = makeRequestIds(id, undefined)
      const isSpanId = (text: string) => /^[0-9a-f]{16}$/.test(text) && !/^0+$/.test(text)
      return /^[0-9a-f]{32}$/.test(traceId) && isSpanId(serverSpanId) && isSpanId(clientSpanId)
    })
  )
})

t.test('a traceparent says whether the spans are exported', async t => {
  const ids = { traceId: parent.traceId, spanId: parent.spanId }
  t.equal(writeTraceparent({ ...ids, isSampled: true }), `00-${parent.traceId}-${parent.spanId}-01`)
  t.equal(writeTraceparent({ ...ids, isSampled: false }), `00-${parent.traceId}-${parent.spanId}-00`)
})

t.test("a client's sampling decision is kept at any sampling ratio", async t => {
  for (const ratio of [0.000001, 1]) {
    const isSampled = createHeadSampler(ratio)
    t.equal(isSampled(parent.traceId, parent), true)
    t.equal(isSampled(parent.traceId, { ...parent, isSampled: false }), false)
  }
})

t.test('without one the trace id decides: alike in every worker, and about as often as the ratio says', async t => {
  const [one, other] = [createHeadSampler(0.25), createHeadSampler(0.25)]
  const ids = Array.from({ length: 20_000 }, () => makeRequestIds(crypto.randomUUID(), undefined).traceId)
  t.ok(ids.every(id => one(id, undefined) === other(id, undefined)))
  const share = ids.filter(id => one(id, undefined)).length / ids.length
  t.ok(share > 0.22 && share < 0.28, `${share}`)
  t.ok(ids.every(id => createHeadSampler(1)(id, undefined)))
  t.notOk(ids.some(id => createHeadSampler(0)(id, undefined)))
})
