// Maps an error of the native upstream to the gateway's error. Of the upstream's text only its
// `message` reaches a client, and only after redaction (upstream.md 9, decisions.md 6).

import {
  type ErrorCode,
  errorDefinitions,
  GatewayError,
  type GatewayErrorOptions,
  isJsonObject
} from '../../normalized/index.ts'
import type { ResponseHead } from '../provider-face.ts'
import { cleanProviderMessage, findErrorStatus } from '../shared/errors/provider-message.ts'
import { readRetryAfter } from '../shared/errors/response-header.ts'

const MESSAGE_CHARACTERS_MAX = 1000

/** The upstream, or what stands in front of it, has answered, so the connection has not failed. */
const FAILED = errorDefinitions.upstream_error.text
const REFUSED = errorDefinitions.upstream_rejected.text

/** Reads the error of a response whose status is not 200; a status below 400 gives `provider_protocol_error`. */
export function readResponseError({ status, headers }: ResponseHead, body: Uint8Array): GatewayError {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')
  return mapUpstreamFailure({
    status,
    message: findMessage(parseBody(text)),
    retryAfter: readRetryAfter(headers)
  })
}

/** The error for a response whose body cannot be used. `reason` goes to the log only. */
export function unusableResponse(reason: string): GatewayError {
  return new GatewayError('provider_protocol_error', { cause: reason })
}

/**
 * Finds an error inside the payload of a response: a status of 400 or more with a message, or a
 * member `error`. Undefined for an ordinary payload (field-lessons.md A16).
 */
export function findPayloadError(payload: Record<string, unknown>): GatewayError | undefined {
  const { error } = payload
  if (error !== undefined && error !== null && error !== false) {
    const inner = isJsonObject(error) ? error : {}
    const status = findErrorStatus(inner.status, inner.code, payload.status, payload.code)
    const message = typeof error === 'string' ? error : (findMessage(inner) ?? findMessage(payload))
    return mapUpstreamFailure({ status, message })
  }
  const message = findMessage(payload)
  const status = message === undefined ? undefined : findErrorStatus(payload.status)
  return status === undefined ? undefined : mapUpstreamFailure({ status, message })
}

/** Maps an event that its name marks as an error, even when its payload has no status or message. */
export function mapErrorEvent(payload: Record<string, unknown>): GatewayError {
  return (
    findPayloadError(payload) ??
    mapUpstreamFailure({ status: findErrorStatus(payload.status, payload.code), message: findMessage(payload) })
  )
}

/** `text`: the gateway's own words, where those of the code would say what did not happen. */
type FailureOptions = Omit<GatewayErrorOptions, 'message' | 'ownText'> & { readonly text?: string }

interface UpstreamFailure {
  /** Undefined for an error without a status: the upstream failed. */
  status: number | undefined
  message: string | undefined
  retryAfter?: string | undefined
}

function mapUpstreamFailure(failure: UpstreamFailure): GatewayError {
  const { status = 500, retryAfter } = failure
  const seen = {
    cause: `upstream status ${failure.status ?? 'unknown'}`,
    upstreamStatus: failure.status ?? null
  }
  const message =
    failure.message === undefined ? undefined : cleanProviderMessage(failure.message, MESSAGE_CHARACTERS_MAX)
  const error = (code: ErrorCode, { text = errorDefinitions[code].text, ...options }: FailureOptions = {}) =>
    new GatewayError(code, { ...seen, message: message ?? text, ownText: text, ...options })
  const waiting = retryAfter === undefined ? {} : { retryAfter }
  switch (status) {
    case 400:
    case 413:
    case 422:
      return error('upstream_rejected', { status, ...(status === 413 ? { kind: 'too-large' } : {}) })
    case 401:
      return error('upstream_unauthorized')
    case 403:
      return error('upstream_forbidden')
    case 404:
      return isUnknownModel(message) ? error('model_not_found', { param: 'model' }) : error('upstream_not_found')
    case 429:
      return error('rate_limited', waiting)
    case 503:
      return error('provider_failure', { text: FAILED, status, ...waiting })
    // Some services say so that they are overloaded (decisions.md 81).
    case 529:
      return error('provider_failure', { text: FAILED, status: 503, ...waiting })
    case 502:
    case 504:
      return error('provider_failure', { text: FAILED, status })
  }
  if (status >= 500) return error('upstream_error')
  if (status >= 400) return error('provider_failure', { text: REFUSED, status, kind: 'invalid-request' })
  return new GatewayError('provider_protocol_error', seen)
}

/** Only the message of a 404 shows whether the model or another object is unknown. */
function isUnknownModel(message: string | undefined): boolean {
  return message !== undefined && /\bmodel\b/i.test(message) && /\b(no such|not found|unknown|not exist)/i.test(message)
}

function parseBody(bodyText: string): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(bodyText)
    return isJsonObject(body) ? body : {}
  } catch {
    // Proxies in front of the upstream send HTML pages, which a client must not see.
    return {}
  }
}

function findMessage(body: Record<string, unknown>): string | undefined {
  if (typeof body.message === 'string' && body.message !== '') return body.message
  if (!isJsonObject(body.error)) return undefined
  const { message } = body.error
  return typeof message === 'string' && message !== '' ? message : undefined
}
