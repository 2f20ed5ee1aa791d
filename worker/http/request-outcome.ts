// How a request ended, from what its context knows (operations.md 3.6 and 7.4).
import type { GatewayError } from '../normalized/index.ts'
import { type RequestOutcome, refusedOutcome } from '../observation/observed-request.ts'

/** What decides how a request ended. */
export interface EndedRequest {
  /** The response is a stream and its head was sent. */
  readonly isStreaming: boolean
  /** That was sent. */
  readonly status: number
  /** Why the request was aborted. */
  readonly abortReason: GatewayError | undefined
  /** The error that its response is, or that its stream ended with. */
  readonly failure: GatewayError | undefined
  /** The error type of the upstream failure that was reported last (operations.md 7.3). */
  readonly upstreamErrorType: string | undefined
}

/** The outcome of a request whose response is over. */
export function readOutcome(ended: EndedRequest): RequestOutcome {
  const { isStreaming, status, abortReason, failure, upstreamErrorType } = ended
  if (abortReason?.code === 'client_disconnected' || abortReason?.code === 'gateway_not_ready') {
    return isStreaming
      ? { status: 499, lifecycle: 'streaming_aborted', errorType: 'stream_cancelled' }
      : { status: 499, lifecycle: 'request_aborted', errorType: 'request_cancelled' }
  }
  if (isStreaming && failure === undefined) return { status, lifecycle: 'streaming_completed', errorType: undefined }
  if (isStreaming) {
    return { status, lifecycle: 'streaming_aborted', errorType: upstreamErrorType ?? `http_${failure?.status}` }
  }
  if (failure !== undefined && status < 400) return { ...refusedOutcome(failure.status), status }
  if (status < 400) return { status, lifecycle: 'request_completed', errorType: undefined }
  return { ...refusedOutcome(status), ...(upstreamErrorType !== undefined && { errorType: upstreamErrorType }) }
}
