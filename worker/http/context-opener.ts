// The first stage: every request gets its context, with the family that it belongs to, its names
// for logs and metrics, and the deadline of its route.

import type { HttpRuntime } from './http-runtime.ts'
import type { RequestDescriber } from './request/describe-request.ts'
import type { QueryValues } from './request/families.ts'
import type { ReadKeyFacts } from './request/key-facts.ts'
import { withoutQuery } from './request/path-repair.ts'
import { readWildcard } from './request/route-traits.ts'
import { RequestContext, type RequestEnvironment } from './request-context.ts'
import type { CorsPolicy } from './response/cors.ts'
import type { PayloadLog } from './response/payload-log.ts'
import type { Stage } from './stages.ts'

export interface ContextOpenerParts {
  readonly cors: CorsPolicy
  readonly describer: RequestDescriber
  readonly payloadLog: PayloadLog | undefined
  readonly readKeyFacts: ReadKeyFacts
}

/**
 * The stage that gives a request its context; from then on a client disconnect aborts the request.
 */
export function createContextOpener(runtime: HttpRuntime, parts: ContextOpenerParts): Stage {
  const { cors, describer, payloadLog } = parts
  const { settings, drainGate } = runtime
  const { describeRoute, describePath } = describer
  const environment: RequestEnvironment = {
    drain: drainGate,
    log: runtime.log,
    fingerprint: runtime.fingerprint,
    readKeyFacts: parts.readKeyFacts,
    observation: runtime.observation,
    payloadLog,
    findAlias: name => runtime.routes.aliases.get(name),
    onClosed: drainGate.release
  }

  return (request, reply) => {
    // Read once: the framework builds a new object at each read.
    const { traits } = request.routeOptions.config ?? {}
    const query = (request.query ?? {}) as QueryValues
    const path = withoutQuery(request.raw.url ?? '/')
    const described = { headers: request.headers, path, query }
    const { family, protocol, route, operation } =
      traits === undefined ? describePath(described) : describeRoute(traits, described, readWildcard(request))
    const context = new RequestContext(
      {
        incoming: request.raw,
        outgoing: reply.raw,
        query,
        family,
        protocol,
        apiMode: traits?.apiMode ?? settings.upstreamApiMode,
        route,
        operation,
        traits,
        corsHeaders: cors.responseHeaders(request.headers.origin, { family, route })
      },
      environment
    )
    request.context = context
    if (traits?.isModelRequest !== true) return
    const deadlineMs = readDeadline(settings.requestTimeoutSeconds, context)
    if (deadlineMs !== undefined) context.lifetime.startDeadline(deadlineMs)
  }
}

/** A longer timer runs out at once. */
const TIMER_MS_MAX = 2 ** 31 - 1

/** The setting, or the shorter time that a content client allows (content.md 1.4). */
function readDeadline(settingSeconds: number, context: RequestContext): number | undefined {
  const given = context.family === 'content' ? Number(context.incoming.headers['x-server-timeout']) : Number.NaN
  const allowed = given > 0 ? given : Number.POSITIVE_INFINITY
  const seconds = Math.min(allowed, settingSeconds === 0 ? Number.POSITIVE_INFINITY : settingSeconds)
  return Number.isFinite(seconds) ? Math.min(seconds * 1000, TIMER_MS_MAX) : undefined
}
