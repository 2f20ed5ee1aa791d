import { getEventListeners } from 'node:events'
import t from 'tap'
import { GatewayError } from '../../../../worker/normalized/index.ts'
import { abortError, delay, raceAbort, throwIfAborted } from '../../../../worker/providers/http/abort.ts'

const drained = () => new GatewayError('request_timeout')

t.test('the error of an abort is its GatewayError, or a client disconnect', async t => {
  const source = new AbortController()
  throwIfAborted(source.signal)
  const reason = drained()
  source.abort(reason)
  t.equal(abortError(source.signal), reason)
  t.throws(() => throwIfAborted(source.signal), reason)
  const other = abortError(AbortSignal.abort(new Error('other')))
  t.match(other, { code: 'client_disconnected', cause: { message: 'other' } })
})

t.test('a race settles like its promise and leaves no listener', async t => {
  const source = new AbortController()
  t.equal(await raceAbort(Promise.resolve(7), source.signal), 7)
  await t.rejects(raceAbort(Promise.reject(new Error('failed')), source.signal), { message: 'failed' })
  t.equal(getEventListeners(source.signal, 'abort').length, 0)
})

t.test('an abort ends a race, and a later rejection of the promise is not unhandled', async t => {
  const source = new AbortController()
  const { promise, reject } = Promise.withResolvers<never>()
  const race = raceAbort(promise, source.signal)
  source.abort(drained())
  await t.rejects(race, { code: 'request_timeout' })
  await t.rejects(raceAbort(promise, source.signal), { code: 'request_timeout' })
  reject(new Error('failed later'))
  await new Promise(resolve => setImmediate(resolve))
})

t.test('a delay resolves, and an abort before or within it rejects with its error', async t => {
  const source = new AbortController()
  t.equal(await delay(1, source.signal), undefined)
  const delayed = delay(600_000, source.signal)
  source.abort(drained())
  await t.rejects(delayed, { code: 'request_timeout' })
  await t.rejects(delay(600_000, source.signal), { code: 'request_timeout' })
  await t.rejects(delay(600_000, AbortSignal.abort()), { code: 'client_disconnected' })
})

t.test('a cut resolves a delay at once, an abort beside it wins, and no listener stays', async t => {
  const source = new AbortController()
  const cut = new AbortController()
  t.equal(await delay(1, source.signal, cut.signal), undefined)
  t.equal(getEventListeners(cut.signal, 'abort').length, 0)
  const delayed = delay(600_000, source.signal, cut.signal)
  cut.abort()
  t.equal(await delayed, undefined)
  t.equal(await delay(600_000, source.signal, cut.signal), undefined)
  t.equal(getEventListeners(source.signal, 'abort').length, 0)
  await t.rejects(delay(600_000, AbortSignal.abort(), cut.signal), { code: 'client_disconnected' })
})
