import t from 'tap'
import { GatewayError } from '../../../worker/normalized/index.ts'
import { type CancelSignal, CancelSource, toAbortSignal } from '../../../worker/performance/cancel-source.ts'

const reason = new GatewayError('client_disconnected')

t.test('an abort calls every listener that was not removed once, and the first reason is kept', async t => {
  const source = new CancelSource()
  const called: string[] = []
  const removed = () => called.push('removed')
  source.addEventListener('abort', () => called.push('first'))
  source.addEventListener('abort', removed)
  source.addEventListener('abort', () => called.push('second'))
  source.removeEventListener('abort', removed)
  t.notOk(source.aborted)
  source.abort(reason)
  source.abort(new GatewayError('provider_timeout'))
  t.same(called, ['first', 'second'])
  t.ok(source.aborted)
  t.equal(source.reason, reason)
})

t.test('a listener that another one removes during the abort is not called, as with an AbortSignal', async t => {
  const controller = new AbortController()
  const source = new CancelSource()
  const cases: Array<[CancelSignal, () => void]> = [
    [controller.signal, () => controller.abort()],
    [source, () => source.abort(reason)]
  ]
  for (const [signal, abort] of cases) {
    const called: string[] = []
    const removed = () => called.push('removed')
    signal.addEventListener('abort', () => {
      called.push('first')
      signal.removeEventListener('abort', removed)
    })
    signal.addEventListener('abort', removed)
    signal.addEventListener('abort', () => called.push('last'))
    abort()
    t.same(called, ['first', 'last'])
  }
})

t.test('an abort calls no listener of another source', async t => {
  const one = new CancelSource()
  const other = new CancelSource()
  let calls = 0
  one.addEventListener('abort', () => calls++)
  other.abort(reason)
  t.equal(calls, 0)
  other.removeEventListener('abort', () => undefined)
})

t.test('an AbortSignal is created from a source before and after its abort', async t => {
  const source = new CancelSource()
  const early = toAbortSignal(source)
  source.abort(reason)
  t.equal(early.reason, reason)
  t.equal(toAbortSignal(source).reason, reason)
  const own = new AbortController().signal
  t.equal(toAbortSignal(own), own)
})
