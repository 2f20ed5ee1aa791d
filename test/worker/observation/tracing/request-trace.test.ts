import t from 'tap'
import type { RequestView } from '../../../../worker/observation/observer.ts'
import { RequestTrace } from '../../../../worker/observation/tracing/request-trace.ts'

const view = { requestId: '7c4bbb91-635f-4519-9b1b-2854e9794170', remoteParent: undefined } as RequestView
const create = () => new RequestTrace(view, () => true)
const report = (operation: 'chat' | 'upload' | 'download', status = '200') =>
  ({ operation, attempt: 0, status, httpStatus: Number(status), durationMs: 10 }) as const

t.test('attempts of one call are one exchange, from the first byte to the last', async t => {
  const trace = create()
  t.equal(trace.exchange, undefined)
  trace.addCall(report('chat', '503'), 20)
  trace.addCall(report('chat'), 50)
  t.same(trace.exchange, { operation: 'chat', startMs: 10, endMs: 50, attempts: 2, status: '200', httpStatus: 200 })
})

t.test('files that are moved for a call belong to it, and leave its outcome alone', async t => {
  const trace = create()
  trace.addCall(report('upload', '201'), 20)
  t.match(trace.exchange, { operation: 'upload', attempts: 0, status: '201' })
  trace.addCall(report('chat'), 50)
  trace.addCall(report('download', '404'), 90)
  t.same(trace.exchange, { operation: 'chat', startMs: 10, endMs: 90, attempts: 1, status: '200', httpStatus: 200 })
})

t.test('a call that only moved a file and failed says so', async t => {
  const trace = create()
  trace.addCall(report('upload', '201'), 20)
  trace.addCall(report('upload', '413'), 40)
  t.match(trace.exchange, { operation: 'upload', attempts: 0, status: '413' })
})
