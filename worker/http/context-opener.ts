// The first stage: every request gets its context, with the family that it belongs to and the deadline of its route.

import type { HttpRuntime } from '../runtime.ts'
import { createAccessLog } from './access-log.ts'
import type { CorsPolicy } from './cors.ts'
import { familyOfPath, type QueryValues } from './families.ts'
import { RequestContext, withoutQuery } from './request-context.ts'
import { familyOfRoute } from './route-traits.ts'
import type { Stage } from './stages.ts'

/** The stage that gives a request its context; from then on the client's leaving is noticed. */
export function createContextOpener(runtime: HttpRuntime, cors: CorsPolicy): Stage {
  const { settings, drainGate, log } = runtime
  const logAccess = settings.accessLog ? createAccessLog({ ...runtime, metricsPath: settings.metricsPath }) : undefined

  function onClosed(context: RequestContext): void {
    drainGate.release(context)
    logAccess?.(context)
  }

  function onHeadersDropped(context: RequestContext, droppedCount: number): void {
    const fields = { event: 'headers_dropped', request_id: context.requestId, count: droppedCount }
    log.debug(fields, 'Not all headers of the request were forwarded')
  }

  return (request, reply) => {
    // Read once: the framework builds a new object at each look.
    const { traits } = request.routeOptions.config ?? {}
    const query = (request.query ?? {}) as QueryValues
    const path = withoutQuery(request.raw.url ?? '/')
    const context = new RequestContext({
      incoming: request.raw,
      outgoing: reply.raw,
      query,
      family: traits === undefined ? familyOfPath(path, request.headers, query) : familyOfRoute(traits, request),
      apiMode: traits?.apiMode ?? settings.upstreamApiMode,
      route: traits?.template ?? 'unmatched',
      traits,
      corsHeaders: cors.responseHeaders(request.headers.origin),
      drain: drainGate,
      onClosed,
      onHeadersDropped
    })
    request.context = context
    if (traits?.isModelRequest !== true) return
    const deadlineMs = readDeadline(settings.requestTimeoutSeconds, context)
    if (deadlineMs !== undefined) context.startDeadline(deadlineMs)
  }
}

/** The setting, or what a content client allows when that is less (content contract, section 1.4). */
function readDeadline(settingSeconds: number, context: RequestContext): number | undefined {
  const given = context.family === 'content' ? Number(context.incoming.headers['x-server-timeout']) : Number.NaN
  const wished = given > 0 ? given : Number.POSITIVE_INFINITY
  const seconds = Math.min(wished, settingSeconds === 0 ? Number.POSITIVE_INFINITY : settingSeconds)
  return Number.isFinite(seconds) ? seconds * 1000 : undefined
}
