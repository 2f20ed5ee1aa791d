// Errors in the envelope of the Anthropic wire.
import { randomBytes } from 'node:crypto'
import { UpstreamError } from '../errors.ts'
import { type Exchange, sendBody, sendJson, writeHtmlError } from '../exchange.ts'

const errorTypes: Record<number, string> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
  529: 'overloaded_error'
}

export function createRequestId(): string {
  return `req_${randomBytes(12).toString('hex')}`
}

/** Writes the envelope of an error. */
export function writeAnthropicError(
  { status, message, code }: Pick<UpstreamError, 'status' | 'message'> & Partial<Pick<UpstreamError, 'code'>>,
  requestId: string
): Record<string, unknown> {
  const type = errorTypes[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
  const details = code === undefined ? {} : { details: { error_code: code } }
  return { type: 'error', error: { type, message, ...details }, request_id: requestId }
}

/** Sends an error in the envelope of this wire, or as a proxy's HTML page. */
export function sendAnthropicError(exchange: Exchange, error: UpstreamError): void {
  const { status, message, headers } = error
  if (error.isHtml) {
    sendBody(exchange, { status, contentType: 'text/html', body: writeHtmlError(status, message), headers })
    return
  }
  const requestId = createRequestId()
  sendJson(exchange, status, writeAnthropicError(error, requestId), { 'request-id': requestId, ...headers })
}

/** Creates the error for a request that this wire refuses: the member's path, then what is wrong with it. */
export function invalidMember(path: string, problem: string): UpstreamError {
  return new UpstreamError(400, path === '' ? problem : `${path}: ${problem}`)
}
