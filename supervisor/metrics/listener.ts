// The separate listener of `GATEWAY_METRICS_PORT`: serves the metrics on the loopback address, or on
// `GATEWAY_METRICS_HOST`, and keeps scrapes off the public port (operations.md 7.5).
import { once } from 'node:events'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createKeyRing, DEFAULT_KEY_NAME, type KeyRing, readKeyState } from '../../shared/keys/key-ring.ts'
import type { Logger } from '../../shared/logging.ts'
import { chooseMetricsFormat, METRICS_CONTENT_TYPES, type MetricsFormat } from '../../shared/metrics/format.ts'
import { isLoopbackBinding } from '../../shared/net/listen-addresses.ts'
import { createHostTest, isLoopbackOrigin, isOriginOf } from '../../shared/net/local-hosts.ts'
import { http } from '../../shared/net/node-http.ts'
import { findAdminKey, findApiKey } from '../../shared/secrets/api-key.ts'
import { isAuthRequired, type Settings } from '../../shared/settings.ts'

/** As on the public port: no cache keeps it, and no browser takes a label for markup. */
const PRIVATE_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }
/** A scraper sends a short head and reads the response at once. */
const REQUEST_TIMEOUT_MS = 10_000
/** A few scrapers. Without a bound idle connections take every descriptor of the supervisor, which then can start no worker. */
const CONNECTIONS_MAX = 64

export interface MetricsListener {
  readonly port: number
  close(): Promise<void>
}

export interface MetricsListenerOptions {
  readonly port: number
  readonly settings: Pick<
    Settings,
    | 'mode'
    | 'enableApiKeyAuth'
    | 'keysFile'
    | 'adminApiKey'
    | 'allowedHosts'
    | 'metricsHost'
    | 'metricsPath'
    | 'keepAliveSeconds'
  >
  readonly keyRing: KeyRing
}

/** Rejects with the system's error, such as `EADDRINUSE`. */
export async function listenForScrapes(
  { log, scrape, nowMs }: { log: Logger; scrape: (format: MetricsFormat) => Promise<Uint8Array>; nowMs: () => number },
  { port, settings, keyRing }: MetricsListenerOptions
): Promise<MetricsListener> {
  const refusePage = await createPageRefusal(settings, port)
  const refuse = createRefusal({ refusePage, settings, keyRing, nowMs })

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refusal = refuse(request)
    if (refusal !== undefined) {
      sendError(response, refusal)
      return
    }
    const format = chooseMetricsFormat(request.headers.accept)
    const body = await scrape(format)
    response.writeHead(200, {
      ...PRIVATE_HEADERS,
      'content-type': METRICS_CONTENT_TYPES[format],
      'content-length': body.byteLength
    })
    response.end(body)
  }

  const options = { requestTimeout: REQUEST_TIMEOUT_MS, keepAliveTimeout: settings.keepAliveSeconds * 1000 }
  const server = http.createServer(options, (request, response) => {
    respond(request, response).catch(error => {
      log.error({ event: 'metrics_scrape_failed', err: error }, 'The metrics could not be written')
      sendError(response, { status: 500, code: 'internal_error', message: 'Internal server error' })
    })
  })
  server.listen({ host: settings.metricsHost, port })
  await once(server, 'listening')
  server.maxConnections = CONNECTIONS_MAX
  // A connection that cannot be accepted ends nothing else.
  server.on('error', error => log.warn({ event: 'metrics_connection_failed', err: error }, 'A connection was lost'))
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    }
  }
}

interface Refusal {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
}

const UNAUTHENTICATED = { status: 401, code: 'invalid_api_key', headers: { 'www-authenticate': 'Bearer' } }

const FOREIGN_HOST = {
  status: 421,
  code: 'host_not_allowed',
  message: 'The Host header names another machine. GATEWAY_ALLOWED_HOSTS can allow the name.'
}
const FOREIGN_ORIGIN = {
  status: 403,
  code: 'origin_not_allowed',
  message: 'Pages of this origin may not read the metrics'
}
const NO_OPERATOR = {
  status: 403,
  code: 'admin_key_required',
  message: 'The default API key or the admin API key is required'
}
const STATE_REFUSALS = {
  active: undefined,
  expired: { ...UNAUTHENTICATED, code: 'key_expired', message: 'The API key has expired' },
  disabled: { ...UNAUTHENTICATED, code: 'key_disabled', message: 'The API key is disabled' }
} as const

/** The refusal of a request that a page of another site makes a browser send. */
type RefusePage = (headers: IncomingHttpHeaders) => Refusal | undefined

interface RefusalOptions extends Omit<MetricsListenerOptions, 'port'> {
  readonly refusePage: RefusePage
  readonly nowMs: () => number
}

/** Without keys a page of another site could lead a browser to a loopback address, also by a name of its own (decisions.md 101). */
async function createPageRefusal(settings: MetricsListenerOptions['settings'], port: number): Promise<RefusePage> {
  const { metricsHost, allowedHosts } = settings
  if (isAuthRequired(settings) || !(await isLoopbackBinding(metricsHost))) return () => undefined
  const isOwnHost = createHostTest({ host: metricsHost, port, allowedHosts })
  return ({ host = '', origin }) => {
    if (host !== '' && !isOwnHost(host)) return FOREIGN_HOST
    if (origin === undefined || isLoopbackOrigin(origin) || isOriginOf(host, origin)) return undefined
    return FOREIGN_ORIGIN
  }
}

/**
 * Unknown paths and methods are refused before a key is looked at, as on the public port
 * (operations.md 1). While a keys file is in force the default or the admin key is needed (keys.md 2).
 */
function createRefusal({
  refusePage,
  settings,
  keyRing,
  nowMs
}: RefusalOptions): (request: IncomingMessage) => Refusal | undefined {
  const isKeyNeeded = isAuthRequired(settings)
  const adminRing = createKeyRing({ apiKey: settings.adminApiKey, apiKeys: {} })
  return ({ url = '/', method = '', headers }) => {
    const ofPage = refusePage(headers)
    if (ofPage !== undefined) return ofPage
    const [path, search = ''] = url.split('?', 2)
    if (path !== settings.metricsPath) return { status: 404, code: 'not_found', message: 'Not Found' }
    if (method !== 'GET' && method !== 'HEAD') {
      return { status: 405, code: 'method_not_allowed', message: 'Method Not Allowed', headers: { allow: 'GET' } }
    }
    if (!isKeyNeeded) return undefined
    const admin = findAdminKey(headers)
    if (keyRing.hasFile && admin !== undefined && adminRing.find(admin) !== undefined) return undefined
    const query = Object.fromEntries(new URLSearchParams(search))
    const presented = findApiKey(headers, query, { isBearerTaken: false })
    if (presented === undefined) return { ...UNAUTHENTICATED, message: 'API key required' }
    const key = keyRing.find(presented)
    if (key === undefined) return { ...UNAUTHENTICATED, message: 'Invalid API key' }
    const refusal = STATE_REFUSALS[readKeyState(key, nowMs())]
    return refusal ?? (keyRing.hasFile && key.name !== DEFAULT_KEY_NAME ? NO_OPERATOR : undefined)
  }
}

function sendError(response: ServerResponse, { status, code, message, headers }: Refusal): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  const body = JSON.stringify({ error: { code, message } })
  response.writeHead(status, { ...PRIVATE_HEADERS, 'content-type': 'application/json', ...headers })
  response.end(body)
}
