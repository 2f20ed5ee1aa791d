// Reports a failed call: to its request, and with one line in the log (decision 59).

import type { Logger } from '../../../shared/logging.ts'
import type { CallContext, UpstreamOperation } from '../types.ts'
import { type CallFailure, describeCause } from './call-failure.ts'

/** Statuses of invalid requests, which the client has to correct and not the operator. */
const CLIENT_FAULT_STATUSES: readonly number[] = [400, 404, 413, 422]

/**
 * Reports the failure to the request and writes the line `upstream_call_failed`: what was asked, how it failed and for which request; nothing of the request's or the
 * response's content. `status` is absent when the failure stands in the content of a response.
 */
export function reportCallFailure(
  log: Logger,
  failure: CallFailure,
  context: Pick<CallContext, 'requestId' | 'onUpstreamFailure'>,
  operation: UpstreamOperation
): void {
  const { status, errorType, error } = failure
  context.onUpstreamFailure?.(errorType)
  log[isFaultOfClient(failure, operation) ? 'info' : 'warn'](
    {
      event: 'upstream_call_failed',
      request_id: context.requestId,
      operation,
      status: status ?? undefined,
      error_type: errorType,
      code: error.code,
      // A status has no other cause than itself.
      cause: status === null ? describeCause(error) : undefined
    },
    'The upstream call failed'
  )
}

/** The contracts name no level. The request for the list of models has no part of a client's: its 404 is a wrong address. */
function isFaultOfClient({ status, outcome, error }: CallFailure, operation: UpstreamOperation): boolean {
  if (operation === 'models' || outcome !== undefined) return false
  return CLIENT_FAULT_STATUSES.includes(status ?? error.status)
}
