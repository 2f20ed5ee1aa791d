// Reports a failed call: to its request, and with one line in the log (decisions.md 59).

import type { Logger } from '../../../shared/logging.ts'
import type { CallContext, UpstreamOperation } from '../types.ts'
import { abortError } from './abort.ts'
import { type CallFailure, describeCause, readDestinationClass } from './call-failure.ts'

/**
 * Reports the failure to the request and writes the line `upstream_call_failed`: what was asked, how it failed and for which request, and the provider's words where the
 * client does not see them (decisions.md 81). `status` is absent when the failure stands in the content of a response.
 */
export function reportCallFailure(
  { log, profileId }: { log: Logger; profileId: string },
  failure: CallFailure,
  context: Pick<CallContext, 'requestId' | 'readLogIds' | 'onUpstreamFailure' | 'target'>,
  { operation, attempts }: { operation: UpstreamOperation; attempts?: number }
): void {
  const { status, errorType, error } = failure
  context.onUpstreamFailure?.(errorType)
  log[isFaultOfClient(failure, operation) ? 'info' : 'warn'](
    {
      event: 'upstream_call_failed',
      ...logIds(context),
      operation,
      profile_id: profileId,
      alias: context.target?.alias,
      upstream_model: context.target?.upstreamModel,
      // Most calls have one.
      attempts: attempts === 1 ? undefined : attempts,
      status: status ?? undefined,
      error_type: errorType,
      code: error.code,
      reason_id: findReasonId(failure),
      destination_class: readDestinationClass(error),
      // A status has no other cause than itself.
      cause: status === null ? describeCause(error) : undefined,
      provider_text: error.providerText
    },
    'The upstream call failed'
  )
}

/** Writes the line `upstream_call_cancelled`: the exchange ended because its request did, for the reason that the line names. */
export function reportCancelledCall(
  log: Logger,
  context: Pick<CallContext, 'requestId' | 'readLogIds' | 'signal'>,
  operation: UpstreamOperation
): void {
  log.info(
    { event: 'upstream_call_cancelled', ...logIds(context), operation, reason_id: abortError(context.signal).code },
    'The upstream call was cancelled'
  )
}

/** The ids of a call's request in log lines (operations.md 12). */
export function logIds({ requestId, readLogIds }: Pick<CallContext, 'requestId' | 'readLogIds'>): object {
  return readLogIds?.() ?? { request_id: requestId }
}

/** Some causes are sentences: those stand in the line as its `cause` only. */
const ID = /^[a-z][a-z_]*$/

/** The stable id of a failure of the transport or of an unusable response (bridge.md 8.7). */
function findReasonId({ outcome, error }: CallFailure): string | undefined {
  if (error.code === 'destination_mismatch') return error.code
  if (error.reason !== undefined && outcome === 'connect_error') return error.reason
  switch (outcome) {
    case 'destination_refused':
    case 'timeout':
    case 'connections_exhausted':
      return outcome
    case 'connect_error':
    case 'tls_error':
      return 'connection_error'
    case 'protocol_error':
      if (error.code === 'provider_failure') return 'connection_error'
      return typeof error.cause === 'string' && ID.test(error.cause) ? error.cause : undefined
    case 'credential_error':
      return error.reason ?? error.code
    case undefined:
      return undefined
  }
}

/**
 * The contracts name no level. The status that the client gets decides: a provider's 404 that is hidden from the client is the operator's
 * to correct. The request for the list of models has no part of a client's: its 404 is a wrong address.
 */
function isFaultOfClient({ isOfClient }: CallFailure, operation: UpstreamOperation): boolean {
  return operation !== 'models' && isOfClient
}
