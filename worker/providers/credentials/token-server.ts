// One call to the token server of a profile: a form goes out, and a bearer token with its lifetime comes back
// (providers.md 2; RFC 6749, sections 4.4, 5.1 and 5.2).

import { isHeaderValue } from '../../../shared/net/header-value.ts'
import { Secret } from '../../../shared/secrets/secret.ts'
import { GatewayError } from '../../normalized/index.ts'
import { protocolFailure, timeoutFailure } from '../http/call-failure.ts'
import type { ProviderOrigin } from '../http/connections.ts'
import { runExchange } from '../http/exchange.ts'
import { type ReadError, refuseRedirects, requireSuccess } from '../http/response-head.ts'
import { ResponseCollector, readJson } from '../http/whole-response.ts'
import type { FetchedToken } from './token-source.ts'

/** Responses of token servers have one to four kilobytes. */
const TOKEN_RESPONSE_BYTES_MAX = 64 * 1024

/** Of a whole call, so that a server that sends a byte now and then ends too: calls of clients wait for it. */
export const TOKEN_DEADLINE_MS = 20_000

export interface TokenServer {
  /** The server's own connections, with the address policy, TLS files and proxy of the profile. */
  connections: ProviderOrigin
  /** Path and query of the token endpoint. */
  path: string
}

export interface TokenCall {
  /** Names and values in turn, beside those of every call. */
  headers?: readonly string[]
  form: URLSearchParams
}

export interface TokenCallOptions {
  userAgent: string
  deadlineMs: number
  /** Aborted when the executor closes. The signals of callers do not end a fetch that others share. */
  lifetime: AbortSignal
}

/** Fetches a token. Rejects with `CallFailure`, and with the reason of the executor's end. */
export async function fetchToken(
  { connections, path }: TokenServer,
  { headers = [], form }: TokenCall,
  { userAgent, deadlineMs, lifetime }: TokenCallOptions
): Promise<FetchedToken> {
  const receiver = new ResponseCollector(TOKEN_RESPONSE_BYTES_MAX)
  const deadline = new AbortController()
  const timer = setTimeout(() => deadline.abort(), deadlineMs)
  try {
    await runExchange({
      dispatcher: connections.dispatcher,
      origin: connections.origin,
      request: {
        method: 'POST',
        path,
        headers: [
          'user-agent',
          userAgent,
          'accept',
          'application/json',
          'content-type',
          'application/x-www-form-urlencoded',
          ...headers
        ],
        body: Buffer.from(form.toString())
      },
      receiver,
      timeouts: connections.timeouts.call,
      signal: AbortSignal.any([lifetime, deadline.signal])
    })
  } catch (thrown) {
    throw deadline.signal.aborted && !lifetime.aborted ? timeoutFailure('fetching a token', deadlineMs) : thrown
  } finally {
    clearTimeout(timer)
  }
  const response = requireSuccess(receiver.take() ?? (await receiver.decompress()), readTokenError)
  const token = readToken(readJson(response))
  if (token === undefined) throw protocolFailure('token_response_without_token')
  return token
}

/** No client sees this error: the status and the short id of the response go to the log. */
const readTokenError: ReadError = refuseRedirects(() => new GatewayError('provider_failure'))

/** Reads a successful response. Returns undefined for one without a token that a header can carry. */
export function readToken(body: unknown): FetchedToken | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const members = new Map<string, unknown>(Object.entries(body))
  const token = members.get('access_token')
  if (typeof token !== 'string' || !TOKEN.test(token) || !isHeaderValue(token)) return undefined
  return { value: new Secret(token), lifetimeMs: readLifetime(members.get('expires_in')) }
}

const TOKEN = /^\S+$/

/**
 * The lifetime of a token; undefined where the server states none, or none that can be true of a token that it issued just now. Some
 * servers write the seconds as text.
 */
function readLifetime(value: unknown): number | undefined {
  const seconds = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof seconds === 'number' && Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined
}
