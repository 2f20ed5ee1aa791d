// Writes one line per finished request (operations contract, section 12). The line is built only from named facts, so that it cannot
// contain a header, a query or content.
import type { Logger } from '../../shared/logging.ts'
import type { RequestObserver } from './observer.ts'

/** Load balancers probe these every second; their lines would bury the others. */
const EXCLUDED_ROUTES = new Set(['/health', '/ping', '/livez', '/ready', '/readyz'])

/** Creates the observer that writes the `http_access` line of a closed request. */
export function createAccessLog({ log, metricsPath }: { log: Logger; metricsPath: string }): RequestObserver {
  return {
    name: 'access-log',
    closed(request, { status, lifecycle, errorType, durationMs, bytesSent, facts }) {
      const { route } = request
      if (EXCLUDED_ROUTES.has(route) || route === metricsPath) return
      log.info(
        {
          event: 'http_access',
          ...request.logIds,
          method: request.method,
          route,
          path: request.path,
          status,
          lifecycle,
          error_type: errorType,
          latency_ms: Math.round(durationMs * 10) / 10,
          bytes: bytesSent,
          protocol: request.protocol,
          provider: facts.providerKind,
          provider_profile: facts.profileId,
          model: facts.model,
          input_tokens: facts.inputTokens,
          output_tokens: facts.outputTokens,
          api_key_hash: request.apiKeyHash,
          caller: request.caller.name
        },
        'Request finished'
      )
    }
  }
}
