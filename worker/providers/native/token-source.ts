// The access token of one credential: fetched once for everybody who waits, replaced in the background before it ends, and
// dropped when the upstream refuses it (upstream contract, section 2.3; decision 10; field lesson N5).

import type { Secret } from '../../../shared/secret.ts'
import type { CancelSignal } from '../../performance/cancel-source.ts'
import { raceAbort } from '../http/abort.ts'
import { CallFailure } from '../http/call-failure.ts'
import type { FetchedToken } from './token-response.ts'

/** One token as it was handed out; its identity says which token a refusal is about. */
export interface AccessToken {
  readonly value: Secret
}

export interface TokenSource {
  /**
   * The token for a call, or null when calls go out without one. A promise only when there is no token that still works.
   * Rejects with `CallFailure` when none can be had, and with the signal's `GatewayError` when the caller gives up.
   */
  acquire(caller: TokenCaller): AccessToken | null | Promise<AccessToken | null>
  /** Reports that the upstream refused this token. True when another token can be had, so that one more try makes sense. */
  reject(token: AccessToken | null): boolean
}

export interface TokenCaller {
  signal: CancelSignal
  /** Context headers of the request that happens to cause a fetch, names and values in turn. */
  headers: readonly string[]
}

export interface TokenSourceOptions {
  fetchToken: (headers: TokenCaller['headers']) => Promise<FetchedToken>
  /** A token that was given beside the credential: it goes first, until the upstream refuses it. */
  givenToken?: Secret | undefined
  /** How long before its end a token is replaced. */
  expiryBufferMs: number
  now: () => number
  /** 0 up to 1. */
  random: () => number
  /** Called after each fetch, with undefined when it worked. */
  onFetched?: ((failure: unknown) => void) | undefined
}

/** A token in its last second is not sent any more: it would end on the way. */
const LAST_MOMENT_MS = 1_000

/** How long a failed fetch answers for those who come after it, so that a broken credential does not flood the token server. */
const REFUSAL_KEPT_MS = 5_000
/** The same for a failure that may pass: shorter than the shortest retry delay, so that a retry really tries. */
const FAILURE_KEPT_MS = 400
/** Pause after a failed replacement while the old token still works. */
const REPLACEMENT_PAUSE_MS = 5_000

interface HeldToken extends AccessToken {
  /** From here on it is replaced in the background. */
  replaceAtMs: number
  /** From here on it is not used. */
  endsAtMs: number
}

/** A token that was given and that nobody can renew, or null for calls without one. */
export function createFixedTokenSource(value: Secret | null): TokenSource {
  const token = value === null ? null : { value }
  return { acquire: () => token, reject: () => false }
}

/** Tokens that are fetched with a credential. */
export function createTokenSource(options: TokenSourceOptions): TokenSource {
  const { now, random } = options
  let held: HeldToken | undefined =
    options.givenToken === undefined
      ? undefined
      : { value: options.givenToken, replaceAtMs: Number.POSITIVE_INFINITY, endsAtMs: Number.POSITIVE_INFINITY }
  let flight: Promise<HeldToken> | undefined
  let lastFailure: { error: unknown; untilMs: number } | undefined

  function hold(fetched: FetchedToken): HeldToken {
    if (fetched.expiresAtMs === undefined) {
      // An end that nobody knows shows itself as a refusal.
      return { value: fetched.value, replaceAtMs: Number.POSITIVE_INFINITY, endsAtMs: Number.POSITIVE_INFINITY }
    }
    const lifetimeMs = Math.max(0, fetched.expiresAtMs - now())
    // A token that lives shorter than the buffer would otherwise be replaced by every call.
    const bufferMs = Math.min(options.expiryBufferMs, lifetimeMs / 2)
    // Spread over the first half of the buffer, so that workers that started together do not refresh together.
    const replaceAtMs = fetched.expiresAtMs - bufferMs * (1 - random() / 2)
    const endsAtMs = fetched.expiresAtMs - Math.min(LAST_MOMENT_MS, bufferMs)
    return { value: fetched.value, replaceAtMs, endsAtMs }
  }

  function fetchShared(headers: TokenCaller['headers']): Promise<HeldToken> {
    flight ??= fetchOnce(headers).finally(() => {
      flight = undefined
    })
    return flight
  }

  async function fetchOnce(headers: TokenCaller['headers']): Promise<HeldToken> {
    try {
      const token = hold(await options.fetchToken(headers))
      held = token
      lastFailure = undefined
      options.onFetched?.(undefined)
      return token
    } catch (error) {
      lastFailure = { error, untilMs: now() + (isRefusal(error) ? REFUSAL_KEPT_MS : FAILURE_KEPT_MS) }
      options.onFetched?.(error)
      throw error
    }
  }

  function replaceInBackground(token: HeldToken, headers: TokenCaller['headers']): void {
    if (flight !== undefined) return
    fetchShared(headers).catch(() => {
      // The old token still works; `onFetched` has reported the failure.
      token.replaceAtMs = now() + REPLACEMENT_PAUSE_MS
    })
  }

  return {
    acquire(caller) {
      const nowMs = now()
      if (held !== undefined && nowMs < held.endsAtMs) {
        if (nowMs >= held.replaceAtMs) replaceInBackground(held, caller.headers)
        return held
      }
      if (flight === undefined && lastFailure !== undefined && nowMs < lastFailure.untilMs) {
        return Promise.reject(lastFailure.error)
      }
      return raceAbort(fetchShared(caller.headers), caller.signal)
    },
    reject(token) {
      // A refusal that comes late is about an old token and says nothing about the one that replaced it.
      if (held === token) held = undefined
      return true
    }
  }
}

/** The token server looked at the credential and said no: asking again at once would only be noise. */
function isRefusal(error: unknown): boolean {
  return error instanceof CallFailure && error.status !== null && [400, 401, 403].includes(error.status)
}
