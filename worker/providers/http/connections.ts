// The connections to the native upstream: one pool for the API and one for tokens, with TLS, proxy and bounds as configured
// (upstream contract, section 1.3). Whoever creates a transport closes it.

import { readFileSync } from 'node:fs'
import type { LookupFunction } from 'node:net'
import { rootCertificates } from 'node:tls'
import { type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici'
import type { Settings } from '../../../shared/settings.ts'
import { type AddressPolicy, createCheckedLookup } from '../egress/checked-lookup.ts'
import { type NativeEndpoints, resolveEndpoints } from '../native/endpoints.ts'
import type { ExchangeTimeouts } from './exchange.ts'
import { createGate, type Gate } from './gate.ts'

/** A set of connections to one origin. */
export interface UpstreamOrigin {
  dispatcher: Dispatcher
  origin: string
  /** Holds back what the pool could not send at once; absent where the number of calls is bounded otherwise. */
  gate?: Gate
}

export interface NativeTransport {
  endpoints: NativeEndpoints
  /** Everything but tokens. */
  api: UpstreamOrigin
  /** The OAuth server: no client certificate is shown to it. */
  oauth: UpstreamOrigin
  /** Password tokens: the API's origin on connections of their own, so that a full API pool cannot delay a token it waits for. */
  passwordToken: UpstreamOrigin
  timeouts: {
    /** For answers that are taken whole. */
    whole: ExchangeTimeouts
    /** For streams of events. */
    stream: ExchangeTimeouts
  }
  close(): Promise<void>
  destroy(): Promise<void>
}

/**
 * Connections of one worker to the API when `UPSTREAM_MAX_CONNECTIONS` is unset. The usual default of 100 would let the
 * hundred-and-first stream wait for another one to end, although an open stream costs next to nothing (ADR of 2026-11-21 on
 * upstream connections and timeouts).
 */
export const API_CONNECTIONS_MAX_DEFAULT = 1024

/** Requests that wait for a connection when all are taken; each holds its body, so the number is bounded. */
const API_WAITERS_MAX = 1024

/** Token calls are single flight per credential; this many at once is generous even with pass-through credentials. */
const TOKEN_CONNECTIONS_MAX = 8

/** How long an idle connection is kept. Shorter than common servers keep theirs, so that we are the side that closes. */
const KEEP_ALIVE_MS = 5_000

/** A setting that names a file, or the content of that file, cannot be used. The message names the setting only. */
export class TransportConfigurationError extends Error {
  readonly setting: string

  constructor(setting: string, cause: unknown) {
    super(`${setting} cannot be read.`, { cause })
    this.name = 'TransportConfigurationError'
    this.setting = setting
  }
}

export type TransportSettings = Pick<Settings, 'upstream' | 'proxy' | 'streamIdleTimeoutSeconds'>

/**
 * Opens nothing yet: connections are made when calls need them. With a policy the API is reached on allowed addresses only, unless
 * a proxy does the resolving. Raises `TransportConfigurationError` for unreadable TLS files.
 */
export function createTransport(settings: TransportSettings, addressPolicy?: AddressPolicy): NativeTransport {
  const { upstream } = settings
  const endpoints = resolveEndpoints(upstream.baseUrl, upstream.authUrl)
  const timeoutMs = Math.ceil(upstream.timeout * 1000)
  const connectionsMax = upstream.maxConnections ?? API_CONNECTIONS_MAX_DEFAULT
  const trust = readTrust(upstream)
  const withClientCertificate = { ...trust, ...readClientCertificate(upstream) }

  const shared = { timeoutMs, proxy: settings.proxy }
  const toApi = {
    ...shared,
    origin: endpoints.apiOrigin,
    tls: withClientCertificate,
    ...(addressPolicy === undefined ? {} : { lookup: createCheckedLookup(addressPolicy) })
  }
  const api = openPool({ ...toApi, connections: connectionsMax })
  const passwordToken = openPool({ ...toApi, connections: TOKEN_CONNECTIONS_MAX })
  const oauth = openPool({
    ...shared,
    origin: endpoints.oauth.origin,
    tls: trust,
    connections: TOKEN_CONNECTIONS_MAX
  })
  const all = [api, oauth, passwordToken]

  return {
    endpoints,
    api: {
      dispatcher: api,
      origin: endpoints.apiOrigin,
      gate: createGate({ slotsMax: connectionsMax, waitersMax: API_WAITERS_MAX, waitMsMax: timeoutMs })
    },
    oauth: { dispatcher: oauth, origin: endpoints.oauth.origin },
    passwordToken: { dispatcher: passwordToken, origin: endpoints.passwordToken.origin },
    timeouts: {
      whole: { connectMs: timeoutMs, responseMs: timeoutMs, idleMs: timeoutMs },
      // A model may think for minutes inside an open stream. UPSTREAM_TIMEOUT bounds everything up to the response's headers;
      // from there the stream's own setting decides, alone, so that raising it has an effect.
      stream: {
        connectMs: timeoutMs,
        responseMs: timeoutMs,
        idleMs: Math.ceil(settings.streamIdleTimeoutSeconds * 1000)
      }
    },
    async close() {
      await Promise.all(all.map(dispatcher => dispatcher.close()))
    },
    async destroy() {
      await Promise.all(all.map(dispatcher => dispatcher.destroy()))
    }
  }
}

interface TlsOptions {
  ca?: string
  rejectUnauthorized?: boolean
  cert?: string
  key?: string
  passphrase?: string
}

interface PoolSpecification {
  origin: string
  tls: TlsOptions
  connections: number
  timeoutMs: number
  proxy: Settings['proxy']
  lookup?: LookupFunction
}

function openPool({ origin, tls, connections, timeoutMs, proxy, lookup }: PoolSpecification): Dispatcher {
  const connect = { ...tls, timeout: timeoutMs, ...(lookup === undefined ? {} : { lookup }) }
  const options = {
    connections,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Otherwise a server that announces a longer time would have it.
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    connect
  }
  const proxyUrl = origin.startsWith('https:') ? proxy.httpsProxy : proxy.httpProxy
  if (proxyUrl === undefined) return new Pool(origin, options)
  return new EnvHttpProxyAgent({
    ...options,
    // One origin has one scheme: the same URL in both places keeps undici from looking into the environment for the other.
    httpProxy: proxyUrl,
    httpsProxy: proxyUrl,
    noProxy: (proxy.noProxy ?? []).join(','),
    requestTls: connect,
    // A proxy that takes the connection and never answers must not hold it for the library's five minutes.
    clientFactory: (proxyOrigin, proxyOptions) => new Pool(proxyOrigin, { ...proxyOptions, headersTimeout: timeoutMs }),
    // The proxy may be known by a public certificate while the upstream is not: its own authorities come beside the usual ones.
    proxyTls: {
      timeout: timeoutMs,
      ...(tls.ca === undefined ? {} : { ca: [...rootCertificates, tls.ca] }),
      ...(tls.rejectUnauthorized === undefined ? {} : { rejectUnauthorized: tls.rejectUnauthorized })
    }
  })
}

/** Whom to trust. A bundle wins over switched-off verification: who names authorities wants them asked. */
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
