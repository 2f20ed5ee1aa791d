// The pool of connections to one origin: straight or through a proxy, with TLS and checks of addresses
// as configured (upstream.md 1.3; providers.md 1).

import { isIP } from 'node:net'
import { rootCertificates } from 'node:tls'
import { buildConnector, Pool } from 'undici'
import type { DestinationGuard } from '../egress/checked-lookup.ts'
import { passOverContinue } from './continue-filter.ts'
import { createForwardDispatcher, type RequestDispatcher } from './forward-dispatcher.ts'
import type { ProxyServer } from './proxy.ts'
import { createProxyDial, createTunnelConnector } from './proxy-connector.ts'

/** Which servers are trusted, and which certificate is shown to them. */
export interface TlsOptions {
  /** Certificate authorities in place of the usual ones, as PEM text. */
  ca?: string
  rejectUnauthorized?: boolean
  cert?: string
  key?: string
  passphrase?: string
}

export type ConnectionListener = (change: 1 | -1) => void

export interface PoolOptions {
  /** Scheme, host and port. */
  origin: string
  /** Connections at once. */
  connectionsMax: number
  /** For making one connection, with its proxy and TLS. */
  connectMs: number
  tls?: TlsOptions
  proxy?: ProxyServer | undefined
  /**
   * Checks the addresses of the host where only some are allowed. A proxy resolves names by itself: behind one only a host that is an
   * address is checked.
   */
  guard?: DestinationGuard | undefined
  /** Checks the addresses of the proxy. */
  proxyGuard?: DestinationGuard | undefined
  /** Called with 1 when a connection is open and with -1 when it is closed, for the metrics. */
  onConnectionChange?: ConnectionListener | undefined
}

export interface OpenPool {
  /** Sends the requests. */
  dispatcher: RequestDispatcher
  /** Holds the connections. */
  pool: Pool
}

/**
 * How long an idle connection is kept. Common servers close theirs after 5 s, uvicorn without saying so: this side must be first, because
 * a chat that meets the close is lost.
 */
const KEEP_ALIVE_MS = 4_000

/** Prepares a pool. No connection is opened before the first request. */
export function openPool(options: PoolOptions): OpenPool {
  const { origin, tls = {}, connectMs, proxy, guard, proxyGuard } = options
  const shared = { timeout: connectMs, allowH2: false }
  if (proxy === undefined) {
    const pool = createPool(options, origin, createDial({ ...shared, ...tls }, guard))
    return { dispatcher: pool, pool }
  }
  const dial = createProxyDial(proxy, createDial({ ...shared, ...proxyTrust(tls) }, proxyGuard))
  if (origin.startsWith('https:')) {
    const secure = buildConnector({ ...shared, ...tls })
    const tunnel = createTunnelConnector({ proxy, dial, secure, timeoutMs: connectMs })
    const pool = createPool(options, origin, refuseAddresses(tunnel, guard))
    return { dispatcher: pool, pool }
  }
  // The connector begins TLS with the proxy: to the HTTP client every proxy is a plain one.
  const pool = createPool(options, proxy.origin.replace(/^https:/, 'http:'), checkFirst(origin, dial, guard))
  return { dispatcher: createForwardDispatcher(origin, proxy, pool), pool }
}

/** Opens connections straight to a host. */
function createDial(
  connect: buildConnector.BuildOptions,
  guard: DestinationGuard | undefined
): buildConnector.connector {
  if (guard === undefined) return buildConnector(connect)
  return refuseAddresses(buildConnector({ ...connect, lookup: guard.lookup }), guard)
}

/** A connector that also checks a host that is an address: no lookup sees it. */
function refuseAddresses(
  dial: buildConnector.connector,
  guard: DestinationGuard | undefined
): buildConnector.connector {
  if (guard === undefined) return dial
  return (options, callback) => {
    if (isIP(options.hostname) === 0 || guard.isAllowed(options.hostname)) dial(options, callback)
    else queueMicrotask(() => callback(guard.refuse(options.hostname), null))
  }
}

/** A connector that first checks the host of another origin. */
function checkFirst(
  origin: string,
  dial: buildConnector.connector,
  guard: DestinationGuard | undefined
): buildConnector.connector {
  const hostname = new URL(origin).hostname.replace(/^\[(.*)\]$/, '$1')
  const check = refuseAddresses(dial, guard)
  return (options, callback) => check({ ...options, hostname }, callback)
}

/**
 * The proxy may have a public certificate while the provider has a private one: the private authorities are added to the usual ones. The
 * client certificate is the provider's to see.
 */
function proxyTrust({ ca, rejectUnauthorized }: TlsOptions): buildConnector.BuildOptions {
  return {
    ...(ca === undefined ? {} : { ca: [...rootCertificates, ca] }),
    ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized })
  }
}

/** Creates a pool of bounded connections, each of which the connector makes. */
function createPool(
  { connectionsMax, onConnectionChange }: PoolOptions,
  origin: string,
  connect: buildConnector.connector
): Pool {
  const pool = new Pool(origin, {
    connections: connectionsMax,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Without it the time that a server announces would be used, even when it is longer.
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    connect: passOverContinue(connect)
  })
  if (onConnectionChange === undefined) return pool
  return pool.on('connect', () => onConnectionChange(1)).on('disconnect', () => onConnectionChange(-1))
}
