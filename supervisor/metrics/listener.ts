// The separate listener of `GATEWAY_METRICS_PORT`: serves the metrics on the loopback address and
// keeps scrapes off the public port (operations.md 7.5).
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createApiKeys, findApiKey } from '../../shared/api-key.ts'
import type { Logger } from '../../shared/logging.ts'
import { chooseMetricsFormat, METRICS_CONTENT_TYPES, type MetricsFormat } from '../../shared/metrics/format.ts'
import { http } from '../../shared/node-http.ts'
import { isAuthRequired, type Settings } from '../../shared/settings.ts'

export const METRICS_HOST = '127.0.0.1'
/** A scraper sends a short head and reads the response at once. */
const REQUEST_TIMEOUT_MS = 10_000

export interface MetricsListener {
  readonly port: number
  close(): Promise<void>
}

export interface MetricsListenerOptions {
  readonly port: number
  readonly settings: Pick<Settings, 'mode' | 'enableApiKeyAuth' | 'keysFile' | 'apiKey' | 'apiKeys' | 'metricsPath'>
}

/** Listens on the loopback address. Rejects with the system's error, such as `EADDRINUSE`. */
export async function listenForScrapes(
  { log, scrape }: { log: Logger; scrape: (format: MetricsFormat) => Promise<Uint8Array> },
  { port, settings }: MetricsListenerOptions
): Promise<MetricsListener> {
  const refuse = createRefusal(settings)

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refusal = refuse(request)
    if (refusal !== undefined) {
      sendError(response, refusal)
      return
    }
    const format = chooseMetricsFormat(request.headers.accept)
    const body = await scrape(format)
    response.writeHead(200, { 'content-type': METRICS_CONTENT_TYPES[format], 'content-length': body.byteLength })
    response.end(body)
  }

  const server = http.createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
    respond(request, response).catch(error => {
      log.error({ event: 'metrics_scrape_failed', err: error }, 'The metrics could not be written')
      sendError(response, { status: 500, code: 'internal_error', message: 'Internal server error' })
    })
  })
  server.listen({ host: METRICS_HOST, port })
  await once(server, 'listening')
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

/**
 * Unknown paths and methods are refused before a key is looked at, as on the public port
 * (operations.md 1).
 */
function createRefusal(
  settings: MetricsListenerOptions['settings']
): (request: IncomingMessage) => Refusal | undefined {
  const isKeyNeeded = isAuthRequired(settings)
  const keys = createApiKeys(settings)
  return ({ url = '/', method = '', headers }) => {
    const [path, search = ''] = url.split('?', 2)
    if (path !== settings.metricsPath) return { status: 404, code: 'not_found', message: 'Not Found' }
    if (method !== 'GET' && method !== 'HEAD') {
      return { status: 405, code: 'method_not_allowed', message: 'Method Not Allowed', headers: { allow: 'GET' } }
    }
    if (!isKeyNeeded) return undefined
    const query = Object.fromEntries(new URLSearchParams(search))
    const presented = findApiKey(headers, query, { isBearerTaken: false })
    if (presented === undefined) return { ...UNAUTHENTICATED, message: 'API key required' }
    return keys.match(presented) === undefined ? { ...UNAUTHENTICATED, message: 'Invalid API key' } : undefined
  }
}

function sendError(response: ServerResponse, { status, code, message, headers }: Refusal): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  const body = JSON.stringify({ error: { code, message } })
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(body)
}
