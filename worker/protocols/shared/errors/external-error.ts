// Maps the error of an external provider to the gateway's error (bridge.md 8.7). A status about the operator's credential or destination
// is no fault of the client, so it becomes 502; of the provider's words only the message, the code and the member of a refused request
// reach a client. All others are for the operator's log.

import { asBuffer } from '../../../../shared/bytes.ts'
import {
  type ErrorCode,
  errorDefinitions,
  GatewayError,
  type GatewayErrorOptions,
  isJsonObject
} from '../../../normalized/index.ts'
import type { ResponseHead } from '../../provider-face.ts'
import { cleanProviderMessage, findErrorStatus, readProviderWord } from './provider-message.ts'
import { readRetryAfter } from './response-header.ts'

const MESSAGE_CHARACTERS_MAX = 500

/** Statuses whose message explains the client's own request. */
const STATUSES_WITH_MESSAGE: ReadonlySet<number> = new Set([400, 413, 422, 429])

/** The status of an overloaded service on some wires; HTTP has 503 for it (decisions.md 81). */
const OVERLOADED = 529

/** Reads the error of a response whose status is not 200. */
export function readExternalError({ status, headers }: ResponseHead, bytes: Uint8Array): GatewayError {
  const body = readErrorBody(bytes)
  return mapExternalFailure({
    status,
    message: typeof body === 'string' ? (STATUSES_WITH_MESSAGE.has(status) ? undefined : body) : findMessage(body),
    ...(typeof body === 'string' ? {} : findWords(body)),
    retryAfter: readWait(readRetryAfter(headers))
  })
}

/**
 * Finds the provider's error in a JSON body with status 200 or in a frame of a stream: a member
 * `error`, a status of 400 or more with a message, or a body that is an `error` itself, as vLLM
 * writes it. Undefined for an ordinary body (field-lessons.md A16).
 */
export function findExternalError(body: Readonly<Record<string, unknown>>): GatewayError | undefined {
  const { error } = body
  if (error === undefined || error === null || error === false) {
    if (body.object === 'error') return readErrorMember({ ...body, error: body })
    const status = typeof body.message === 'string' ? findErrorStatus(body.status) : undefined
    return status === undefined
      ? undefined
      : mapExternalFailure({ status, message: findMessage(body), ...findWords(body) })
  }
  return readErrorMember(body)
}

/** Reads the payload of an event that its name marks as an error. It may have any members. */
export function readExternalErrorEvent(payload: Readonly<Record<string, unknown>>): GatewayError {
  return readErrorMember(payload.error === undefined ? { error: payload } : payload)
}

function readErrorMember(body: Readonly<Record<string, unknown>>): GatewayError {
  const inner = isJsonObject(body.error) ? body.error : {}
  const stated = findErrorStatus(inner.status, inner.code, body.status, body.status_code, body.code)
  return mapExternalFailure({
    status: stated ?? findStatusOfWord(inner),
    message: findMessage(body),
    ...findWords(body)
  })
}

/** Fixed texts: the provider's own may hold prompts, hosts or credentials. */
const FAILED = 'The provider failed.'
const REFUSED = 'The provider did not accept the request of the gateway.'

interface ExternalFailure {
  /** Undefined for an error without a status: the provider failed. */
  status: number | undefined
  message: string | undefined
  code?: string | undefined
  param?: string | undefined
  retryAfter?: string | undefined
}

function mapExternalFailure({ status, message, code, param, retryAfter }: ExternalFailure): GatewayError {
  const text = message === undefined ? undefined : cleanProviderMessage(message, MESSAGE_CHARACTERS_MAX)
  const isExplained = status !== undefined && STATUSES_WITH_MESSAGE.has(status)
  const seen: GatewayErrorOptions = { cause: `upstream status ${status ?? 'unknown'}`, upstreamStatus: status ?? null }
  if (!isExplained) seen.providerText = text
  const explained: GatewayErrorOptions = isExplained ? { providerCode: code, providerParam: param } : {}
  const say = (code: ErrorCode) =>
    isExplained && text !== undefined ? { message: text, ownText: errorDefinitions[code].text } : {}
  const waiting: GatewayErrorOptions = retryAfter === undefined ? {} : { retryAfter }
  switch (status) {
    case 400:
    case 409:
    case 422:
      return new GatewayError('upstream_rejected', { ...seen, status, ...explained, ...say('upstream_rejected') })
    case 413:
      return new GatewayError('upstream_rejected', {
        ...seen,
        status,
        kind: 'too-large',
        ...explained,
        ...say('upstream_rejected')
      })
    case 429:
      return new GatewayError('rate_limited', { ...seen, ...waiting, ...explained, ...say('rate_limited') })
    case 408:
    case 504:
      return new GatewayError('provider_timeout', seen)
    case 503:
    case OVERLOADED:
      return new GatewayError('provider_failure', { ...seen, message: FAILED, status: 503, ...waiting })
    case 502:
    case undefined:
      return new GatewayError('provider_failure', { ...seen, message: FAILED })
  }
  if (status >= 500) return new GatewayError('provider_failure', { ...seen, message: FAILED, status: 500 })
  if (status >= 400) return new GatewayError('provider_failure', { ...seen, message: REFUSED })
  // Redirects are never followed: the new destination has not been authorized.
  if (status >= 300) return new GatewayError('destination_mismatch', seen)
  return new GatewayError('provider_protocol_error', seen)
}

/** Words of `error.type` and `error.code` that stand for a status, for errors that arrive with status 200. */
const statusOfWord: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  context_length_exceeded: 400,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  exceed_context_size_error: 400,
  overloaded_error: 503,
  timeout_error: 504
}

function findStatusOfWord({ code, type }: Readonly<Record<string, unknown>>): number | undefined {
  for (const word of [code, type]) {
    if (typeof word === 'string' && Object.hasOwn(statusOfWord, word)) return statusOfWord[word]
  }
  return undefined
}

/** Only digits and dates: a fraction of a second is not of the form that HTTP gives the header. */
function readWait(retryAfter: string | undefined): string | undefined {
  return retryAfter?.includes('.') === true ? undefined : retryAfter
}

/** The body of an error; the text of one that is no JSON object: proxies in front of a provider send texts and HTML pages, which a client must not see. */
function readErrorBody(bytes: Uint8Array): Readonly<Record<string, unknown>> | string {
  const text = asBuffer(bytes).toString('utf8')
  try {
    const body: unknown = JSON.parse(text)
    // Some servers send a list with one error.
    const first: unknown = Array.isArray(body) ? body[0] : body
    return isJsonObject(first) ? first : ''
  } catch {
    return text
  }
}

/** The code of a context that is full, on a server that has its own word for it in `error.type`. */
const CONTEXT_FULL: Readonly<Record<string, string>> = { exceed_context_size_error: 'context_length_exceeded' }

/** Code and member of an error body, where they are words that a client may act on. */
function findWords(body: Readonly<Record<string, unknown>>): { code: string | undefined; param: string | undefined } {
  const { code, param, type, details } = isJsonObject(body.error) ? body.error : body
  const known = typeof type === 'string' && Object.hasOwn(CONTEXT_FULL, type) ? CONTEXT_FULL[type] : undefined
  // The messages wire has its codes there.
  const inner = isJsonObject(details) ? readProviderWord(details.error_code) : undefined
  return { code: readProviderWord(code) ?? known ?? inner, param: readProviderWord(param) }
}

/** The text of an error body: `error.message`, `error`, `message` or `detail`. */
function findMessage({ error, message, detail }: Readonly<Record<string, unknown>>): string | undefined {
  const candidates = [isJsonObject(error) ? error.message : error, message, detail]
  return candidates.find((candidate): candidate is string => typeof candidate === 'string' && candidate !== '')
}
