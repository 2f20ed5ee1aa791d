// The pool of connections to one origin: straight or through a proxy, with TLS and checks of addresses
// as configured (upstream.md 1.3; providers.md 1).

import { isIP } from 'node:net'
import { rootCertificates, type SecureContext } from 'node:tls'
import { buildConnector, Pool } from 'undici'
import type { DestinationGuard } from '../../egress/checked-lookup.ts'
import type { CertificateWatch } from './certificate-watch.ts'
import { createForwardDispatcher, type RequestDispatcher } from './forward-dispatcher.ts'
import type { ProxyServer } from './proxy.ts'
import { createProxyDial, createTunnelConnector } from './proxy-connector.ts'
import { keepAlerts } from './tls-alerts.ts'
import type { TlsFiles, TlsPeer } from './tls-files.ts'
import type { TlsOptions } from './tls-options.ts'
import { watchConnections } from './watched-connection.ts'

export type ConnectionListener = (change: 1 | -1) => void

export interface PoolOptions {
  /** Scheme, host and port. */
  origin: string
  /** Connections at once. */
  connectionsMax: number
  /** For making one connection, with its proxy and TLS. */
  connectMs: number
  tls?: TlsOptions
  /** In place of the authorities and the certificate of `tls`: those of files that may change. */
  tlsFiles?: TlsFiles | undefined
  proxy?: ProxyServer | undefined
  /**
   * Checks the addresses of the host where only some are allowed. A proxy resolves names by itself: behind one only a host that is an
   * address is checked.
   */
  guard?: DestinationGuard | undefined
  /** Checks the addresses of the proxy. */
  proxyGuard?: DestinationGuard | undefined
  /** Sees the certificates of the connections: that of the provider, and the one that is shown to it. */
  certificates?: CertificateWatch
  /** Every request has a new connection. */
  keepsNone?: true
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
  const { origin, connectMs, proxy, guard, proxyGuard } = options
  if (proxy === undefined) {
    const pool = createPool(options, origin, createDial(options, 'provider', guard))
    return { dispatcher: pool, pool }
  }
  const dial = createProxyDial(proxy, createDial(options, 'proxy', proxyGuard))
  if (origin.startsWith('https:')) {
    const secure = createDial(options, 'provider', undefined)
    const tunnel = createTunnelConnector({ proxy, dial, secure, timeoutMs: connectMs })
    const pool = createPool(options, origin, refuseAddresses(tunnel, guard))
    return { dispatcher: pool, pool }
  }
  // The connector begins TLS with the proxy: to the HTTP client every proxy is a plain one.
  const pool = createPool(options, proxy.origin.replace(/^https:/, 'http:'), checkFirst(origin, dial, guard))
  return { dispatcher: createForwardDispatcher(origin, proxy, pool), pool }
}

/** Opens connections straight to a host, or begins TLS on a socket that is open. */
function createDial(
  { tls = {}, tlsFiles, certificates, connectMs }: PoolOptions,
  peer: TlsPeer,
  guard: DestinationGuard | undefined
): buildConnector.connector {
  const watch = peer === 'provider' ? certificates : undefined
  const connect: buildConnector.BuildOptions = {
    timeout: connectMs,
    allowH2: false,
    ...(peer === 'provider' ? tls : proxyTrust(tls)),
    ...(guard !== undefined && { lookup: guard.lookup })
  }
  if (tlsFiles === undefined && tls.cert !== undefined) watch?.noteClient(tls.cert)
  const dial =
    tlsFiles === undefined ? buildConnector(connect) : createRenewedConnector({ tlsFiles, peer, connect, watch })
  return refuseAddresses(watch?.watch(dial) ?? dial, guard)
}

interface RenewedOptions {
  tlsFiles: TlsFiles
  peer: TlsPeer
  connect: buildConnector.BuildOptions
  watch: CertificateWatch | undefined
}

/** A connector that looks at the files of TLS for each connection. Sessions of older files are not taken up again. */
function createRenewedConnector({ tlsFiles, peer, connect, watch }: RenewedOptions): buildConnector.connector {
  let secureContext: SecureContext | undefined
  let dial: buildConnector.connector | undefined
  return (options, callback) => {
    tlsFiles.read().then(
      material => {
        if (dial === undefined || secureContext !== material[peer]) {
          secureContext = material[peer]
          dial = buildConnector({ ...connect, secureContext })
          if (material.clientCertificate !== undefined) watch?.noteClient(material.clientCertificate)
        }
        dial(options, callback)
      },
      (thrown: Error) => callback(thrown, null)
    )
  }
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
    ...(ca === undefined ? {} : { ca: [...rootCertificates, ca].flat() }),
    ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized })
  }
}

/** Creates a pool of bounded connections, each of which the connector makes. */
function createPool(
  { connectionsMax, keepsNone, onConnectionChange }: PoolOptions,
  origin: string,
  connect: buildConnector.connector
): Pool {
  const pool = new Pool(origin, {
    connections: connectionsMax,
    // 0 closes each connection behind its response.
    pipelining: keepsNone === true ? 0 : 1,
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Without it the time that a server announces would be used, even when it is longer.
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    connect: keepAlerts(watchConnections(connect))
  })
  if (onConnectionChange === undefined) return pool
  return pool.on('connect', () => onConnectionChange(1)).on('disconnect', () => onConnectionChange(-1))
}
