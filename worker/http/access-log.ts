// One line per finished request (operations contract, section 12). Built from named facts alone: no header, no query, no content
// can get into it.
import type { Logger } from '../../shared/logging.ts'
import type { Family } from './families.ts'
import { type Fingerprint, findCallerKey } from './fingerprint.ts'
import type { RequestContext } from './request-context.ts'

/** Probes come every second from every balancer; their lines would bury the others. */
const EXCLUDED_ROUTES = new Set(['/health', '/ping', '/livez', '/ready', '/readyz'])

const PROTOCOLS: Record<Family, string> = {
  completions: 'openai',
  messages: 'anthropic',
  content: 'gemini',
  system: 'system'
}

/** Builds the function that writes the `http_access` line of a closed request. */
export function createAccessLog(dependencies: { log: Logger; fingerprint: Fingerprint; metricsPath: string }) {
  const { log, fingerprint, metricsPath } = dependencies
  return function logAccess(context: RequestContext): void {
    const { incoming, facts, route } = context
    if (EXCLUDED_ROUTES.has(route) || route === metricsPath) return
    const { status, lifecycle } = context.outcome()
    const caller = findCallerKey(incoming.headers, context.query)
    log.info(
      {
        event: 'http_access',
        request_id: context.requestId,
        trace_id: context.traceId,
        method: incoming.method,
        route,
        path: context.path,
        status,
        lifecycle,
        latency_ms: Math.round((performance.now() - context.startedAtMs) * 10) / 10,
        bytes: incoming.socket.bytesWritten - context.sentBytesBefore,
        protocol: PROTOCOLS[context.family],
        provider: facts.providerKind,
        model: facts.model,
        input_tokens: facts.inputTokens,
        output_tokens: facts.outputTokens,
        caller: caller === undefined ? undefined : fingerprint(caller)
      },
      'Request finished'
    )
  }
}
