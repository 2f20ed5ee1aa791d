// The facts of a request that an executor needs for its upstream call.

import type { Logger } from '../../shared/logging.ts'
import type { ExecutionPlan } from '../bridge/resolve-route.ts'
import type { RequestContext } from '../http/request-context.ts'
import type { JsonObject } from '../normalized/index.ts'
import type { CallContext, CalledProfile, Executor } from '../providers/types.ts'
import type { ChosenTarget } from './execute-on-target.ts'
import { planUpstreamHeaders } from './upstream-headers.ts'

export interface CallContextOptions {
  /** The `extra_headers` member of the body (operations.md 6). */
  extraHeaders?: JsonObject | undefined
  /** Whether the client's protocol has a field for the bytes of generated files. */
  wantsFileBytes?: boolean
  /** Tells the client which fields were left out after the request was planned. */
  onLeftOut?: (paths: readonly string[]) => void
  /** The profile, of a call that belongs to no planned request. */
  profile?: CalledProfile
}

/**
 * Creates the call context of a request. The headers are filtered here, once per request; when the request is observed, the reports of
 * the executor become moments of the request.
 */
export function createCallContext(
  { log }: { log: Logger },
  context: RequestContext,
  { extraHeaders, wantsFileBytes = false, onLeftOut, profile }: CallContextOptions,
  { forwardsHeaders }: Pick<Executor, 'forwardsHeaders'>,
  { plan, hooks }: { plan?: ExecutionPlan; hooks?: ChosenTarget['hooks'] | undefined } = {}
): CallContext {
  const { requestId, signal } = context
  const headers = forwardsHeaders ? planHeaders(log, context, extraHeaders) : NO_HEADERS
  const readLogIds = () => context.logIds
  const call: CallContext = {
    requestId,
    signal,
    headers,
    wantsFileBytes,
    readLogIds,
    ...(onLeftOut && { onLeftOut }),
    ...hooks
  }
  // Only an alias of an external provider declares capabilities.
  if (plan?.capabilities !== undefined) call.target = { alias: plan.publicModel, upstreamModel: plan.upstreamModel }
  if (!context.isObserved) return call
  return {
    ...call,
    wantsEvents: context.wantsEvents,
    onUpstreamCallStarted() {
      hooks?.onUpstreamCallStarted?.()
      context.upstreamCallStarted()
    },
    onUpstreamCall: report => context.upstreamCall(profile === undefined ? report : { ...report, profile }),
    onUpstreamFailure: errorType => context.upstreamFailed(errorType, profile),
    onAnomaly: (name, details) => context.anomaly(name, details)
  }
}

const NO_HEADERS: readonly string[] = []

function planHeaders(log: Logger, context: RequestContext, extraHeaders: JsonObject | undefined): string[] {
  const { incoming, requestId, traceContext } = context
  const { headers, droppedCount } = planUpstreamHeaders({
    headers: incoming.headers,
    extraHeaders,
    requestId,
    traceContext
  })
  if (droppedCount > 0) {
    const fields = { event: 'headers_dropped', ...context.logIds, count: droppedCount }
    log.debug(fields, 'Not all headers of the request were forwarded')
  }
  return headers
}
