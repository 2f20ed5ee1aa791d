// Which of a client's headers travel to the native upstream (operations contract, section 6; completions contract, 9.3).
// Everything that is not forwarded here stays with the gateway: the upstream's request is built from this list alone.
import type { IncomingHttpHeaders } from 'node:http'

export interface UpstreamHeadersPlan {
  /** Names and values in turn, each name once. */
  headers: string[]
  /** How many custom headers went beyond the bounds and were left out. */
  droppedCount: number
}

export interface UpstreamHeadersInput {
  headers: IncomingHttpHeaders
  /** The `extra_headers` member of the body, whatever it is; its entries win over equal headers of the request. */
  extraHeaders?: unknown
  /** Stands in for `X-Request-ID` when the client sent none, and gives the ids of a missing `traceparent`. */
  requestId: string
}

/** Custom headers beyond the first that go through: enough for any tracing set-up, too little to smuggle a body. */
const CUSTOM_HEADERS_MAX = 64
const CUSTOM_HEADERS_BYTES_MAX = 8 * 1024

/** The upstream documents these under a spelling of its own. */
const CONTEXT_HEADERS = new Map([
  ['x-request-id', 'X-Request-ID'],
  ['x-session-id', 'X-Session-ID'],
  ['x-service-id', 'X-Service-ID'],
  ['x-operation-id', 'X-Operation-ID'],
  ['x-client-id', 'X-Client-ID'],
  ['x-trace-id', 'X-Trace-ID'],
  ['x-agent-id', 'X-Agent-ID']
])

const DENIED_NAMES = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'authorization',
  'connection',
  'cookie',
  'expect',
  'forwarded',
  'host',
  'http2-settings',
  'keep-alive',
  'origin',
  'range',
  'referer',
  'set-cookie',
  'te',
  'trailer',
  'trailers',
  'transfer-encoding',
  'upgrade',
  'user-agent',
  'via',
  'x-admin-api-key',
  'x-api-key',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-real-ip',
  'x-server-timeout'
])

/** Headers of SDKs, browsers, proxies and of the gateway itself, and those that describe the body we do not forward. */
const DENIED_PREFIXES = [
  'access-control-',
  'anthropic-',
  'cf-',
  'content-',
  'if-',
  'openai-',
  'proxy-',
  'sec-',
  'x-gateway-',
  'x-goog-',
  'x-stainless-'
]

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/
/** A header value as HTTP can carry it: no line break, no NUL, nothing that does not fit one byte. */
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/**
 * Chooses the headers for the upstream and adds those that correlation needs. Context headers come under the upstream's
 * spelling, all others in lower case. Of the custom headers the first always passes, further ones while they stay within
 * 64 headers and 8 KiB; the rest is dropped and counted.
 */
export function planUpstreamHeaders(input: UpstreamHeadersInput): UpstreamHeadersPlan {
  const { headers, requestId } = input
  const extra = readExtraHeaders(input.extraHeaders)
  const hopByHop = readConnectionNames(headers.connection)
  const collector = new HeaderCollector()
  for (const name in headers) {
    const value = headers[name]
    if (typeof value !== 'string' || !isForwarded(name, value, hopByHop)) continue
    // An entry of the body takes the place of an equal header of the request.
    const winner = extra?.get(name)
    if (winner !== undefined && isForwarded(name, winner, hopByHop)) continue
    collector.add(name, value)
  }
  if (extra !== undefined) {
    for (const [name, value] of extra) if (isForwarded(name, value, hopByHop)) collector.add(name, value)
  }
  return collector.finish(requestId)
}

class HeaderCollector {
  readonly #headers: string[] = []
  #droppedCount = 0
  #customCount = 0
  #customBytes = 0
  #hasRequestId = false
  #hasTraceparent = false

  add(name: string, value: string): void {
    if (name === 'x-request-id') this.#hasRequestId = true
    else if (name === 'traceparent') this.#hasTraceparent = true
    const contextName = CONTEXT_HEADERS.get(name)
    if (contextName !== undefined) {
      this.#headers.push(contextName, value)
      return
    }
    this.#customBytes += name.length + value.length
    const isWithin = this.#customCount < CUSTOM_HEADERS_MAX && this.#customBytes <= CUSTOM_HEADERS_BYTES_MAX
    if (this.#droppedCount === 0 && (isWithin || this.#customCount === 0)) {
      this.#customCount += 1
      this.#headers.push(name, value)
    } else {
      this.#droppedCount += 1
    }
  }

  finish(requestId: string): UpstreamHeadersPlan {
    if (!this.#hasRequestId) this.#headers.push('X-Request-ID', requestId)
    if (!this.#hasTraceparent) this.#headers.push('traceparent', writeTraceparent(requestId))
    return { headers: this.#headers, droppedCount: this.#droppedCount }
  }
}

/** The `extra_headers` member as names in lower case and values; undefined when there are none. */
function readExtraHeaders(extraHeaders: unknown): Map<string, string> | undefined {
  if (typeof extraHeaders !== 'object' || extraHeaders === null) return undefined
  const read = new Map<string, string>()
  for (const [name, givenValue] of Object.entries(extraHeaders)) {
    const value = toFieldValue(givenValue)
    // A value that cannot travel takes no other's place.
    if (value !== undefined && FIELD_VALUE.test(value)) read.set(name.trim().toLowerCase(), value)
  }
  return read
}

function isForwarded(name: string, value: string, hopByHop: readonly string[]): boolean {
  return isNameForwarded(name) && !hopByHop.includes(name) && FIELD_VALUE.test(value)
}

/** Clients send the same dozen of names again and again: what was decided about a name is kept, for so many of them. */
const decidedNames = new Map<string, boolean>()
const DECIDED_NAMES_MAX = 512

/** No header that means anything is longer; a name out of the body may be as long as the body. */
const NAME_CHARACTERS_MAX = 256

function isNameForwarded(name: string): boolean {
  if (name.length > NAME_CHARACTERS_MAX) return false
  const decided = decidedNames.get(name)
  if (decided !== undefined) return decided
  const isForwardedName =
    !DENIED_NAMES.has(name) && !DENIED_PREFIXES.some(prefix => name.startsWith(prefix)) && TOKEN.test(name)
  if (decidedNames.size < DECIDED_NAMES_MAX) decidedNames.set(name, isForwardedName)
  return isForwardedName
}

/** Names that the client declared to be for this connection only (field lesson H9). */
function readConnectionNames(connection: string | undefined): readonly string[] {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return []
  return connection.split(',').map(name => name.trim().toLowerCase())
}

function toFieldValue(value: unknown): string | undefined {
  switch (typeof value) {
    case 'string':
      return value
    case 'number':
    case 'boolean':
      return String(value)
    default:
      return undefined
  }
}

/**
 * A W3C trace context made of the request id, so that both can be found from either. The flag says "not recorded": no span is
 * exported for it.
 */
function writeTraceparent(requestId: string): string {
  // Cut at the places of a UUID's hyphens: splitting costs three times as much.
  const span = requestId.slice(19, 23) + requestId.slice(24)
  return `00-${requestId.slice(0, 8)}${requestId.slice(9, 13)}${requestId.slice(14, 18)}${span}-${span}-00`
}
