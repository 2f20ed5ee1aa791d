// A failed call to a provider as one kind of error: the `GatewayError` for the client, and the facts for the retry decision, the
// log and the metrics. It never leaves the executors: their callers get its `error`.

import { GatewayError } from '../../normalized/index.ts'
import { PROXY_AUTHENTICATION, PROXY_REFUSED, ProxyError } from './connections/proxy-error.ts'
import { describeTlsFailure } from './connections/tls-failure.ts'

/**
 * How a failed exchange is counted where there is no HTTP status to count. Without a credential or a connection there was no exchange;
 * only records, spans and the log have the word for the credential.
 */
export type TransportOutcome =
  | 'connect_error'
  | 'destination_refused'
  | 'tls_error'
  | 'timeout'
  | 'protocol_error'
  | 'credential_error'
  | 'connections_exhausted'

/** Statuses of invalid requests, which the client has to correct and not the operator. */
const CLIENT_FAULT_STATUSES: readonly number[] = [400, 404, 413, 422]

/** A call that failed: by its status, or in transport (`status` is null). */
export class CallFailure extends Error {
  readonly error: GatewayError
  readonly status: number | null
  readonly retryAfter: string | undefined
  readonly outcome: TransportOutcome | undefined
  /** The body of the response with that status, to look for the cause only: it may repeat what the provider received. */
  readonly responseBody: Uint8Array | undefined
  /** False for a failure that another attempt cannot change. */
  readonly isRetryable: boolean
  /** The connection was refused or reset. */
  readonly isBrokenConnection: boolean

  constructor(
    error: GatewayError,
    facts: {
      status?: number
      retryAfter?: string | undefined
      outcome?: TransportOutcome
      responseBody?: Uint8Array
      isRetryable?: boolean
      isBrokenConnection?: boolean
    } = {}
  ) {
    super(error.message, { cause: error })
    this.name = 'CallFailure'
    this.error = error
    this.status = facts.status ?? null
    this.retryAfter = facts.retryAfter
    this.outcome = facts.outcome
    this.responseBody = facts.responseBody
    this.isRetryable = facts.isRetryable ?? true
    this.isBrokenConnection = facts.isBrokenConnection ?? false
  }

  /** The status that the client gets says that only the client can correct the request. */
  get isOfClient(): boolean {
    return this.outcome === undefined && CLIENT_FAULT_STATUSES.includes(this.error.status)
  }

  /** The word for the failure in logs and records (operations.md 7.3). */
  get errorType(): TransportOutcome | `http_${number}` {
    if (this.outcome !== undefined) return this.outcome
    // A failure in the content of a response has the status that its error states, which a client may not get.
    const { status, upstreamStatus = status } = this.error
    const seen = this.status ?? upstreamStatus
    return seen !== null && seen >= 400 ? `http_${seen}` : 'protocol_error'
  }
}

/** The failure of a response that cannot be used. `reason` goes to the log only. */
export function protocolFailure(reason: string, options: { isRetryable?: boolean } = {}): CallFailure {
  const error = new GatewayError('provider_protocol_error', { cause: reason })
  return new CallFailure(error, { outcome: 'protocol_error', isRetryable: options.isRetryable ?? false })
}

/** The failure of a response whose content is an error of the provider or cannot be used. */
export function contentFailure(error: GatewayError): CallFailure {
  return new CallFailure(error, error.code === 'provider_protocol_error' ? { outcome: 'protocol_error' } : {})
}

/** The failure of a phase that took longer than its limit. */
export function timeoutFailure(phase: string, timeoutMs: number, options: { isRetryable?: boolean } = {}): CallFailure {
  const error = new GatewayError('provider_timeout', { cause: `${phase} took longer than ${timeoutMs} ms` })
  return new CallFailure(error, { outcome: 'timeout', ...options })
}

/** The failure of a call that got no connection in time: its provider was not asked (decisions.md 106). */
export function connectionsExhausted(): CallFailure {
  const error = new GatewayError('provider_connections_exhausted', { retryAfter: '1' })
  return new CallFailure(error, { outcome: 'connections_exhausted', isRetryable: false })
}

/** The failure for an error of the transport: connect, DNS, TLS, reset, broken body. The thrown error stays the cause. */
export function transportFailure(thrown: unknown): CallFailure {
  if (thrown instanceof CallFailure) return thrown
  const code = findCode(thrown)
  if (TIMEOUT_CODES.has(code)) {
    return new CallFailure(new GatewayError('provider_timeout', { cause: thrown }), { outcome: 'timeout' })
  }
  if (code === DESTINATION_REFUSED) {
    return new CallFailure(new GatewayError('destination_mismatch', { cause: thrown }), {
      outcome: 'destination_refused',
      isRetryable: false
    })
  }
  if (code === PROXY_AUTHENTICATION) {
    const error = new GatewayError('provider_failure', { reason: 'proxy_authentication', cause: thrown })
    return new CallFailure(error, { outcome: 'connect_error', isRetryable: false })
  }
  if (code === PROXY_REFUSED) {
    const error = new GatewayError('provider_failure', { cause: thrown })
    return new CallFailure(error, { outcome: 'connect_error', isRetryable: false })
  }
  const outcome = TLS_CODE.test(code) ? 'tls_error' : isProtocolError(thrown, code) ? 'protocol_error' : 'connect_error'
  const error = new GatewayError('provider_failure', { cause: thrown })
  return new CallFailure(error, { outcome, isBrokenConnection: outcome === 'connect_error' && BROKEN_CODES.has(code) })
}

/** The cause of an error for the log: its code and its message, at most 300 characters. Undefined without a cause. */
export function describeCause(error: GatewayError): string | undefined {
  const cause: unknown = error.cause
  if (cause === undefined) return undefined
  if (!(cause instanceof Error)) return String(cause).slice(0, CAUSE_TEXT_MAX)
  const code = findCode(cause)
  const text =
    TLS_CODE.test(code) && !(cause instanceof ProxyError) ? describeTlsFailure(code, cause.message) : cause.message
  return `${code === '' ? cause.name : code}: ${text}`.slice(0, CAUSE_TEXT_MAX)
}

/** Code of the error that a connection ends with when its address is not allowed. */
export const DESTINATION_REFUSED = 'DESTINATION_REFUSED'

const CAUSE_TEXT_MAX = 300

const TIMEOUT_CODES = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ETIMEDOUT',
  'ESOCKETTIMEDOUT'
])

/** Of a connection that the other side refused or closed. */
const BROKEN_CODES = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

// OpenSSL's verification results are plain names such as DEPTH_ZERO_SELF_SIGNED_CERT.
const TLS_CODE =
  /^(ERR_TLS_|ERR_SSL_|ERR_OSSL_|EPROTO$|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|INVALID_CA$|HOSTNAME_MISMATCH|PATH_LENGTH_EXCEEDED|INVALID_PURPOSE|UND_ERR_PRX_TLS)/
// zlib's codes are those of a body that cannot be decompressed.
const PROTOCOL_CODE = /^(HPE_|Z_|UND_ERR_RES_|UND_ERR_HEADERS_OVERFLOW)/

/** Whether the provider sent something that is not HTTP. The HTTP client's errors about that have no code, or that of a closed socket. */
function isProtocolError(thrown: unknown, code: string): boolean {
  if (PROTOCOL_CODE.test(code)) return true
  if (!(thrown instanceof Error)) return false
  return (
    thrown.name === 'HTTPParserError' ||
    thrown.name === 'AssertionError' ||
    (code === 'UND_ERR_SOCKET' && /^bad (?:response|upgrade)$/.test(thrown.message))
  )
}

/**
 * What refused a destination: the class of one of its addresses, or `unresolved`. Undefined for other errors. The address itself is in no
 * log.
 */
export function readDestinationClass(error: GatewayError): string | undefined {
  const found = findCause(error.cause, cause => typeof cause.found === 'string')?.found
  return typeof found === 'string' ? found : undefined
}

/** The first code on the chain of causes; '' when there is none. */
function findCode(thrown: unknown): string {
  const code = findCause(thrown, cause => typeof cause.code === 'string')?.code
  return typeof code === 'string' ? code : ''
}

/** The members of an error that the classification reads. */
interface Cause {
  code?: unknown
  cause?: unknown
  found?: unknown
}

function findCause(thrown: unknown, isWanted: (cause: Cause) => boolean): Cause | undefined {
  let current = thrown
  for (let depth = 0; depth < 4 && typeof current === 'object' && current !== null; depth += 1) {
    const cause: Cause = current
    if (isWanted(cause)) return cause
    current = current instanceof AggregateError && current.errors.length > 0 ? current.errors[0] : cause.cause
  }
  return undefined
}
