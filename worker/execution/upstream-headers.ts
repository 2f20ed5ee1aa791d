// Chooses which of a client's headers are forwarded to the upstream (operations.md 6;
// completions.md 9.3). Headers that are not chosen here never reach the upstream, because its
// request is built from this list alone.
import type { IncomingHttpHeaders } from 'node:http'
import { isHeaderValue } from '../../shared/net/header-value.ts'
import type { TraceContext } from '../observation/observer.ts'

export interface UpstreamHeadersPlan {
  /** Names and values in turn, each name once. */
  headers: string[]
  /** How many headers exceeded the bounds and were dropped. */
  droppedCount: number
}

export interface UpstreamHeadersInput {
  headers: IncomingHttpHeaders
  /** The unchecked `extra_headers` member of the body; its entries replace headers of the request with the same name. */
  extraHeaders?: unknown
  /** Sent as `X-Request-ID` when the client sent none, and the source of the ids when `traceparent` is missing. */
  requestId: string
  /** Of a traced request: it replaces the `traceparent` and `tracestate` of the client, whose trace it continues. */
  traceContext?: Pick<TraceContext, 'traceparent' | 'tracestate'> | undefined
}

/** Enough for any tracing set-up. */
const CUSTOM_HEADERS_MAX = 64

/**
 * Bounds of one header line and of all together. Common servers refuse a line beyond 8 KiB, and Node a head beyond 16 KiB, with 431; a
 * quarter of that head is left for the headers of the gateway.
 */
const HEADER_BYTES_MAX = 8000
const HEADERS_BYTES_MAX = 12 * 1024
/** The colon, the blank and the line break of a header line. */
const SEPARATOR_BYTES = 4

/** The spelling under which the upstream documents these headers. */
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
  'api-key',
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
  // Credentials of other services, which a client may send to every service that it knows.
  'x-amz-security-token',
  'x-api-key',
  'x-auth-token',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-real-ip',
  'x-server-timeout'
])

/** Headers of SDKs, browsers, proxies and the gateway, and those that describe the client's body, which is not forwarded as it is. */
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

/** Headers that the gateway writes itself for a traced request. */
const TRACE_CONTEXT_HEADERS = new Set(['traceparent', 'tracestate'])

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/

/**
 * Chooses the headers for the upstream and adds those that correlation needs. Context headers have the upstream's spelling, all others
 * are in lower case. A header that is too long, or for which no room is left beside those before it, is dropped and counted.
 */
export function planUpstreamHeaders(input: UpstreamHeadersInput): UpstreamHeadersPlan {
  const { headers, requestId, traceContext } = input
  const extra = readExtraHeaders(input.extraHeaders)
  const hopByHop = readConnectionNames(headers.connection)
  const collector = new HeaderCollector(traceContext)
  for (const name in headers) {
    const value = headers[name]
    if (typeof value !== 'string' || !isForwarded(name, value, hopByHop)) continue
    // An entry of `extra_headers` replaces this header; it is added below.
    const replacement = extra?.get(name)
    if (replacement !== undefined && isForwarded(name, replacement, hopByHop)) continue
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
  #bytes = 0
  #hasRequestId = false
  #hasTraceparent = false
  readonly #isTraced: boolean

  constructor(traceContext: UpstreamHeadersInput['traceContext']) {
    this.#isTraced = traceContext !== undefined
    if (traceContext === undefined) return
    const { traceparent, tracestate } = traceContext
    this.#set('traceparent', traceparent)
    if (tracestate !== undefined && tracestate !== '' && isHeaderValue(tracestate)) this.#set('tracestate', tracestate)
  }

  add(name: string, value: string): void {
    if (this.#isTraced && TRACE_CONTEXT_HEADERS.has(name)) return
    this.#set(name, value)
  }

  #set(name: string, value: string): void {
    const contextName = CONTEXT_HEADERS.get(name)
    // Each character is one byte: `isForwarded` has checked both texts.
    const bytes = name.length + value.length + SEPARATOR_BYTES
    const isTooMany = contextName === undefined && this.#customCount >= CUSTOM_HEADERS_MAX
    if (isTooMany || bytes > HEADER_BYTES_MAX || this.#bytes + bytes > HEADERS_BYTES_MAX) {
      this.#droppedCount += 1
      return
    }
    this.#bytes += bytes
    if (contextName === undefined) this.#customCount += 1
    if (name === 'x-request-id') this.#hasRequestId = true
    else if (name === 'traceparent') this.#hasTraceparent = true
    this.#headers.push(contextName ?? name, value)
  }

  finish(requestId: string): UpstreamHeadersPlan {
    if (!this.#hasRequestId) this.#headers.push('X-Request-ID', requestId)
    if (!this.#hasTraceparent) this.#headers.push('traceparent', writeTraceparent(requestId))
    return { headers: this.#headers, droppedCount: this.#droppedCount }
  }
}

/** The entries of `extra_headers`, with names in lower case; undefined when the member is absent or not an object. */
function readExtraHeaders(extraHeaders: unknown): Map<string, string> | undefined {
  if (typeof extraHeaders !== 'object' || extraHeaders === null) return undefined
  const read = new Map<string, string>()
  for (const [name, givenValue] of Object.entries(extraHeaders)) {
    const value = toFieldValue(givenValue)
    // A value that HTTP cannot carry must not replace an earlier entry of the same name.
    if (value !== undefined && isHeaderValue(value)) read.set(name.trim().toLowerCase(), value)
  }
  return read
}

function isForwarded(name: string, value: string, hopByHop: ReadonlySet<string> | undefined): boolean {
  return isNameForwarded(name) && hopByHop?.has(name) !== true && isHeaderValue(value)
}

/** Clients send the same dozen names in every request, so the decision about a name is kept, for a bounded number of names. */
const decidedNames = new Map<string, boolean>()
const DECIDED_NAMES_MAX = 512

/** Longer names are never forwarded: a name in `extra_headers` may be as long as the body. */
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

/** The names that the client's `connection` header declares hop-by-hop (field-lessons.md H9). */
function readConnectionNames(connection: string | undefined): ReadonlySet<string> | undefined {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return undefined
  return new Set(connection.split(',').map(name => name.trim().toLowerCase()))
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
 * A W3C trace context made of the request id, so that each leads to the other. Its flag says "not recorded", because no span is exported
 * for it.
 */
function writeTraceparent(requestId: string): string {
  // Slicing at the fixed places of a UUID's hyphens costs a third of `split`.
  const span = requestId.slice(19, 23) + requestId.slice(24)
  return `00-${requestId.slice(0, 8)}${requestId.slice(9, 13)}${requestId.slice(14, 18)}${span}-${span}-00`
}
