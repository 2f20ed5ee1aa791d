import t from 'tap'
import { DestinationRefusedError } from '../../../../worker/providers/egress/checked-lookup.ts'
import {
  describeCause,
  readDestinationClass,
  timeoutFailure,
  transportFailure
} from '../../../../worker/providers/http/call-failure.ts'
import { proxyConnectionError } from '../../../../worker/providers/http/connections/proxy-error.ts'

function coded(code: string): Error {
  return Object.assign(new Error('words about it'), { code })
}

t.test('errors of the transport are classified by their code, and the client gets a fixed text (H10)', async t => {
  const rows: Array<[Error, string, string]> = [
    [coded('ECONNREFUSED'), 'provider_failure', 'connect_error'],
    [coded('ENOTFOUND'), 'provider_failure', 'connect_error'],
    [coded('UND_ERR_SOCKET'), 'provider_failure', 'connect_error'],
    [coded('UND_ERR_CONNECT_TIMEOUT'), 'provider_timeout', 'timeout'],
    [coded('ETIMEDOUT'), 'provider_timeout', 'timeout'],
    [coded('DEPTH_ZERO_SELF_SIGNED_CERT'), 'provider_failure', 'tls_error'],
    [coded('ERR_TLS_CERT_ALTNAME_INVALID'), 'provider_failure', 'tls_error'],
    [coded('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'), 'provider_failure', 'tls_error'],
    [coded('HPE_INVALID_CONSTANT'), 'provider_failure', 'protocol_error'],
    [new Error('outer', { cause: coded('ETIMEDOUT') }), 'provider_timeout', 'timeout'],
    [new AggregateError([coded('ECONNREFUSED')]), 'provider_failure', 'connect_error'],
    [new Error('no code at all'), 'provider_failure', 'connect_error']
  ]
  for (const [thrown, code, outcome] of rows) {
    const failure = transportFailure(thrown)
    t.match(failure, { error: { code }, outcome, status: null, isRetryable: true })
    t.notMatch(failure.error.message, 'words about it')
    t.equal(failure.error.cause, thrown)
  }
})

t.test('a CallFailure is not wrapped again', async t => {
  const failure = timeoutFailure('connecting', 5)
  t.equal(transportFailure(failure), failure)
})

t.test('the log gets the code and the bounded message of a cause', async t => {
  t.equal(describeCause(transportFailure(coded('ECONNRESET')).error), 'ECONNRESET: words about it')
  t.equal(describeCause(timeoutFailure('connecting', 5).error), 'connecting took longer than 5 ms')
  t.equal(describeCause(transportFailure(new Error('x'.repeat(1000))).error)?.length, 300)
})

t.test('a refused destination is a failure of its own, whose class is for the log', async t => {
  const refused = new DestinationRefusedError('private', { policy: 'public' })
  const ofProxy = proxyConnectionError(refused)
  for (const thrown of [refused, new Error('outer', { cause: refused }), new AggregateError([refused]), ofProxy]) {
    const failure = transportFailure(thrown)
    t.match(failure, { error: { code: 'destination_mismatch' }, outcome: 'destination_refused', isRetryable: false })
    t.equal(readDestinationClass(failure.error), 'private')
  }
  t.equal(readDestinationClass(transportFailure(new DestinationRefusedError('unresolved')).error), 'unresolved')
  t.equal(readDestinationClass(transportFailure(coded('ECONNRESET')).error), undefined)
})
