// Writes one line per finished request (operations contract, section 12). The line is built only from named facts, so that it cannot
// contain a header, a query or content.
import type { WritePlainLine } from '../../shared/logging.ts'
import type { RequestObserver } from './observer.ts'

/** Load balancers probe these every second; their lines would bury the others. */
const EXCLUDED_ROUTES = new Set(['/health', '/ping', '/livez', '/ready', '/readyz'])

export interface AccessLogDependencies {
  readonly writePlainLine: WritePlainLine
  /** Masks what looks like a secret in a text that the client chose. */
  readonly redactText: (text: string) => string
  readonly metricsPath: string
}

/** Creates the observer that writes the `http_access` line of a closed request. */
export function createAccessLog({ writePlainLine, redactText, metricsPath }: AccessLogDependencies): RequestObserver {
  /** A text that the client chose. */
  const foreign = (name: string, text: string | undefined) =>
    text === undefined ? '' : `,"${name}":${JSON.stringify(redactText(text))}`

  return {
    name: 'access-log',
    closed(request, { status, lifecycle, errorType, durationMs, bytesSent, facts }) {
      const { route, traceContext } = request
      if (EXCLUDED_ROUTES.has(route) || route === metricsPath) return
      const { trace_id, span_id } = request.logIds
      writePlainLine(
        `"event":"http_access","request_id":"${request.requestId}"${foreign('trace_id', trace_id)}` +
          foreign('span_id', span_id) +
          own('otel_trace_id', traceContext?.traceId) +
          own('otel_span_id', traceContext?.spanId) +
          `${foreign('method', request.method)}${own('route', route)}${foreign('path', request.path)}` +
          `,"status":${status},"lifecycle":"${lifecycle}"${own('error_type', errorType)}` +
          `,"latency_ms":${Math.round(durationMs * 10) / 10},"bytes":${bytesSent},"protocol":"${request.protocol}"` +
          own('provider', facts.providerKind) +
          own('provider_profile', facts.profileId) +
          foreign('model', facts.model) +
          count('input_tokens', facts.inputTokens) +
          count('output_tokens', facts.outputTokens) +
          own('api_key_hash', request.apiKeyHash) +
          foreign('caller', request.caller.name),
        'Request finished'
      )
    }
  }
}

/** A text of the gateway's own. */
function own(name: string, text: string | undefined): string {
  return text === undefined ? '' : `,"${name}":${JSON.stringify(text)}`
}

function count(name: string, value: number | undefined): string {
  return value === undefined ? '' : `,"${name}":${value}`
}
