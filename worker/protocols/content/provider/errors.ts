// Reads the errors of the content wire, the status objects of Google's RPC framework (content.md 7), by the rules for all external
// providers (bridge.md 8.7).

import { asBuffer } from '../../../../shared/bytes.ts'
import { type GatewayError, isJsonObject, type JsonObject } from '../../../normalized/index.ts'
import type { ResponseHead } from '../../provider-face.ts'
import { findExternalError, readExternalError } from '../../shared/errors/external-error.ts'
import { readRetryAfter } from '../../shared/errors/response-header.ts'

/** Reads the error of a response whose status is not 200: an object with an `error`, or a list with one. */
export function readError(head: ResponseHead, body: Uint8Array): GatewayError {
  const error = findErrorObject(parse(body))
  if (error === undefined) return readExternalError(head, body)
  const status = isCredentialFault(error) ? CREDENTIAL_STATUS : head.status
  const wait = readRetryAfter(head.headers) === undefined ? findWait(error) : undefined
  const headers = wait === undefined ? head.headers : { ...head.headers, 'retry-after': wait }
  return readExternalError({ status, headers }, body)
}

/**
 * Finds the provider's error in a body with status 200 or in a chunk of a stream; undefined for an
 * ordinary one (field-lessons.md A16).
 */
export function findError(body: Readonly<Record<string, unknown>>): GatewayError | undefined {
  const error = findErrorObject(body)
  if (error === undefined) return findExternalError(body)
  const code = isCredentialFault(error) ? CREDENTIAL_STATUS : (error.code ?? statusOfWord(error.status))
  const found = findExternalError({ ...body, error: { ...error, ...(code === undefined ? {} : { code }) } })
  const wait = findWait(error)
  const mayWait = found?.status === 429 || found?.status === 503
  return wait === undefined || !mayWait ? found : found.with({ retryAfter: wait })
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(asBuffer(bytes).toString('utf8'))
  } catch {
    // Proxies in front of a provider send HTML pages.
    return undefined
  }
}

function findErrorObject(body: unknown): JsonObject | undefined {
  const first: unknown = Array.isArray(body) ? body[0] : body
  return isJsonObject(first) && isJsonObject(first.error) ? first.error : undefined
}

/** The status of a provider that does not know its caller: the operator has to look, not the client. */
const CREDENTIAL_STATUS = 401
/** The service answers a wrong or expired key with status 400. */
const CREDENTIAL_REASON = 'API_KEY_INVALID'

function isCredentialFault(error: JsonObject): boolean {
  return listDetails(error).some(detail => detail.reason === CREDENTIAL_REASON)
}

const SECONDS = /^(\d{1,8})(?:\.\d{1,9})?s$/

/** The seconds of `RetryInfo`, as whole ones. */
function findWait(error: JsonObject): string | undefined {
  for (const { retryDelay } of listDetails(error)) {
    if (typeof retryDelay === 'string' && SECONDS.test(retryDelay)) return `${Math.ceil(Number.parseFloat(retryDelay))}`
  }
  return undefined
}

/** An error has a few details; a longer list is not searched to its end. */
const DETAILS_MAX = 32

function listDetails({ details }: JsonObject): JsonObject[] {
  return Array.isArray(details) ? details.slice(0, DETAILS_MAX).filter(isJsonObject) : []
}

/** The statuses of the framework's words, for an error that has only the word. */
const statuses: Readonly<Record<string, number>> = {
  INVALID_ARGUMENT: 400,
  FAILED_PRECONDITION: 400,
  OUT_OF_RANGE: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  ABORTED: 409,
  ALREADY_EXISTS: 409,
  RESOURCE_EXHAUSTED: 429,
  CANCELLED: 500,
  DATA_LOSS: 500,
  UNKNOWN: 500,
  INTERNAL: 500,
  UNAVAILABLE: 503,
  DEADLINE_EXCEEDED: 504
}

function statusOfWord(word: unknown): number | undefined {
  return typeof word === 'string' && Object.hasOwn(statuses, word) ? statuses[word] : undefined
}
