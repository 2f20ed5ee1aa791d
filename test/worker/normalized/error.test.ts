import t from 'tap'
import { StoreUnavailable } from '../../../shared/memory/store.ts'
import { errorDefinitions, GatewayError, invalidRequest, toGatewayError } from '../../../worker/normalized/index.ts'

t.test('an error takes status, kind and text from its code unless options override them', async t => {
  for (const [code, definition] of Object.entries(errorDefinitions)) {
    const error = new GatewayError(code as keyof typeof errorDefinitions)
    t.same([error.status, error.kind, error.message], [definition.status, definition.kind, definition.text])
  }
  const error = new GatewayError('provider_failure', { status: 402, kind: 'invalid-request', message: 'Pay first.' })
  t.same(
    [error.status, error.kind, error.message, error.code],
    [402, 'invalid-request', 'Pay first.', 'provider_failure']
  )
})

t.test('an error is known by its brand, and any other value becomes the cause of an internal error', async t => {
  const own = invalidRequest('model', 'model must be a string.')
  t.equal(toGatewayError(own), own)
  t.equal(own.param, 'model')
  t.equal(GatewayError.is({ message: 'no' }), false)
  t.equal(GatewayError.is(null), false)
  const thrown = new TypeError('boom')
  const error = toGatewayError(thrown)
  t.equal(error.code, 'internal_error')
  t.equal(error.cause, thrown)
  t.notMatch(error.message, /boom/)
})

t.test('a store that gave no answer is a refusal that a client may repeat (memory.md 6)', async t => {
  const thrown = new StoreUnavailable('timeout')
  const error = toGatewayError(thrown)
  t.strictSame([error.code, error.status, error.kind, error.cause], ['store_unavailable', 503, 'overloaded', thrown])
})
