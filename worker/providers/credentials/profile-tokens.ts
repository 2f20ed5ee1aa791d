// The tokens of a profile's account: fetched through the profile's own connections, and reported like
// those of the native upstream (providers.md 2).

import { withDeadline } from '../../../shared/deadline.ts'
import type { Logger } from '../../../shared/logging.ts'
import { timeoutFailure } from '../http/call-failure.ts'
import type { CredentialSource } from '../http/credential.ts'
import type { ExecutorDependencies } from '../provider-kind.ts'
import type { SecretTexts } from './secret-texts.ts'
import { describeTokenFailure, logTokenFailure } from './token-failure.ts'
import { fetchToken, type TokenCall, type TokenServer } from './token-server.ts'
import { createTokenSource } from './token-source.ts'

export interface ProfileTokensOptions {
  profileId: string
  dependencies: Pick<ExecutorDependencies, 'version' | 'monotonicMs' | 'random' | 'onTokenFetched'>
  /** Of a whole call to a token server. */
  tokenDeadlineMs: number
  /** Fetched tokens are added, so that no output shows them. */
  texts: SecretTexts
  log: Logger
  /** Aborted when the executor closes. */
  lifetime: AbortSignal
}

/** What one fetch sends, and where to. */
export interface PreparedTokenCall {
  server: TokenServer
  call: TokenCall
}

/** A token is replaced in the last fifth of its lifetime. */
const REPLACED_PART = 0.2

/**
 * Creates the source of a profile's tokens.
 * @param prepare called for each fetch; rejects with `CallFailure` when the account cannot be used.
 */
export function createProfileTokens(
  { profileId, dependencies, tokenDeadlineMs, texts, log, lifetime }: ProfileTokensOptions,
  prepare: () => Promise<PreparedTokenCall>
): CredentialSource {
  const userAgent = `llm-gateway/${dependencies.version}`
  return createTokenSource({
    async fetchToken() {
      // A key on a file system that does not respond must not hold the calls that wait for the token.
      const prepared = await withDeadline(prepare(), tokenDeadlineMs)
      if (prepared === undefined) throw timeoutFailure('reading the account', tokenDeadlineMs)
      const { server, call } = prepared
      const token = await fetchToken(server, call, { userAgent, deadlineMs: tokenDeadlineMs, lifetime })
      texts.addToken(token.value)
      return token
    },
    bufferMs: lifetimeMs => lifetimeMs * REPLACED_PART,
    monotonicMs: dependencies.monotonicMs,
    random: dependencies.random,
    onFetched(failure) {
      // A fetch that ended because the executor closes is no failure.
      if (failure !== undefined && lifetime.aborted) return
      dependencies.onTokenFetched?.(failure !== undefined)
      if (failure !== undefined) logTokenFailure(log, failure, profileId)
      else log.debug({ event: 'upstream_token_fetched', profile_id: profileId }, 'Got an access token for the profile')
    },
    describeFailure: describeTokenFailure
  })
}
