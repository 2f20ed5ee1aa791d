// The two calls that bring an access token: OAuth client credentials, and a user with a password (upstream contract, 2.1, 2.2).

import { randomUUID } from 'node:crypto'
import type { Secret } from '../../../shared/secret.ts'
import { protocolFailure } from '../http/call-failure.ts'
import type { NativeTransport, UpstreamOrigin } from '../http/connections.ts'
import { type ExchangeRequest, runExchange } from '../http/exchange.ts'
import { requireSuccess } from '../http/response-head.ts'
import { ResponseCollector, readJson } from '../http/whole-response.ts'
import { type FetchedToken, readTokenAnswer } from './token-response.ts'
import type { TokenCaller } from './token-source.ts'

/** Token answers are one or two kilobytes. */
const TOKEN_ANSWER_BYTES_MAX = 64 * 1024

export interface TokenFetchOptions {
  transport: NativeTransport
  userAgent: string
  /** Ends with the provider; callers come and go. */
  signal: AbortSignal
}

/** Fetches a token with OAuth credentials, which are sent as they are. Rejects with `CallFailure`. */
export function fetchOAuthToken(
  options: TokenFetchOptions,
  account: { credentials: Secret; scope: string }
): Promise<FetchedToken> {
  const { oauth, endpoints } = options.transport
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

/** Fetches a token with a user and a password. `headers` are the context headers of the request behind it. */
export function fetchPasswordToken(
  options: TokenFetchOptions,
  account: { user: string; password: Secret },
  headers: TokenCaller['headers']
): Promise<FetchedToken> {
  const { passwordToken, endpoints } = options.transport
  const pair = Buffer.from(`${account.user}:${account.password.reveal()}`).toString('base64')
  return fetchToken(options, passwordToken, {
    method: 'POST',
    path: endpoints.passwordToken.path,
    headers: ['authorization', `Basic ${pair}`, 'user-agent', options.userAgent, ...headers]
  })
}

async function fetchToken(
  { transport, signal }: TokenFetchOptions,
  { dispatcher, origin }: UpstreamOrigin,
  request: ExchangeRequest
): Promise<FetchedToken> {
  const collector = new ResponseCollector(TOKEN_ANSWER_BYTES_MAX)
  await runExchange({ dispatcher, origin, request, receiver: collector, timeouts: transport.timeouts.whole, signal })
  const token = readTokenAnswer(readJson(requireSuccess(await collector.take())))
  if (token === undefined) throw protocolFailure('token_answer_without_token')
  return token
}
