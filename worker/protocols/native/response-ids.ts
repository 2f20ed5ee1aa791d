// The ids of an exchange in the headers of the upstream's response (upstream.md 1.5).

import type { ResponseHead } from '../provider-face.ts'
import { readHeader } from '../shared/errors/response-header.ts'

export interface ResponseIds {
  /** `x-request-id` */
  upstreamRequestId?: string
  /** `x-session-id` */
  upstreamSessionId?: string
}

export function readResponseIds({ headers }: ResponseHead): ResponseIds {
  const ids: ResponseIds = {}
  const requestId = readHeader(headers, 'x-request-id')
  const sessionId = readHeader(headers, 'x-session-id')
  if (requestId !== undefined) ids.upstreamRequestId = requestId
  if (sessionId !== undefined) ids.upstreamSessionId = sessionId
  return ids
}

/** The same ids as response metadata for the client. */
export function writeIdMetadata({ upstreamRequestId, upstreamSessionId }: ResponseIds): Record<string, string> {
  const metadata: Record<string, string> = {}
  if (upstreamRequestId !== undefined) metadata.upstream_x_request_id = upstreamRequestId
  if (upstreamSessionId !== undefined) metadata.upstream_x_session_id = upstreamSessionId
  return metadata
}
