// What authorizes the calls of a profile of an external kind: the credential of its variable in the header of the kind, in another
// place that the profile names, a signature, or a token (bridge.md 4.4 and 8.2; providers.md 1 and 2).

import { canonicalDestination } from '../../../shared/net/destination.ts'
import { allowsUrl, readAddressPolicy } from '../../../shared/profile/network-policy.ts'
import type { ProviderProfile } from '../../../shared/profile/profile.ts'
import type { Secret } from '../../../shared/secrets/secret.ts'
import { assertNever } from '../../normalized/assert.ts'
import { GatewayError } from '../../normalized/index.ts'
import { createAwsSigner, listAwsTexts } from '../credentials/aws-signature.ts'
import {
  type ClientAccount,
  type ClientCredentialsAuth,
  listClientTexts,
  writeClientCredentials
} from '../credentials/client-credentials.ts'
import { createProfileTokens, type ProfileTokensOptions } from '../credentials/profile-tokens.ts'
import {
  loadServiceAccountKey,
  type ServiceAccountAuth,
  unusableKey,
  writeAssertionGrant
} from '../credentials/service-account.ts'
import type { TokenServer } from '../credentials/token-server.ts'
import { throwIfAborted } from '../http/abort.ts'
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

export interface ProfileCredentialOptions extends Omit<ProfileTokensOptions, 'profileId' | 'dependencies'> {
  profile: ProviderProfile
  dependencies: ExecutorDependencies
  /** The signer of the kind for the credential of a profile. */
  createSigner(credential: Secret): Sign
  /** Prepares the connections to a token server. */
  openTokenServer(profile: ProviderProfile): ProviderOrigin
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
  if (auth?.type === 'aws_sigv4') return [...own, ...listAwsTexts(readSecret)]
  const account = auth?.type === 'oauth2' ? readAccount(auth, readSecret) : undefined
  return account === undefined ? own : [...own, ...listClientTexts(account)]
}

/** The token servers that a profile names. */
export function listTokenServers({ auth }: Pick<ProviderProfile, 'auth'>): string[] {
  return auth?.type === 'oauth2' ? [auth.tokenUrl] : []
}

/** Creates the credential of a profile: a keyless one signs with nothing. Opens no connection. */
export function createProfileCredential(options: ProfileCredentialOptions): ProfileCredential {
  const { auth } = options.profile
  const { credential } = options.dependencies
  const keep = (createSigner: (credential: Secret) => Sign): ProfileCredential =>
    keepFixed(credential === undefined ? signNothing : createSigner(credential))
  switch (auth?.type) {
    case undefined:
      return keep(options.createSigner)
    case 'header':
      return keep(secret => signWithHeader(auth.name, secret, auth.prefix))
    case 'query':
      return keep(secret => signWithQuery(auth.name, secret))
    case 'oauth2':
      return createAccountCredential(options, auth)
    case 'google_service_account':
      return createServiceAccountCredential(options, auth)
    case 'aws_sigv4':
      return keepFixed(createAwsSigner(auth, options.dependencies))
    default:
      return assertNever(auth)
  }
}

function keepFixed(sign: Sign): ProfileCredential {
  return { source: createFixedCredential(sign), close: async () => undefined, destroy: async () => undefined }
}

function createAccountCredential(options: ProfileCredentialOptions, auth: ClientCredentialsAuth): ProfileCredential {
  const { profile, dependencies, openTokenServer } = options
  const { tokenUrl, networkPolicyRef = profile.networkPolicyRef } = auth
  const connections = openTokenServer(describeTokenServer(profile, tokenUrl, networkPolicyRef))
  const server = describeEndpoint(tokenUrl, connections)
  const source = createProfileTokens({ ...options, profileId: profile.profileId }, async () => {
    const account = readAccount(auth, dependencies.readSecret)
    if (account !== undefined) return { server, call: writeClientCredentials(auth, account) }
    throw new CallFailure(new GatewayError('credential_unavailable'), { outcome: 'credential_error' })
  })
  return { source, close: () => connections.close(), destroy: () => connections.destroy() }
}

function createServiceAccountCredential(
  options: ProfileCredentialOptions,
  auth: ServiceAccountAuth
): ProfileCredential {
  const { profile, dependencies, openTokenServer, lifetime } = options
  // The key names its token server, and another key may name another one.
  let opened: { tokenUrl: string; connections: ProviderOrigin } | undefined

  function openServer(tokenUrl: string): TokenServer {
    if (opened?.tokenUrl !== tokenUrl) {
      // What is opened behind the end of the executor would stay open.
      throwIfAborted(lifetime)
      if (!isAllowed(profile, tokenUrl)) throw unusableKey('the network policy of the profile refuses its token_uri')
      void opened?.connections.close()
      const server = describeTokenServer(profile, tokenUrl, profile.networkPolicyRef)
      opened = { tokenUrl, connections: openTokenServer(server) }
    }
    return describeEndpoint(tokenUrl, opened.connections)
  }

  const source = createProfileTokens({ ...options, profileId: profile.profileId }, async () => {
    const key = await loadServiceAccountKey(auth, dependencies.readSecret)
    const call = await writeAssertionGrant(key, auth, dependencies.now())
    return { server: openServer(key.tokenUrl), call }
  })
  return {
    source,
    close: async () => opened?.connections.close(),
    destroy: async () => opened?.connections.destroy()
  }
}

/** The token server as a destination of the profile, without what belongs to its calls only. */
function describeTokenServer(
  { auth: _auth, headers: _headers, query: _query, ...profile }: ProviderProfile,
  tokenUrl: string,
  networkPolicyRef: string
): ProviderProfile {
  return {
    ...profile,
    baseUrl: tokenUrl,
    networkPolicyRef,
    allowLoopback: networkPolicyRef === 'loopback-development',
    allowPrivate: networkPolicyRef === 'private-network'
  }
}

function describeEndpoint(tokenUrl: string, connections: ProviderOrigin): TokenServer {
  const { pathname, search } = new URL(tokenUrl)
  return { connections, path: pathname + search }
}

/** The preflight has checked every URL of the file; the one of a key is read while the gateway runs. */
function isAllowed(profile: ProviderProfile, tokenUrl: string): boolean {
  return canonicalDestination(tokenUrl) !== undefined && allowsUrl(readAddressPolicy(profile), tokenUrl)
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
