// The two calls that fetch an access token: OAuth client credentials, and a user with a password
// (upstream.md 2.1, 2.2).

import { randomUUID } from 'node:crypto'
import type { Secret } from '../../../shared/secrets/secret.ts'
import { protocolFailure } from '../http/call-failure.ts'
import type { ProviderOrigin } from '../http/connections.ts'
import type { CredentialCaller } from '../http/credential.ts'
import { type ExchangeRequest, runExchange } from '../http/exchange.ts'
import { type ReadError, requireSuccess } from '../http/response-head.ts'
import { ResponseCollector, readJson } from '../http/whole-response.ts'
import type { NativeConnections } from './connections.ts'
import { type NativeToken, readTokenResponse } from './token-response.ts'

/** Responses of token servers have one or two kilobytes. */
const TOKEN_RESPONSE_BYTES_MAX = 64 * 1024

export interface TokenFetchOptions {
  connections: Pick<NativeConnections, 'endpoints' | 'oauth' | 'passwordToken'>
  userAgent: string
  readError: ReadError
  /** Aborted when the executor closes. The signals of callers do not end a fetch that others may share. */
  signal: AbortSignal
}

/** Fetches a token with OAuth credentials, which are sent as they are. Rejects with `CallFailure`. */
export function fetchOAuthToken(
  options: TokenFetchOptions,
  account: { credentials: Secret; scope: string }
): Promise<NativeToken> {
  const { oauth, endpoints } = options.connections
  return fetchToken(options, oauth, {
    method: 'POST',
    path: endpoints.oauth.path,
    headers: [
      'authorization',
      `Basic ${account.credentials.reveal()}`,
      'rquid',
      randomUUID(),
      'content-type',
      'application/x-www-form-urlencoded',
      'user-agent',
      options.userAgent,
      'accept',
      'application/json'
    ],
    body: Buffer.from(new URLSearchParams({ scope: account.scope }).toString())
  })
}

/** Fetches a token with a user and a password. `headers` are those of the request that needs it. Rejects with `CallFailure`. */
export function fetchPasswordToken(
  options: TokenFetchOptions,
  account: { user: string; password: Secret },
  headers: CredentialCaller['headers']
): Promise<NativeToken> {
  const { passwordToken, endpoints } = options.connections
  const pair = Buffer.from(`${account.user}:${account.password.reveal()}`).toString('base64')
  return fetchToken(options, passwordToken, {
    method: 'POST',
    path: endpoints.passwordToken.path,
    headers: ['authorization', `Basic ${pair}`, 'user-agent', options.userAgent, ...headers]
  })
}

async function fetchToken(
  { readError, signal }: TokenFetchOptions,
  { dispatcher, origin, timeouts }: ProviderOrigin,
  request: ExchangeRequest
): Promise<NativeToken> {
  const receiver = new ResponseCollector(TOKEN_RESPONSE_BYTES_MAX)
  await runExchange({ dispatcher, origin, request, receiver, timeouts: timeouts.call, signal })
  const token = readTokenResponse(readJson(requireSuccess(receiver.take() ?? (await receiver.decompress()), readError)))
  if (token === undefined) throw protocolFailure('token_response_without_token')
  return token
}
