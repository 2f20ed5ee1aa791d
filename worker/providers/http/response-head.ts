// What the native upstream says outside of the body: its status and the ids of the exchange.

import type { AnswerHead } from '../../protocols/face.ts'
import { mapUpstreamError } from '../../protocols/native/errors.ts'
import { CallFailure } from './call-failure.ts'
import type { ExchangeHead } from './exchange.ts'
import { type Answer, readHeader } from './whole-response.ts'

/** Passes an answer with status 200 on. Raises the `CallFailure` that any other status means. */
export function requireSuccess(answer: Answer): Answer {
  if (answer.status === 200) return answer
  throw statusFailure(answer.status, answer.bytes.toString('utf8'), readHeader(answer.headers, 'retry-after'))
}

/** The failure that an answer with a status other than 200 means (upstream contract, section 9). */
export function statusFailure(status: number, bodyText: string, retryAfter: string | undefined): CallFailure {
  return new CallFailure(mapUpstreamError(status, bodyText, retryAfter), { status, retryAfter })
}

/** The ids that the upstream gives an exchange (upstream contract, section 1.5). */
export function readAnswerHead(headers: ExchangeHead['headers']): AnswerHead {
  const head: AnswerHead = {}
  const requestId = readHeader(headers, 'x-request-id')
  const sessionId = readHeader(headers, 'x-session-id')
  if (requestId !== undefined) head.upstreamRequestId = requestId
  if (sessionId !== undefined) head.upstreamSessionId = sessionId
  return head
}

/** The same ids as the metadata that a client may be shown. */
export function readMetadata(headers: ExchangeHead['headers']): Record<string, string> {
  const head = readAnswerHead(headers)
  const metadata: Record<string, string> = {}
  if (head.upstreamRequestId !== undefined) metadata.upstream_x_request_id = head.upstreamRequestId
  if (head.upstreamSessionId !== undefined) metadata.upstream_x_session_id = head.upstreamSessionId
  return metadata
}
