import t from 'tap'
import { GatewayError } from '../../../worker/normalized/index.ts'
import { CancelSource, toAbortSignal } from '../../../worker/performance/cancel-source.ts'

const reason = new GatewayError('client_disconnected')

t.test('every listener that still waits is told once, and the first reason stays', async t => {
  const source = new CancelSource()
  const told: string[] = []
  const gone = () => told.push('gone')
  source.addEventListener('abort', () => told.push('first'))
  source.addEventListener('abort', gone)
  source.addEventListener('abort', () => told.push('second'))
  source.removeEventListener('abort', gone)
  t.notOk(source.aborted)
  source.abort(reason)
  source.abort(new GatewayError('provider_timeout'))
  t.same(told, ['first', 'second'])
  t.ok(source.aborted)
  t.equal(source.reason, reason)
})

t.test('a listener of one source is none of another', async t => {
  const one = new CancelSource()
  const other = new CancelSource()
  let calls = 0
  one.addEventListener('abort', () => calls++)
  other.abort(reason)
  t.equal(calls, 0)
  other.removeEventListener('abort', () => undefined)
})

t.test('libraries get it as an AbortSignal, before and after the abort', async t => {
  const source = new CancelSource()
  const early = toAbortSignal(source)
  source.abort(reason)
  t.equal(early.reason, reason)
  t.equal(toAbortSignal(source).reason, reason)
  const own = new AbortController().signal
  t.equal(toAbortSignal(own), own)
})
