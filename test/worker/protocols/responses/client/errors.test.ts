import { APIError } from 'openai'
import t from 'tap'
import { type ErrorCode, GatewayError } from '../../../../../worker/normalized/index.ts'
import {
  refineResponsesError,
  writeResponsesError,
  writeResponsesFailure
} from '../../../../../worker/protocols/responses/client/errors.ts'
import { failure, read } from './support.ts'

t.test('an error has the envelope that the official SDK reads (A15)', async t => {
  const { status, body } = writeResponsesError(
    new GatewayError('unsupported_response_format', { param: 'text.format.type', message: 'm' })
  )
  t.strictSame(body, {
    error: {
      message: 'm',
      type: 'invalid_request_error',
      param: 'text.format.type',
      code: 'unsupported_response_format'
    }
  })
  const error = APIError.generate(status, body, undefined, new Headers())
  t.match(error, { status: 400, code: 'unsupported_response_format', param: 'text.format.type' })
})

t.test('an error in a header names the header', async t => {
  const thrown = failure(() => read({}, { attachmentIds: 'f1,f1' }))
  t.equal(thrown.param, 'x-gateway-attachment-ids')
  t.match(writeResponsesError(new GatewayError('invalid_attachment_ids', { param: thrown.param ?? '' })).body, {
    error: { type: 'invalid_request_error', param: 'x-gateway-attachment-ids', code: 'invalid_attachment_ids' }
  })
})

t.test('the error of a failed response has a code that the SDK defines', async t => {
  const words = (codes: ErrorCode[]) => codes.map(code => writeResponsesFailure(new GatewayError(code)).code)
  t.strictSame(words(['rate_limited', 'model_concurrency_limit']), ['rate_limit_exceeded', 'rate_limit_exceeded'])
  t.strictSame(words(['provider_failure', 'provider_timeout', 'internal_error', 'upstream_rejected']), [
    'server_error',
    'server_error',
    'server_error',
    'server_error'
  ])
})

t.test('responses 33: an error about an unknown conversation names previous_response_id (F5)', async t => {
  const request = read({ previous_response_id: 'resp_th1' })
  const refined = (error: GatewayError) => refineResponsesError(error, request).code
  const notFound = refineResponsesError(new GatewayError('upstream_not_found', { message: 'No such thread' }), request)
  t.match(writeResponsesError(notFound), {
    status: 404,
    body: {
      error: { type: 'not_found_error', param: 'previous_response_id', code: 'previous_response_not_found' }
    }
  })
  t.equal(
    refined(new GatewayError('upstream_rejected', { message: 'thread th1 is gone' })),
    'previous_response_not_found'
  )
  t.equal(refined(new GatewayError('upstream_rejected', { message: 'bad th1' })), 'previous_response_not_found')
  t.equal(
    refined(new GatewayError('model_not_found', { message: 'No such model or thread' })),
    'previous_response_not_found'
  )
})

t.test('decisions.md 90: a `conversation`, which has no effect, causes no error of its own', async t => {
  const notFound = new GatewayError('upstream_not_found', { message: 'No such thread' })
  t.equal(refineResponsesError(notFound, read({ conversation: 'c1' })), notFound)
  t.match(refineResponsesError(notFound, read({ conversation: 'c1', previous_response_id: 'resp_t' })), {
    code: 'previous_response_not_found',
    param: 'previous_response_id'
  })
})

t.test('every other error stays unchanged', async t => {
  const request = read({ previous_response_id: 'resp_th1' })
  for (const error of [
    new GatewayError('upstream_rejected', { message: 'system message must be first' }),
    new GatewayError('upstream_rejected', { status: 422, message: 'thread' }),
    new GatewayError('model_not_found', { message: 'No such model' }),
    new GatewayError('upstream_error', { message: 'thread pool' })
  ]) {
    t.equal(refineResponsesError(error, request), error)
  }
  const notFound = new GatewayError('upstream_not_found')
  t.equal(refineResponsesError(notFound, read({ store: true })), notFound, 'the request continues no conversation')
})
