// Cross-origin rules: which browser origins may call the gateway, and the exact responses to their
// preflights (operations.md 3.5). Own code, because @fastify/cors 11 responds to every preflight
// with 204, for any origin, method and headers; required is a 200, or a 400 that lists the
// refused parts.
import type { IncomingHttpHeaders } from 'node:http'
import { isLoopbackOrigin } from '../../../shared/net/local-hosts.ts'
import { readOriginPattern } from '../../../shared/net/origin-pattern.ts'
import type { Settings } from '../../../shared/settings.ts'
import type { Family } from '../../operations/operation.ts'
import { EXPOSED_LIMIT_HEADERS } from './limit-headers.ts'

/** Alternating header names and values, as `writeHead` takes them. */
export type FlatHeaders = readonly string[]

export interface PreflightResponse {
  status: 200 | 400
  headers: FlatHeaders
  body: string
}

/** What a request asks for, as far as the rules differ by it. */
export interface CorsRoute {
  readonly family: Family
  /** Its template, or `unmatched`. */
  readonly route: string
}

export interface CorsPolicy {
  /** Whether pages of this origin may read what the client protocols serve. */
  isOriginAllowed(origin: string): boolean
  /** Returns the headers of every response that is not a preflight's, for the `origin` of the request. */
  responseHeaders(origin: string | undefined, route: CorsRoute): FlatHeaders
  /** Returns the response to a preflight, or undefined for any other request, which goes on to routing. */
  writePreflightResponse(
    method: string | undefined,
    headers: IncomingHttpHeaders,
    route: CorsRoute
  ): PreflightResponse | undefined
}

export type CorsSettings = Pick<
  Settings,
  'mode' | 'keysFile' | 'corsAllowOrigins' | 'corsAllowMethods' | 'corsAllowHeaders'
>

const EVERY_METHOD = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT']
const SAFE_HEADERS = ['Accept', 'Accept-Language', 'Content-Language', 'Content-Type']
const PROD_METHODS = ['GET', 'POST', 'OPTIONS']
const PROD_HEADERS = ['authorization', 'content-type', 'x-api-key', 'x-goog-api-key']
const EXPOSED_HEADERS = 'x-request-id, request-id, retry-after, x-gateway-ignored, x-gateway-target'
const MAX_AGE_SECONDS = '600'

/**
 * The system routes that pages of other origins may read: they hold no fact of the gateway. The log, the admin API, debugging, metrics,
 * documentation and the machine documents are for their own pages and for programs (decisions.md 101).
 */
const SHARED_SYSTEM_ROUTES: ReadonlySet<string> = new Set([
  '/',
  '/v1',
  '/v2',
  '/api/hello',
  '/health',
  '/livez',
  '/ping'
])

function isShared({ family, route }: CorsRoute): boolean {
  return family !== 'system' || SHARED_SYSTEM_ROUTES.has(route)
}

const PLAIN_VARY: FlatHeaders = ['vary', 'Origin']
const PREFLIGHT_VARY: FlatHeaders = ['vary', 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers']

/**
 * Creates the rules of the settings. Origins of this machine are always allowed. In PROD wildcards are dropped, empty lists of methods and
 * headers get defaults, and credentials are not allowed. An origin between slashes is a regular expression for the whole origin.
 */
export function createCorsPolicy(settings: CorsSettings): CorsPolicy {
  const isProd = settings.mode === 'PROD'
  const origins = readList(settings.corsAllowOrigins, isProd, [])
  const methods = readList(settings.corsAllowMethods, isProd, PROD_METHODS)
  const headers = readList(settings.corsAllowHeaders, isProd, PROD_HEADERS)
  const isOriginAllowed = createOriginTest(origins)
  const isAnyHeader = headers.includes('*')
  const exposedHeaders =
    settings.keysFile === undefined ? EXPOSED_HEADERS : `${EXPOSED_HEADERS}, ${EXPOSED_LIMIT_HEADERS}`
  const allowedMethods = methods.includes('*') ? EVERY_METHOD : methods
  const allowedHeaders = new Set([...SAFE_HEADERS, ...headers].map(name => name.toLowerCase()))
  const credentials = isProd ? [] : ['access-control-allow-credentials', 'true']

  function areHeadersAllowed(requested: string): boolean {
    return isAnyHeader ? REPEATABLE.test(requested) : areAllowed(requested, allowedHeaders)
  }

  function originHeaders(origin: string): string[] {
    return ['access-control-allow-origin', origin, ...credentials]
  }

  const constantPreflightHeaders = [
    ...PREFLIGHT_VARY,
    'access-control-allow-methods',
    allowedMethods.join(', '),
    'access-control-max-age',
    MAX_AGE_SECONDS
  ]
  const listedHeaders = [...SAFE_HEADERS, ...headers].join(', ')

  return {
    isOriginAllowed,
    responseHeaders(origin, route) {
      if (origin === undefined || !isShared(route) || !isOriginAllowed(origin)) return PLAIN_VARY
      return [...PLAIN_VARY, ...originHeaders(origin), 'access-control-expose-headers', exposedHeaders]
    },
    writePreflightResponse(method, requestHeaders, route) {
      const { origin } = requestHeaders
      const requestedMethod = requestHeaders['access-control-request-method']
      if (method !== 'OPTIONS' || origin === undefined || requestedMethod === undefined) return undefined
      if (!isShared(route)) return { status: 400, headers: PREFLIGHT_VARY, body: 'Disallowed CORS origin' }
      const requestedHeaders = requestHeaders['access-control-request-headers']
      const responseHeaders = [...constantPreflightHeaders]
      const refusals: string[] = []
      if (isOriginAllowed(origin)) responseHeaders.push(...originHeaders(origin))
      else refusals.push('origin')
      if (!allowedMethods.includes(requestedMethod)) refusals.push('method')
      const shownHeaders = isAnyHeader ? requestedHeaders : listedHeaders
      if (shownHeaders !== undefined && REPEATABLE.test(shownHeaders))
        responseHeaders.push('access-control-allow-headers', shownHeaders)
      if (requestedHeaders !== undefined && !areHeadersAllowed(requestedHeaders)) refusals.push('headers')
      return refusals.length === 0
        ? { status: 200, headers: responseHeaders, body: 'OK' }
        : { status: 400, headers: responseHeaders, body: `Disallowed CORS ${refusals.join(', ')}` }
    }
  }
}

function readList(given: readonly string[], isProd: boolean, fallback: readonly string[]): readonly string[] {
  if (!isProd) return given
  const named = given.filter(item => item !== '*')
  return named.length === 0 ? fallback : named
}

/** What may be repeated in a response header: a client's header may hold any byte above 0x7f too. */
const REPEATABLE = /^[\t\x20-\x7e]*$/

function createOriginTest(origins: readonly string[]): (origin: string) => boolean {
  if (origins.includes('*')) return origin => REPEATABLE.test(origin)
  const exact = new Set(origins.map(writeOrigin))
  const patterns = origins.map(readOriginPattern).filter(pattern => pattern !== undefined)
  return origin => exact.has(origin) || isLoopbackOrigin(origin) || patterns.some(pattern => pattern.test(origin))
}

/** Spells an origin as browsers send it: scheme and host in lower case, and nothing behind the port. */
function writeOrigin(given: string): string {
  const { origin = 'null' } = URL.parse(given) ?? {}
  return origin === 'null' ? given : origin
}

function areAllowed(requested: string, allowed: ReadonlySet<string>): boolean {
  return requested.split(',').every(name => allowed.has(name.trim().toLowerCase()))
}
