// Decides from the head of a response whether it is a success.

import { dropByteOrderMark } from '../../../shared/bytes.ts'
import { GatewayError } from '../../normalized/index.ts'
import type { ResponseHead } from '../../protocols/provider-face.ts'
import { readRetryAfter } from '../../protocols/shared/errors/response-header.ts'
import { CallFailure } from './call-failure.ts'
import type { BufferedResponse } from './whole-response.ts'

/** Reads the error of an unsuccessful response: `readError` of the provider's face. */
export type ReadError = (head: ResponseHead, body: Uint8Array) => GatewayError

/** Reads a redirect as `destination_mismatch`: it is never followed (bridge.md 8.6). */
export function refuseRedirects(readError: ReadError): ReadError {
  return (head, body) =>
    head.status >= 300 && head.status < 400
      ? new GatewayError('destination_mismatch', { cause: `redirect with status ${head.status}` })
      : readError(head, body)
}

/**
 * Returns a response with status 200 as it is. Raises `CallFailure` for every other status
 * (upstream.md 9).
 */
export function requireSuccess(response: BufferedResponse, readError: ReadError): BufferedResponse {
  const { status, headers, bytes } = response
  if (status === 200) return response
  throw new CallFailure(readError(response, dropByteOrderMark(bytes)), {
    status,
    retryAfter: readRetryAfter(headers),
    responseBody: bytes
  })
}
