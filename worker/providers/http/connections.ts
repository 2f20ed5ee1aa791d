// The connections to one origin of a provider, with TLS, proxy and bounds as configured
// (upstream.md 1.3).

import { isIP } from 'node:net'
import { rootCertificates } from 'node:tls'
import { buildConnector, type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici'
import type { DestinationGuard } from '../egress/checked-lookup.ts'
import { timeoutFailure } from './call-failure.ts'
import { passOverContinue } from './continue-filter.ts'
import type { ExchangeTimeouts } from './exchange.ts'
import { createGate, type Gate } from './gate.ts'

/** Which servers are trusted, and which certificate is shown to them. */
export interface TlsOptions {
  /** Certificate authorities in place of the usual ones, as PEM text. */
  ca?: string
  rejectUnauthorized?: boolean
  cert?: string
  key?: string
  passphrase?: string
}

/** The proxies by the scheme of the origin, and the hosts that are reached without one. */
export interface ProxyOptions {
  httpProxy?: string | undefined
  httpsProxy?: string | undefined
  noProxy?: readonly string[] | undefined
}

export interface OriginOptions {
  /** Scheme, host and port. */
  origin: string
  /** Connections at once. */
  connectionsMax: number
  /** Calls that may wait for a connection; absent where something else bounds the number of calls. */
  waitersMax?: number
  /** What a call gets that waited too long for a connection: `gateway_overloaded` unless given. */
  waitFailure?: 'provider_timeout'
  timeouts: {
    /**
     * Connecting, each gap while the request is written, each gap of a whole response, the wait for a connection, and the response's
     * head except that of a chat.
     */
    callMs: number
    /**
     * The head of a chat's response: a large model may think for minutes before it
     * (decisions.md 66).
     */
    chatHeadMs: number
    /** Each gap between received bytes of a stream; 0 sets no limit. */
    streamIdleMs: number
  }
  tls?: TlsOptions
  proxy?: ProxyOptions
  /** Checks the addresses of the host where only some are allowed. It has no effect behind a proxy, which resolves by itself. */
  guard?: DestinationGuard | undefined
  /** Called with 1 when a connection is open and with -1 when it is closed, for the metrics. */
  onConnectionChange?: ConnectionListener | undefined
}

export type ConnectionListener = (change: 1 | -1) => void

/** A set of connections to one origin. Its creator closes it. */
export interface ProviderOrigin {
  dispatcher: Dispatcher
  origin: string
  /** Holds back the calls that the pool cannot send at once; absent where the number of calls is bounded otherwise. */
  gate?: Gate
  timeouts: {
    /** For all calls but chats. */
    call: ExchangeTimeouts
    /** For chats whose response is taken whole. */
    chat: ExchangeTimeouts
    /** For chats whose response is a stream of events. */
    stream: ExchangeTimeouts
  }
  /** Closes idle connections and waits for the busy ones. */
  close(): Promise<void>
  /** Closes all connections now. */
  destroy(): Promise<void>
}

/**
 * How long an idle connection is kept. Common servers close theirs after 5 s, uvicorn without saying so: this side must be first, because
 * a chat that meets the close is lost.
 */
const KEEP_ALIVE_MS = 4_000

/** Prepares the connections to an origin. None is opened before the first call. */
export function openOrigin(options: OriginOptions): ProviderOrigin {
  const { callMs, chatHeadMs, streamIdleMs } = options.timeouts
  const sending = { connectMs: callMs, writeMs: callMs }
  const dispatcher = openPool(options)
  return {
    dispatcher,
    origin: options.origin,
    ...openGate(options),
    timeouts: {
      call: { ...sending, headMs: callMs, idleMs: callMs },
      chat: { ...sending, headMs: chatHeadMs, idleMs: callMs },
      // A model may think for minutes inside an open stream: after the response's head only the stream's own limit counts, so that a
      // larger one has an effect.
      stream: { ...sending, headMs: chatHeadMs, idleMs: streamIdleMs }
    },
    close: () => dispatcher.close(),
    destroy: () => dispatcher.destroy()
  }
}

function openGate({ connectionsMax, waitersMax, waitFailure, timeouts }: OriginOptions): { gate?: Gate } {
  if (waitersMax === undefined) return {}
  const { callMs } = timeouts
  const gateOptions = { slotsMax: connectionsMax, waitersMax, waitMsMax: callMs }
  if (waitFailure === undefined) return { gate: createGate(gateOptions) }
  return { gate: createGate(gateOptions, () => timeoutFailure('waiting for a connection', callMs)) }
}

function createConnector(
  connect: buildConnector.BuildOptions,
  guard: DestinationGuard | undefined
): buildConnector.connector {
  const dial = { ...connect, allowH2: false }
  return passOverContinue(guard === undefined ? buildConnector(dial) : createGuardedConnector(dial, guard))
}

/** A connector that also checks a host that is an address: no lookup sees it. */
function createGuardedConnector(
  connect: buildConnector.BuildOptions,
  { lookup, isAllowed, refuse }: DestinationGuard
): buildConnector.connector {
  const dial = buildConnector({ ...connect, lookup })
  return (options, callback) => {
    if (isIP(options.hostname) === 0 || isAllowed(options.hostname)) dial(options, callback)
    else queueMicrotask(() => callback(refuse(options.hostname), null))
  }
}

/** Creates the pools of a dispatcher; with a listener it is called for each connection of each pool. */
function createPoolFactory(listener: ConnectionListener | undefined) {
  return (origin: string | URL, options: object): Pool => {
    const pool = new Pool(origin, options)
    if (listener === undefined) return pool
    return pool.on('connect', () => listener(1)).on('disconnect', () => listener(-1))
  }
}

function openPool(origination: OriginOptions): Dispatcher {
  const { origin, tls = {}, connectionsMax, timeouts, proxy = {}, guard } = origination
  const createPool = createPoolFactory(origination.onConnectionChange)
  const timeoutMs = timeouts.callMs
  const connect = { ...tls, timeout: timeoutMs }
  const options = {
    connections: connectionsMax,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Without it the time that a server announces would be used, even when it is longer.
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    connect: createConnector(connect, guard)
  }
  const proxyUrl = origin.startsWith('https:') ? proxy.httpsProxy : proxy.httpProxy
  if (proxyUrl === undefined) return createPool(origin, options)
  return new EnvHttpProxyAgent({
    ...options,
    factory: createPool,
    // One origin has one scheme: the same URL in both places keeps undici from reading the environment for the other scheme.
    httpProxy: proxyUrl,
    httpsProxy: proxyUrl,
    noProxy: (proxy.noProxy ?? []).join(','),
    requestTls: connect,
    // A proxy that accepts the connection and sends no response must not hold it for the library's five minutes.
    clientFactory: (proxyOrigin, proxyOptions) => new Pool(proxyOrigin, { ...proxyOptions, headersTimeout: timeoutMs }),
    // The proxy may have a public certificate while the provider has a private one: the private authorities are added to the usual ones.
    proxyTls: {
      timeout: timeoutMs,
      ...(tls.ca === undefined ? {} : { ca: [...rootCertificates, tls.ca] }),
      ...(tls.rejectUnauthorized === undefined ? {} : { rejectUnauthorized: tls.rejectUnauthorized })
    }
  })
}
