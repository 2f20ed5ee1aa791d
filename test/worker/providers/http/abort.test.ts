import t from 'tap'
import { GatewayError } from '../../../../worker/normalized/index.ts'
import { CancelSource } from '../../../../worker/performance/cancel-source.ts'
import { abortError, delay, raceAbort, throwIfAborted } from '../../../../worker/providers/http/abort.ts'

const drained = () => new GatewayError('request_timeout')

/** A signal whose listeners are counted. */
class CountedSource extends CancelSource {
  listeners = 0

  override addEventListener(type: 'abort', listener: () => void): void {
    this.listeners += 1
    super.addEventListener(type, listener)
  }

  override removeEventListener(type: 'abort', listener: () => void): void {
    this.listeners -= 1
    super.removeEventListener(type, listener)
  }
}

t.test('the error of an abort is its GatewayError, or a client disconnect', async t => {
  const source = new CancelSource()
  throwIfAborted(source)
  const reason = drained()
  source.abort(reason)
  t.equal(abortError(source), reason)
  t.throws(() => throwIfAborted(source), reason)
  const other = abortError(AbortSignal.abort(new Error('other')))
  t.match(other, { code: 'client_disconnected', cause: { message: 'other' } })
})

t.test('a race settles like its promise and leaves no listener', async t => {
  const source = new CountedSource()
  t.equal(await raceAbort(Promise.resolve(7), source), 7)
  await t.rejects(raceAbort(Promise.reject(new Error('failed')), source), { message: 'failed' })
  t.equal(source.listeners, 0)
})

t.test('an abort ends a race, and a later rejection of the promise is not unhandled', async t => {
  const source = new CancelSource()
  const { promise, reject } = Promise.withResolvers<never>()
  const race = raceAbort(promise, source)
  source.abort(drained())
  await t.rejects(race, { code: 'request_timeout' })
  await t.rejects(raceAbort(promise, source), { code: 'request_timeout' })
  reject(new Error('failed later'))
  await new Promise(resolve => setImmediate(resolve))
})

t.test('a delay resolves, and an abort before or within it rejects with its error', async t => {
  const source = new CancelSource()
  t.equal(await delay(1, source), undefined)
  const delayed = delay(600_000, source)
  source.abort(drained())
  await t.rejects(delayed, { code: 'request_timeout' })
  await t.rejects(delay(600_000, source), { code: 'request_timeout' })
  await t.rejects(delay(600_000, AbortSignal.abort()), { code: 'client_disconnected' })
})
