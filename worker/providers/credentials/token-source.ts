// The access token of one account: fetched once for all calls that wait, replaced in the background
// before it expires, and dropped when the provider refuses it (providers.md 2; upstream.md 2.3;
// decisions.md 10; field-lessons.md N5).

import type { Secret } from '../../../shared/secrets/secret.ts'
import { raceAbort } from '../http/abort.ts'
import { CallFailure } from '../http/call-failure.ts'
import {
  type Credential,
  type CredentialCaller,
  type CredentialSource,
  type Sign,
  signWithHeader
} from '../http/credential.ts'

export interface FetchedToken {
  value: Secret
  /** Milliseconds from its response on; undefined when the response did not say. */
  lifetimeMs: number | undefined
}

export interface TokenSourceOptions {
  fetchToken: (headers: CredentialCaller['headers']) => Promise<FetchedToken>
  /** A token that was given beside the account: it is used first, until the provider refuses it. */
  givenToken?: Secret | undefined
  /** How long before its end a token of this lifetime is replaced; less than the lifetime. */
  bufferMs: (lifetimeMs: number) => number
  /** A clock that never jumps, so that a changed system time makes no token look expired. */
  monotonicMs: () => number
  /** 0 up to 1. */
  random: () => number
  /** Called after each fetch, with undefined when it worked. */
  onFetched?: ((failure: unknown) => void) | undefined
  /** What the calls get that wait for a failed fetch: its own failure unless given. */
  describeFailure?: ((failure: unknown) => unknown) | undefined
}

/** A token is not used in its last second: it would expire on the way. */
const LAST_MOMENT_MS = 1_000

/** How long later calls fail with the failure of a fetch, so that a refused account does not flood the token server. */
const REFUSAL_KEPT_MS = 5_000
/** The same for a failure that may pass: shorter than the shortest retry delay, so that a retry fetches again. */
const FAILURE_KEPT_MS = 400
/** Pause after a failed replacement while the old token still works. */
const REPLACEMENT_PAUSE_MS = 5_000

interface HeldToken {
  /** The token for calls that waited for its fetch. */
  fresh: Credential
  /** The same token for all later calls. */
  held: Credential
  /** From here on it is replaced in the background. */
  replaceAtMs: number
  /** From here on it is not used. */
  endsAtMs: number
}

/** Signs with an access token. */
export function signWithToken(token: Secret): Sign {
  return signWithHeader('authorization', token, 'Bearer ')
}

/** A source of tokens that are fetched. */
export function createTokenSource(options: TokenSourceOptions): CredentialSource {
  const { monotonicMs, random, givenToken, describeFailure = keepFailure } = options
  let current = givenToken === undefined ? undefined : hold({ value: givenToken, lifetimeMs: undefined })
  let flight: Promise<HeldToken> | undefined
  let lastFailure: { error: unknown; untilMs: number } | undefined

  function hold({ value, lifetimeMs }: FetchedToken): HeldToken {
    const sign = signWithToken(value)
    return { fresh: { sign, isFresh: true }, held: { sign, isFresh: false }, ...planReplacement(lifetimeMs) }
  }

  function planReplacement(lifetimeMs: number | undefined): Pick<HeldToken, 'replaceAtMs' | 'endsAtMs'> {
    // A token without a known end is used until the provider refuses it.
    if (lifetimeMs === undefined) return { replaceAtMs: Number.POSITIVE_INFINITY, endsAtMs: Number.POSITIVE_INFINITY }
    const expiresAtMs = monotonicMs() + lifetimeMs
    const bufferMs = options.bufferMs(lifetimeMs)
    return {
      // Spread over the first half of the buffer, so that workers that started together do not refresh together.
      replaceAtMs: expiresAtMs - bufferMs * (1 - random() / 2),
      endsAtMs: expiresAtMs - Math.min(LAST_MOMENT_MS, bufferMs)
    }
  }

  function fetchShared(headers: CredentialCaller['headers']): Promise<HeldToken> {
    flight ??= fetchOnce(headers).finally(() => {
      flight = undefined
    })
    return flight
  }

  async function fetchOnce(headers: CredentialCaller['headers']): Promise<HeldToken> {
    try {
      const token = hold(await options.fetchToken(headers))
      current = token
      lastFailure = undefined
      options.onFetched?.(undefined)
      return token
    } catch (thrown) {
      const keptMs = isRefusal(thrown) ? REFUSAL_KEPT_MS : FAILURE_KEPT_MS
      lastFailure = { error: describeFailure(thrown), untilMs: monotonicMs() + keptMs }
      // The old token still works. Set before the flight ends, so that no call finds neither a flight nor a pause.
      if (current !== undefined) current.replaceAtMs = monotonicMs() + REPLACEMENT_PAUSE_MS
      options.onFetched?.(thrown)
      throw lastFailure.error
    }
  }

  function findHeld(caller: CredentialCaller): Credential | undefined {
    const nowMs = monotonicMs()
    if (current === undefined || nowMs >= current.endsAtMs) return undefined
    // `onFetched` reports the failure of a replacement.
    if (nowMs >= current.replaceAtMs && flight === undefined) fetchShared(caller.headers).catch(() => undefined)
    return current.held
  }

  return {
    find: findHeld,
    async acquire(caller) {
      const held = findHeld(caller)
      if (held !== undefined) return held
      if (flight === undefined && lastFailure !== undefined && monotonicMs() < lastFailure.untilMs)
        throw lastFailure.error
      const { fresh } = await raceAbort(fetchShared(caller.headers), caller.signal)
      return fresh
    },
    reject(credential) {
      // A late refusal of an old token says nothing about the token that replaced it.
      if (current?.held === credential || current?.fresh === credential) current = undefined
      return true
    }
  }
}

/** Whether the token server refused the account: the next fetch would fail in the same way. */
function isRefusal(error: unknown): boolean {
  return error instanceof CallFailure && error.status !== null && [400, 401, 403].includes(error.status)
}

function keepFailure(failure: unknown): unknown {
  return failure
}
