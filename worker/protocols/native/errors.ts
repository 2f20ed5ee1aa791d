// Turns what the native upstream says about a failure into the gateway's error. Of the upstream's own words only its `message`
// reaches a client, and only after redaction (upstream.md 9, decisions 6).

import { createRedactor } from '../../../shared/redaction.ts'
import { type ErrorCode, GatewayError, type GatewayErrorOptions, isJsonObject } from '../../normalized/index.ts'
import type { ResponseHead } from '../face.ts'
import { readHeader } from '../shared/response-header.ts'

const MESSAGE_CHARACTERS_MAX = 1000

const redactor = createRedactor()

/** The error that a response without status 200 stands for; a status below 400 is a response that cannot be used. */
export function readResponseError({ status, headers }: ResponseHead, body: Uint8Array): GatewayError {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')
  return mapUpstreamFailure({
    status,
    message: findMessage(parseBody(text)),
    retryAfter: readHeader(headers, 'retry-after')
  })
}

/** The error for a response that arrived and cannot be used. `reason` goes to the log only. */
export function unusableResponse(reason: string): GatewayError {
  return new GatewayError('provider_protocol_error', { cause: reason })
}

/**
 * The error that stands in the payload of an answer: a status of 400 and more with a message, or a member `error`. Undefined
 * for an ordinary payload (field lesson A16).
 */
export function findPayloadError(payload: Record<string, unknown>): GatewayError | undefined {
  const { error } = payload
  if (error !== undefined && error !== null && error !== false) {
    const inner = isJsonObject(error) ? error : {}
    const status = findStatus(inner.status, inner.code, payload.status, payload.code)
    const message = typeof error === 'string' ? error : (findMessage(inner) ?? findMessage(payload))
    return mapUpstreamFailure({ status: status ?? 500, message })
  }
  const message = findMessage(payload)
  const status = message === undefined ? undefined : findStatus(payload.status)
  return status === undefined ? undefined : mapUpstreamFailure({ status, message })
}

/** The error of an event that says it is one, whatever it holds. */
export function mapErrorEvent(payload: Record<string, unknown>): GatewayError {
  return (
    findPayloadError(payload) ??
    mapUpstreamFailure({ status: findStatus(payload.status, payload.code) ?? 500, message: findMessage(payload) })
  )
}

interface UpstreamFailure {
  status: number
  message: string | undefined
  retryAfter?: string | undefined
}

function mapUpstreamFailure(failure: UpstreamFailure): GatewayError {
  const { status, retryAfter } = failure
  const message = failure.message === undefined ? undefined : cleanMessage(failure.message)
  const error = (code: ErrorCode, options: GatewayErrorOptions = {}) =>
    new GatewayError(code, {
      cause: `upstream status ${status}`,
      ...(message === undefined ? {} : { message }),
      ...options
    })
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
      return error('provider_failure', { status, ...waiting })
    case 502:
    case 504:
      return error('provider_failure', { status })
  }
  if (status >= 500) return error('upstream_error')
  if (status >= 400) return error('provider_failure', { status, kind: 'invalid-request' })
  return new GatewayError('provider_protocol_error', { cause: `upstream status ${status}` })
}

/** The upstream says in words only which of the things that it does not know was meant. */
function isUnknownModel(message: string | undefined): boolean {
  return message !== undefined && /\bmodel\b/i.test(message) && /\b(no such|not found|unknown|not exist)/i.test(message)
}

function parseBody(bodyText: string): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(bodyText)
    return isJsonObject(body) ? body : {}
  } catch {
    // The proxies in front of the upstream answer with HTML: nothing in it is for a client.
    return {}
  }
}

function findMessage(body: Record<string, unknown>): string | undefined {
  if (typeof body.message === 'string' && body.message !== '') return body.message
  if (!isJsonObject(body.error)) return undefined
  const { message } = body.error
  return typeof message === 'string' && message !== '' ? message : undefined
}

function findStatus(...candidates: unknown[]): number | undefined {
  for (const candidate of candidates) {
    const status = typeof candidate === 'string' ? Number(candidate) : candidate
    if (typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599) return status
  }
  return undefined
}

/** A sentence that a client may see: no markup, addresses or secrets, of bounded length. Undefined when nothing is left. */
function cleanMessage(message: string): string | undefined {
  if (/<\s*(?:!doctype|html|head|body|script)\b/i.test(message)) return undefined
  const bounded = message.slice(0, 4 * MESSAGE_CHARACTERS_MAX)
  const withoutAddresses = bounded.replaceAll(/\b[a-z][a-z0-9+.-]*:\/\/\S+/gi, '[address]')
  const clean = redactor.redactText(withoutAddresses).replaceAll(/\s+/g, ' ').trim()
  return clean === '' ? undefined : cut(clean)
}

function cut(text: string): string {
  // Not through the middle of a character.
  return text.slice(0, MESSAGE_CHARACTERS_MAX).replace(/[\uD800-\uDBFF]$/, '')
}
