// The connections to one origin of a provider and the bounds of the calls on them (upstream.md 1.3).

import { timeoutFailure } from './call-failure.ts'
import type { ExchangeTimeouts } from './exchange.ts'
import type { RequestDispatcher } from './forward-dispatcher.ts'
import { createGate, type Gate } from './gate.ts'
import { openPool, type PoolOptions } from './pool.ts'

export type { ConnectionListener, TlsOptions } from './pool.ts'

export interface OriginOptions extends Omit<PoolOptions, 'connectMs'> {
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
}

/** A set of connections to one origin. Its creator closes it. */
export interface ProviderOrigin {
  dispatcher: RequestDispatcher
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

/** Prepares the connections to an origin. None is opened before the first call. */
export function openOrigin(options: OriginOptions): ProviderOrigin {
  const { callMs, chatHeadMs, streamIdleMs } = options.timeouts
  const sending = { connectMs: callMs, writeMs: callMs }
  const { dispatcher, pool } = openPool({ ...options, connectMs: callMs })
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
    close: () => pool.close(),
    destroy: () => pool.destroy()
  }
}

function openGate({ connectionsMax, waitersMax, waitFailure, timeouts }: OriginOptions): { gate?: Gate } {
  if (waitersMax === undefined) return {}
  const { callMs } = timeouts
  const gateOptions = { slotsMax: connectionsMax, waitersMax, waitMsMax: callMs }
  if (waitFailure === undefined) return { gate: createGate(gateOptions) }
  return { gate: createGate(gateOptions, () => timeoutFailure('waiting for a connection', callMs)) }
}
