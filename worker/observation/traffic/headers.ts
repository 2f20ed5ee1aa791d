// The headers of a request in its record. Values are shown by an allow-list, so that a header that
// the list lacks hides its value (operations.md 8.2; field-lessons.md M1).
import type { IncomingHttpHeaders } from 'node:http'
import { REDACTED, type Redactor } from '../../../shared/secrets/redaction.ts'
import { boundText } from '../../translation/captured-body.ts'

const SHOWN: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'anthropic-beta',
  'anthropic-dangerous-direct-browser-access',
  'anthropic-version',
  'cache-control',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'openai-beta',
  'origin',
  'priority',
  'te',
  'traceparent',
  'transfer-encoding',
  'user-agent',
  'x-agent-id',
  'x-app',
  'x-gateway-replay',
  'x-goog-api-client',
  'x-request-id',
  'x-server-timeout',
  'x-session-id',
  'x-span-id',
  'x-trace-id'
])

/** What SDKs tell of themselves. */
const SHOWN_PREFIX = 'x-stainless-'

/** Every header by its name, with its value where that can be shown, redacted, else `***`. */
export function redactHeaders(headers: IncomingHttpHeaders, redactor: Redactor): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      const { kind, shown } = redactor.readKey(name)
      const isShown = (SHOWN.has(name) || name.startsWith(SHOWN_PREFIX)) && kind === 'plain'
      return [shown, isShown ? boundText(redactor.redactText(String(value))) : REDACTED]
    })
  )
}
