// What authorizes the calls of a profile of an external kind: the credential of its variable in the header of the kind, in another
// place that the profile names, or in exchange for a token (bridge.md 4.4 and 8.2; providers.md 1 and 2).

import type { Logger } from '../../../shared/logging.ts'
import type { ProfileAuth, ProviderProfile } from '../../../shared/profile.ts'
import type { Secret } from '../../../shared/secret.ts'
import { GatewayError } from '../../normalized/index.ts'
import {
  type ClientAccount,
  type ClientCredentialsAuth,
  listClientTexts,
  writeClientCredentials
} from '../credentials/client-credentials.ts'
import type { SecretTexts } from '../credentials/secret-texts.ts'
import { describeTokenFailure, logTokenFailure } from '../credentials/token-failure.ts'
import { fetchToken, type TokenCall, type TokenServer } from '../credentials/token-server.ts'
import { createTokenSource } from '../credentials/token-source.ts'
import { CallFailure } from '../http/call-failure.ts'
import type { ProviderOrigin } from '../http/connections.ts'
import {
  type CredentialSource,
  createFixedCredential,
  type Sign,
  signNothing,
  signWithHeader,
  signWithQuery
} from '../http/credential.ts'
import type { ExecutorDependencies } from '../provider-kind.ts'

export interface ProfileCredentialOptions {
  profile: ProviderProfile
  dependencies: ExecutorDependencies
  /** The signer of the kind for the credential of a profile. */
  createSigner(credential: Secret): Sign
  /** Prepares the connections to a token server. */
  openTokenServer(profile: ProviderProfile): ProviderOrigin
  /** Of a whole call to a token server. */
  tokenDeadlineMs: number
  /** Fetched tokens are added, so that no output shows them. */
  texts: SecretTexts
  log: Logger
  /** Aborted when the executor closes. */
  lifetime: AbortSignal
}

/** A credential with what it holds open. Its creator closes it. */
export interface ProfileCredential {
  source: CredentialSource
  close(): Promise<void>
  destroy(): Promise<void>
}

/** The texts of a profile's credential, in the forms in which they are sent. */
export function listCredentialTexts(
  { auth }: Pick<ProviderProfile, 'auth'>,
  { credential, readSecret }: Pick<ExecutorDependencies, 'credential' | 'readSecret'>
): string[] {
  const own = credential === undefined ? [] : [credential.reveal()]
  const account = auth?.type === 'oauth2' ? readAccount(auth, readSecret) : undefined
  return account === undefined ? own : [...own, ...listClientTexts(account)]
}

/** The token servers that a profile names. */
export function listTokenServers({ auth }: Pick<ProviderProfile, 'auth'>): string[] {
  return auth?.type === 'oauth2' ? [auth.tokenUrl] : []
}

/** Creates the credential of a profile: a keyless one signs with nothing. Opens no connection. */
export function createProfileCredential(options: ProfileCredentialOptions): ProfileCredential {
  const { profile, dependencies, createSigner } = options
  const { auth } = profile
  const { credential } = dependencies
  if (auth?.type === 'oauth2') return createAccountCredential(options, auth)
  return keepFixed(credential === undefined ? signNothing : createOwnSigner(auth, credential, createSigner))
}

function keepFixed(sign: Sign): ProfileCredential {
  return { source: createFixedCredential(sign), close: async () => undefined, destroy: async () => undefined }
}

/** The place that the profile names stands instead of that of the kind. */
function createOwnSigner(
  auth: Exclude<ProfileAuth, { type: 'oauth2' }> | undefined,
  credential: Secret,
  createSigner: (credential: Secret) => Sign
): Sign {
  if (auth === undefined) return createSigner(credential)
  switch (auth.type) {
    case 'header':
      return signWithHeader(auth.name, credential, auth.prefix)
    case 'query':
      return signWithQuery(auth.name, credential)
    default:
      return failToSign
  }
}

/** Of what this build cannot sign with. */
const failToSign: Sign = () => {
  throw new CallFailure(new GatewayError('credential_unavailable'), { outcome: 'credential_error', isRetryable: false })
}

function createAccountCredential(options: ProfileCredentialOptions, auth: ClientCredentialsAuth): ProfileCredential {
  const { profile, dependencies, openTokenServer } = options
  const connections = openTokenServer(describeTokenServer(profile, auth))
  const { pathname, search } = new URL(auth.tokenUrl)
  const server: TokenServer = { connections, path: pathname + search }
  const source = createProfileTokens(options, server, () => {
    const account = readAccount(auth, dependencies.readSecret)
    if (account === undefined)
      throw new CallFailure(new GatewayError('credential_unavailable'), { outcome: 'credential_error' })
    return writeClientCredentials(auth, account)
  })
  return { source, close: () => connections.close(), destroy: () => connections.destroy() }
}

/** A source of tokens that are fetched with what `writeCall` writes. */
function createProfileTokens(
  { profile, dependencies, tokenDeadlineMs, texts, log, lifetime }: ProfileCredentialOptions,
  server: TokenServer,
  writeCall: () => TokenCall
): CredentialSource {
  const userAgent = `llm-gateway/${dependencies.version}`
  const { profileId } = profile
  return createTokenSource({
    async fetchToken() {
      const token = await fetchToken(server, writeCall(), { userAgent, deadlineMs: tokenDeadlineMs, lifetime })
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

/** A token is replaced in the last fifth of its lifetime. */
const REPLACED_PART = 0.2

/** The token server as a destination of the profile, with its own address policy where one is written. */
function describeTokenServer(
  { auth: _auth, headers: _headers, query: _query, ...profile }: ProviderProfile,
  { tokenUrl, networkPolicyRef = profile.networkPolicyRef }: ClientCredentialsAuth
): ProviderProfile {
  return {
    ...profile,
    baseUrl: tokenUrl,
    networkPolicyRef,
    allowLoopback: networkPolicyRef === 'loopback-development',
    allowPrivate: networkPolicyRef === 'private-network'
  }
}

/** Undefined where a variable has no value: a profile without a route needs none. */
function readAccount(
  { clientIdEnv, clientSecretEnv }: ClientCredentialsAuth,
  readSecret: ExecutorDependencies['readSecret']
): ClientAccount | undefined {
  const id = readSecret(clientIdEnv)
  const secret = readSecret(clientSecretEnv)
  return id === undefined || secret === undefined ? undefined : { id, secret }
}
