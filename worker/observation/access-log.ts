// Writes one line per finished request (operations.md 12). The line is built only from named facts,
// so that it cannot contain a header, a query or content.
import { escapeJsonLine } from '../../shared/logging/log-line.ts'
import type { WritePlainLine } from '../../shared/logging.ts'
import { readAmount } from '../../shared/prices.ts'
import { PROBE_ROUTES } from '../../shared/traffic/unrecorded-routes.ts'
import { rememberTexts } from '../performance/remember-texts.ts'
import { describeFailure } from './failure.ts'
import type { RequestObserver } from './observer.ts'

/** Load balancers probe these every second; their lines would bury the others. */
const EXCLUDED_ROUTES: ReadonlySet<string> = new Set(PROBE_ROUTES)

/** Of a field and a message in a line. */
const TEXT_CHARACTERS_MAX = 500
/** The most fields without effect that a line names. */
const IGNORED_FIELDS_MAX = 20

export interface AccessLogDependencies {
  readonly writePlainLine: WritePlainLine
  /** Masks what looks like a secret in a text that the client chose. */
  readonly redactText: (text: string) => string
  readonly metricsPath: string
}

/** Creates the observer that writes the `http_access` line of a closed request. */
export function createAccessLog({ writePlainLine, redactText, metricsPath }: AccessLogDependencies): RequestObserver {
  const method = rememberMember('method', redactText)
  const route = rememberMember('route')
  const path = rememberMember('path', redactText)
  const errorType = rememberMember('error_type')
  const errorCode = rememberMember('error_code')
  const alias = rememberMember('alias')
  const provider = rememberMember('provider')
  const profile = rememberMember('profile_id')
  const model = rememberMember('model', redactText)
  const keyHash = rememberMember('api_key_hash')
  const keyName = rememberMember('api_key_name')
  const caller = rememberMember('caller', redactText)
  const ignoredName = rememberTexts(redactText)
  const foreignText = (name: string, text: string | undefined) =>
    text === undefined ? '' : writeMember(name, redactText(text).slice(0, TEXT_CHARACTERS_MAX).toWellFormed())
  const foreignId = (name: string, text: string | undefined) =>
    text === undefined ? '' : writeMember(name, redactText(text))

  return {
    name: 'access-log',
    closed(request, closed) {
      if (EXCLUDED_ROUTES.has(request.route) || request.route === metricsPath) return
      const { status, lifecycle, errorType: error, durationMs, bytesSent, facts, upstreamStatus } = closed
      const failure = describeFailure(closed)
      const key = request.readKey()
      const { requestId, traceId, spanId, traceContext: own } = request
      const isOwnTrace = traceId === requestId || traceId === own?.traceId
      writePlainLine(
        `"event":"http_access","request_id":"${requestId}"` +
          (isOwnTrace ? `,"trace_id":"${traceId}"` : foreignId('trace_id', traceId)) +
          (spanId === undefined && own !== undefined ? `,"span_id":"${own.spanId}"` : foreignId('span_id', spanId)) +
          (own === undefined ? '' : `,"otel_trace_id":"${own.traceId}","otel_span_id":"${own.spanId}"`) +
          `${method(request.method)}${route(request.route)}${path(request.path)}` +
          `,"status":${status},"lifecycle":"${lifecycle}"${errorType(error)}${errorCode(failure?.code)}` +
          foreignText('error_field', failure?.field) +
          foreignText('error_message', failure?.message) +
          `,"latency_ms":${Math.round(durationMs * 10) / 10},"bytes":${bytesSent},"protocol":"${request.protocol}"` +
          provider(facts.providerKind) +
          profile(facts.profileId) +
          alias(facts.evidence?.publicAlias) +
          count('upstream_status_code', upstreamStatus) +
          listIgnored(facts.ignoredFields, ignoredName) +
          model(facts.model) +
          count('input_tokens', facts.inputTokens) +
          count('output_tokens', facts.outputTokens) +
          cost(facts.costNanos) +
          keyHash(key.hash) +
          keyName(key.name) +
          caller(request.caller.name),
        'Request finished'
      )
    }
  }
}

/**
 * Writes a member whose text is mostly one of a few, from memory: a text is redacted and quoted once. Empty for undefined. `redactText`
 * masks what looks like a secret; it is left out for the gateway's own texts.
 */
function rememberMember(
  name: string,
  redactText: (text: string) => string = text => text
): (text: string | undefined) => string {
  const write = rememberTexts(text => writeMember(name, redactText(text)))
  return text => (text === undefined ? '' : write(text))
}

function writeMember(name: string, text: string): string {
  return `,"${name}":${escapeJsonLine(JSON.stringify(text))}`
}

/** The names are safe in log lines (decisions.md 70), and a client may have put a secret where a name belongs. */
function listIgnored(names: readonly string[] | undefined, redact: (name: string) => string): string {
  if (names === undefined || names.length === 0) return ''
  return `,"ignored_fields":${escapeJsonLine(JSON.stringify(names.slice(0, IGNORED_FIELDS_MAX).map(redact)))}`
}

function cost(nanos: number | undefined): string {
  return nanos === undefined ? '' : `,"cost":${readAmount(nanos)}`
}

function count(name: string, value: number | undefined): string {
  return value === undefined ? '' : `,"${name}":${value}`
}
