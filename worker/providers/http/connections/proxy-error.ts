// A proxy that cannot be used, so that the failure of a call names the proxy and not the provider.

import { describeTlsFailure } from './tls-failure.ts'

/** Code of a proxy that demands another credential. */
export const PROXY_AUTHENTICATION = 'PROXY_AUTHENTICATION'
/** Code of a proxy that refuses a tunnel for good. */
export const PROXY_REFUSED = 'PROXY_REFUSED'
/** Code of a proxy that fails for the moment. */
export const PROXY_UNAVAILABLE = 'PROXY_UNAVAILABLE'

/** A failure on the way to or in a proxy. It has the code of its cause where that has one. */
export class ProxyError extends Error {
  readonly code: string

  constructor(message: string, code: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'ProxyError'
    this.code = code
  }
}

/** The failure of a connection to the proxy itself. */
export function proxyConnectionError(cause: Error): ProxyError {
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : PROXY_UNAVAILABLE
  return new ProxyError(`The proxy cannot be reached: ${describeTlsFailure(code, cause.message)}`, code, cause)
}

/** The failure of a proxy that responds with this status in place of the provider. */
export function proxyStatusError(status: number): ProxyError {
  if (status === 407) return new ProxyError('The proxy demands another credential.', PROXY_AUTHENTICATION)
  const isPassing = status === 429 || status >= 500
  const code = isPassing ? PROXY_UNAVAILABLE : PROXY_REFUSED
  return new ProxyError(`The proxy refused the connection with status ${status}.`, code)
}
