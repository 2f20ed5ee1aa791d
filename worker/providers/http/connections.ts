// The connections to one origin of a provider and the bounds of the calls on them (upstream.md 1.3).

import type { SeenCertificates } from '../../../shared/provider-health.ts'
import type { QueueOptions } from '../../../shared/semaphore.ts'
import { createCertificateWatch } from './connections/certificate-watch.ts'
import type { RequestDispatcher } from './connections/forward-dispatcher.ts'
import { openPool, type PoolOptions } from './connections/pool.ts'
import type { ExchangeTimeouts } from './exchange.ts'
import { createGate, type Gate } from './gate.ts'

export type { ConnectionListener } from './connections/pool.ts'
export type { TlsOptions } from './connections/tls-options.ts'

export interface OriginOptions extends Omit<PoolOptions, 'connectMs' | 'certificates'> {
  /** For calls that find no connection free; absent where something else bounds the number of calls. */
  waiting?: ConnectionWaiting
  timeouts: OriginTimeouts
}

export interface ConnectionWaiting extends QueueOptions {
  /** Makes the error of a call that waited too long, or found too many waiting: `gateway_overloaded` unless given. */
  refuse?: () => Error
}

/** The limits of a response. A large model may think for minutes before its head (decisions.md 66). */
type ResponseTimeouts = Pick<ExchangeTimeouts, 'headMs' | 'idleMs'>

/** Every limit but that of connecting may be 0, which sets none. */
export interface OriginTimeouts extends Pick<ExchangeTimeouts, 'connectMs' | 'writeMs'> {
  /** Of all calls but chats. */
  call: ResponseTimeouts
  /** Of chats whose response is taken whole. */
  chat: ResponseTimeouts
  /** Of chats whose response is a stream of events. */
  stream: ResponseTimeouts
}

/** A set of connections to one origin. Its creator closes it. */
export interface ProviderOrigin {
  dispatcher: RequestDispatcher
  /** Sends a request on a new connection, in place of a stale one. */
  newConnections: RequestDispatcher
  origin: string
  /** Holds back the calls that the pool cannot send at once; absent where the number of calls is bounded otherwise. */
  gate?: Gate
  timeouts: Record<'call' | 'chat' | 'stream', ExchangeTimeouts>
  /** The certificates of its connections as of now. */
  certificates(): SeenCertificates
  /** Closes idle connections and waits for the busy ones. */
  close(): Promise<void>
  /** Closes all connections now. */
  destroy(): Promise<void>
}

/** Prepares the connections to an origin. None is opened before the first call. */
export function openOrigin(options: OriginOptions): ProviderOrigin {
  const { connectMs, writeMs, call, chat, stream } = options.timeouts
  const sending = { connectMs, writeMs }
  const certificates = createCertificateWatch()
  const shared = { ...options, connectMs, certificates }
  const { dispatcher, pool } = openPool(shared)
  const fresh = openPool({ ...shared, keepsNone: true })
  return {
    dispatcher,
    newConnections: fresh.dispatcher,
    origin: options.origin,
    ...openGate(options),
    timeouts: {
      call: { ...sending, ...call },
      chat: { ...sending, ...chat },
      stream: { ...sending, ...stream }
    },
    certificates: () => certificates.read(),
    async close() {
      await Promise.all([pool.close(), fresh.pool.close()])
    },
    async destroy() {
      await Promise.all([pool.destroy(), fresh.pool.destroy()])
    }
  }
}

function openGate({ connectionsMax, waiting }: OriginOptions): { gate?: Gate } {
  if (waiting === undefined) return {}
  const { refuse, ...queue } = waiting
  return { gate: createGate({ slotsMax: connectionsMax, ...queue }, refuse) }
}
