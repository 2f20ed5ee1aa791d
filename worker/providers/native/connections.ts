// The connections to the native upstream: one set for the API and two for tokens, as the settings
// say (upstream.md 1.3).

import { readFileSync } from 'node:fs'
import type { SeenCertificates } from '../../../shared/provider-health.ts'
import type { Settings } from '../../../shared/settings.ts'
import type { DestinationGuard } from '../egress/checked-lookup.ts'
import type { ProxyServer } from '../http/connections/proxy.ts'
import { openTlsFiles, type TlsFiles, type TlsFilesOptions } from '../http/connections/tls-files.ts'
import {
  type ConnectionListener,
  type OriginTimeouts,
  openOrigin,
  type ProviderOrigin,
  type TlsOptions
} from '../http/connections.ts'
import { type NativeEndpoints, resolveEndpoints } from './endpoints.ts'

export interface NativeConnections {
  endpoints: NativeEndpoints
  /** Everything but tokens. */
  api: ProviderOrigin
  /** The OAuth server: no client certificate is shown to it. */
  oauth: ProviderOrigin
  /** Password tokens: the API's origin on separate connections, so that a full API pool cannot delay a token it waits for. */
  passwordToken: ProviderOrigin
  /** Those that the connections to the API have seen. */
  certificates(): SeenCertificates
  close(): Promise<void>
  destroy(): Promise<void>
}

/**
 * Connections of one worker to the API when `UPSTREAM_MAX_CONNECTIONS` is unset. The usual default of 100 would let the
 * hundred-and-first stream wait for another one to end, although an open stream costs next to nothing (ADR of 2026-11-21 on
 * upstream connections and timeouts).
 */
const API_CONNECTIONS_MAX_DEFAULT = 1024

/** Requests that wait for a connection when all are in use; each holds its body, so the number is bounded. */
const API_WAITERS_MAX = 1024

/** Token calls are single flight per credential; this many at once is generous even with the credentials of clients. */
const TOKEN_CONNECTIONS_MAX = 8

/** A setting that names a file, or the content of that file, cannot be used. The message names the setting only. */
export class TransportConfigurationError extends Error {
  readonly setting: string

  constructor(setting: string, cause: unknown) {
    super(`${setting} cannot be read.`, { cause })
    this.name = 'TransportConfigurationError'
    this.setting = setting
  }
}

export type ConnectionSettings = Pick<Settings, 'upstream' | 'streamIdleTimeoutSeconds'>

export interface NativeConnectionsOptions {
  settings: ConnectionSettings
  /** The API base, already checked as a URL. */
  baseUrl: string
  /** Checks the addresses of the API; absent where private hosts are legitimate. A proxy resolves by itself. */
  guard?: DestinationGuard | undefined
  /** The proxy for an origin. */
  proxyFor: (origin: string) => ProxyServer | undefined
  /** Checks the addresses of the proxies; absent where the settings name them. */
  proxyGuard?: DestinationGuard | undefined
  /** The files of the profile, which win over those of the settings where it names them. */
  profileFiles: Omit<TlsFilesOptions, 'settings'>
  onConnectionChange?: ConnectionListener | undefined
}

/** Prepares the connections; none is opened before the first call. Raises `TransportConfigurationError` for unreadable TLS files. */
export function openNativeConnections(options: NativeConnectionsOptions): NativeConnections {
  const { settings, baseUrl, guard, proxyFor, proxyGuard, profileFiles, onConnectionChange } = options
  const { upstream } = settings
  const endpoints = resolveEndpoints(baseUrl, upstream.authUrl)
  const own = profileFiles.paths
  // Naming authorities asks for them to be checked.
  const trust = own.caFile === undefined ? readTrust(upstream) : { rejectUnauthorized: true }
  const shown = own.clientCertFile === undefined ? readClientCertificate(upstream) : {}
  const files = openFiles(profileFiles, upstream)
  const callMs = Math.ceil(upstream.timeout * 1000)
  const common = { proxyGuard, onConnectionChange, timeouts: readTimeouts(settings, callMs) }
  const toApi = {
    ...common,
    origin: endpoints.apiOrigin,
    proxy: proxyFor(endpoints.apiOrigin),
    tls: { ...trust, ...shown },
    tlsFiles: files.api,
    guard
  }
  const connectionsMax = upstream.maxConnections ?? API_CONNECTIONS_MAX_DEFAULT
  const api = openOrigin({ ...toApi, connectionsMax, waiting: { waitersMax: API_WAITERS_MAX, waitMsMax: callMs } })
  const passwordToken = openOrigin({ ...toApi, connectionsMax: TOKEN_CONNECTIONS_MAX })
  const oauth = openOrigin({
    ...common,
    origin: endpoints.oauth.origin,
    proxy: proxyFor(endpoints.oauth.origin),
    tls: trust,
    tlsFiles: files.oauth,
    connectionsMax: TOKEN_CONNECTIONS_MAX
  })
  const all = [api, oauth, passwordToken]
  return {
    endpoints,
    api,
    oauth,
    passwordToken,
    certificates: api.certificates,
    async close() {
      await Promise.all(all.map(origin => origin.close()))
    },
    async destroy() {
      await Promise.all(all.map(origin => origin.destroy()))
    }
  }
}

/**
 * `UPSTREAM_TIMEOUT` limits each phase, except for the head of a chat and the gaps of a stream: a model may think for minutes before the
 * first byte and inside an open stream, and has limits of its own for both.
 */
function readTimeouts({ upstream, streamIdleTimeoutSeconds }: ConnectionSettings, callMs: number): OriginTimeouts {
  const chatHeadMs = Math.ceil(upstream.firstByteTimeout * 1000)
  return {
    connectMs: callMs,
    writeMs: callMs,
    call: { headMs: callMs, idleMs: callMs },
    chat: { headMs: chatHeadMs, idleMs: callMs },
    stream: { headMs: chatHeadMs, idleMs: Math.ceil(streamIdleTimeoutSeconds * 1000) }
  }
}

/** A certificate is shown to the API alone. */
function openFiles(
  options: Omit<TlsFilesOptions, 'settings'>,
  upstream: Settings['upstream']
): { api: TlsFiles | undefined; oauth: TlsFiles | undefined } {
  const { caFile } = options.paths
  const { caBundleFile } = upstream
  return {
    api: openTlsFiles({ ...options, settings: upstream }),
    oauth: openTlsFiles({
      ...options,
      paths: caFile === undefined ? {} : { caFile },
      settings: caBundleFile === undefined ? {} : { caBundleFile }
    })
  }
}

/** A bundle of authorities wins over switched-off verification: naming authorities asks for them to be checked. */
function readTrust(upstream: Settings['upstream']): TlsOptions {
  if (upstream.caBundleFile !== undefined) {
    return { ca: readSettingFile('UPSTREAM_CA_BUNDLE_FILE', upstream.caBundleFile), rejectUnauthorized: true }
  }
  return upstream.verifySslCerts ? {} : { rejectUnauthorized: false }
}

function readClientCertificate(upstream: Settings['upstream']): TlsOptions {
  if (upstream.certFile === undefined) return {}
  const cert = readSettingFile('UPSTREAM_CERT_FILE', upstream.certFile)
  const key = upstream.keyFile === undefined ? cert : readSettingFile('UPSTREAM_KEY_FILE', upstream.keyFile)
  const passphrase = upstream.keyFilePassword?.reveal()
  return { cert, key, ...(passphrase === undefined ? {} : { passphrase }) }
}

function readSettingFile(setting: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (thrown) {
    throw new TransportConfigurationError(setting, thrown)
  }
}
